from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from builders import (
    CATEGORY,
    GOAL,
    NOON,
    Clock,
    Streamed,
    dump,
    entrant_document,
    existing,
    listed_document,
    no_pause,
    race_document,
)

from racebot.ledger.orders import Order, OrderKind
from racebot.ledger.store import Ledger
from racebot.races.rooms import RoomRule
from racebot.racetime.client import Site
from racebot.standings.backfill import backfill
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.settle import PastRacesReport, Settler

SIMPLE = LeaderboardConfig("pairwise-elo", {"initial_rating": 1.0, "dummy": None, "rates": [0.2]})
TWO = [entrant_document("ann", "done", "PT1H", 1), entrant_document("bo", "done", "PT2H", 2)]


def listed(number: int, **facts: Any) -> dict[str, Any]:
    """A recorded race that ended so many days after the first."""
    ended = (NOON + timedelta(days=number)).isoformat()
    return listed_document(f"r{number}", TWO, **{"ended_at": ended, "recorded": True, **facts})


class FakeList:
    """The site's list of past races, newest first; `before` is called ahead of each answer."""

    def __init__(self, *races: dict[str, Any]) -> None:
        self.races = list(races)
        self.asked: list[int] = []
        self.fail_at: int | None = None

    def __call__(self, request: httpx.Request) -> httpx.Response:
        query = dict(request.url.params)
        page, size = int(query["page"]), 2
        self.asked.append(page)
        if page == self.fail_at:
            return httpx.Response(502)
        races = sorted(self.races, key=lambda race: str(race["ended_at"]), reverse=True)
        shown = races[size * (page - 1) : size * page]
        body = {"count": len(races), "num_pages": -(-len(races) // size), "races": shown}
        self.answered(page)
        return httpx.Response(200, json=body)

    def answered(self, page: int) -> None:
        """Change the site after a page was requested."""


@pytest.fixture
def fake() -> FakeList:
    return FakeList(*(listed(number) for number in range(5)))


@pytest.fixture
async def site(fake: FakeList) -> AsyncIterator[Site]:
    transport = Streamed(fake)
    async with Site(
        "https://orbs.example", interval=0, attempts=2, transport=transport, sleep=no_pause
    ) as site:
        yield site


@pytest.fixture
def settler(ledger: Ledger) -> Settler:
    return Settler(ledger, RatingRules(SIMPLE))


Fill = Callable[..., Awaitable[PastRacesReport]]


@pytest.fixture
def fill(site: Site, settler: Settler, clock: Clock) -> Fill:
    async def fill(told: list[tuple[int, int, int]] | None = None, **wanted: Any) -> PastRacesReport:
        def progress(page: int, pages: int, races: int) -> None:
            if told is not None:
                told.append((page, pages, races))

        return await backfill(site, CATEGORY, settler, clock, progress, **wanted)

    return fill


def rated(settler: Settler) -> list[str]:
    board = settler.ledger.leaderboards.get(CATEGORY, GOAL)
    return [] if board is None else [row.race for row in settler.ledger.ratings.rows(board)]


async def test_a_backfill_follows_a_renamed_goal(fill: Fill, settler: Settler, fake: FakeList) -> None:
    await fill([])
    fake.races = [race | {"goal": {"name": "New Orb", "custom": False}} for race in fake.races]
    await fill([])
    (board,) = settler.ledger.leaderboards.all()
    assert (board.name, board.goals, settler.ledger.ratings.count(board)) == ("New Orb", ("New Orb",), 5)


async def test_no_profile_of_a_forgotten_players_account_is_stored(fill: Fill, settler: Settler) -> None:
    await fill()
    settler.ledger.orders.add(Order(NOON, OrderKind.MERGE, "id-ann", "id-cy", ""))
    settler.ledger.orders.add(Order(NOON, OrderKind.FORGET, "id-cy", None, ""))
    settler.ledger.profiles.remove("id-ann")
    await fill()
    assert settler.ledger.profiles.all().keys() == {"id-bo"}


async def test_all_pages_are_read_the_oldest_race_first(fill: Fill, settler: Settler, fake: FakeList) -> None:
    told: list[tuple[int, int, int]] = []
    report = await fill(told)
    assert (report.new, report.skipped) == (5, 0)
    assert fake.asked == [1, 2, 3]
    assert told == [(1, 3, 2), (2, 3, 4), (3, 3, 5)]
    assert rated(settler) == [f"orb/r{number}" for number in range(5)]
    assert settler.ledger.messages.open_in(CATEGORY) == []


async def test_a_backfill_may_be_repeated(fill: Fill, settler: Settler, fake: FakeList) -> None:
    await fill()
    before = dump(settler.ledger)
    report = await fill()
    assert (report.new, report.known) == (0, 5)
    assert dump(settler.ledger) == before


async def test_races_that_finish_meanwhile_hide_none(fill: Fill, settler: Settler, fake: FakeList) -> None:
    def another(page: int) -> None:
        fake.races.append(listed(100 + page))

    fake.answered = another  # type: ignore[method-assign]
    report = await fill()
    assert report.new >= 5
    assert {f"orb/r{number}" for number in range(5)} <= set(rated(settler))


async def test_latest_copy_of_a_race_seen_twice_counts(fill: Fill, settler: Settler, fake: FakeList) -> None:
    """It moved to the next page, and was recorded between the two."""
    fake.races = [listed(3), listed(2, recorded=False), listed(1)]

    def moved(page: int) -> None:
        if page == 1:
            fake.races = [listed(9), listed(3), listed(2), listed(1)]

    fake.answered = moved  # type: ignore[method-assign]
    await fill()
    assert rated(settler) == ["orb/r1", "orb/r2", "orb/r3"]


async def test_only_races_of_chosen_days_are_rated(fill: Fill, settler: Settler, fake: FakeList) -> None:
    await fill(since=NOON + timedelta(days=3))
    assert rated(settler) == ["orb/r3", "orb/r4"], "the day itself is wanted"
    assert fake.asked == [1, 2]


# Files

LEAGUE = RoomRule(rooms=tuple(f"orb/r{number}" for number in range(40)), finished=True)


@pytest.mark.parametrize(("shown", "requests"), [(False, 40), (True, 42)])
async def test_a_list_of_rooms_costs_one_request_for_each_that_no_list_shows(
    tmp_path: Path, shown: bool, requests: int
) -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        assert request.method == "GET"
        if request.url.path == "/orb/races/data":
            page = int(request.url.params["page"])
            races = [listed(1000 + number) for number in range(100 * page, 100 * page + 100)]
            return httpx.Response(200, json={"num_pages": 2, "races": races})
        slug = request.url.path.split("/")[2]
        goal = {"name": "SGL", "custom": True}
        return httpx.Response(200, json=race_document(slug, TWO, goal=goal, recordable=False))

    league = LeaderboardConfig("elo-ffa", name="League", rule=LEAGUE)
    limits = {} if shown else {CATEGORY: frozenset[str]()}
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        settler = Settler(ledger, RatingRules(SIMPLE, (league,), limits))
        site = Site("https://x.example", transport=Streamed(answer), interval=0, sleep=no_pause)
        later = NOON + timedelta(days=30)
        await backfill(site, CATEGORY, settler, lambda: later, lambda *_: None)
        assert len(asked) == requests
        assert len(list(ledger.races.of(existing(ledger.leaderboards.get(CATEGORY, "League"))))) == 40
