"""Explains a rating change: its parts in points, the actual and expected place, and the decisive opponents.

The place part is explained in places. The expected place minus the place is the sum over opponents of

    (1 if beaten, 0 otherwise) − chance to beat them

so each opponent's term is exact, the terms add up, and no race is rated again. Opponents in the
player's own group are left out, because their order was not observed. A model that predicts finishing
(`PredictsFinish`) compares finishers with each other only. Other models compare everyone. If teams are rated,
places and opponents are teams. Pages, the API and the terminal use the default words of chat.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from racebot.ledger.rows import Change
from racebot.queries import ShownId
from racebot.races.outcome import BoolArray, IntArray, Outcome, TeamPolicy, outcome_of
from racebot.races.result import Entrant, EntrantStatus, RaceResult
from racebot.ratings.forecast import expected_places, faster_chances, finish_chances, team_forecasts
from racebot.ratings.model import FloatArray, PredictsFinish, RatingModel
from racebot.settings.texts import DEFAULT_TEXTS, Texts
from racebot.text.format import Count, percentage, signed

NAMED = 3  # most opponents to name among those that moved the rating in the direction of the place part
LEAST = 0.1  # smallest term, in places, of an opponent worth naming


class Rule(StrEnum):
    """A rule that reduced a change, or made it ±0; `rules_in` says what each means."""

    FORFEIT = "forfeit"
    FLOOR = "floor"
    WINNER = "winner"
    LAST = "last"
    UNFINISHED = "unfinished"
    SMALL = "small"


class ReasonKind(StrEnum):
    """The kinds of reasons: the parts of a change, and opponents beaten or lost to against expectation."""

    UNCHANGED = "unchanged"
    UNFINISHED = "unfinished"
    FINISH = "finish"
    PLACE = "place"
    LIMIT = "limit"
    AS_EXPECTED = "as_expected"
    GAINED = "gained"
    COST = "cost"


@dataclass(frozen=True, slots=True)
class Opponent:
    """An opponent whose result moved a rating, or a member of an opposing team, with the team's name.

    `chance` is that to beat the opponent, before the race.
    """

    player: ShownId
    beaten: bool
    chance: float
    team: str | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason for a rating change.

    `points` are the points that it accounts for, and `chance` is the chance to finish before the race.
    """

    kind: ReasonKind
    points: int | None = None
    chance: float | None = None
    rule: Annotated[Rule | None, Field(description="The rule behind `limit` and `unchanged`")] = None
    opponents: tuple[Opponent, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one entrant's rating changed: `finish_points`, `place_points` and `limit_points` add up to it.

    Attributes:
        finish_points: for finishing or not; None if the model does not rate that separately.
        unchanged: why the change is ±0; None for any other change, and if its parts cancel out.
        place: among the `compared` entrants; tied entrants share the best of their places.
        expected: mean place that the ratings before the race predict.
        actual: the place; tied entrants share the mean of their places.
        pushed: opponents that moved the rating as the place part did, largest effect first, if any.
        opposed: the opponent with the largest effect in the other direction; only if `pushed` is not empty.
    """

    change: int
    finish_points: int | None
    place_points: int
    limit: Rule | None
    limit_points: int
    unchanged: Rule | None
    status: EntrantStatus
    finish_chance: float | None
    place: int
    expected: float
    actual: float
    compared: int
    pushed: tuple[Opponent, ...]
    opposed: Opponent | None

    @property
    def finished(self) -> bool:
        return self.status is EntrantStatus.DONE

    @property
    def compares(self) -> bool:
        """Return whether the model compared the place with others. Hurdle models do not for a DNF."""
        return self.compared > 1 and (self.finished or self.finish_chance is None)

    def without(self, players: Collection[str]) -> Explanation:
        """Return the explanation without the ids of some players."""

        def shown(opponent: Opponent) -> Opponent:
            return replace(opponent, player=None) if opponent.player in players else opponent

        if not players:
            return self
        opposed = self.opposed and shown(self.opposed)
        return replace(self, pushed=tuple(map(shown, self.pushed)), opposed=opposed)

    def reasons(self) -> list[Reason]:
        """Return the reasons for the change: its parts, then the opponents."""
        if self.unchanged is not None:
            return [Reason(ReasonKind.UNCHANGED, rule=self.unchanged)]
        found = []
        if not self.finished and self.finish_chance is not None:
            found.append(Reason(ReasonKind.UNFINISHED, chance=self.finish_chance))
        elif self.finish_points is not None:
            found.append(Reason(ReasonKind.FINISH, points=self.finish_points))
            if self.compares:
                found.append(Reason(ReasonKind.PLACE, points=self.place_points))
        if self.limit is not None:
            found.append(Reason(ReasonKind.LIMIT, points=self.limit_points, rule=self.limit))
        if self.compares and not self.pushed:
            found.append(Reason(ReasonKind.AS_EXPECTED))
        opposed = (self.opposed,) if self.opposed else ()
        for opponents in filter(None, (self.pushed, opposed)):
            kind = ReasonKind.GAINED if opponents[0].beaten else ReasonKind.COST
            found.append(Reason(kind, opponents=opponents))
        return found


class _Compared(NamedTuple):
    """How the units of a race, which are entrants or rated teams, compare: what was expected, and the result.

    Attributes:
        unit, first: the unit of each entrant [entrants], and the first entrant of each unit [units].
        finish: each one's chance to finish [units], if the model predicts it.
        expected: each one's mean place [units].
        among: whether the row's place counts the column [units, units].
        behind: 1 where the column is behind the row, 0 where they are level, otherwise -1 [units, units].
        terms: places that the row gained or lost against the column, by result minus chance [units, units].
        chance: the row's chance to beat the column [units, units].
    """

    unit: IntArray
    first: IntArray
    finish: FloatArray | None
    expected: FloatArray
    among: BoolArray
    behind: IntArray
    terms: FloatArray
    chance: FloatArray

    @classmethod
    def of(cls, model: RatingModel, outcome: Outcome, states: FloatArray) -> _Compared:
        if outcome.team is None:
            first = unit = np.arange(outcome.size)
            chance, finish, overall = faster_chances(model, states), finish_chances(model, states), None
        else:
            # A member's change is explained by the team's result, and opponents are teams.
            _, first, unit = np.unique(outcome.team, return_index=True, return_inverse=True)
            chance, finish, overall = team_forecasts(model, states, unit)
        group, predicts = outcome.group[first], isinstance(model, PredictsFinish)
        compared = ~outcome.unfinished[first] if predicts else np.ones(len(first), dtype=np.bool_)
        # An entrant that is not compared still gets a place among everyone.
        among = np.where(compared[:, np.newaxis], compared, True)
        np.fill_diagonal(among, val=False)
        behind = np.sign(group[np.newaxis, :] - group[:, np.newaxis])
        expected = 1.0 + np.where(among, 1.0 - chance, 0.0).sum(1)
        if not compared.all():
            overall = expected_places(model, states) if overall is None else overall
            expected = np.where(compared, expected, overall)
        observed = among & compared[:, np.newaxis] & (behind != 0)
        terms = np.where(observed, (behind > 0) - chance, 0.0)
        return cls(unit, first, finish if predicts else None, expected, among, behind, terms, chance)


def explain_race(
    model: RatingModel, teams: TeamPolicy, result: RaceResult, changes: Iterable[Change]
) -> dict[str, tuple[Entrant, Explanation]]:
    """Explain the changes of all rated entrants, by user id in the order of the result."""
    race, by_player = outcome_of(result, teams), {change.player: change for change in changes}
    outcome = race.outcome
    entrants = [
        (entrant, by_player[player]) for entrant, player in zip(race.entrants, race.players, strict=True)
    ]
    found = _Compared.of(model, outcome, np.array([change.before for _, change in entrants]))
    parts = [dict(change.parts) or {"place": change.points_change} for _, change in entrants]
    pushed, opposed = _named(found.terms[found.unit], np.array([each["place"] for each in parts]))
    opposing = [entrants[i] for i in found.first.tolist()]
    names = [None if outcome.team is None else each.team_name or each.team for each, _ in opposing]
    # Single values are read much faster from lists than from arrays.
    beaten, chances, expected = (each.tolist() for each in (found.behind > 0, found.chance, found.expected))
    finishes = [None] * len(opposing) if found.finish is None else found.finish.tolist()
    counts = (found.behind < 0, found.behind == 0, np.True_)
    ahead, level, others = ((each & found.among).sum(1).tolist() for each in counts)
    floor = getattr(model, "floor", None)
    ratings = model.rating(np.array([change.after for _, change in entrants]))
    floored = (ratings <= (-np.inf if floor is None else floor)).tolist()
    explained = {}
    for i, (k, (entrant, change)) in enumerate(zip(found.unit.tolist(), entrants, strict=True)):
        limit_points = parts[i].get("limit", 0)
        limit, unchanged = _rules(outcome, i, change, limit_points, at_floor=floored[i])
        team_is_out = entrant.finished and change.place is None
        opponents = [
            Opponent(opposing[j][1].player, beaten[k][j], chances[k][j], names[j])
            for j in [*pushed[i], *opposed[i]]
        ]
        explanation = Explanation(
            change=change.points_change,
            finish_points=parts[i].get("finish"),
            place_points=parts[i]["place"],
            limit=limit,
            limit_points=limit_points,
            unchanged=unchanged,
            status=EntrantStatus.DNF if team_is_out else entrant.status,
            finish_chance=finishes[k],
            place=1 + ahead[k],
            expected=expected[k],
            actual=1.0 + ahead[k] + level[k] / 2,
            compared=1 + others[k],
            pushed=tuple(opponents[: len(pushed[i])]),
            opposed=opponents[-1] if opposed[i] else None,
        )
        explained[change.player] = (entrant, explanation)
    return explained


def _named(terms: FloatArray, place_points: IntArray) -> tuple[list[list[int]], list[list[int]]]:
    """Choose the opponents to name in each row: those that explain the place part, and one that opposed it.

    `terms` are the places that each row's player gained or lost against each opponent.
    """
    signed = np.sign(place_points)[:, np.newaxis] * terms
    order = np.argsort(-signed, axis=1, kind="stable")
    size = np.take_along_axis(signed, order, 1)
    # A third name is worth its space only if it weighs at least half as much as the first.
    least = np.full((len(size), NAMED), LEAST)
    least[:, 2] = np.maximum(LEAST, size[:, 0] / 2)
    largest = size[:, :NAMED]
    count = np.sum(largest >= least[:, : largest.shape[1]], axis=1) * (signed.sum(1) > 0)
    opposes = (count > 0) & (size[:, -1] <= -LEAST)
    pushed = [row[:number] for row, number in zip(order[:, :NAMED].tolist(), count.tolist(), strict=True)]
    return pushed, [row if each else [] for row, each in zip(order[:, -1:].tolist(), opposes, strict=True)]


def _rules(
    outcome: Outcome, row: int, change: Change, limit_points: int, *, at_floor: bool
) -> tuple[Rule | None, Rule | None]:
    """Return the rule that limited a change, and the one that explains a change of ±0."""
    limit = None
    unfinished = bool(outcome.unfinished[row])
    if limit_points < 0:
        limit = Rule.UNFINISHED if unfinished else Rule.LAST
    elif limit_points > 0:
        limit = Rule.WINNER if outcome.group[row] == 0 else Rule.FORFEIT
        limit = Rule.FLOOR if unfinished or at_floor else limit
    if change.points_change:
        return limit, None
    if limit is Rule.LAST or at_floor:
        return limit, Rule.LAST if limit is Rule.LAST else Rule.FLOOR
    return limit, None if any(points for _, points in change.parts) else Rule.SMALL


def rules_in(texts: Texts) -> dict[str, str]:
    """Return words for each rule."""
    return {
        Rule.FORFEIT: texts.why_forfeit,
        Rule.FLOOR: texts.why_floor,
        Rule.WINNER: texts.why_winner,
        Rule.LAST: texts.why_last,
        Rule.UNFINISHED: texts.why_last,
        Rule.SMALL: texts.why_small,
    }


RULES = rules_in(DEFAULT_TEXTS) | {Rule.UNFINISHED: "a DNF never gains"}


def in_words(
    reason: Reason,
    names: Mapping[str | None, str],
    texts: Texts = DEFAULT_TEXTS,
    rules: Mapping[str, str] = RULES,
    *,
    unbroken: Callable[[str], str] = str,
    safe: Callable[[str], str] = str,
) -> str:
    """Put a reason into a short phrase, with the names of the race's entrants by user id.

    `unbroken` keeps an opponent, or a phrase without opponents, on one line, `safe` a team's name harmless.
    """
    opponents = [
        texts.why_opponent.format(
            first=Count(number == 0),
            name=safe(each.team) if each.team else names[each.player],
            chance=texts.percent.format(number=percentage(each.chance)),
        )
        for number, each in enumerate(reason.opponents)
    ]
    template = {
        ReasonKind.UNCHANGED: "{limit}",
        ReasonKind.UNFINISHED: "{chance}% to finish",
        ReasonKind.LIMIT: texts.why_limit,
        ReasonKind.AS_EXPECTED: texts.why_as_expected,
    }.get(reason.kind, texts.why_opponents if opponents else texts.why_part)
    text = template.format(
        points=signed(reason.points or 0),
        limit=rules[reason.rule] if reason.rule else "",
        chance=percentage(reason.chance or 0),
        names=", ".join(map(unbroken, opponents)),
        finish=Count(reason.kind is ReasonKind.FINISH),
        cost=Count(reason.kind is ReasonKind.COST),
    )
    return text if opponents else unbroken(text)
