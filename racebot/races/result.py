"""A race result as facts: the entrants, how each of them ended, and whether the result is recorded.

`racebot.racetime.payload` reads them from the site's JSON, `racebot.files.documents` from saved archives.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from enum import StrEnum

NO_NAME = "deleted account"
"""Shown in place of the name of an account that was deleted or forgotten."""
UNKNOWN = "unknown player"  # shown for a name in a file that nobody has here
HIDDEN_NAME, HIDDEN_ID = "hidden player", "hidden-"
"""Shown in place of the name of a player who is off the lists, and the beginning of the id in a file."""

ROOM_FACTS = ("info", "opened_by", "opened_by_bot", "started_at")
"""Facts of a result that choose leaderboards, besides its goal."""

MOST_ENTRANTS = 2_000
"""Larger races are refused, because the models' time and memory grow with the square of the size."""


class EntrantStatus(StrEnum):
    """An entrant's status. Only the first three are results."""

    DONE = "done"
    DNF = "dnf"
    DQ = "dq"
    RACING = "racing"
    """Still racing, or about to. The result is not final while an entrant has this status."""


_STATUS = {status.value: status for status in EntrantStatus}


@dataclass(frozen=True, slots=True)
class Profile:
    """A player's public profile on the site, apart from the name.

    `avatar` is the picture's address, absolute or a path on the site. `twitch` is a login name, and `live`
    whether the site knew the player to stream. Only an exported file says `numbered`: the name is shown with
    its discriminator.
    """

    avatar: str | None = None
    pronouns: str = ""
    twitch: str = ""
    live: bool = False
    numbered: bool = False


@dataclass(slots=True, unsafe_hash=True)  # if frozen, reading results takes 1.4 times as long
class Entrant:
    """One entrant of a race.

    `user_id` is None if the account was deleted: the entrant keeps the place but has no rating. `finish_time`
    is in microseconds; archives without times leave it None and set `place`. `discriminator` is the number
    that distinguishes accounts with the same name, as in `Ann#0007`. `team` identifies the entrant's team,
    `team_name` is its name for display. `penalty` is the part of the finish time, in microseconds, that an
    organizer added for a reason. `profile` is not a part of the result: it is not compared and not stored
    with the race. None means that the source has no profiles.
    """

    user_id: str | None
    name: str
    status: EntrantStatus
    finish_time: int | None = None
    place: int | None = None
    team: str | None = None
    discriminator: str | None = None
    team_name: str | None = None
    penalty: int | None = None
    penalty_reason: str | None = None
    profile: Profile | None = field(default=None, compare=False, repr=False)

    @property
    def finished(self) -> bool:
        return self.status is EntrantStatus.DONE

    @property
    def seconds(self) -> float | None:
        """The finish time in seconds, None without a finish or its time."""
        return self.finish_time / 1e6 if self.finished and self.finish_time is not None else None

    def penalized(self, penalty: int, reason: str | None) -> Entrant:
        """Return the entrant with this penalty in place of the one before. Only finish times have one."""
        if not self.finished or self.finish_time is None:
            return self
        time = self.finish_time - (self.penalty or 0) + penalty
        own = (penalty, reason) if penalty else (None, None)
        return replace(self, finish_time=time, penalty=own[0], penalty_reason=own[1])

    def facts(self) -> Entrant:
        """Return the entrant without account and penalty. It is equal for entrants with the same result."""
        return replace(self.penalized(0, None), user_id=None, name="", discriminator=None, team_name=None)


