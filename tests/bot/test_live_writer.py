"""The live file: open and finished rooms, and failures to write, which stop nothing."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from builders import Clock, at_once, backoff, entrant, existing, result, seen
from worker_support import until

from racebot.bot import live_writer
from racebot.bot.live_writer import LiveWriter
from racebot.ledger.connection import P, T
from racebot.ledger.store import Ledger
from racebot.live_file import LiveBoard, LiveReport, LiveRoom, live_path, read_live, write_live
from racebot.queries.race import race_report
from racebot.races.result import HIDDEN_NAME, EntrantStatus, RaceResult
from racebot.racetime.payload import Race
from racebot.settings.model import Settings
from racebot.standings import orders
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.settle import Settler

SETTINGS = Settings(minimum_finishes=0)
HURDLE = RatingRules(LeaderboardConfig("thurstone-hurdle"))


class Writing:
    """A running writer, its ledger and its file."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self.settler = Settler(ledger, HURDLE)
        self.clock = clock
        self.path = live_path(ledger.path)
        self.writer = self.made()

    def made(self) -> LiveWriter:
        """Return a writer as a new process makes it."""
        return LiveWriter(self.settler, SETTINGS, at_once, self.clock, backoff())

    def rooms(self) -> dict[str, LiveRoom]:
        report = read_live(self.path)
        return {room.race: room for room in report.rooms} if report else {}

    def start(self) -> None:
        self._task = asyncio.create_task(self.writer.run())

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def shown(self, race: Race) -> LiveBoard:
        """Pass a race to the writer, and return the file's entry for its only leaderboard."""
        before = self.rooms().get(race.name)
        self.clock.now += timedelta(seconds=1)
        self.writer.update(race)
        await until(lambda: self.rooms().get(race.name) not in (None, before))
        (board,) = self.rooms()[race.name].leaderboards
        return board


@pytest.fixture
async def writing(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Writing]:
    monkeypatch.setattr(live_writer, "WRITE_EVERY", 0.1)
    monkeypatch.setattr(live_writer, "GATHER", 0.0)
    made = Writing(ledger, Clock())
    made.start()
    yield made
    await made.stop()


def opened(*names: str, status: str = "open") -> Race:
    racing = tuple(entrant(name, status=EntrantStatus.RACING) for name in names)
    return seen(status=status, entrants=racing)


def finished(race: RaceResult) -> Race:
    return seen(race, entrants=race.entrants)


async def test_open_room_shows_ratings_and_odds(writing: Writing) -> None:
    writing.settler.add_past_races([result("past", "ann bo"), result("past2", "ann bo", after=1)], "import")
    board = await writing.shown(opened("bo", "ann", "cy"))
    assert board.board == "orb/any-orb"
    ann, bo = ({e.id: e for e in board.entrants}[f"id-{name}"] for name in ("ann", "bo"))
    assert board.entrants[0] == ann
    assert ann.points > bo.points
    assert {e.id for e in board.entrants if e.new} == {"id-cy"}
    chances = [e.win_chance for e in board.entrants]
    assert None not in chances and ann.win_chance == max(c for c in chances if c is not None)
    assert 0.8 < sum(c for c in chances if c is not None) <= 1
    assert [e.rank_before for e in (ann, bo)] == [1, 2] and ann.rank_after is None
    assert all(e.finish_chance is not None and e.change is None for e in board.entrants)


async def test_finished_room_shows_the_changes_that_the_record_will_bring(writing: Writing) -> None:
    race = replace(result("r", "ann bo", dnf="cy"), recorded=False)
    board = await writing.shown(finished(race))
    assert [(e.id, e.place, e.status) for e in board.entrants] == [
        ("id-ann", 1, EntrantStatus.DONE),
        ("id-bo", 2, EntrantStatus.DONE),
        ("id-cy", None, EntrantStatus.DNF),
    ]
    assert {(e.rank_before, e.rank_after) for e in board.entrants} == {(None, 1), (None, 2), (None, 3)}
    assert writing.settler.settle(replace(race, recorded=True), writing.clock())
    settled = writing.settler.rated(race.name)
    final = {change.player: (change.points_after, change.points_change) for change in settled[0].changes}
    assert {e.id: (e.after, e.change) for e in board.entrants} == final
    stored = race_report(writing.settler.ledger, race.name).leaderboards[0]
    assert [(e.id, e.change, e.reasons) for e in existing(board.outcome).entrants] == [
        (e.id, e.change, e.reasons) for e in stored.entrants
    ]


