"""The site's users, its clock and its random choices: what a room needs of the site."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from datetime import datetime, timedelta

from racebot.sandbox.race_state import FakeCategory, UnknownError, User

MODERATOR = "Referee"
ID_CHARACTERS = string.ascii_letters + string.digits

Clock = Callable[[], datetime]


class Accounts:
    """The users of a category. `clock` returns the time, `rng` makes every random choice, ids included."""

    def __init__(self, category: FakeCategory, clock: Clock, rng: random.Random) -> None:
        self.category = category
        self.skew = timedelta(0)
        """Offset of the site's clock from the given clock."""
        self._clock = clock
        self.rng = rng
        self.users: dict[str, User] = {}
        self.moderator = self.add_user(MODERATOR)
        self.category.owners.append(self.moderator)

    def clock(self) -> datetime:
        """Return the current time on the site's clock."""
        return self._clock() + self.skew

    def add_user(self, name: str, *, id: str | None = None, moderator: bool = False) -> User:  # noqa: A002
        """Add an account. Ids are unique; names need not be."""
        user = User(id or self.new_id(), name, f"{self.rng.randrange(10_000):04d}")
        self.users[user.id] = user
        if moderator:
            self.category.moderators.append(user)
        return user

    def user(self, who: User | str) -> User:
        """Return the account with this id, or else with this name."""
        if isinstance(who, User):
            return who
        if who in self.users:
            return self.users[who]
        named = (user for user in self.users.values() if user.name == who and not user.deleted)
        if (user := next(named, None)) is None:
            raise UnknownError(f"no user {who!r}")
        return user

    def new_id(self) -> str:
        return "".join(self.rng.choices(ID_CHARACTERS, k=16))
