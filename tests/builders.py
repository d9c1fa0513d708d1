"""Race results and the site's documents for tests, with invented names.

`result("first", "ann bo", dnf="cy")` is a race that Ann won before Bo and that Cy did not finish; names are
words, ids are `id-` and the name.
"""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ParamSpec, TypeVar

import httpx

from racebot.bot.failures import Backoff
from racebot.ledger.outbox import ChatBody, InfoBody, OutboxRow
from racebot.ledger.store import Ledger
from racebot.live_file import LiveBoard, LiveEntrant, LiveRoom
from racebot.logs import FailureLog
from racebot.races.result import Entrant, EntrantStatus, RaceResult
from racebot.racetime.payload import Race
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.settle import Settler

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
CATEGORY = "orb"
GOAL = "Any Orb"
HOUR = 3_600_000_000
SECOND = 1_000_000

P = ParamSpec("P")
T = TypeVar("T")


class Clock:
    """A clock that only moves when a test advances it."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **length: float) -> None:
        self.now += timedelta(**length)


async def at_once(work: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
    """Run work for the ledger's thread in this one."""
    return work(*arguments, **options)


async def no_pause(seconds: float) -> None:
    """Wait for nothing, in place of `asyncio.sleep`."""


class Streamed(httpx.MockTransport):
    """A mock transport whose answers are streamed, still encoded, as a server's are."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await super().handle_async_request(request)
        return httpx.Response(answer.status_code, headers=answer.headers, stream=answer.stream)


def entrant(name: str, status: str = "done", time: int | None = None, **facts: Any) -> Entrant:
    """An entrant with an account; `user_id=None` makes it a deleted one."""
    facts = {"user_id": f"id-{name}", **facts}
    return Entrant(name=name.title(), status=EntrantStatus(status), finish_time=time, **facts)


def result(
    slug: str = "first", finishers: str = "", *, dnf: str = "", dq: str = "", after: float = 0, **facts: Any
) -> RaceResult:
    """A recorded result whose finishers are a minute apart; `ann=bo` finish in the same microsecond.

    Args:
        slug: of the race.
        finishers: names, best first.
        dnf: names of the players who did not finish.
        dq: names of the players who finished before all others and were disqualified.
        after: hours from `NOON` to the end of the race.
        facts: other fields of `RaceResult`.
    """
    entrants = [
        entrant(name, time=HOUR + place * 60 * SECOND)
        for place, names in enumerate(finishers.split())
        for name in names.split("=")
    ]
    entrants += [entrant(name, "dnf") for name in dnf.split()]
    entrants += [entrant(name, "dq", HOUR - SECOND) for name in dq.split()]
    given = {
        "name": f"{CATEGORY}/{slug}",
        "category": CATEGORY,
        "goal": GOAL,
        "ended_at": NOON + timedelta(hours=after),
        "entrants": tuple(entrants),
        "recorded": True,
    }
    return RaceResult(**{**given, **facts})


def existing(value: T | None) -> T:
    """Return a value that must be there."""
    assert value is not None
    return value


def dump(ledger: Ledger) -> list[str]:
    """Return all that a ledger holds, as SQL."""
    return list(ledger.connection.db.conn.iterdump())


def keep(ledger: Ledger, *races: RaceResult) -> None:
    """Store races as an import does, and rate none."""
    for race in races:
        ledger.races.save(race, counted_at=race.ended_at, source="import")


def settler_of(ledger: Ledger, model: str) -> Settler:
    """Return a settler that rates every goal by itself with this model."""
    return Settler(ledger, RatingRules(LeaderboardConfig(model)))


def seen(shown: RaceResult | None = None, version: int | None = 1, status: str = "", **facts: Any) -> Race:
    """A race as the site shows it: finished with this result, or still in progress."""
    name = shown.name if shown else f"{CATEGORY}/r"
    return Race(
        name=name,
        category=CATEGORY,
        status=status or ("finished" if shown else "in_progress"),
        goal=facts.pop("goal", shown.goal if shown else GOAL),
        version=version,
        recordable=facts.pop("recordable", shown.recordable if shown else True),
        recorded=facts.pop("recorded", shown.recorded if shown else False),
        result=shown,
        **facts,
    )


def user_document(name: str) -> dict[str, Any]:
    """An account as the site describes it. Documents lack the keys that the bot does not read."""
    return {
        "id": f"id-{name}",
        "name": name.title(),
        "discriminator": "0007",
        "avatar": None,
        "pronouns": None,
        "twitch_name": None,
        "can_moderate": False,
    }


def entrant_document(
    name: str | None, status: str = "done", time: str | None = None, place: int | None = None, **facts: Any
) -> dict[str, Any]:
    """An entrant as the site describes it; without a name, of a deleted account."""
    return {
        "user": None if name is None else user_document(name),
        "team": None,
        "status": {"value": status},
        "finish_time": time,
        "finished_at": None,
        "place": place,
        "stream_live": False,
        "stream_override": False,
        **facts,
    }


def listed_document(
    slug: str = "first", entrants: Sequence[dict[str, Any]] = (), status: str = "finished", **facts: Any
) -> dict[str, Any]:
    """A race as the list of past races describes it."""
    return {
        "name": f"{CATEGORY}/{slug}",
        "status": {"value": status},
        "url": f"/{CATEGORY}/{slug}",
        "goal": {"name": GOAL, "custom": False},
        "info": "",
        "entrants": list(entrants),
        "opened_at": "2026-03-01T10:00:00.100Z",
        "started_at": "2026-03-01T10:30:00.200Z",
        "opened_by_bot": None,
        "ended_at": "2026-03-01T12:00:00.000Z" if status == "finished" else None,
        "cancelled_at": None,
        "recordable": True,
        "recorded": False,
        **facts,
    }


def room(goal: str = GOAL, category: str = CATEGORY, slug: str = "first", **facts: Any) -> Race:
    """A room that is open, as its category lists it."""
    shown = {"status": "open", "version": None, "recordable": True, "recorded": False, "result": None}
    return Race(f"{category}/{slug}", category, goal=goal, **shown | facts)


def racer(name: str, /, **facts: Any) -> LiveEntrant:
    """An entrant of a live room, who still races."""
    shown: dict[str, Any] = dict.fromkeys(("place", "finish_time", "after", "change"))
    shown |= {"new": False, "points": 1000, "win_chance": 0.5, "finish_chance": 0.75}
    shown |= {"id": f"id-{name}", "name": name.title(), "status": EntrantStatus.RACING}
    return LiveEntrant(**shown | facts)


def live_room(
    *entrants: LiveEntrant, race: str = "orb/live-1", status: str = "open", board: str = "orb/any-orb"
) -> LiveRoom:
    """A live room that was opened now, and has ended now if it is finished."""
    now = datetime.now(UTC)
    times = now, None, now if status == "finished" else None, now
    return LiveRoom(race, CATEGORY, GOAL, status, *times, (LiveBoard(board, GOAL, entrants),))


def race_document(
    slug: str = "first",
    entrants: Sequence[dict[str, Any]] = (),
    status: str = "finished",
    version: int = 21,
    **facts: Any,
) -> dict[str, Any]:
    """A race as its own page and the frames of its room describe it."""
    return {
        "version": version,
        "slug": slug,
        "category": {"name": "Orb Hunt", "short_name": "Orb", "slug": CATEGORY, "url": f"/{CATEGORY}"},
        "info_bot": None,
        "team_race": False,
        "hide_entrants": False,
        "bot_meta": {},
        **listed_document(slug, entrants, status, **facts),
    }


def chat_body(row: OutboxRow) -> ChatBody:
    """Return the body of a message that must be a chat message."""
    assert isinstance(row.message.body, ChatBody)
    return row.message.body


def info_blocks(row: OutboxRow) -> tuple[str, ...]:
    """Return the lines of a message that must be for the info box."""
    assert isinstance(row.message.body, InfoBody)
    return row.message.body.blocks


def backoff(clock: Callable[[], float] = time.monotonic) -> Backoff:
    """A backoff whose failures are only logged."""
    failures = FailureLog()
    return Backoff(failures.raised, failures.recovered, clock)
