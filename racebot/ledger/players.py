"""Players by id and name, with their profiles on the site: pictures, pronouns and names on Twitch.

Names are not unique on the site. The full name `name#1234`, with the account's discriminator, is. The view
`shown_players` adds the discriminator if two players in the ledger share a name.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from itertools import accumulate
from typing import Any

from racebot.errors import NoSuchEntryError
from racebot.ledger.connection import LedgerTable
from racebot.ledger.rows import CategoryProfile, Player, as_text
from racebot.races.result import NO_NAME, Entrant, Profile, RaceResult
from racebot.text.format import exact_time
from racebot.text.parse import fold_name, split_full_name

LEAST_LIKENESS = 75
"""Least likeness of a suggested name, 0 to 100 as rapidfuzz measures it: a typo or two in a name of ten."""

_ODD = {ord(each): " " for each in map(chr, range(128)) if not (each.isalnum() or each == "\n")} | {39: None}
"""What stands for an ASCII character that is no letter or digit: a space; nothing for an apostrophe."""


class Players(LedgerTable):
    def get(self, player: str) -> Player | None:
        return next(iter(self._select("players.id = ?", player)), None)

    def called(self, text: str, *, roughly: bool = False) -> list[Player]:
        """Return the players named `text`, ignoring case, with or without a discriminator.

        A player whose discriminator is still unknown matches any, unless another player matches exactly.
        With `roughly`, accents are ignored, too. Forgotten players are left out.
        """
        column, fold = ("letters", fold_name) if roughly else ("folded", str.casefold)
        where = f"{column} = ? AND {column} <> '' AND players.name <> ? ORDER BY players.id"
        full, found = split_full_name(text), self._select(where, fold(text), NO_NAME)
        if found or full is None:
            return found
        alike = self._select(where, fold(full[0]), NO_NAME)
        exact = [player for player in alike if player.discriminator == full[1]]
        return exact or [player for player in alike if not player.discriminator]

    def containing(self, text: str, limit: int = -1) -> list[str]:
        """Return the ids of players whose names contain `text`, ignoring case and accents.

        A text with a `#` may be part of a full name. Leaves out forgotten players. The shortest names come
        first. At most `limit` players; -1 means no limit.
        """
        wanted = fold_name(text)
        name = "letters || '#' || discriminator" if "#" in wanted else "letters"  # the latter is in an index
        sql = (
            f"SELECT id FROM players WHERE ?1 <> '' AND letters <> '' AND instr({name}, ?1)"  # noqa: S608
            " ORDER BY length(letters), letters, id LIMIT ?2"
        )
        return [as_text(key) for (key,) in self._connection.rows(sql, wanted, limit)]

    def like(self, text: str, limit: int) -> list[Player]:
        """Return players whose names contain `text` or differ from it by a typo in each word.

        Case, accents and punctuation are ignored. Leaves out forgotten players.
        """
        letters = fold_name(text)
        every = self._connection.value("SELECT group_concat(letters, char(10)) FROM players") or ""
        found = self.containing(text, limit) if "#" in letters or letters in every else []
        ids = dict.fromkeys(found + self._near(letters, every, limit - len(found)))
        return [player for each in ids if (player := self.get(each)) is not None]

    def named(self, text: str) -> list[Player]:
        """Return the players with an id or a name, ignoring case and, if no name matches, accents."""
        by_id = self.get(text)
        return [by_id] if by_id is not None else self.called(text) or self.called(text, roughly=True)

    def find(self, text: str) -> Player:
        """Return the one player with an id or a name, as `named` finds them, or raise `NoSuchEntryError`."""
        found = self.named(text)
        if not found:
            raise NoSuchEntryError(f"no player {text!r} in the ledger{self.hint(text)}")
        if len(found) > 1:
            raise NoSuchEntryError(
                f"{len(found)} players are named {text!r}. Choose one by full name or id: {choices(found)}"
            )
        return found[0]

    def save(self, result: RaceResult, *, current: bool) -> None:
        """Store the players of a race with their names.

        `current` results come from the site, which shows today's names even in old races. Names in an archive
        are as old as the race.
        """
        seen = exact_time(result.ended_at)
        letters = {e.name: "" if e.name == NO_NAME else fold_name(e.name) for e in result.entrants}
        # An archive may hold the id in place of a name; prefer any name to it.
        newer = "?6 OR excluded.last_seen >= last_seen"
        named = f"excluded.name <> id AND (name = id OR {newer})"
        columns = dict.fromkeys(("name", "folded", "letters"), named)
        columns["discriminator"] = f"excluded.discriminator <> '' AND (discriminator = '' OR {newer})"
        changes = (
            f"{each} = CASE WHEN {new} THEN excluded.{each} ELSE {each} END" for each, new in columns.items()
        )
        self._connection.write_many(
            "INSERT INTO players (id, name, folded, letters, discriminator, last_seen, numbered)"  # noqa: S608
            f" VALUES (?1, ?2, ?3, ?7, ?4, ?5, ?8) ON CONFLICT (id) DO UPDATE SET {', '.join(changes)},"
            " last_seen = max(last_seen, excluded.last_seen), numbered = max(numbered, excluded.numbered)",
            [
                (e.user_id, e.name, e.name.casefold(), number or "", seen, current, letters[e.name], shown)
                for e in result.entrants
                for number, shown in [(e.discriminator, bool(e.profile and e.profile.numbered))]
                if e.user_id is not None
            ],
        )
        Profiles(self._connection).save(result.entrants, current=current)

    def _near(self, letters: str, every: str, limit: int) -> list[str]:
        """Return the ids of players each word of `letters` may mean a word of, if they do not contain it."""
        if not letters or limit < 1:
            return []
        from rapidfuzz import fuzz, process  # noqa: PLC0415 - slow to import, and only typos need it

        # In few long texts, such as `every` name by line: folding and splitting each on its own takes longer.
        names, plain = every.split("\n"), _plain(every)
        lines = plain.split("\n")
        spaced = [row for row, line in enumerate(lines) if " " in line] or [0]
        words = " \n ".join([lines[row] for row in spaced]).split(" ")
        parts, owners = plain.replace(" ", "").split("\n") + words, list(range(len(lines)))

        def likeness(wanted: str) -> dict[int, float]:
            found = process.extract(wanted, parts, scorer=fuzz.ratio, score_cutoff=LEAST_LIKENESS, limit=None)
            if found and len(owners) < len(parts):  # the rows of the words, with a line's end between rows
                owners.extend(spaced[number] for number in accumulate(map("\n".__eq__, words)))
            return {owners[part]: score for _, score, part in reversed(found)}

        wanted = _plain(letters).split() or [letters]
        longest, *others = sorted(wanted, key=len, reverse=True)
        best = likeness(longest)
        for word in others:
            best = best and {row: min(n, best[row]) for row, n in likeness(word).items() if row in best}
        joined = likeness("".join(wanted)) if others else {}
        best |= {row: max(score, best.get(row, 0)) for row, score in joined.items()}
        near = sorted((row for row in best if letters not in names[row]), key=lambda row: (-best[row], row))
        chosen = dict.fromkeys(names[row] for row in near[:limit])
        sql = "SELECT players.id FROM json_each(?) CROSS JOIN players ON letters = value ORDER BY key LIMIT ?"
        return [as_text(key) for (key,) in self._connection.rows(sql, json.dumps(list(chosen)), limit)]

    def hint(self, text: str) -> str:
        """Return a question that names players with similar names, or an empty string."""
        near = self.like(text, 5)
        return f". Did you mean {choices(near)}?" if near else ""

    def _select(self, where: str, *values: Any) -> list[Player]:
        rows = self._connection.rows(
            "SELECT players.id, players.name, discriminator, shown_players.name"  # noqa: S608
            f" FROM players JOIN shown_players USING (id) WHERE {where}",
            *values,
        )
        return [Player(*map(as_text, row)) for row in rows]


class Profiles(LedgerTable):
    """The profiles in a ledger. Older ledgers have none until the site shows them again."""

    def save(self, entrants: Iterable[Entrant], *, current: bool) -> None:
        """Store the profiles of entrants, except of forgotten players.

        `current` ones come from the site, which shows today's profiles even in old races. Those of a file
        only fill gaps.
        """
        rows = [
            (e.user_id, e.profile.avatar, e.profile.pronouns, e.profile.twitch)
            for e in entrants
            if e.user_id is not None and e.profile is not None
        ]
        if not rows:
            return
        update = (
            "UPDATE SET avatar = excluded.avatar, pronouns = excluded.pronouns, twitch = excluded.twitch"
            " WHERE (avatar, pronouns, twitch) IS NOT (excluded.avatar, excluded.pronouns, excluded.twitch)"
        )
        self._connection.write_many(
            "INSERT INTO profiles (player, avatar, pronouns, twitch) SELECT ?1, ?2, ?3, ?4"  # noqa: S608
            " WHERE NOT EXISTS (SELECT 1 FROM orders WHERE kind = 'forget' AND subject = ?1)"
            f" ON CONFLICT (player) DO {update if current else 'NOTHING'}",
            rows,
        )

    def get(self, player: str) -> Profile:
        """Return a player's profile, which is empty if the site has not shown one yet."""
        row = self._connection.row("SELECT avatar, pronouns, twitch FROM profiles WHERE player = ?", player)
        return Profile() if row is None else Profile(*row)

    def all(self) -> dict[str, Profile]:
        rows = self._connection.rows("SELECT player, avatar, pronouns, twitch FROM profiles")
        return {row[0]: Profile(*row[1:]) for row in rows}

    def on_twitch(self, name: str) -> list[str]:
        """Return the players with a name on Twitch, in any case."""
        sql = "SELECT player FROM profiles WHERE twitch = ? COLLATE NOCASE AND twitch <> ''"
        return [row[0] for row in self._connection.rows(sql, name)]

    def remove(self, player: str) -> None:
        self._connection.write("DELETE FROM profiles WHERE player = ?", player)

    def save_category(self, slug: str, profile: CategoryProfile) -> None:
        if profile != self.category(slug):
            self._connection.save("categories", "slug", [{"slug": slug, **asdict(profile)}])

    def category(self, slug: str) -> CategoryProfile | None:
        """Return a category's name and picture, or None if the site has not shown them yet."""
        row = self._connection.row("SELECT name, image FROM categories WHERE slug = ?", slug)
        return None if row is None else CategoryProfile(*row)

    def pictures(self) -> list[str]:
        """Return the addresses of all pictures: categories first, then avatars of players with a rating."""
        rows = self._connection.rows(
            "SELECT image FROM categories WHERE image IS NOT NULL"
            " UNION ALL SELECT DISTINCT avatar FROM profiles"
            " WHERE avatar IS NOT NULL AND player IN (SELECT player FROM standings)"
        )
        return [row[0] for row in rows]


def _plain(letters: str) -> str:
    """Return folded names without punctuation, by line: `pat obrien` for `pat o'brien`."""
    plain = letters.translate(_ODD)
    return plain if plain.isascii() else re.sub(r"[^\w\n]", " ", plain)


def choices(players: Iterable[Player]) -> str:
    """Return players with their ids, to choose from."""
    return ", ".join(f"{each.shown} ({each.id})" for each in players)
