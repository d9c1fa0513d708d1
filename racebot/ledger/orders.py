"""Operators' orders, which forget, hide or merge players and exclude races from the ratings.

The ledger keeps every order with its date and reason. The last one about a player or race applies. Results
are stored with the orders applied: forgotten names are erased, and merged accounts become one account.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import StrEnum

from pydantic import AwareDatetime

from racebot.errors import NoSuchEntryError
from racebot.ledger.connection import Table
from racebot.ledger.discord import Posts
from racebot.ledger.players import Players, Profiles
from racebot.ledger.rows import Leaderboard, Player, moment_of, read, result_of
from racebot.ledger.schema import TIMES_OF_RACES
from racebot.races.result import HIDDEN_NAME, NO_NAME, Entrant, RaceResult

EXCLUDED = "excluded by the operator"
SKIPPED = "skipped by a moderator"
"""The notes of races that an order keeps from changing ratings."""


class OrderKind(StrEnum):
    """The kinds of orders."""

    FORGET = "forget"
    HIDE = "hide"
    UNHIDE = "unhide"
    MERGE = "merge"
    EXCLUDE = "exclude"
    INCLUDE = "include"
    SKIP = "skip"
    COUNT = "count"
    EVENT_CREATE = "event create"
    EVENT_ADD = "event add"
    EVENT_CLOSE = "event close"
    EVENT_REOPEN = "event reopen"
    EVENT_REMOVE = "event remove"
    ANNUL = "annul"
    RESTORE = "restore"


@dataclass(frozen=True, slots=True)
class Order:
    """One order about a player's id or a race's name. `target` is the account that a merge keeps.

    `by_player` says whether players gave it about themselves, in chat. An event's order has its name as the
    subject, and the room, sheet or player as its `target`. `author` is the moderator who gave it in chat.
    """

    given_at: AwareDatetime
    kind: OrderKind
    subject: str
    target: str | None
    reason: str
    by_player: bool = False
    author: str = ""


class Orders(Table):
    """The orders of a ledger. Write them in the transaction that also carries them out."""

    def all(self) -> list[Order]:
        """Return all orders ever given, oldest first."""
        return read(Order, self._connection.rows("SELECT * FROM orders ORDER BY id"))

    def last(self) -> int:
        """Return the number of the last order, 0 if there is none."""
        return int(self._connection.value("SELECT coalesce(max(id), 0) FROM orders"))

    def add(self, order: Order) -> None:
        Posts(self._connection).refresh(order.subject)
        self._connection.save("orders", "id", [asdict(order)])

    def is_hidden(self, player: str) -> bool:
        """Return whether a player is left out of lists. Forgotten players always are."""
        return bool(self._connection.value("SELECT 1 FROM hidden_players WHERE player = ?", player))

    def hiding(self, player: str) -> dict[bool, str]:
        """Return the reason of each order that hides a player, by whether the player gave it.

        Forgetting a player is an order of the operator.
        """
        sql = (
            "SELECT by_player, reason FROM orders WHERE subject = ?1 AND kind IN ('hide', 'forget') AND id >"
            " (SELECT coalesce(max(id), 0) FROM orders WHERE subject = ?1 AND kind = 'unhide')"
        )
        return {bool(by_player): reason for by_player, reason in self._connection.rows(sql, player)}

    def hidden(self) -> set[str]:
        """Return all players who are left out of lists."""
        return {row[0] for row in self._connection.rows("SELECT player FROM hidden_players")}

    def is_forgotten(self, player: str) -> bool:
        sql = "SELECT 1 FROM orders WHERE kind = 'forget' AND subject = ?"
        return bool(self._connection.value(sql, player))

    def excluded(self, board: Leaderboard) -> dict[str, str]:
        """Return the races that orders keep from changing a leaderboard's ratings, each with its note.

        Where a race needs a record, moderators skip it by not recording it.
        """
        kinds = [OrderKind.SKIP, OrderKind.EXCLUDE] if board.rule.finished else [OrderKind.EXCLUDE]
        notes = {OrderKind.SKIP: SKIPPED, OrderKind.EXCLUDE: EXCLUDED}
        return {race: notes[kind] for kind in kinds for race in self.under(kind)}

    def under(self, kind: OrderKind) -> set[str]:
        """Return the races that are excluded, or skipped."""
        sql = "SELECT race FROM excluded_races WHERE kind = ?"
        return {row[0] for row in self._connection.rows(sql, kind.value)}

    def last_about(self, race: str) -> datetime | None:
        """Return when the last order on whether a race counts by itself was given, or None."""
        sql = (
            "SELECT max(given_at) FROM orders WHERE (subject = ?1 AND kind IN ('skip', 'count'))"
            " OR (target = ?1 AND kind IN ('event add', 'event remove'))"
        )
        given_at = self._connection.value(sql, race)
        return given_at and moment_of(given_at)

    def last_of_event(self, room: str) -> Order | None:
        """Return the last order by which a room joined or left an event, or its event closed or reopened."""
        sql = (
            "SELECT * FROM orders WHERE (target = ?1 AND kind IN ('event add', 'event remove'))"
            " OR (kind IN ('event close', 'event reopen')"
            " AND subject = (SELECT event FROM event_sources WHERE name = ?1)) ORDER BY id DESC LIMIT 1"
        )
        return next(iter(read(Order, self._connection.rows(sql, room))), None)

    def subject(self, text: str) -> Player:
        """Return the player with an id or a full name, even one who has not raced but gave an order in chat.

        The ledger knows such a player by id only.

        Raises:
            NoSuchEntryError: as `Players.find_exactly` does.
        """
        try:
            return Players(self._connection).find_exactly(text)
        except NoSuchEntryError:
            sql = "SELECT 1 FROM orders WHERE subject = ? AND kind IN ('hide', 'unhide', 'forget')"
            if self.account(text) != text or not self._connection.value(sql, text):
                raise
            return Player(text, text, "", text)

    def account(self, player: str) -> str:
        """Return the account under which a player's races are rated, following merges."""
        return self.merged().get(player, player)

    def merged(self) -> dict[str, str]:
        """Return each merged account with the account under which its races are rated."""
        rows = self._connection.rows(
            "SELECT subject, target FROM orders WHERE kind = 'merge' ORDER BY id DESC"
        )
        merged: dict[str, str] = {}
        for subject, target in rows:  # the last merge first, so that its target is a kept account
            merged[subject] = merged.get(target, target)
        return merged

    def amended(self, result: RaceResult) -> RaceResult:
        """Return a result with the orders applied: forgotten names removed, merged accounts replaced.

        If both of two merged accounts entered a race, neither is replaced: two people raced.
        """
        return replace(result, entrants=self.amended_entrants(result.entrants))

    def amended_entrants(self, entrants: tuple[Entrant, ...]) -> tuple[Entrant, ...]:
        """Apply the orders to the entrants of one race, as `amended` does."""
        orders = self._connection.rows("SELECT kind, subject FROM orders WHERE kind IN ('forget', 'merge')")
        if not orders:
            return entrants
        merged: set[str] = {row["subject"] for row in orders if row["kind"] == OrderKind.MERGE}
        forgotten = {row["subject"] for row in orders if row["kind"] == OrderKind.FORGET}
        present = {e.user_id for e in entrants}
        renamed: dict[str, str] = {}
        amended = []
        for entrant in entrants:
            account = entrant.user_id
            if account in merged and (kept := self.account(account)) not in present:
                present.add(kept)
                renamed[account] = kept
            if account in renamed:  # more than once in a sheet with several attempts
                kept = renamed[account]
                entrant = replace(entrant, user_id=kept, profile=None)  # noqa: PLW2901
                if player := Players(self._connection).get(kept):
                    named = player.discriminator or None
                    entrant = replace(entrant, name=player.name, discriminator=named)  # noqa: PLW2901
            if entrant.user_id in forgotten:
                entrant = replace(entrant, name=NO_NAME, discriminator=None, profile=None)  # noqa: PLW2901
            amended.append(entrant)
        return tuple(amended)

    def masked(self, result: RaceResult, name: str = HIDDEN_NAME) -> RaceResult:
        """Return a result with `name` in place of the names of hidden players."""
        hidden = self.hidden()
        entrants = tuple(
            replace(entrant, name=name, discriminator=None, profile=None)
            if entrant.user_id in hidden and entrant.name != NO_NAME
            else entrant
            for entrant in result.entrants
        )
        return replace(result, entrants=entrants) if hidden else result

    def amend_stored(self, player: str, corrected_at: datetime | None = None) -> None:
        """Apply the orders to a player's stored name and to all stored results with this player.

        A merge, which changes ratings, gives the time of the correction.

        Raises:
            DamagedRaceError: one of these results cannot be read.
        """
        for name, result, fingerprint in self._results_with(player):
            amended = self.amended(result)
            intact = result.fingerprint() == fingerprint  # a damaged result must stay recognizable as damaged
            self._connection.races_written.add(name)
            sql = (
                "UPDATE races SET result = ?, fingerprint = ?, corrected_at = coalesce(?, corrected_at)"
                " WHERE name = ?"
            )
            mark = amended.fingerprint() if intact else fingerprint
            self._connection.write(sql, amended.to_json(), mark, corrected_at, name)
            self._connection.write(f"{TIMES_OF_RACES} AND name = ?", name)
        if self.is_forgotten(player):
            sql = "UPDATE players SET name = ?, folded = ?, letters = '', discriminator = '' WHERE id = ?"
            self._connection.write(sql, NO_NAME, NO_NAME.casefold(), player)
            Profiles(self._connection).remove(player)

    def races_with(self, player: str) -> list[str]:
        """Return the names of all stored races with this player, or raise `DamagedRaceError`."""
        return [name for name, _, _ in self._results_with(player)]

    def _results_with(self, player: str) -> list[tuple[str, RaceResult, str]]:
        """Return the name, result and stored fingerprint of all races with this player, by name."""
        sql = "SELECT name, result, fingerprint FROM races WHERE instr(result, ?) ORDER BY name"
        rows = self._connection.rows(sql, json.dumps(player, ensure_ascii=False))
        found = [(row[0], result_of(row[0], row[1]), row[2]) for row in rows]
        return [each for each in found if player in {e.user_id for e in each[1].entrants}]

    def leaderboards_with(self, player: str) -> set[int]:
        """Return the keys of the leaderboards that a player is on or carried a rating into."""
        rows = self._connection.rows(
            "SELECT leaderboard FROM standings WHERE player = ?1"
            " UNION SELECT leaderboard FROM carried WHERE player = ?1"
            " UNION SELECT leaderboard FROM changes WHERE player = ?1",
            player,
        )
        return {row[0] for row in rows}

    def remove_merged_players(self) -> None:
        """Delete merged accounts, except those that a leaderboard refers to until it is rated again."""
        merged = "IN (SELECT subject FROM orders WHERE kind = 'merge')"
        used = " AND ".join(
            "NOT EXISTS (SELECT 1 FROM leaderboards"  # noqa: S608 - ours
            f" JOIN {table} ON leaderboard = leaderboards.id AND player = players.id)"
            for table in ("changes", "standings", "carried")
        )
        self._connection.write(f"DELETE FROM players WHERE id {merged} AND {used}")  # noqa: S608
        self._connection.write(
            f"DELETE FROM profiles WHERE player {merged} AND player NOT IN (SELECT id FROM players)"  # noqa: S608
        )
