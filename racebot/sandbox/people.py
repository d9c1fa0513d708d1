"""Users, bots, teams, and the category with its goals."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(eq=False, slots=True)
class User:
    """An account. After deletion its entrants stay in their races, without a user."""

    id: str
    name: str
    discriminator: str | None = None
    deleted: bool = False
    avatar: str | None = None
    pronouns: str | None = None
    twitch_name: str | None = None

    @property
    def full_name(self) -> str:
        return self.name if self.discriminator is None else f"{self.name}#{self.discriminator}"


@dataclass(frozen=True, slots=True)
class Bot:
    """A bot of the category, with its OAuth2 credentials."""

    name: str
    client_id: str
    client_secret: str


@dataclass(frozen=True, slots=True)
class Team:
    """A team of one race, identified by its slug."""

    name: str
    slug: str
    formal: bool = False


@dataclass(eq=False, slots=True)
class FakeCategory:
    """The sandbox's only category."""

    slug: str
    name: str
    short_name: str
    image: str | None = None
    goals: list[str] = field(default_factory=list)
    owners: list[User] = field(default_factory=list)
    moderators: list[User] = field(default_factory=list)

    def may_moderate(self, user: User) -> bool:
        return not user.deleted and (user in self.owners or user in self.moderators)
