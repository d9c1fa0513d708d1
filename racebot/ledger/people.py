"""Who may be named, under which name, and whose account an id is.

Orders hide, forget and merge players. Results are stored with the orders applied: forgotten names are erased,
and merged accounts become one account. Hidden names are stored, and masked where they are shown.
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Protocol, TypeVar

from racebot.errors import NoSuchEntryError
from racebot.ledger.connection import LedgerTable
from racebot.ledger.players import Players, Profiles, choices
from racebot.ledger.rows import RESTORE, NamedPlayer, Player, as_text, readable, result_of
from racebot.ledger.schema import TIMES_OF_RACES
from racebot.races.result import HIDDEN_NAME, NO_NAME, Entrant, RaceResult
from racebot.text.parse import split_full_name

_NAME = (
    "CASE WHEN id IN (SELECT player FROM main.hidden_players)"  # noqa: S608 - constants only
    f" AND name <> '{NO_NAME}' THEN '{HIDDEN_NAME}' ELSE name END AS name"
)
_MASKED = {
    "players": f"id, {_NAME}, last_seen, folded, letters, discriminator FROM main.players",
    "shown_players": f"id, {_NAME} FROM main.shown_players",
    "profiles": "* FROM main.profiles WHERE player NOT IN (SELECT player FROM main.hidden_players)",
}
"""Views without the names and profiles of hidden players, by the table that each stands in for."""


class _HasEntrants(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def entrants(self) -> tuple[Entrant, ...]: ...


Entered = TypeVar("Entered", bound=_HasEntrants)
"""A result, or a room of the site."""


class People(LedgerTable):
    """The players of a ledger as the orders leave them."""

    masks = False

    def mask(self) -> None:
        """Hide the names and profiles of hidden players from all that this connection reads."""
        # SQLite looks a name up among temporary views before the tables of the file, which are not changed.
        # Source: https://www.sqlite.org/lang_naming.html
        self._connection.write("PRAGMA temp_store = MEMORY")
        for name, columns in _MASKED.items():
            self._connection.write(f"CREATE TEMP VIEW {name} AS SELECT {columns}")
        self.masks = True

    def withheld(self) -> set[str]:
        """Return the players whose ids must not be shown: the hidden ones, once `mask` hides them."""
        return self.hidden() if self.masks else set()

    @readable("player", RESTORE)
    def names(self, players: Iterable[str]) -> dict[str, str]:
        """Return the names of players to show, by id; `NO_NAME` for players no longer in the ledger."""
        wanted = list(players)
        rows = self._connection.rows(
            "SELECT shown_players.id, name FROM json_each(?) AS wanted"
            " CROSS JOIN shown_players ON shown_players.id = wanted.value",
            json.dumps(wanted),
        )
        return dict.fromkeys(wanted, NO_NAME) | {row[0]: as_text(row[1]) for row in rows}

    def similar(self, text: str, limit: int) -> list[str]:
        """Return the names of up to `limit` players whom a text may mean, as `Players.like` finds them."""
        hidden = self.hidden()
        found = Players(self._connection).like(text, limit)
        return [player.shown for player in found if player.id not in hidden]

    def hidden(self) -> set[str]:
        """Return all players who are left out of lists."""
        return {row[0] for row in self._connection.rows("SELECT player FROM hidden_players")}

    def is_hidden(self, player: str) -> bool:
        """Return whether a player is left out of lists. Forgotten players always are."""
        return bool(self._connection.value("SELECT 1 FROM hidden_players WHERE player = ?", player))

    def hiding(self, player: str) -> dict[bool, str]:
        """Return the reason of each order that hides a player, by whether the player gave it.

        Forgetting a player is an order of the operator.
        """
        sql = "SELECT by_player, reason FROM orders_in_force WHERE subject = ? AND kind IN ('hide', 'forget')"
        return {bool(by_player): reason for by_player, reason in self._connection.rows(sql, player)}

    def is_forgotten(self, player: str) -> bool:
        return player in self._forgotten()

    def _forgotten(self) -> set[str]:
        return {row[0] for row in self._connection.rows("SELECT subject FROM orders WHERE kind = 'forget'")}

    def account(self, player: str) -> str:
        """Return the account under which a player's races are rated, following merges."""
        return self.merged().get(player, player)

    def merged(self) -> dict[str, str]:
        """Return each merged account with the account under which its races are rated."""
        # The last merge comes first, so that its target is a kept account.
        sql = "SELECT subject, target FROM orders WHERE kind = 'merge' ORDER BY id DESC"
        merged: dict[str, str] = {}
        for subject, target in self._connection.rows(sql):
            merged[subject] = merged.get(target, target)
        return merged

    def known(self, person: NamedPlayer) -> NamedPlayer:
        """Return a person from the site with the account and the name that the ledger has for them."""
        account = self.account(person.id)
        player = Players(self._connection).get(account)
        return NamedPlayer(account, person.name if player is None else player.shown)

    def subject(self, text: str) -> Player:
        """Return the one player with an id or a full name. A name alone never matches.

        Players who have not raced but gave an order in chat are known by id only. None, or more than one, is
        a `NoSuchEntryError`.
        """
        players, full = Players(self._connection), split_full_name(text)
        if (player := players.get(text)) is not None:
            return player
        exact = [each for each in players.called(text) if full and each.discriminator == full[1]]
        if len(exact) == 1:
            return exact[0]
        sql = "SELECT 1 FROM orders WHERE subject = ? AND kind IN ('hide', 'unhide', 'forget')"
        if self.account(text) == text and self._connection.value(sql, text):
            return Player(text, text, "", text)
        called = players.named(text)
        hint = f". Did you mean {choices(called)}? Give the id shown" if called else players.hint(text)
        raise NoSuchEntryError(f"{text!r} is not the id or name#1234 of a player in the ledger{hint}")

    def penalized(self, race: str, entrants: Iterable[Entrant]) -> list[Entrant]:
        """Return entrants with the penalties that orders give them in a race."""
        entrants = list(entrants)
        sql = "SELECT target, amount, reason FROM orders_in_force WHERE subject = ? AND kind = 'penalty'"
        if orders := self._connection.rows(f"{sql} ORDER BY id", race):
            ids, merged, forgotten = {e.user_id for e in entrants}, self.merged(), self._forgotten()
            found = {t if t in ids else merged.get(t, t): (amount, why) for t, amount, why in orders}
            for index, each in enumerate(entrants):
                if each.user_id in found:
                    amount, why = found[each.user_id]
                    entrants[index] = each.penalized(amount, "" if each.user_id in forgotten else why)
        return entrants

    def amended(self, result: Entered) -> Entered:
        """Return a result, or a room, with forgotten names removed, merged accounts replaced, and penalties.

        If several accounts of one person entered a race, none is replaced: several people raced.
        """
        sql = "SELECT 1 FROM orders WHERE kind IN ('merge', 'forget') OR (kind = 'penalty' AND subject = ?)"
        if self._connection.value(sql, result.name) is None:
            return result
        merged, forgotten = self.merged(), self._forgotten()
        owners = Counter(merged.get(each, each) for each in {e.user_id for e in result.entrants if e.user_id})
        amended = []
        for entrant in result.entrants:
            kept = merged.get(entrant.user_id or "")
            if kept is not None and owners[kept] == 1:
                entrant = replace(entrant, user_id=kept, profile=None)  # noqa: PLW2901
                if player := Players(self._connection).get(kept):
                    named = player.discriminator or None
                    entrant = replace(entrant, name=player.name, discriminator=named)  # noqa: PLW2901
            if entrant.user_id in forgotten:
                entrant = replace(entrant, name=NO_NAME, discriminator=None, profile=None)  # noqa: PLW2901
            amended.append(entrant)
        return replace(result, entrants=tuple(self.penalized(result.name, amended)))  # type: ignore[type-var]

    def masked(self, result: RaceResult, name: str = HIDDEN_NAME) -> RaceResult:
        """Return a result with `name` in place of the names of hidden players."""
        hidden = self.hidden()
        entrants = tuple(
            replace(entrant, name=name, discriminator=None, profile=None, penalty_reason=None)
            if entrant.user_id in hidden and entrant.name != NO_NAME
            else entrant
            for entrant in result.entrants
        )
        return replace(result, entrants=entrants) if hidden else result

    def apply(self, player: str, corrected_at: datetime | None = None) -> None:
        """Apply the orders to a player's stored name and to all stored results with this player.

        A merge, which changes ratings, gives the time of the correction. A result that cannot be read is a
        `DamagedRaceError`.
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
        sql = "SELECT id, race, result FROM discord WHERE instr(result, ?)"
        for key, race, text in self._connection.rows(sql, json.dumps(player, ensure_ascii=False)):
            text = self.amended(result_of(race, text)).to_json()  # noqa: PLW2901
            self._connection.write("UPDATE discord SET result = ? WHERE id = ?", text, key)
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

    def remove_merged_players(self) -> None:
        """Delete merged accounts, except those that a stored race or a leaderboard still refers to."""
        merged = "IN (SELECT subject FROM orders WHERE kind = 'merge')"
        used = " AND ".join(
            "NOT EXISTS (SELECT 1 FROM leaderboards"  # noqa: S608 - ours
            f" JOIN {table} ON leaderboard = leaderboards.id AND player = players.id)"
            for table in ("changes", "standings", "carried")
        )
        raced = "EXISTS (SELECT 1 FROM races WHERE instr(result, json_quote(players.id)))"
        self._connection.write(f"DELETE FROM players WHERE id {merged} AND {used} AND NOT {raced}")  # noqa: S608
        self._connection.write(
            f"DELETE FROM profiles WHERE player {merged} AND player NOT IN (SELECT id FROM players)"  # noqa: S608
        )