@pytest.mark.parametrize("refused", ["cancelled", "custom goal", "not recorded"])
@pytest.mark.parametrize("seen_before", [True, False])
async def test_race_that_changes_no_rating_keeps_its_last_state(
    writing: Writing, monkeypatch: pytest.MonkeyPatch, refused: str, *, seen_before: bool
) -> None:
    race = finished(replace(result("r", "ann bo"), recorded=False))
    if seen_before or refused == "custom goal":  # else no leaderboard has it
        await writing.shown(race)
    status, is_custom = "cancelled" if refused == "cancelled" else "finished", refused == "custom goal"
    writing.writer.update(replace(race, status=status, custom_goal=is_custom, recordable=False))
    await until(lambda: "orb/r" in writing.rooms() and writing.rooms()["orb/r"].refused == refused)
    await writing.stop()
    writing.writer = LiveWriter(writing.settler, SETTINGS, at_once, writing.clock, backoff())
    monkeypatch.setattr(live_writer, "JOIN_WITHIN", 0.0)
    writing.start()
    await writing.shown(replace(opened("ann", "bo"), name="orb/next"))
    (board,) = writing.rooms()["orb/r"].leaderboards
    assert [(each.name, each.place, each.change) for each in board.entrants] == [
        ("Ann", 1, None),
        ("Bo", 2, None),
    ]
    assert board.outcome is None


@pytest.mark.parametrize("restarted", [False, True])
async def test_room_tells_what_moderators_edited_and_the_changes_before(
    writing: Writing, monkeypatch, *, restarted: bool
) -> None:
    before = await writing.shown(finished(replace(result("r", "ann bo cy"), recorded=False)))
    if restarted:
        await writing.stop()
        monkeypatch.setattr(live_writer, "JOIN_WITHIN", 0.0)
        writing.writer = writing.made()
        writing.start()
        await writing.shown(replace(opened("ann", "bo"), name="orb/joined-first"))
    after = await writing.shown(finished(replace(result("r", "bo cy", dnf="ann"), recorded=False)))
    edits = writing.rooms()["orb/r"].edits
    assert {(each.name, each.edit) for each in edits} == {("Ann", "dnf"), ("Bo", "time"), ("Cy", "time")}
    changed = {each.id: each.change for each in before.entrants}
    assert after.changes_before == changed
    assert changed["id-ann"] != {each.id: each.change for each in after.entrants}["id-ann"]
    if restarted:
        await writing.stop()
        writing.writer = writing.made()
    race = result("r", "cy", dnf="ann", dq="bo")  # the record shows another edit, which chat is never told
    writing.writer.update(finished(race))
    writing.settler.settle(race, writing.clock())
    if restarted:
        writing.start()
    await until(lambda: "orb/r" not in writing.rooms())
    (room,) = existing(read_live(writing.path)).edited
    assert room.edits[:-2] == edits
    assert [(each.name, each.edit) for each in room.edits[-2:]] == [("Cy", "time"), ("Bo", "dq")]
    assert room.leaderboards[0].changes_before == {each.id: each.change for each in after.entrants}


