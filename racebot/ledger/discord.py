"""The messages on Discord: what each should show, and what it shows.

Those of races are written in the same transaction as the changes of a race that they tell of.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from racebot.ledger.connection import Table
from racebot.ledger.rows import result_of
from racebot.races.result import RaceResult

Digest = Sequence[Mapping[str, Any]]
"""Parts of a summary, one for each leaderboard: `board`, `title`, `url`, and `lines`.

A line is a list: a text, and the user ids of the players to name in place of its `{name}`.
"""
Moves = Mapping[str, Mapping[str, int]]
"""Players' new places by leaderboard and user id."""


@dataclass(frozen=True, slots=True)
class Post:
    """The one message of a race, or of a summary with its own key, in a channel. Once posted, it has an id,
    `message`.

    `wanted` names what it shows: a `result`, or the stored one; without any, the race is withdrawn. `moves`
    are by the fingerprint of a result. `posts` counts the messages, since somebody may delete one.
    """

    race: str
    webhook: str
    wanted: str
    result: RaceResult | None
    moves: Mapping[str, Moves]
    message: str | None
    posts: int = 0
    digest: Digest = ()


class Posts(Table):
    """The messages of all races. Webhooks are given by their ids, which are no secrets."""

    def put(self, result: RaceResult, webhooks: Iterable[str], moves: Moves | None) -> None:
        """Show a result in these channels, and where the race is shown already. `moves`: if not settled."""
        mark = result.fingerprint()
        row = {"race": result.name, "wanted": mark, "result": None, "problem": None}
        if moves is not None:
            row |= {"wanted": f"{mark}?", "result": result.to_json(), "moves": json.dumps({mark: moves})}
        known = self._connection.rows("SELECT webhook FROM discord WHERE race = ?", result.name)
        rows = [row | {"webhook": each} for each in {*webhooks, *(webhook for (webhook,) in known)}]
        self._connection.save("discord", "race, webhook", rows)

    def put_digest(self, key: str, webhook: str, digest: Digest) -> None:
        """Show a summary in a channel, once."""
        text = json.dumps(digest, ensure_ascii=False)
        sql = "INSERT OR IGNORE INTO discord (race, webhook, wanted, result) VALUES (?, ?, 'digest', ?)"
        self._connection.write(sql, key, webhook, text)

    def has(self, key: str, webhook: str) -> bool:
        """Return whether a summary was stored for a channel."""
        sql = "SELECT 1 FROM discord WHERE race = ? AND webhook = ?"
        return bool(self._connection.value(sql, key, webhook))

    def withdraw(self, race: str) -> None:
        """Show that a race does not count."""
        sql = "UPDATE discord SET wanted = 'withdrawn', result = NULL WHERE race = ?"
        self._connection.write(sql, race)

    def refresh(self, subject: str) -> None:
        """Show a race again, or all races of a player, after an operator's order about them."""
        sql = (
            "UPDATE discord SET wanted = wanted || '+' WHERE race = ?1 OR instr(result, ?2)"
            " OR race IN (SELECT name FROM races WHERE instr(races.result, ?2))"
        )
        self._connection.write(sql, subject, json.dumps(subject, ensure_ascii=False))

    def waiting(self, webhook: str) -> list[Post]:
        """Return the messages to post or edit, in the order of their races."""
        posts = []
        sql = "SELECT * FROM discord WHERE shown <> wanted AND webhook = ? ORDER BY id LIMIT 100"
        for row in self._connection.rows(sql, webhook):
            stored, moves = row["result"] or "null", json.loads(row["moves"])
            is_race = stored.startswith("{")
            post = Post(row["race"], webhook, row["wanted"], None, moves, row["message"], row["posts"])
            shown = (
                {"result": result_of(post.race, stored)} if is_race else {"digest": json.loads(stored) or ()}
            )
            posts.append(replace(post, **shown))
        return posts

    def note(self, post: Post, message: str | None, problem: str | None = None, waits: bool = False) -> None:
        """Store the id of the message that shows a post now, or the problem that keeps it from that."""
        sql = (
            "UPDATE discord SET posts = posts + (?2 IS NOT NULL AND ?2 IS NOT message),"
            " shown = ?1, message = ?2, problem = ?3 WHERE race = ?4 AND webhook = ?5"
        )
        self._connection.write(sql, "" if waits else post.wanted, message, problem, post.race, post.webhook)

    def delayed(self) -> list[tuple[str, int, str | None]]:
        """Return the webhooks with waiting messages: the id, the number of them, and a problem."""
        sql = "SELECT webhook, count(*), max(problem) FROM discord WHERE shown <> wanted GROUP BY webhook"
        return [(row[0], row[1], row[2]) for row in self._connection.rows(sql)]
