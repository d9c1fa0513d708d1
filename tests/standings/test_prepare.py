from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from builders import CATEGORY, result
from hypothesis import Phase, given, settings, strategies as st
from standings.seasons import NOW, board_of, contents, fresh, history, settle

from racebot.bot.status import status
from racebot.ledger.connection import WriteInterrupted
from racebot.ledger.rows import Carry
from racebot.ledger.shadows import Pause
from racebot.ledger.store import Ledger
from racebot.races.result import RaceResult
from racebot.standings import orders, prepare
from racebot.standings.counting import LeaderboardPlan, Plans
from racebot.standings.follow_settings import apply_plans
from racebot.standings.prepare import Preparer, no_pause
from racebot.standings.rerating import RatingsDeferred
from racebot.standings.settle import Settler
from racebot.standings.verify import verify

MODELS = ["thurstone-hurdle", "plackett-luce"]
MEMORY = {"in memory": 1000, "in a shadow": 0}


def plans(model: str = "thurstone-hurdle") -> Plans:
    """Two seasons, the second of which carries over from the first."""
    second = LeaderboardPlan(model, name="S2", goals=("S2",), carry=Carry("S1", 0.8))
    return Plans(LeaderboardPlan(model), (second, LeaderboardPlan(model, name="S1", goals=("S1",))))


def prepared(settler: Settler, work: Callable[[], Any], *, memory: int = 0, pause: Pause = no_pause) -> None:
    """Do the work with every re-rating prepared, however short."""
    preparer = Preparer(settler.ledger.path, at_once=0, memory=memory, pause=pause, prepares_new=True)
    settler.run_prepared(work, preparer)


def assert_right(settler: Settler) -> None:
    """The ratings equal a plain rebuild of the stored results, and nothing is left over."""
    ledger = settler.ledger
    assert ledger.check() == []
    for board in ledger.leaderboards():
        assert verify(settler.ledger, board) == []
    before = contents(settler)
    for board in ledger.leaderboards():
        settler.rebuild(board)
    assert contents(settler) == before
    assert ledger.leftovers() == []
    counted = ledger.rows(
        "SELECT count(*) FROM changes WHERE leaderboard NOT IN (SELECT id FROM leaderboards)"
    )
    assert counted[0][0] == 0


@given(history(["S1", "S2"]), st.data(), st.sampled_from(MODELS), st.sampled_from(list(MEMORY.values())))
@settings(max_examples=25, phases=[Phase.explicit, Phase.generate])  # shrinking takes minutes
def test_prepared_ratings_equal_a_rebuild_whatever_is_settled_meanwhile(
    races: list[RaceResult], data: st.DataObject, model: str, memory: int
) -> None:
    with fresh(plans(model)) as opened, Ledger.open(opened.ledger.path) as other_ledger:
        settler = opened

        def another() -> RaceResult:
            race = data.draw(st.sampled_from(races))
            return replace(race, entrants=data.draw(st.sampled_from(races)).entrants)

        settler.merge(data.draw(st.lists(st.sampled_from(races), min_size=1)), "import")
        for _ in range(data.draw(st.integers(1, 4))):
            other = Settler(other_ledger, settler.plans)

            def pause(other: Settler = other) -> None:
                match data.draw(st.integers(0, 19)):
                    case 0:
                        settle(other, another())
                    case 1:
                        other.withdraw(another().name)

            race = another()
            match data.draw(st.sampled_from(["settle", "withdraw", "merge", "rebuild", "new model"])):
                case "settle":
                    work: Callable[[], Any] = partial(settle, settler, race)
                case "withdraw":
                    work = partial(settler.withdraw, race.name)
                case "merge":
                    work = partial(settler.merge, races, "import")
                case "rebuild":
                    work = partial(rebuild_all, settler)
                case _:
                    new_model = data.draw(st.sampled_from([*MODELS, "trueskill"]))
                    settler = Settler(opened.ledger, plans(new_model))
                    work = partial(apply_plans, settler)
            prepared(settler, work, memory=memory, pause=pause)
            assert_right(settler)


def rebuild_all(settler: Settler) -> None:
    for board in settler.ledger.leaderboards():
        settler.rebuild(board)


RACES = [result(f"r{n}", "ann bo" if n % 2 else "bo cy ann", after=n, goal="S1") for n in range(6)]
CHANGED = replace(RACES[2], entrants=result("x", "cy ann").entrants)


@pytest.fixture
def settler() -> Iterator[Settler]:
    with fresh(plans()) as made:
        made.merge(RACES, "import")
        yield made


@pytest.mark.parametrize("memory", MEMORY.values(), ids=MEMORY)
def test_nothing_of_a_change_shows_before_its_transaction(settler: Settler, memory: int) -> None:
    before = contents(settler)
    seen = []
    with Ledger.open_to_read(settler.ledger.path) as reader:
        reading = Settler(reader, settler.plans)

        def watch() -> None:
            seen.append(contents(reading))

        prepared(
            settler,
            partial(settle, settler, CHANGED),
            memory=memory,
            pause=watch,
        )
    assert seen and all(each == before for each in seen)
    assert contents(settler) != before
    assert_right(settler)


