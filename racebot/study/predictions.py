"""Return forecasts of every pair and every entrant of a history, as rows for CSV files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from racebot.ratings.forecast import expected_places, finish_chances, win_chances
from racebot.ratings.model import RatingModel
from racebot.study.evaluate import DefinesMatchQuality
from racebot.study.history import History
from racebot.study.metrics import observed_pairs, ranks
from racebot.study.replay import Earlier, Step, at_start, replay


class PairForecast(NamedTuple):
    """Two entrants with different places, and the odds before the race."""

    model: str
    race: str
    ended_at: str
    better: str
    worse: str
    better_rating: float
    worse_rating: float
    probability: float
    """Forecast probability of the actual result."""


class EntrantForecast(NamedTuple):
    """An entrant of a race, with the forecast and the result."""

    model: str
    race: str
    ended_at: str
    player: str
    place: float
    """Place from 1. Entrants who share a place get the mean of their places."""
    finished: int
    rating: float
    points: int
    win_chance: float
    finish_chance: float
    expected_place: float
    match_quality: float | None
    """Match quality of the race, for models that define it."""


def forecast_rows(
    history: History,
    models: Sequence[tuple[str, RatingModel]],
    since: datetime | None = None,
    earlier: Earlier | None = None,
) -> Iterator[tuple[list[PairForecast], list[EntrantForecast]]]:
    """Yield the forecasts of each race's pairs and entrants, model by model.

    Args:
        since: skip races that ended before this time.
        earlier: an earlier history from which ratings carry over.
    """
    for label, model in models:
        for step in replay(model, history, at_start(model, history, earlier)):
            if since is None or step.race.ended_at >= since:
                yield list(_pairs(history, label, model, step)), list(_entrants(history, label, model, step))


def _pairs(history: History, label: str, model: RatingModel, step: Step) -> Iterator[PairForecast]:
    better, worse = observed_pairs(step.race.outcome)
    rating = model.rating(step.before).tolist()
    chances = model.win_probability(step.before[better], step.before[worse]).tolist()
    ids = [history.players[player] for player in step.race.players.tolist()]
    ended_at = step.race.ended_at.isoformat()
    for a, b, chance in zip(better.tolist(), worse.tolist(), chances, strict=True):
        yield PairForecast(label, step.race.name, ended_at, ids[a], ids[b], rating[a], rating[b], chance)


def _entrants(history: History, label: str, model: RatingModel, step: Step) -> Iterator[EntrantForecast]:
    outcome = step.race.outcome
    quality = (
        float(model.match_quality(step.before, outcome.team))
        if isinstance(model, DefinesMatchQuality)
        else None
    )
    columns: tuple[list[Any], ...] = (
        step.race.players.tolist(),
        ranks(outcome.group).tolist(),
        (~outcome.unfinished).tolist(),
        model.rating(step.before).tolist(),
        model.points(step.before).tolist(),
        win_chances(model, step.before).tolist(),
        finish_chances(model, step.before).tolist(),
        expected_places(model, step.before).tolist(),
    )
    for player, place, finished, rating, points, win, finish, expected in zip(*columns, strict=True):
        yield EntrantForecast(
            model=label,
            race=step.race.name,
            ended_at=step.race.ended_at.isoformat(),
            player=history.players[player],
            place=place,
            finished=int(finished),
            rating=rating,
            points=points,
            win_chance=win,
            finish_chance=finish,
            expected_place=expected,
            match_quality=quality,
        )
