"""The messages on Discord: what each should show, and what it shows.

Those of races are written in the same transaction as the changes of a race that they tell of.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from racebot.ledger.connection import LedgerTable
from racebot.ledger.rows import RESTORE, read, readable, result_of
from racebot.races.result import RaceResult

Moves = Mapping[str, Mapping[str, int]]
"""Players' new places by leaderboard and user id."""


@dataclass(frozen=True, slots=True)
class Post:
    """The one message of a race in a channel, or of a summary: its `race` is a key with a space.

    `wanted` names what it shows: a `result`, or the stored one; without any, the race is withdrawn. `moves`
    are by the fingerprint of a result. `message` is its id once it is posted, and `posts` counts how often it
    was, since somebody may delete it. `named` are the ids of the players whom a posted summary ever named.
    """

    race: str
    webhook: str
    wanted: str
    result: RaceResult | None
    moves: Mapping[str, Moves]
    message: str | None
    posts: int = 0
    named: frozenset[str] = frozenset()

    @property
    def is_digest(self) -> bool:
        return " " in self.race


class Posts(LedgerTable):
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

    def put_digest(self, key: str, webhook: str) -> None:
        """Show a summary in a channel, once."""
        sql = "INSERT OR IGNORE INTO discord (race, webhook, wanted) VALUES (?, ?, 'digest')"
        self._connection.write(sql, key, webhook)

    def withdraw(self, race: str) -> None:
        """Show that a race does not count."""
        sql = "UPDATE discord SET wanted = 'withdrawn', result = NULL WHERE race = ?"
        self._connection.write(sql, race)

    def refresh(self, subject: str) -> None:
        """Show a race, or a player's races and posted summaries, again after an order about them."""
        sql = (
            "UPDATE discord SET wanted = wanted || '+' WHERE race = ?1 OR instr(result, ?2)"
            " OR race IN (SELECT name FROM races WHERE instr(races.result, ?2))"
            " OR message IS NOT NULL AND ("
            "race LIKE '% %' AND (instr(moves, ?2) OR moves = '{}')"  # of an earlier version
            " OR race LIKE 'season %' AND EXISTS (SELECT 1 FROM races WHERE name = ?1)"
            " OR race = (SELECT 'week ' || date(ended_at, '+1 day', 'weekday 1') FROM races WHERE name = ?1))"
        )
        self._connection.write(sql, subject, json.dumps(subject, ensure_ascii=False))

    def waiting(self, webhook: str) -> list[str]:
        """Return the races to post in their order, then those to edit, newest first."""
        sql = (
            "SELECT race FROM discord WHERE shown <> wanted AND webhook = ?"
            " ORDER BY message IS NOT NULL, iif(message IS NULL, id, -id) LIMIT 1000"
        )
        return [race for (race,) in self._connection.rows(sql, webhook)]

    def get(self, race: str, webhook: str) -> Post:
        sql = "SELECT * FROM discord WHERE race = ? AND webhook = ?"
        (row,) = self._connection.rows(sql, race, webhook)
        with readable(f"message {race} on Discord", RESTORE):
            post = {**row, "moves": json.loads(row["moves"])}
            if " " in race:
                post |= {"named": frozenset(post["moves"]), "moves": {}}
            elif row["result"]:
                post["result"] = result_of(race, row["result"])
            return read(Post, [post])[0]

    def note(
        self,
        post: Post,
        message: str | None,
        problem: str | None = None,
        *,
        waits: bool = False,
        players: Collection[str] = (),
    ) -> None:
        """Store the id of the message that shows a post now, or the problem that keeps it from that."""
        sql = (
            "UPDATE discord SET posts = posts + (?2 IS NOT NULL AND ?2 IS NOT message),"
            " shown = ?1, message = ?2, problem = ?3, moves = iif(?6 = '', moves, ?6)"
            " WHERE race = ?4 AND webhook = ?5"
        )
        of_digest: Moves = {player: {} for player in sorted({*post.named, *players})}
        named = json.dumps(of_digest, ensure_ascii=False) if post.is_digest else ""
        shown = "" if waits else post.wanted
        self._connection.write(sql, shown, message, problem, post.race, post.webhook, named)

    def delayed(self) -> list[tuple[str, int, str | None]]:
        """Return the webhooks with waiting messages: the id, the number of them, and a problem."""
        sql = "SELECT webhook, count(*), max(problem) FROM discord WHERE shown <> wanted GROUP BY webhook"
        return [(row[0], row[1], row[2]) for row in self._connection.rows(sql)]
