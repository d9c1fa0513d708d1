"""An invented season of named players, in the format of the site's list of past races."""

import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from racebot.sandbox.race_state import FakeEntrant, RacerStatus, RaceStatus, User
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.site import FakeSite
from racebot.text.parse import parse_duration

PEOPLE = ("Ann", "Bo", "Cleo", "Dov", "Elif", "Finn", "Gus", "Hana", "Ines", "Jun")
"""The best first."""
OUT = 9999
"""The place that an archive gives to racers who did not finish."""


def past_season(goal: str, races: int, *, seed: int = 9) -> dict[str, Any]:
    """Return one page of the site's list: a race a day, each of four to seven of `PEOPLE`, some with DNFs."""
    rng = random.Random(seed)
    start = datetime(2026, 1, 1, 20, tzinfo=UTC)
    return {"races": [_race(goal, number, start + timedelta(days=number), rng) for number in range(races)]}


def _race(goal: str, number: int, ended_at: datetime, rng: random.Random) -> dict[str, Any]:
    field = sorted(rng.sample(range(len(PEOPLE)), rng.randint(4, 7)))
    return {
        "name": f"smr/past-race-{number:04d}",
        "goal": {"name": goal, "custom": False},
        "ended_at": ended_at.isoformat(),
        "recorded": True,
        "entrants": [
            _entrant(who, gives_up=index > 0 and rng.random() < 0.15, rng=rng)
            for index, who in enumerate(field)
        ],
    }


def _entrant(who: int, *, gives_up: bool, rng: random.Random) -> dict[str, Any]:
    seconds = 4800 + 150 * who + abs(rng.gauss(0, 400))
    return {
        "user": {"id": f"user{who:012d}", "name": PEOPLE[who]},
        "status": {"value": "dnf" if gives_up else "done"},
        "finish_time": None if gives_up else f"P0DT00H00M{seconds:.6f}S",
    }


def add_races(site: FakeSite, races: Iterable[dict[str, Any]], goal: str) -> None:
    """Add past races to a site: of `past_season`, or of an archive, whose places become times."""
    if goal not in site.category.goals:
        site.category.goals.append(goal)
    for race in sorted(races, key=lambda race: datetime.fromisoformat(race["ended_at"])):
        ended_at = datetime.fromisoformat(race["ended_at"])
        room = FakeRoom(
            category=site.category,
            site=site,
            slug=race.get("slug") or race["name"].partition("/")[2],
            goal=goal,
            opened_by=site.moderator,
            opened_at=ended_at - timedelta(hours=3),
            status=RaceStatus.FINISHED,
            entrants=[_loaded(site, one, number) for number, one in enumerate(race["entrants"])],
            started_at=ended_at - timedelta(hours=2),
            ended_at=ended_at,
            recorded=race["recorded"],
        )
        room.set_places()
        site.rooms[room.slug] = room


def _loaded(site: FakeSite, one: dict[str, Any], number: int) -> FakeEntrant:
    account = one.get("user") or {"id": one["user_id"], "name": str(one["user_id"])}
    user = site.users.get(account["id"]) or User(account["id"] or site.new_id(), account["name"], "0001")
    user.deleted = account["id"] is None
    site.users[user.id] = user
    if "place" in one:
        time = None if one["place"] == OUT else timedelta(hours=1, seconds=one["place"])
    else:
        time = one["finish_time"] and timedelta(microseconds=parse_duration(one["finish_time"]))
    status = RacerStatus.DONE if time else RacerStatus.DNF
    return FakeEntrant(user, number, status, finish_time=time or None)
