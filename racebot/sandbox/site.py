"""The sandbox's state: one category, its people and its races, and the tokens of its bots.

Pure: the clock and the random generator are passed in, and nothing here reads or writes anything.
"""

from __future__ import annotations

import random
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from racebot.sandbox.errors import UnknownError
from racebot.sandbox.people import Bot, FakeCategory, Team, User
from racebot.sandbox.race_state import RaceStatus
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.text import slugify, utc_now
from racebot.sandbox.words import MOODS, THINGS

CLIENT_ID = "sandbox"
CLIENT_SECRET = "sandbox-secret"  # noqa: S105 - the sandbox guards nothing
BOT_NAME = "Racebot"
CATEGORY = "sandbox"
GOAL = "Sandbox 100%"
MODERATOR = "Referee"

TOKEN_SECONDS = 36_000
GUID_WINDOW = timedelta(minutes=5)

Clock = Callable[[], datetime]

_ID = string.ascii_letters + string.digits


class FakeSite:
    """The whole of the sandbox.

    `clock` gives the time and `rng` all that is drawn by lot, ids included, so that a run can be repeated.
    """

    def __init__(
        self,
        *,
        category: str = CATEGORY,
        goals: Sequence[str] = (GOAL,),
        clock: Clock = utc_now,
        rng: random.Random | None = None,
    ) -> None:
        self.skew = timedelta(0)
        """By how much the site's clock is wrong."""
        self._clock = clock
        self.rng = random.Random() if rng is None else rng  # noqa: S311
        self.category = FakeCategory(slug=category, name="Sandbox", short_name="Sand", goals=list(goals))
        self.users: dict[str, User] = {}
        self.bots: dict[str, Bot] = {}
        self.rooms: dict[str, FakeRoom] = {}
        self.scores: dict[tuple[str, str], int] = {}
        """The site's own score of a user (by id) in a goal."""
        self.token_seconds = TOKEN_SECONDS
        self.requests: list[Visit] = []
        """Every HTTP request and handshake so far, the control API's and the pages' left out."""
        self.issued_tokens: list[str] = []
        """Every token that was ever given out, also those that are worthless by now."""
        self._tokens: dict[str, tuple[Bot, datetime]] = {}
        self._guids: dict[str, datetime] = {}
        self.bot = self.add_bot(BOT_NAME, CLIENT_ID, CLIENT_SECRET)
        self.moderator = self.add_user(MODERATOR)
        self.category.owners.append(self.moderator)

    def clock(self) -> datetime:
        """The time by the site's clock."""
        return self._clock() + self.skew

    # ── people ──

    def add_user(self, name: str, *, id: str | None = None, moderator: bool = False) -> User:  # noqa: A002
        """A new account; names need not be unique, ids are."""
        user = User(self.new_id() if id is None else id, name, f"{self.rng.randrange(10_000):04d}")
        self.users[user.id] = user
        if moderator:
            self.category.moderators.append(user)
        return user

    def user(self, who: User | str) -> User:
        """The account with this id or, failing that, this name."""
        if isinstance(who, User):
            return who
        if who in self.users:
            return self.users[who]
        for user in self.users.values():
            if user.name == who and not user.deleted:
                return user
        raise UnknownError(f"no user {who!r}")

    def rename_user(self, who: User | str, name: str) -> None:
        self.user(who).name = name

    def delete_user(self, who: User | str) -> None:
        """Delete an account; its entrants stay in their races without a user."""
        self.user(who).deleted = True

    def add_bot(self, name: str, client_id: str, client_secret: str) -> Bot:
        """One more bot of the category, beside the one that is there from the start."""
        bot = Bot(name, client_id, client_secret)
        self.bots[client_id] = bot
        return bot

    def bot_with(self, client_id: str) -> Bot:
        """The bot with this client id."""
        if client_id not in self.bots:
            raise UnknownError(f"no bot with the client id {client_id!r}")
        return self.bots[client_id]

    # ── races ──

    def open_race(
        self,
        goal: str | None = None,
        *,
        slug: str | None = None,
        opened_by: User | str | None = None,
        **options: bool,
    ) -> FakeRoom:
        """Open a room.

        `options` are `custom_goal`, `invitational`, `unlisted`, `hide_entrants` and `team_race`. A goal that
        the category does not have is a custom one.
        """
        goal = self.category.goals[0] if goal is None else goal
        options.setdefault("custom_goal", goal not in self.category.goals)
        by = self.moderator if opened_by is None else self.user(opened_by)
        room = FakeRoom(self, self.new_slug() if slug is None else slug, goal, by, **options)
        self.add_room(room)
        return room

    def add_room(self, room: FakeRoom) -> None:
        self.rooms[room.slug] = room

    def room(self, slug: str) -> FakeRoom:
        """The room with this slug, or this name (`category/slug`)."""
        slug = slug.removeprefix(f"{self.category.slug}/")
        if slug not in self.rooms:
            raise UnknownError(f"no race {slug!r}")
        return self.rooms[slug]

    def past_races(self) -> list[FakeRoom]:
        """What the list of past races shows, newest end first: unlisted races only once they are recorded."""
        past = [
            room
            for room in self.rooms.values()
            if room.status is RaceStatus.FINISHED and (room.recorded or not room.unlisted)
        ]
        past.sort(key=lambda room: room.ended_at or room.opened_at, reverse=True)
        return past

    def forget_rooms(self) -> None:
        """Lose every race that is not over, as though the site had come back from an older copy of itself."""
        self.rooms = {slug: room for slug, room in self.rooms.items() if room.status.over}

    # ── tokens and guids ──

    def issue_token(self, client_id: str, client_secret: str) -> str | None:
        """A token for a bot, or None where the credentials are wrong."""
        bot = self.bots.get(client_id)
        if bot is None or bot.client_secret != client_secret:
            return None
        token = "".join(self.rng.choices(_ID, k=30))
        self.issued_tokens.append(token)
        self._tokens[token] = (bot, self.clock() + timedelta(seconds=self.token_seconds))
        return token

    def bot_for(self, token: str | None) -> Bot | None:
        """The bot whose token this is, unless it has expired."""
        bot, expires = self._tokens.get(token or "", (None, self.clock()))
        return bot if expires > self.clock() else None

    def revoke_tokens(self) -> None:
        """Make every token worthless at once."""
        self._tokens.clear()

    def use_guid(self, guid: str) -> bool:
        """Whether this guid is new; the same one is not for the next five minutes."""
        now = self.clock()
        self._guids = {known: at for known, at in self._guids.items() if now - at < GUID_WINDOW}
        if guid in self._guids:
            return False
        self._guids[guid] = now
        return True

    def forget_guids(self) -> None:
        """Lose the memory of guids, as though what keeps it had been restarted."""
        self._guids.clear()

    # ── making things up ──

    def new_id(self) -> str:
        return "".join(self.rng.choices(_ID, k=16))

    def new_slug(self) -> str:
        while True:
            slug = f"{self.rng.choice(MOODS)}-{self.rng.choice(THINGS)}-{self.rng.randrange(10_000):04d}"
            if slug not in self.rooms:
                return slug

    def new_team(self, name: str) -> Team:
        return Team(name, f"{slugify(name) or 'team'}-{self.rng.randrange(10_000):04d}")

    # ── what was asked of it ──

    def counts(self) -> Counter[str]:
        """How often each path was asked for, without its query."""
        return Counter(request.path for request in self.requests)


@dataclass(frozen=True, slots=True)
class Visit:
    """One request as the site received it."""

    at: datetime
    method: str
    path: str
    query: str
    user_agent: str

    def as_json(self) -> dict[str, Any]:
        return {
            "at": self.at.isoformat(),
            "method": self.method,
            "path": self.path,
            "query": self.query,
            "user_agent": self.user_agent,
        }
