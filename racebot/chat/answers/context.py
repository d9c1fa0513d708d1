"""Shared by all answers: the leaderboard in question, and phrases about players on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from racebot.chat.format import ordinal, shown_points
from racebot.chat.rating_message import MESSAGE_LIMIT
from racebot.ledger.rows import Leaderboard, Standing
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import place_among
from racebot.queries.listing import Listing
from racebot.queries.player import NamedPlayer
from racebot.races.change import Change
from racebot.racetime.payload import Race
from racebot.settings.commands import CommandNames
from racebot.settings.texts import Texts
from racebot.standings.settle import Preview, RatedRace, Settler
from racebot.text.safe import plain

Draft = Callable[[], str]
"""Composes an answer without the ledger, on any thread."""


@dataclass(frozen=True, slots=True)
class Links:
    """Return the addresses of a leaderboard's page and of two players' comparison; None without a page."""

    board: Callable[[Leaderboard], str | None] = lambda _: None
    comparison: Callable[[Leaderboard, str, str], str | None] = lambda *_: None


@dataclass(frozen=True, slots=True)
class Context:
    """A leaderboard, stored or not, and everything that an answer about it uses."""

    board: Leaderboard
    listing: Listing
    settler: Settler
    texts: Texts
    names: CommandNames
    links: Links
    preview: Callable[[Preview], RatedRace]

    @property
    def ledger(self) -> Ledger:
        return self.settler.ledger

    def standing(self, person: NamedPlayer) -> Standing | None:
        """Return a player's stored standing."""
        return self.ledger.standings.get(self.board, person.id)

    def is_ranked(self, standing: Standing | None, coming: Change | None = None) -> bool:
        """Return whether a player has enough finishes to be ranked, counting a race to come if given."""
        finishes = standing.finishes if standing else 0
        finishes += coming is not None and coming.place is not None
        return finishes >= self.listing.minimum_finishes

    @property
    def name(self) -> str:
        """Return the leaderboard's name, safe to show."""
        return plain(self.board.name)

    def pending(self, race: Race, person: NamedPlayer) -> Preview | None:
        """Return a preview of the room's race if it is finished, not settled, and has this player."""
        result = race.result
        if result is None or not result.final or not self.settler.rules.counts(result):
            return None
        if self.ledger.races.has(result.name):
            return None
        found = (each for each in self.settler.previews(result) if each.leaderboard.name == self.board.name)
        return next((each for each in found if person.id in {e.user_id for e in each.result.entrants}), None)

    def standing_phrase(self, person: NamedPlayer, standing: Standing) -> str:
        """Write a player's points and place, or why the player has none."""
        return self.texts.rating.format(
            name=plain(person.name),
            points=shown_points(standing.points, self.texts, ranked=self.is_ranked(standing)),
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
        if standing.hidden:
            return texts.rating_hidden
        if standing.finishes < needed:
            missing = needed - standing.finishes
            text = texts.rating_one_missing if missing == 1 else texts.rating_too_few
            return text.format(missing=missing)
        latest = self.ledger.standings.latest_race(self.board) or standing.last_race_at
        return texts.rating_inactive.format(days=(latest - standing.last_race_at).days)


def finished(text: str) -> Draft:
    """Return a draft of an answer that needs no more work."""
    return lambda: text


def change_of(rated: RatedRace, person: NamedPlayer) -> Change | None:
    """Return what a race did to one player."""
    return next((change for change in rated.changes if change.player == person.id), None)


def unknown_player(context: Context, text: str) -> str:
    """Say that no player has this name, without repeating it."""
    hidden = context.ledger.orders.hidden()
    found = context.ledger.players.like(text, 3) if text.partition("#")[0] else []
    alike = ", ".join(plain(player.shown) for player in found if player.id not in hidden)
    suggestion = context.texts.did_you_mean.format(names=alike) if alike else ""
    return f"{context.texts.unknown_player.format()} {suggestion}".strip()


def one_message(phrases: Iterable[str], texts: Texts, opening: str = "") -> str:
    """Join phrases to one message, leaving out the last ones if it would be too long."""
    text, between = opening, ""
    for phrase in filter(None, phrases):
        longer = text + between + phrase
        if len(longer) > MESSAGE_LIMIT:
            break
        text, between = longer, texts.separator
    return text[:MESSAGE_LIMIT]
