"""Settlers with ledgers of their own, random seasons, and all ratings of a ledger."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from builders import CATEGORY, GOAL, NOON, entrant, existing, result
from hypothesis import strategies as st

from racebot.ledger.rows import RATED_LATER, Leaderboard
from racebot.ledger.store import Ledger
from racebot.races.result import RaceResult
from racebot.standings.counting import RatingRules
from racebot.standings.settle import RatedRace, Settler

NOW = NOON + timedelta(days=30)
PLAYERS = ("ann", "bo", "cy", "di", "ed")


@contextmanager
def fresh(rules: RatingRules) -> Iterator[Settler]:
    """Open a settler with its own ledger."""
    with tempfile.TemporaryDirectory() as folder, Ledger.open(Path(folder) / "ledger.db") as ledger:
        yield Settler(ledger, rules)


def settle(settler: Settler, race: RaceResult, now: datetime = NOW) -> list[RatedRace] | None:
    """Settle a race, and return its effect on each leaderboard; None if nothing changed."""
    if not settler.settle(race, now):
        return None
    return [each for each in settler.rated(race.name) if each.note != RATED_LATER]


def board_of(settler: Settler, name: str = GOAL) -> Leaderboard:
    return existing(settler.ledger.leaderboards.get(CATEGORY, name))


def contents(settler: Settler) -> dict[str, tuple[Any, ...]]:
    """Return all ratings of each leaderboard to the last bit, without database ids and times."""
    ledger = settler.ledger
    return {
        f"{board.category}/{board.name}": (
            board.goals,
            board.model,
            board.parameters,
            board.teams,
            repr(ledger.ratings.rows(board)),
            repr(ledger.standings.all(board)),
            repr(sorted(ledger.leaderboards.carried(board).items())),
            repr(ledger.ratings.platforms(board)),
        )
        for board in ledger.leaderboards.all()
    }


@st.composite
def history(draw: st.DrawFn, seasons: Sequence[str]) -> list[RaceResult]:
    """Draw races of several seasons, in any order of time, with some accounts deleted."""
    made = []
    for index in range(draw(st.integers(3, 9))):
        names = draw(st.lists(st.sampled_from(PLAYERS), min_size=1, max_size=5, unique=True))
        entrants = tuple(
            entrant(
                name,
                status,
                draw(st.integers(1, 4)) if status == "done" else None,
                user_id=None if draw(st.integers(0, 9)) == 0 else f"id-{name}",
            )
            for name in names
            for status in [draw(st.sampled_from(["done", "done", "done", "dnf", "dq"]))]
        )
        season = draw(st.sampled_from(seasons))
        after = draw(st.integers(0, 8)) + 4 * seasons.index(season)
        made.append(result(f"r{index}", entrants=entrants, after=after, goal=season))
    return made
