"""The sandbox's state: one category, its users, races and bots, and the bots' tokens.

It does no I/O. The clock and the random generator are parameters, so runs are reproducible.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from racebot.sandbox import race_state
from racebot.sandbox.room import FakeRoom

CLIENT_ID = "sandbox"
CLIENT_SECRET = "sandbox-secret"  # noqa: S105 - the sandbox guards nothing
BOT_NAME = "Racebot"
CATEGORY = "sandbox"
GOAL = "Sandbox 100%"

TOKEN_SECONDS = 36_000
GUID_WINDOW = timedelta(minutes=5)

_MOODS = ("amber", "brisk", "calm", "deft", "eager", "fond", "gentle", "hardy", "jolly", "keen", "lucid")
_THINGS = ("anvil", "basin", "cedar", "dune", "ember", "fjord", "grove", "harbor", "inlet", "jetty", "kiln")


@dataclass(frozen=True, slots=True)
class Visit:
    """A request that the site received."""

    path: str
    query: str
    method: str = "GET"


class FakeSite(race_state.Accounts):
    """The whole state of the sandbox."""

    def __init__(
        self,
        *,
        category: str = CATEGORY,
        goals: Sequence[str] = (GOAL,),
        clock: race_state.Clock = lambda: datetime.now(UTC),
        rng: random.Random | None = None,
    ) -> None:
        about = race_state.FakeCategory(category, list(goals))
        super().__init__(about, clock, random.Random() if rng is None else rng)  # noqa: S311
        self.bots: dict[str, race_state.Bot] = {}
        self.rooms: dict[str, FakeRoom] = {}
        self.discord: dict[str, dict[str, Any]] = {}
        """The messages of Discord's webhooks, by id, oldest first."""
        self.posts, self.deleted_webhooks = 0, set[str]()
        self.webhook_rate, self.webhook_uses = (5, 2.0), dict[str, list[float]]()
        """Most requests to a webhook in some seconds, and when each was used of late."""
        self.token_seconds = TOKEN_SECONDS
        self.requests: list[Visit] = []
        """Every HTTP request and handshake so far, except those to the control API and the pages."""
        self.actions: list[str] = []
        """Every action that came over a room's socket so far."""
        self.issued_tokens: list[str] = []
        """Every token ever issued, including expired and revoked ones."""
        self._tokens: dict[str, tuple[race_state.Bot, datetime]] = {}
        self.guids: dict[str, datetime] = {}
        self.bot = self.add_bot(BOT_NAME, CLIENT_ID, CLIENT_SECRET)

    def rename_user(self, user: race_state.User | str, name: str) -> None:
        self.user(user).name = name

    def delete_user(self, user: race_state.User | str) -> None:
        """Delete an account, unseen by open connections. Its entrants stay in their races, without a user."""
        self.user(user).deleted = True

    def rename_goal(self, goal: str, name: str) -> None:
        """Rename a goal in the category and in all its races, as silently as `delete_user`."""
        goals = self.category.goals
        if goal not in goals:
            raise race_state.UnknownError(f"no goal {goal!r}")
        goals[goals.index(goal)] = name
        for room in self.rooms.values():
            if room.goal == goal and not room.custom_goal:
                room.goal = name

    def add_bot(self, name: str, client_id: str, client_secret: str) -> race_state.Bot:
        self.bots[client_id] = race_state.Bot(name, client_id, client_secret)
        return self.bots[client_id]

    def open_race(
        self,
        goal: str | None = None,
        *,
        slug: str | None = None,
        opened_by: race_state.User | str | None = None,
        opened_by_bot: str | None = None,
        info: str = "",
        custom_goal: bool = False,
        unlisted: bool = False,
        hide_entrants: bool = False,
        team_race: bool = False,
    ) -> FakeRoom:
        """Open a room. A goal that the category does not have becomes custom; a bot's room has no opener."""
        goal = goal or self.category.goals[0]
        custom_goal = custom_goal or goal not in self.category.goals
        room = FakeRoom(
            site=self,
            category=self.category,
            slug=slug or self._new_slug(),
            goal=goal,
            opened_by=None if opened_by_bot else self.user(opened_by or self.moderator),
            opened_by_bot=opened_by_bot,
            info=info,
            opened_at=self.clock(),
            custom_goal=custom_goal,
            recordable=not custom_goal,
            unlisted=unlisted,
            hide_entrants=hide_entrants,
            team_race=team_race,
        )
        self.rooms[room.slug] = room
        return room

    def room(self, slug: str) -> FakeRoom:
        """Return the room with this slug or name (`category/slug`)."""
        slug = slug.removeprefix(f"{self.category.slug}/")
        if slug not in self.rooms:
            raise race_state.UnknownError(f"no race {slug!r}")
        return self.rooms[slug]

    def past_races(self) -> list[FakeRoom]:
        """Return past races, the last ended first. An unlisted one must be recorded or have a custom goal."""
        finished = [room for room in self.rooms.values() if room.status is race_state.RaceStatus.FINISHED]
        listed = [room for room in finished if room.recorded or room.custom_goal or not room.unlisted]
        return sorted(listed, key=lambda room: room.ended_at or room.opened_at, reverse=True)

    def issue_token(self, client_id: str, client_secret: str) -> str | None:
        """Return a new token for a bot, or None if the credentials are wrong."""
        bot = self.bots.get(client_id)
        if bot is None or bot.client_secret != client_secret:
            return None
        token = "".join(self.rng.choices(race_state.ID_CHARACTERS, k=30))
        self.issued_tokens.append(token)
        self._tokens[token] = (bot, self.clock() + timedelta(seconds=self.token_seconds))
        return token

    def bot_for(self, token: str | None) -> race_state.Bot | None:
        """Return the bot that a token belongs to, or None if the token is invalid."""
        bot, expires = self._tokens.get(token or "", (None, self.clock()))
        return bot if expires > self.clock() else None

    def revoke_tokens(self) -> None:
        self._tokens.clear()

    def use_guid(self, guid: str) -> bool:
        """Record a guid. Return False if it was used in the last five minutes."""
        now = self.clock()
        self.guids = {known: at for known, at in self.guids.items() if now - at < GUID_WINDOW}
        if guid in self.guids:
            return False
        self.guids[guid] = now
        return True

    def _new_slug(self) -> str:
        slug = f"{self.rng.choice(_MOODS)}-{self.rng.choice(_THINGS)}-{self.rng.randrange(10_000):04d}"
        return slug if slug not in self.rooms else self._new_slug()
