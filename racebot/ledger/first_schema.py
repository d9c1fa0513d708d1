"""The first two migrations, which create most of the ledger's tables; see `schema`."""

from __future__ import annotations

from sqlite_utils.db import Database


def run(db: Database, *statements: str) -> None:
    """Run the statements of a migration."""
    for statement in statements:
        db.execute(statement)


def m001_ledger(db: Database) -> None:
    """Players, races, leaderboards, and what each race did to each rating."""
    run(
        db,
        """
        CREATE TABLE players (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            first_seen TEXT NOT NULL,
            last_seen TEXT NOT NULL
        ) WITHOUT ROWID
        """,
        "CREATE INDEX players_by_name ON players (name COLLATE NOCASE)",
        """
        CREATE TABLE races (
            name TEXT PRIMARY KEY,
            category TEXT NOT NULL,
            goal TEXT NOT NULL,
            ended_at TEXT NOT NULL,
            counted_at TEXT NOT NULL,
            source TEXT NOT NULL CHECK (source IN ('live', 'backfill', 'import')),
            result TEXT NOT NULL,
            fingerprint TEXT NOT NULL
        ) WITHOUT ROWID
        """,
        "CREATE INDEX races_in_order ON races (category, goal, counted_at, name)",
        """
        CREATE TABLE leaderboards (
            id INTEGER PRIMARY KEY,
            category TEXT NOT NULL,
            name TEXT NOT NULL,
            goals TEXT NOT NULL,
            model TEXT NOT NULL,
            parameters TEXT NOT NULL,
            teams TEXT NOT NULL,
            carry TEXT NOT NULL,
            UNIQUE (category, name)
        )
        """,
        """
        CREATE TABLE carried (
            leaderboard INTEGER NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
            player TEXT NOT NULL REFERENCES players (id),
            state TEXT NOT NULL,
            PRIMARY KEY (leaderboard, player)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE rated (
            leaderboard INTEGER NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
            sequence INTEGER NOT NULL,
            race TEXT NOT NULL REFERENCES races (name),
            note TEXT,
            PRIMARY KEY (leaderboard, sequence),
            UNIQUE (leaderboard, race)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE changes (
            leaderboard INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            player TEXT NOT NULL REFERENCES players (id),
            place INTEGER,
            state_before TEXT NOT NULL,
            state_after TEXT NOT NULL,
            points_before INTEGER NOT NULL,
            points_after INTEGER NOT NULL,
            races_before INTEGER NOT NULL,
            parts TEXT NOT NULL,
            PRIMARY KEY (leaderboard, sequence, player),
            FOREIGN KEY (leaderboard, sequence) REFERENCES rated (leaderboard, sequence) ON DELETE CASCADE
        ) WITHOUT ROWID
        """,
        "CREATE INDEX changes_by_player ON changes (leaderboard, player, sequence)",
        """
        CREATE TABLE standings (
            leaderboard INTEGER NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
            player TEXT NOT NULL REFERENCES players (id),
            state TEXT NOT NULL,
            rating REAL NOT NULL,
            points INTEGER NOT NULL,
            races INTEGER NOT NULL,
            finishes INTEGER NOT NULL,
            wins INTEGER NOT NULL,
            last_race_at TEXT NOT NULL,
            PRIMARY KEY (leaderboard, player)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX standings_by_rating ON standings (leaderboard, rating DESC)",
    )


def m002_work(db: Database) -> None:
    """Pending races, messages to deliver, and unfinished backfills."""
    run(
        db,
        """
        CREATE TABLE pending (
            race TEXT PRIMARY KEY,
            category TEXT NOT NULL,
            ended_at TEXT NOT NULL,
            next_look TEXT NOT NULL,
            said TEXT,
            corrections INTEGER NOT NULL DEFAULT 0
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE joined (
            race TEXT PRIMARY KEY,
            category TEXT NOT NULL
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE outbox (
            id INTEGER PRIMARY KEY,
            race TEXT NOT NULL,
            category TEXT NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('chat', 'info', 'meta')),
            guid TEXT NOT NULL UNIQUE,
            body TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('waiting', 'sent', 'delivered', 'refused', 'dropped')),
            detail TEXT,
            created_at TEXT NOT NULL,
            updated_at TEXT NOT NULL
        )
        """,
        "CREATE INDEX outbox_by_race ON outbox (race, id)",
        "CREATE INDEX outbox_open ON outbox (race, id) WHERE state IN ('waiting', 'sent')",
        """
        CREATE TABLE backfills (
            category TEXT PRIMARY KEY,
            next_page INTEGER NOT NULL,
            started_at TEXT NOT NULL
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE fetched (
            race TEXT PRIMARY KEY,
            category TEXT NOT NULL,
            result TEXT NOT NULL
        ) WITHOUT ROWID
        """,
    )