@pytest.mark.parametrize("memory", MEMORY.values(), ids=MEMORY)
def test_an_interrupted_write_changes_nothing_and_can_be_repeated(settler: Settler, memory: int) -> None:
    before = contents(settler)
    work = partial(settle, settler, CHANGED)
    with settler.updater.prepared_by(Preparer(settler.ledger.path, at_once=0, memory=memory)) as preparer:
        with pytest.raises(RatingsDeferred) as deferred:
            work()
        preparer.prepare(deferred.value.task)
        if memory:
            settler.updater.interrupted = lambda: True
            with pytest.raises(WriteInterrupted):
                work()
            assert contents(settler) == before
            settler.updater.interrupted = lambda: False
        rated = work()
        assert rated is not None
        assert [each.leaderboard for each in rated] == [board_of(settler, "S1")]
    prepare.sweep(settler.ledger.path)
    assert_right(settler)


def test_a_rebuild_that_is_cut_short_leaves_the_old_leaderboard(settler: Settler) -> None:
    class Killed(BaseException):
        pass

    before = contents(settler)
    for stop in range(20):
        steps = iter(range(stop))

        def pause(steps: Iterator[int] = steps) -> None:
            if next(steps, None) is None:
                raise Killed

        with settler.updater.prepared_by(Preparer(settler.ledger.path, at_once=0, pause=pause)) as preparer:
            with pytest.raises(RatingsDeferred) as deferred:
                settler.rebuild(board_of(settler, "S1"))
            with suppress(Killed):  # the last attempts prepare everything
                preparer.prepare(deferred.value.task)
        with Ledger.open(settler.ledger.path) as restarted:
            again = Settler(restarted, settler.plans)
            assert contents(again) == before
            assert restarted.leftovers()
            prepare.sweep(settler.ledger.path)
            assert_right(again)


def test_a_rebuild_shows_its_progress(settler: Settler) -> None:
    seen: list[tuple[str, int, int]] = []
    with Ledger.open_to_read(settler.ledger.path) as reader:

        def pause() -> None:
            report = status(reader, [CATEGORY], rooms_every=10, now=NOW)
            seen.extend((each.leaderboard, each.races, each.total) for each in report.rebuilds)

        prepared(settler, partial(rebuild_all, settler), pause=pause)
        assert status(reader, [CATEGORY], rooms_every=10, now=NOW).rebuilds == []
    assert seen[0] == ("S1", 0, len(RACES))
    assert seen[-1] == ("S1", len(RACES), len(RACES))


def test_a_rebuilt_leaderboard_keeps_its_number(settler: Settler) -> None:
    before = board_of(settler, "S1")
    prepared(settler, partial(rebuild_all, settler))
    after = board_of(settler, "S1")
    assert after.id != before.id
    assert after.number == before.number


@pytest.mark.parametrize("memory", MEMORY.values(), ids=MEMORY)
def test_orders_are_prepared_like_results(settler: Settler, memory: int) -> None:
    race = settler.ledger.race(RACES[1].name)
    assert race is not None
    prepared(settler, partial(orders.exclude, settler, race, "wrong seed", NOW), memory=memory)
    assert_right(settler)
    settler.merge([result("new", "zed bo", after=20, goal="S1")], "import")
    zed, cy = (settler.ledger.players.find_exactly(each) for each in ("id-zed", "id-cy"))
    prepared(settler, partial(orders.merge, settler, zed, cy, "one person", NOW), memory=memory)
    assert settler.ledger.players.get(zed.id) is None
    assert_right(settler)


def test_only_one_process_rebuilds_a_database_at_a_time(settler: Settler) -> None:
    with settler.updater.prepared_by(Preparer(settler.ledger.path, at_once=0)) as preparer:
        with pytest.raises(RatingsDeferred) as deferred:
            rebuild_all(settler)
        preparer.prepare(deferred.value.task)
        prepare.sweep(settler.ledger.path)
        assert settler.ledger.leftovers(), "another process must not delete a shadow that is still needed"
        rebuild_all(settler)
    prepare.sweep(settler.ledger.path)
    assert_right(settler)


def after_preparing(
    settler: Settler, work: Callable[[], Any], meanwhile: Callable[[Settler], Any]
) -> Callable[[], Any]:
    """Return work that lets another process make a change before its second attempt."""
    attempts: list[object] = []

    def attempt() -> None:
        if attempts:
            with Ledger.open(settler.ledger.path) as other:
                meanwhile(Settler(other, settler.plans))
        attempts.append(work)
        work()

    return attempt


@pytest.mark.parametrize("memory", list(MEMORY.values()), ids=list(MEMORY))
def test_a_race_deleted_and_stored_again_meanwhile_is_rated(settler: Settler, memory: int) -> None:
    moving = result("x", "ann cy", after=2, goal="S2")
    settler.merge([moving], "import")
    work = partial(settler.merge, [replace(moving, goal="S1")], "import")
    prepared(
        settler, after_preparing(settler, work, lambda other: other.withdraw(moving.name)), memory=memory
    )
    assert_right(settler)


@pytest.mark.parametrize("memory", list(MEMORY.values()), ids=list(MEMORY))
def test_a_new_end_of_a_later_race_meanwhile_is_kept(settler: Settler, memory: int) -> None:
    later = replace(RACES[-1], ended_at=RACES[-1].ended_at + timedelta(hours=1))
    work = partial(settle, settler, CHANGED)
    prepared(settler, after_preparing(settler, work, lambda other: settle(other, later)), memory=memory)
    assert_right(settler)