@dataclass(frozen=True, slots=True)
class RaceResult:
    """The result of a race, recorded or not.

    `name` is unique on the site (`category/slug`). `hidden` is set while the site shows invented names.
    The facts after it choose leaderboards, and are no part of the fingerprint. They are None where the source
    does not say: only a race's own data has `opened_by`, the opener's name, empty if a bot opened the room.
    `leaderboard` is the only one on which an event counts, None for a race of the site.
    """

    name: str
    category: str
    goal: str
    ended_at: datetime
    entrants: tuple[Entrant, ...]
    recorded: bool = False
    recordable: bool = True
    custom_goal: bool = False
    hidden: bool = False
    info: str | None = None
    opened_by: str | None = None
    opened_by_bot: str | None = None
    started_at: datetime | None = None
    leaderboard: str | None = None

    @property
    def team_race(self) -> bool:
        return any(entrant.team is not None for entrant in self.entrants)

    @property
    def final(self) -> bool:
        """Return whether all entrants have a result and known identities."""
        return not self.hidden and all(e.status is not EntrantStatus.RACING for e in self.entrants)

    @property
    def countable(self) -> bool:
        """Return whether the site can ever record this race for a goal of the category."""
        return self.recordable and not self.custom_goal

    def with_accounts_of(self, earlier: RaceResult) -> RaceResult:
        """Return this result with the accounts of `earlier` for entrants whose accounts were deleted since.

        The site shows such entrants without an account. They are matched by status, time, place and team;
        entrants that are equal in all of these are interchangeable.
        """
        present = {e.user_id for e in self.entrants}
        gone = [e for e in earlier.entrants if e.user_id is not None and e.user_id not in present]
        entrants = list(self.entrants)
        for index, entrant in enumerate(entrants):
            if entrant.user_id is None:
                facts = entrant.facts()
                match = next((e for e in gone if e.facts() == facts), None)
                if match is not None:
                    gone.remove(match)
                    entrants[index] = match
        return replace(self, entrants=tuple(entrants))

    @property
    def room_facts(self) -> tuple[object, ...]:
        """The facts outside the fingerprint on which the choice of leaderboards depends."""
        return (self.recorded, *(getattr(self, name) for name in ROOM_FACTS))

    def with_room_of(self, earlier: RaceResult) -> RaceResult:
        """Return this result with the facts of its room that only `earlier` has."""
        known = {name: value for name in ROOM_FACTS if (value := getattr(earlier, name)) is not None}
        return replace(self, **{name: value for name, value in known.items() if getattr(self, name) is None})

    def deleted_accounts(self, earlier: RaceResult) -> list[str]:
        """Return the accounts of `earlier` that this later result shows as deleted."""
        known = self.with_accounts_of(earlier)
        present = {e.user_id for e in self.entrants}
        return [e.user_id for e in known.entrants if e.user_id is not None and e.user_id not in present]

    def to_json(self) -> str:
        """Return all facts as compact JSON. `from_json` reads them back exactly."""
        facts = {name: value for name in _FACTS if (value := getattr(self, name)) is not None}
        facts["ended_at"] = self.ended_at.isoformat()
        if self.started_at is not None:
            facts["started_at"] = self.started_at.isoformat()
        facts["entrants"] = [
            {name: value for name in _FACTS_OF_ENTRANT if (value := getattr(e, name)) is not None}
            for e in self.entrants
        ]
        return json.dumps(facts, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> RaceResult:
        facts = json.loads(text)
        facts["ended_at"] = datetime.fromisoformat(facts["ended_at"])
        if "started_at" in facts:
            facts["started_at"] = datetime.fromisoformat(facts["started_at"])
        for entrant in facts["entrants"]:
            entrant["status"] = _STATUS[entrant["status"]]
            entrant.setdefault("user_id", None)
        facts["entrants"] = tuple([Entrant(**entrant) for entrant in facts["entrants"]])
        return cls(**facts)

    def fingerprint(self) -> str:
        """Return a hash of everything that ratings depend on.

        Names, discriminators and names of teams are left out, so that a racer's new name changes no result.
        """
        facts = [
            self.name,
            self.goal,
            self.ended_at.astimezone(UTC).isoformat(),
            sorted(
                (
                    e.user_id or "",
                    e.status,
                    e.finish_time or 0,
                    e.place or 0 if e.finish_time is None else 0,
                    e.team or "",
                )
                for e in self.entrants
            ),
        ]
        return hashlib.sha256(json.dumps(facts, separators=(",", ":")).encode()).hexdigest()[:32]


_FACTS = tuple(each.name for each in fields(RaceResult))
_FACTS_OF_ENTRANT = tuple(each.name for each in fields(Entrant) if each.compare)


def shown_names(entrants: Iterable[Entrant]) -> dict[Entrant, str]:
    """Return the name to show for each entrant: `name#1234` if two of them share a name."""
    entrants = list(entrants)
    times = Counter(entrant.name.casefold() for entrant in entrants)
    return {
        e: f"{e.name}#{e.discriminator}" if e.discriminator and times[e.name.casefold()] > 1 else e.name
        for e in entrants
    }


_NO_PLACE: dict[str, str] = {
    EntrantStatus.DONE: "team DNF",
    EntrantStatus.DNF: "DNF",
    EntrantStatus.DQ: "DQ",
}


def result_label(status: str, place: int | None) -> str:
    """Return a place as text, or the reason for having none; ? if that is unknown.

    A finisher has no place if a member of the team did not finish.
    """
    return _NO_PLACE.get(status, "?") if place is None else str(place)
