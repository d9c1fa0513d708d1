"""Profiles of players and categories: pictures, pronouns and names on Twitch, always the newest."""

from __future__ import annotations

from collections.abc import Iterable

from racebot.ledger.connection import Connection
from racebot.ledger.rows import CategoryProfile
from racebot.races.result import Entrant, Profile


class Profiles:
    """The profiles in a ledger. Older ledgers have none until the site shows them again."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def save(self, entrants: Iterable[Entrant], *, current: bool) -> None:
        """Store the profiles of entrants, except of forgotten players.

        Args:
            entrants: the entrants of a race. Those without a profile are skipped.
            current: True for an answer from the site, which shows today's profiles even in old races. False
                for a file, whose profiles only fill gaps.
        """
        rows = [
            (e.user_id, e.profile.avatar, e.profile.pronouns, e.profile.twitch)
            for e in entrants
            if e.user_id is not None and e.profile is not None
        ]
        if not rows:
            return
        update = (
            "UPDATE SET avatar = excluded.avatar, pronouns = excluded.pronouns, twitch = excluded.twitch"
            " WHERE (avatar, pronouns, twitch) IS NOT (excluded.avatar, excluded.pronouns, excluded.twitch)"
        )
        self._connection.write_many(
            "INSERT INTO profiles (player, avatar, pronouns, twitch) SELECT ?1, ?2, ?3, ?4"  # noqa: S608
            " WHERE NOT EXISTS (SELECT 1 FROM orders WHERE kind = 'forget' AND subject = ?1)"
            f" ON CONFLICT (player) DO {update if current else 'NOTHING'}",
            rows,
        )

    def get(self, player: str) -> Profile:
        """Return a player's profile, which is empty if the site has not shown one yet."""
        row = self._connection.row("SELECT avatar, pronouns, twitch FROM profiles WHERE player = ?", player)
        return Profile() if row is None else Profile(*row)

    def all(self) -> dict[str, Profile]:
        """Return every profile, by player."""
        rows = self._connection.rows("SELECT player, avatar, pronouns, twitch FROM profiles")
        return {row[0]: Profile(*row[1:]) for row in rows}

    def avatars(self) -> dict[str, str]:
        """Return the address of each player's picture, by player."""
        return dict(
            map(tuple, self._connection.rows("SELECT player, avatar FROM profiles WHERE avatar IS NOT NULL"))
        )

    def remove(self, player: str) -> None:
        """Delete a player's profile."""
        self._connection.write("DELETE FROM profiles WHERE player = ?", player)

    def save_category(self, slug: str, profile: CategoryProfile) -> None:
        """Store a category's name and picture."""
        self._connection.write(
            "INSERT INTO categories (slug, name, image) VALUES (?, ?, ?) ON CONFLICT (slug) DO UPDATE"
            " SET name = excluded.name, image = excluded.image"
            " WHERE (name, image) IS NOT (excluded.name, excluded.image)",
            slug,
            profile.name,
            profile.image,
        )

    def category(self, slug: str) -> CategoryProfile | None:
        """Return a category's name and picture, or None if the site has not shown them yet."""
        row = self._connection.row("SELECT name, image FROM categories WHERE slug = ?", slug)
        return None if row is None else CategoryProfile(*row)

    def pictures(self) -> list[str]:
        """Return the addresses of all pictures: categories first, then avatars of players with a rating."""
        rows = self._connection.rows(
            "SELECT image FROM categories WHERE image IS NOT NULL"
            " UNION ALL SELECT DISTINCT avatar FROM profiles"
            " WHERE avatar IS NOT NULL AND player IN (SELECT player FROM standings)"
        )
        return [row[0] for row in rows]
