"""Shared by all answers: the leaderboard in question, the players meant, and phrases about them.

Names have a discriminator if several players share one.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from racebot.chat.format import ordinal
from racebot.chat.rating_message import MESSAGE_LIMIT
from racebot.ledger.rows import Change, Leaderboard, NamedPlayer, Player, Standing
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import place_among
from racebot.queries.standings import Listing, listing_of
from racebot.races.result import shown_names
from racebot.racetime.payload import Race
from racebot.settings.commands import CLOSING
from racebot.settings.model import Settings
from racebot.settings.texts import Texts
from racebot.standings.settle import RatedRace, Settler
from racebot.text.format import Count, integer
from racebot.text.parse import fold_name, split_full_name
from racebot.text.safe import plain

AROUND_NAMES = CLOSING + "\"'“”„«»()[]<>@"
"""What players type around a name, such as the brackets of `!rating [name]`."""


@dataclass(frozen=True, slots=True)
class Context:
    """A leaderboard, stored or not, and everything that an answer about it uses."""

    board: Leaderboard
    settler: Settler
    settings: Settings

    @property
    def ledger(self) -> Ledger:
        return self.settler.ledger

    @property
    def texts(self) -> Texts:
        return self.settings.texts

    @property
    def listing(self) -> Listing:
        return listing_of(self.settings, self.board)

    @property
    def name(self) -> str:
        """Return the leaderboard's name, safe to show."""
        return plain(self.board.name)

    def standing(self, person: NamedPlayer) -> Standing | None:
        """Return a player's stored standing."""
        return self.ledger.standings.get(self.board, person.id)

    def pending(self, race: Race) -> RatedRace | None:
        """Return what the room's race will change if it is finished and not settled."""
        result = race.result
        if result is None or not result.final or not self.settler.rules.counts(result):
            return None
        if self.ledger.races.has(result.name):
            return None
        return next(iter(self.settler.preview(result, self.board.name)), None)

    def standing_phrase(self, person: NamedPlayer, standing: Standing) -> str:
        """Write a player's points and place, or why the player has none."""
        return self.texts.rating.format(
            name=plain(person.name),
            points=integer(standing.points),
            standing=self._place(standing),
            leaderboard=self.name,
        )

    def link_phrase(self, url: str | None) -> str:
        return self.texts.link.format(url=url) if url else ""

    def _place(self, standing: Standing) -> str:
        texts, needed = self.texts, self.listing.minimum_finishes
        place, listed = place_among(self.ledger, self.board, standing, self.listing)
        if place is not None:
            return texts.rating_place.format(place=place, ordinal=ordinal(place, texts), listed=listed)
        if standing.finishes < needed and not standing.hidden:
            return texts.rating_too_few.format(missing=Count(needed - standing.finishes))
        latest = self.ledger.standings.latest_race(self.board) or standing.last_race_at
        days = (latest - standing.last_race_at).days
        return texts.rating_unlisted.format(hidden=Count(standing.hidden), days=days)


def change_of(rated: RatedRace | None, person: NamedPlayer) -> Change | None:
    """Return what a race, if there is one, did to one player."""
    return next((change for change in rated.changes if change.player == person.id), None) if rated else None


def find_person(context: Context, text: str, race: Race) -> NamedPlayer | None:
    """Return the player with a name or full name (`name#1234`), or None.

    If no name matches, names are compared in plain letters, and then without `AROUND_NAMES`. If several
    share a name, the one in the room is chosen, otherwise the one with most races.
    """
    called = context.ledger.players.called
    found = _people(race, text, str.casefold, called) or _people(
        race, text, fold_name, partial(called, roughly=True)
    )
    bare = text.strip(AROUND_NAMES)
    if not found and bare not in {"", text}:
        return find_person(context, bare, race)

    def races(person: NamedPlayer) -> int:
        standing = context.standing(person)
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


def unknown_player(context: Context, text: str) -> str:
    """Say that no player has this name, without repeating it."""
    found = context.ledger.people.similar(text, 3) if text.partition("#")[0] else []
    alike = ", ".join(map(plain, found))
    return context.texts.unknown_player.format(names=alike, alike=Count(bool(alike)))


def one_message(phrases: Iterable[str], texts: Texts, opening: str = "") -> str:
    """Join phrases to one message, leaving out the last ones if it would be too long."""
    text, between = opening, ""
    for phrase in filter(None, phrases):
        longer = text + between + phrase
        if len(longer) > MESSAGE_LIMIT:
            break
        text, between = longer, texts.separator
    return text[:MESSAGE_LIMIT]
