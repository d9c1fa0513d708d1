"""Load past races from a file into the sandbox.

Two formats are supported: the site's JSON (a page of its race list with entrants, or just the list), and an
archive with places and the site's scores, but without times and names.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from racebot.sandbox.race_state import FakeEntrant, RacerStatus, RaceStatus, SandboxError, Team, User
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.site import FakeSite
from racebot.sandbox.text import parse_length

OUT = 9999
"""The place that an archive gives to racers who did not finish."""
FASTEST = timedelta(hours=1)
"""Winning time to invent for files without times. Each place adds one second."""


class HistoryError(SandboxError):
    """A file does not hold a history of races."""


def load(site: FakeSite, path: Path, *, goal: str | None = None) -> int:
    """Add the races in a file to a site, and return how many there are.

    `goal` is the goal of an archive's races, since archives do not store one. The default is the file's stem.

    Raises:
        HistoryError: the file cannot be read, or is in neither format. The message names the race.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise HistoryError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise HistoryError(f"{path}: not valid JSON: {error}") from None
    races = content.get("races") if isinstance(content, dict) else content
    if not isinstance(races, list):
        raise HistoryError(f"{path}: must hold a list of races, or an object with a list in `races`")
    rooms = []
    for index, race in enumerate(races):
        try:
            rooms.append(_room(site, race, path.stem if goal is None else goal))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise HistoryError(f"{path}: race {index}: {type(error).__name__}: {error}") from None
    for room in sorted(rooms, key=lambda room: room.ended_at or room.opened_at):
        site.rooms[room.slug] = room
        if not room.custom_goal and room.goal not in site.category.goals:
            site.category.goals.append(room.goal)
        for entrant in room.entrants:
            if entrant.score_change is not None:
                site.scores[room.goal, entrant.user.id] = (entrant.score or 0) + entrant.score_change
    return len(rooms)


def _room(site: FakeSite, race: Mapping[str, Any], goal: str) -> FakeRoom:
    about = race.get("goal") or {"name": goal, "custom": False}
    slug = race["slug"] if "slug" in race else race["name"].rpartition("/")[2]
    entrants = [_entrant(site, one, number) for number, one in enumerate(race["entrants"])]
    ended_at = datetime.fromisoformat(race["ended_at"])
    longest = max((e.finish_time for e in entrants if e.finish_time is not None), default=FASTEST)
    started_at = _moment(race.get("started_at")) or ended_at - longest
    for entrant in entrants:
        if entrant.finish_time is not None:
            entrant.finished_at = started_at + entrant.finish_time
    room = FakeRoom(
        category=site.category,
        site=site,
        slug=slug,
        goal=about["name"],
        opened_by=site.moderator,
        opened_at=_moment(race.get("opened_at")) or started_at - timedelta(minutes=15),
        custom_goal=about["custom"],
        team_race=any(entrant.team is not None for entrant in entrants),
        status=RaceStatus.FINISHED,
        entrants=entrants,
        started_at=started_at,
        ended_at=ended_at,
        recordable=race.get("recordable", not about["custom"]),
        recorded=race["recorded"],
        recorded_by=site.moderator if race["recorded"] else None,
        info_bot=race.get("info") or None,
    )
    room.set_places()
    return room


def _entrant(site: FakeSite, one: Mapping[str, Any], number: int) -> FakeEntrant:
    if "status" in one:
        account, team, time = one["user"] or {}, one.get("team"), one["finish_time"]
        return FakeEntrant(
            _user(site, account.get("id"), account.get("name")),
            number,
            RacerStatus(one["status"]["value"]),
            team=team and Team(team["name"], team["slug"]),
            score=one.get("score"),
            score_change=one.get("score_change"),
            finish_time=time and parse_length(time),
        )
    finished = one["place"] not in (None, OUT)
    return FakeEntrant(
        _user(site, one["user_id"]),
        number,
        RacerStatus.DONE if finished else RacerStatus.DNF,
        score=one.get("score"),
        score_change=one.get("score_change"),
        finish_time=FASTEST + timedelta(seconds=one["place"]) if finished else None,
    )


def _user(site: FakeSite, user_id: str | None, name: str | None = None) -> User:
    if user_id is None:
        # Two deleted accounts can be in the same race, so each gets a separate user.
        return User(site.new_id(), "Deleted", deleted=True)
    if user_id not in site.users:
        discriminator = f"{zlib.crc32(user_id.encode()) % 10_000:04d}"
        site.users[user_id] = User(user_id, name or f"Racer {user_id}", discriminator)
    return site.users[user_id]


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
