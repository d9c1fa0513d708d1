"""Finds the players that a chat command comes from and is about.

Their names have a discriminator if several players share one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from racebot.ledger.rows import Leaderboard, Player
from racebot.ledger.store import Ledger
from racebot.queries.player import NamedPlayer
from racebot.races.result import shown_names
from racebot.racetime.payload import Race
from racebot.settings.commands import CLOSING
from racebot.text.parse import fold_name, split_full_name

AROUND_NAMES = CLOSING + "\"'“”„«»()[]<>@"
"""What players type around a name, such as the brackets of `!rating [name]`."""
JOINING = {"and", "vs", "vs.", "versus", "&"}
"""Words that may stand between two names."""


def known_as(ledger: Ledger, person: NamedPlayer) -> NamedPlayer:
    """Return a person with the operators' orders applied: a merged account or forgotten name replaced.

    A player renamed on the site since the last race keeps the new name.
    """
    account = ledger.orders.account(person.id)
    player = ledger.players.get(account)
    renamed = player is None or (
        account == person.id
        and player.name.casefold() != person.name.casefold()
        and not ledger.orders.is_forgotten(account)
    )
    return NamedPlayer(account, person.name if player is None or renamed else player.shown)


def is_hidden_from(ledger: Ledger, asker: NamedPlayer, person: NamedPlayer) -> bool:
    """Return whether a player is hidden from the asker. Hidden players may ask about themselves."""
    return person.id != asker.id and ledger.orders.is_hidden(person.id)


def find_person(
    ledger: Ledger, board: Leaderboard, text: str, race: Race, asker: NamedPlayer
) -> NamedPlayer | None:
    """Return the player with a name or full name (`name#1234`), or None.

    If no name matches, names are compared in plain letters, and then without `AROUND_NAMES`. If several
    share a name, the one in the room is chosen, otherwise the one with most races. `me` may be the asker.
    """
    found = _people(race, text, str.casefold, ledger.players.called) or _people(
        race, text, fold_name, partial(ledger.players.called, roughly=True)
    )
    bare = text.strip(AROUND_NAMES)
    if not found and bare.casefold() == "me":
        return asker
    if not found and bare not in {"", text}:
        return find_person(ledger, board, bare, race, asker)

    def races(person: NamedPlayer) -> int:
        standing = ledger.standings.get(board, person.id)
        return standing.races if standing else -1

    return max(found, key=races, default=None)


def _people(
    race: Race, text: str, compared: Callable[[str], str], called: Callable[[str], list[Player]]
) -> list[NamedPlayer]:
    """Return the entrants with a name or, if there are none, the players of the ledger with it."""
    name, full = compared(text), split_full_name(text)
    parts = (compared(full[0]), full[1]) if full is not None else None
    shown = shown_names(race.entrants)
    in_room = {e.user_id: NamedPlayer(e.user_id, shown[e]) for e in race.entrants if e.user_id is not None}
    meant = [
        in_room[e.user_id]
        for e in race.entrants
        if e.user_id in in_room
        and (compared(e.name) == name or (compared(e.name), e.discriminator or "") == parts)
    ]
    return meant or [in_room.get(each.id, NamedPlayer(each.id, each.shown)) for each in called(text)]


def find_pair(
    ledger: Ledger, board: Leaderboard, text: str, race: Race, asker: NamedPlayer
) -> tuple[NamedPlayer, NamedPlayer] | str:
    """Return the two players to compare: two named players, or the asker and one named player.

    Names can contain spaces, so every space may separate them, with or without a word of `JOINING`. Return
    the name that was not found, or the whole text if it is unclear which part is the name.
    """

    def find(name: str) -> NamedPlayer | None:
        return find_person(ledger, board, name, race, asker)

    if (named := find(text)) is not None:
        return asker, named
    words, unknown = text.split(), text
    for cut in range(1, len(words)):
        rests = [words[cut:], words[cut + 1 :]] if words[cut].casefold() in JOINING else [words[cut:]]
        for rest in filter(None, rests):
            names = " ".join(words[:cut]), " ".join(rest).lstrip("@")
            one, other = map(find, names)
            if one is not None and other is not None:
                return one, other
            if one is not None or other is not None:
                unknown = names[one is not None]
    return unknown
