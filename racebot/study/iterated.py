"""Iterated Elo, which rates a whole history in several passes, along with a factor such as a faction.

Source: J. Snellman, "Rating system for asymmetric multiplayer games", section "The rating system",
https://www.snellman.net/blog/archive/2015-11-18-rating-system-for-asymmetric-multiplayer-games/. It is
not a `RatingModel`, because ratings also depend on later races.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, NamedTuple

import numpy as np

from racebot.races.outcome import IntArray, Outcome
from racebot.ratings.model import FloatArray
from racebot.ratings.parameters import Parameters, as_json, parameter, unobserved_or_tie
from racebot.study.history import History


class Match(NamedTuple):
    """One race: the indices of the entrants, and of their factors (such as factions) if they count: [n]."""

    players: IntArray
    outcome: Outcome
    factors: IntArray | None = None


class FinalRatings(NamedTuple):
    """Ratings at the end of a history: shapes [players] and [factors]."""

    players: FloatArray
    factors: FloatArray


@dataclass(frozen=True, kw_only=True)
class IteratedElo:
    """Elo over the pairs of each race, one pair at a time. Each pass starts where the last one ended.

    Players with fewer than `minimum_games` races, counted in the first pass, only affect each other, and no
    factors. Pairs go from the best place down, and by index, so that the listing does not matter.
    """

    key: ClassVar[str] = "iterated-elo"

    initial_rating: float = parameter(1000.0, help="rating of a player before the first pass")
    initial_factor: float = parameter(0.0, help="rating of a factor before the first pass")
    pot: float = parameter(16.0, help="largest change by one pair in the first pass", positive=True)
    passes: float = parameter(3.0, help="number of passes over the history", minimum=1.0)
    decay: float = parameter(2.0, help="each pass divides the pot by its number to this power", minimum=0.0)
    spread: float = parameter(400.0, help="rating lead that makes the odds ten to one", positive=True)
    minimum_games: float = parameter(5.0, help="races before a player affects other ratings", minimum=0.0)
    factor_weight: float = parameter(1.0, help="weight of the factor relative to the player", minimum=0.0)
    factor_pot: str = parameter(
        "single",
        help="whether factors move as fast as players, or by the pot again, as in the source's listing",
        choices=("single", "squared"),
    )
    dropouts: str = parameter(
        "counted",
        help="whether a loss by not finishing counts, with factor weight 0, or is ignored",
        choices=("counted", "ignored"),
    )
    unfinished: str = unobserved_or_tie()

    def fit(self, matches: Sequence[Match], players: int, factors: int = 0) -> FinalRatings:
        """Return the ratings of so many players and factors after all passes over a history, oldest first."""
        history = [(match, list(self._pairs(match))) for match in matches]
        rating, strength = [self.initial_rating] * players, [self.initial_factor] * max(factors, 1)
        games = [0] * players
        for number in range(1, round(self.passes) + 1):
            pot = self.pot / number**self.decay
            factor_pot = pot if self.factor_pot == "squared" else 1.0
            for match, pairs in history:
                entrants = match.players.tolist()
                chosen = [0] * len(entrants) if match.factors is None else match.factors.tolist()
                for i, j, won, dropped in pairs:
                    a, b = entrants[i], entrants[j]
                    weight = 0.0 if dropped or match.factors is None else self.factor_weight
                    lead = rating[a] - rating[b] + weight * (strength[chosen[i]] - strength[chosen[j]])
                    change = pot * (won - 1 / (1 + 10 ** (-lead / self.spread)))
                    known_a, known_b = games[a] >= self.minimum_games, games[b] >= self.minimum_games
                    if known_b or not known_a:
                        rating[a] += change
                    if known_a or not known_b:
                        rating[b] -= change
                    if known_a and known_b:
                        strength[chosen[i]] += weight * change * factor_pot
                        strength[chosen[j]] -= weight * change * factor_pot
                if number == 1:
                    for player in entrants:
                        games[player] += 1
        return FinalRatings(np.array(rating), np.array(strength[:factors]))

    def _pairs(self, match: Match) -> Iterator[tuple[int, int, float, bool]]:
        """Yield pairs of entrants, the score of the first, and whether one of them dropped out."""
        group, dropped = match.outcome.group.tolist(), match.outcome.unfinished.tolist()
        ranked = sorted(range(len(group)), key=lambda i: (group[i], match.players[i]))
        for a, b in combinations(ranked, 2):
            out = dropped[a] or dropped[b]
            if group[a] != group[b] and not (out and self.dropouts == "ignored"):
                yield a, b, 1.0, out
            elif group[a] == group[b] and self.unfinished == "tie":
                yield a, b, 0.5, out


@dataclass(frozen=True, slots=True)
class IteratedRating:
    """A player or a factor with its rating."""

    name: str
    rating: float
    races: int


@dataclass(frozen=True, slots=True)
class Iterated:
    """The ratings after all passes, highest first."""

    parameters: Parameters
    races: int
    players: list[IteratedRating]
    factors: list[IteratedRating]


def iterate(history: History, model: IteratedElo, factors: Mapping[tuple[str, str], str]) -> Iterated:
    """Rate a history, with factors by race name and player, which count where every entrant has one."""
    numbers = {name: i for i, name in enumerate(dict.fromkeys(factors.values()))}
    matches = []
    for race in history.races:
        chosen = [factors.get((race.name, history.players[player])) for player in race.players.tolist()]
        known = [numbers[name] for name in chosen if name is not None]
        complete = np.array(known, dtype=np.intp) if len(known) == len(chosen) else None
        matches.append(Match(race.players, race.outcome, complete))
    ratings = model.fit(matches, len(history.players), len(numbers))
    raced = [0] * len(numbers)
    for match in matches:
        for factor in () if match.factors is None else match.factors.tolist():
            raced[factor] += 1
    players = _ranked(history.names, ratings.players, history.races_of_players().tolist())
    return Iterated(as_json(model), len(history), players, _ranked(list(numbers), ratings.factors, raced))


def _ranked(names: Sequence[str], ratings: FloatArray, races: list[int]) -> list[IteratedRating]:
    rows = [IteratedRating(*row) for row in zip(names, ratings.tolist(), races, strict=True) if row[2]]
    return sorted(rows, key=lambda row: -row.rating)