async def written(writer: LiveWriter, path: Path) -> None:
    """Run a writer until its file exists."""
    running = asyncio.create_task(writer.run())
    await until(path.exists)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_recorded_races_of_the_list_cause_no_ledger_work(ledger: Ledger) -> None:
    done: list[str] = []

    async def call(work: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        done.append(work.__name__)
        return work(*arguments, **options)

    writer = LiveWriter(Settler(ledger, HURDLE), SETTINGS, call, Clock(), backoff())
    for number in range(3):
        writer.update(finished(result(f"r{number}", "ann bo")))
    await written(writer, live_path(ledger.path))
    assert set(done) == {"revision"}


async def test_race_may_be_recorded_while_others_are_read(ledger: Ledger, caplog) -> None:
    names = ("orb/r", "orb/s")

    async def call(work: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        if work.__name__ != "revision":
            for name in names:
                writer.update(replace(finished(result("r", "ann bo")), name=name))
        return work(*arguments, **options)

    writer = LiveWriter(Settler(ledger, HURDLE), SETTINGS, call, Clock(), backoff())
    for name in names:
        writer.update(replace(opened("ann", "bo"), name=name))
    await written(writer, live_path(ledger.path))
    assert caplog.messages == []


async def test_hidden_entrants_and_hidden_players_are_not_shown(writing: Writing) -> None:
    writing.settler.add_past_races([result("past", "ann bo")], "import")
    player = existing(writing.settler.ledger.players.get("id-bo"))
    orders.hide(writing.settler, player, "asked", writing.clock())
    assert [e.id for e in (await writing.shown(opened("ann", "bo"))).entrants] == ["id-ann"]
    assert (await writing.shown(replace(opened("ann"), hidden=True))).entrants == ()
    board = await writing.shown(finished(result("r", "bo ann", dnf="cy", recorded=False)))
    rated = existing(board.outcome).entrants
    assert [(each.id, each.name) for each in rated][:2] == [(None, HIDDEN_NAME), ("id-ann", "Ann")]
    assert "id-bo" not in live_path(writing.settler.ledger.path).read_text()


async def test_odds_follow_a_race_that_is_settled_elsewhere(writing: Writing) -> None:
    before = await writing.shown(opened("ann", "bo"))
    writing.settler.settle(result("other", "bo ann"), writing.clock())
    await until(lambda: writing.rooms()["orb/r"].leaderboards[0] != before)
    (after,) = writing.rooms()["orb/r"].leaderboards
    assert after.entrants[0].id == "id-bo"


async def test_silent_rooms_are_forgotten(writing: Writing) -> None:
    await writing.shown(opened("ann", "bo"))
    writing.clock.now += timedelta(minutes=20)
    await until(lambda: not writing.rooms())


async def test_forfeits_come_after_the_racers(writing: Writing) -> None:
    racing, dnf, dq = EntrantStatus.RACING, EntrantStatus.DNF, EntrantStatus.DQ
    statuses = {"cy": racing, "al": dq, "bo": dnf, "ann": racing}
    others = [entrant(name, status=status) for name, status in statuses.items()]
    board = await writing.shown(seen(entrants=(*others, replace(entrant("di"), place=1))))
    assert [e.id for e in board.entrants] == ["id-di", "id-ann", "id-cy", "id-bo", "id-al"]


async def test_unlisted_rooms_are_marked(writing: Writing) -> None:
    await writing.shown(replace(opened("ann", "bo"), unlisted=True))
    report = read_live(writing.path)
    assert report is not None and report.unlisted == {"orb/r"}


async def test_restart_keeps_the_rooms_until_the_bot_has_joined_them(writing: Writing, monkeypatch) -> None:
    monkeypatch.setattr(live_writer, "JOIN_WITHIN", 0.1)
    for name in ("orb/seen", "orb/lost"):
        await writing.shown(replace(opened("ann", "bo"), name=name))
    await writing.stop()
    writing.writer = LiveWriter(writing.settler, SETTINGS, at_once, writing.clock, backoff())
    writing.start()
    writing.writer.update(replace(opened("ann", "bo"), name="orb/seen"))
    assert set(writing.rooms()) == {"orb/seen", "orb/lost"}
    await until(lambda: set(writing.rooms()) == {"orb/seen"})


async def test_failure_to_write_disturbs_nothing_and_is_logged_once(
    writing: Writing, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = 0

    def write(path: Path, report: LiveReport) -> None:
        nonlocal tries
        tries += 1
        write_live(path, report)

    monkeypatch.setattr(live_writer, "write_live", write)
    await writing.shown(opened("ann", "bo"))
    writing.path.unlink()
    writing.path.mkdir()
    before = tries
    writing.writer.update(opened("ann", "bo", "cy"))
    await until(lambda: tries > before + 2)
    assert sum(writing.path.name in record.message for record in caplog.records) == 1
    writing.path.rmdir()

    def entrants() -> list[int]:
        return [len(room.leaderboards[0].entrants) for room in writing.rooms().values()]

    await until(lambda: entrants() == [3])


async def test_a_write_that_began_ends_before_the_writer_does(writing: Writing, monkeypatch) -> None:
    began, may_end, done = threading.Event(), threading.Event(), threading.Event()

    def write(path: Path, report: LiveReport) -> None:
        began.set()
        may_end.wait()
        done.set()

    monkeypatch.setattr(live_writer, "write_live", write)
    await until(began.is_set)
    stopping = asyncio.create_task(writing.stop())
    asyncio.get_running_loop().call_later(0.05, may_end.set)
    await stopping
    assert done.is_set()


async def test_team_race_has_no_odds(writing: Writing) -> None:
    teams = tuple(replace(entrant(name, status=EntrantStatus.RACING), team=name[0]) for name in ("ann", "bo"))
    board = await writing.shown(seen(status="open", entrants=teams))
    assert [e.win_chance for e in board.entrants] == [None, None]
