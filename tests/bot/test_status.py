import io
from datetime import timedelta

from builders import CATEGORY, GOAL, NOON, Clock, result, settler_of
from rich.console import Console
from room_support import Follower

from racebot.bot.status import Status, status
from racebot.cli import tables
from racebot.ledger import lock
from racebot.ledger.lock import Heartbeat, write_heartbeat
from racebot.ledger.outbox import CaseRow
from racebot.ledger.store import Ledger
from racebot.settings.model import Settings

SETTINGS = Settings(category=CATEGORY, model="trueskill")


def shown(report: Status) -> str:
    console = Console(width=120, file=io.StringIO(), record=True)
    tables.print_status(console, report)
    return console.export_text()


def test_status_says_that_a_bot_never_ran(ledger: Ledger) -> None:
    report = status(ledger, SETTINGS, NOON)
    assert (report.running, report.last_seen, report.healthy, report.read_only) == (
        False,
        None,
        False,
        [CATEGORY],
    )
    assert (report.pending, report.outbox, report.rooms, report.failures) == ([], [], [], ())
    text = shown(report)
    assert "racebot is not running; it has never seen its category" in text
    assert "no backup yet" in text
    assert "Messages to deliver: none" in text


def test_status_shows_what_a_running_bot_has_to_do(ledger: Ledger, clock: Clock) -> None:
    settler = settler_of(ledger, "trueskill")
    settler.add_past_races([result("a", "ann bo", dnf="cy")], "import")
    Follower(settler, clock).show_final(result("b", "bo ann", recorded=False, after=1))
    with ledger.transaction():
        ledger.cases.save(CaseRow(f"{CATEGORY}/c", CATEGORY))
        counts = CaseRow(f"{CATEGORY}/a", CATEGORY, ended_at=NOON, next_look=NOON, standing="its fingerprint")
        ledger.cases.save(counts)
    ledger.back_up(lock.folder_of(ledger.path), keep=2, now=clock())
    seen_at = clock() - timedelta(seconds=20)
    write_heartbeat(ledger.path, Heartbeat(seen_at, failures=["orb/d listed: slow"]))
    with lock.locked(ledger.path):
        report = status(ledger, SETTINGS, clock())
    assert (report.running, report.healthy, report.seconds_since) == (True, True, 20)
    assert report.last_backup is not None
    assert report.leaderboards == [f"{GOAL}: 1 race, trueskill"]
    assert report.pending == [f"{CATEGORY}/b, finished 2026-03-01 13:00 UTC, not recorded yet"]
    assert report.rooms == [f"{CATEGORY}/c"]
    assert "orb/d listed: slow" in shown(report)
    text = shown(report)
    assert "racebot is running; it last saw its category 20 seconds ago" in text
    assert "Finished, to be counted: 1" in text
    assert "orb/b: chat, waiting since 0 seconds ago" in text
    numbers = dict(report.numbers())
    assert [numbers[name] for name in ("running", "seconds_since", "pending", "outbox")] == [1, 20, 1, 1]
    assert numbers["last_seen_timestamp_seconds"] == (clock() - timedelta(seconds=20)).timestamp()
    assert "database" not in numbers


def test_status_calls_a_bot_unhealthy_that_lost_its_category(ledger: Ledger) -> None:
    write_heartbeat(ledger.path, Heartbeat(NOON - timedelta(days=3)))
    assert "category 1 second ago" in shown(status(ledger, SETTINGS, NOON - timedelta(days=3, seconds=-1)))
    report = status(ledger, SETTINGS, NOON)
    assert not report.healthy
    assert "last saw its category 3 days ago" in shown(report)


def test_long_lists_are_counted_and_cut(ledger: Ledger) -> None:
    with ledger.transaction():
        for number in range(25):
            ledger.cases.save(CaseRow(f"{CATEGORY}/r{number:02}", CATEGORY))
    text = shown(status(ledger, SETTINGS, NOON))
    assert "Open race rooms: 25" in text
    assert "orb/r19" in text
    assert "orb/r20" not in text
    assert "and 5 more" in text
