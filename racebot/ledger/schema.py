"""The ledger's tables, as numbered migrations.

Never edit a released migration. To change the schema, add a migration at the end.
Times are ISO 8601 text in UTC, which sorts as time. States are JSON lists of floats, exact to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlite_utils import Migrations
from sqlite_utils.db import Database

from racebot.text.parse import fold_name

_STATEMENTS = {
    # Players, races, leaderboards, and what each race did to each rating.
    "m001_ledger": """
        CREATE TABLE players (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            first_seen TEXT NOT NULL,
            last_seen TEXT NOT NULL
        ) WITHOUT ROWID;
        CREATE INDEX players_by_name ON players (name COLLATE NOCASE);
        CREATE TABLE races (
            name TEXT PRIMARY KEY,
            category TEXT NOT NULL,
            goal TEXT NOT NULL,
            ended_at TEXT NOT NULL,
            counted_at TEXT NOT NULL,
            source TEXT NOT NULL CHECK (source IN ('live', 'backfill', 'import')),
            result TEXT NOT NULL,
            fingerprint TEXT NOT NULL
        ) WITHOUT ROWID;
        CREATE INDEX races_in_order ON races (category, goal, counted_at, name);
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
        );
        CREATE TABLE carried (
            leaderboard INTEGER NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
            player TEXT NOT NULL REFERENCES players (id),
            state TEXT NOT NULL,
            PRIMARY KEY (leaderboard, player)
        ) WITHOUT ROWID;
        CREATE TABLE rated (
            leaderboard INTEGER NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
            sequence INTEGER NOT NULL,
            race TEXT NOT NULL REFERENCES races (name),
            note TEXT,
            PRIMARY KEY (leaderboard, sequence),
            UNIQUE (leaderboard, race)
        ) WITHOUT ROWID;
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
        ) WITHOUT ROWID;
        CREATE INDEX changes_by_player ON changes (leaderboard, player, sequence);
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
        ) WITHOUT ROWID;
        CREATE INDEX standings_by_rating ON standings (leaderboard, rating DESC);
    """,
    # Pending races, messages to deliver, and unfinished backfills.
    "m002_work": """
        CREATE TABLE pending (
            race TEXT PRIMARY KEY,
            category TEXT NOT NULL,
            ended_at TEXT NOT NULL,
            next_look TEXT NOT NULL,
            said TEXT,
            corrections INTEGER NOT NULL DEFAULT 0
        ) WITHOUT ROWID;
        CREATE TABLE joined (
            race TEXT PRIMARY KEY,
            category TEXT NOT NULL
        ) WITHOUT ROWID;
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
        );
        CREATE INDEX outbox_by_race ON outbox (race, id);
        CREATE INDEX outbox_open ON outbox (race, id) WHERE state IN ('waiting', 'sent');
        CREATE TABLE backfills (
            category TEXT PRIMARY KEY,
            next_page INTEGER NOT NULL,
            started_at TEXT NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE fetched (
            race TEXT PRIMARY KEY,
            category TEXT NOT NULL,
            result TEXT NOT NULL
        ) WITHOUT ROWID;
    """,
    # Case-folded names for look-ups, and rooms in which the bot keeps quiet.
    "m003_chat": """
        ALTER TABLE players ADD COLUMN folded TEXT NOT NULL DEFAULT '';
        DROP INDEX players_by_name;
        CREATE INDEX players_by_name ON players (folded);
        CREATE TABLE quiet (race TEXT PRIMARY KEY) WITHOUT ROWID;
        UPDATE players SET folded = casefold(name) WHERE name <> 'deleted account';
    """,
    # Indices that give places and a leaderboard's last race without reading every standing.
    "m004_places": """
        DROP INDEX standings_by_rating;
        CREATE INDEX standings_by_rating ON standings (leaderboard, rating DESC, finishes, last_race_at);
        CREATE INDEX standings_by_last_race ON standings (leaderboard, last_race_at);
    """,
    # Discriminators, which distinguish players with the same name, and operators' orders.
    "m005_people": """
        ALTER TABLE players ADD COLUMN discriminator TEXT NOT NULL DEFAULT '';
        CREATE TABLE orders (
            id INTEGER PRIMARY KEY,
            given_at TEXT NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('forget', 'hide', 'unhide', 'merge', 'exclude', 'include')),
            subject TEXT NOT NULL,
            target TEXT,
            reason TEXT NOT NULL
        );
        CREATE INDEX orders_by_subject ON orders (subject, kind, id);
        CREATE VIEW shown_players AS
        SELECT
            id,
            CASE
                WHEN discriminator <> '' AND EXISTS (
                    SELECT 1 FROM players AS other
                    WHERE other.folded = players.folded AND other.id <> players.id
                ) THEN name || '#' || discriminator
                ELSE name
            END AS name
        FROM players;
        CREATE VIEW hidden_players AS
        SELECT subject AS player FROM orders
        WHERE kind IN ('forget', 'hide') AND NOT EXISTS (
            SELECT 1 FROM orders AS later
            WHERE later.subject = orders.subject AND later.kind = 'unhide' AND later.id > orders.id
        );
        CREATE VIEW excluded_races AS
        SELECT subject AS race FROM orders
        WHERE kind = 'exclude' AND NOT EXISTS (
            SELECT 1 FROM orders AS later
            WHERE later.subject = orders.subject AND later.kind = 'include' AND later.id > orders.id
        );
    """,
    # Cancelled races that may come back, races that the site does not find, and undone records.
    "m006_edits": """
        ALTER TABLE pending RENAME COLUMN said TO announced_key;
        ALTER TABLE pending ADD COLUMN over INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE pending ADD COLUMN misses INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE unrecorded (race TEXT PRIMARY KEY, first_seen TEXT NOT NULL) WITHOUT ROWID;
    """,
    # The platforms that rated races, and goals that were renamed on the site.
    "m007_replays": """
        CREATE TABLE rated_on (
            leaderboard INTEGER NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
            sequence INTEGER NOT NULL,
            platform TEXT NOT NULL,
            PRIMARY KEY (leaderboard, sequence)
        ) WITHOUT ROWID;
        CREATE TABLE renamed_goals (
            category TEXT NOT NULL,
            earlier TEXT NOT NULL,
            goal TEXT NOT NULL,
            PRIMARY KEY (category, earlier)
        ) WITHOUT ROWID;
    """,
    # When the whole list of a category's past races was last read.
    "m008_full_reads": """
        CREATE TABLE full_reads (category TEXT PRIMARY KEY, read_at TEXT NOT NULL) WITHOUT ROWID;
    """,
    # What players and categories show on the site beside their names.
    "m009_profiles": """
        CREATE TABLE profiles (
            player TEXT PRIMARY KEY,
            avatar TEXT,
            pronouns TEXT NOT NULL,
            twitch TEXT NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE categories (slug TEXT PRIMARY KEY, name TEXT NOT NULL, image TEXT) WITHOUT ROWID;
    """,
    # Leaderboards rebuilt beside the live one, and a number that changes when past races are rated again.
    # `shadow_of` is NULL for a live leaderboard. A rebuild writes to a hidden one, whose `shadow_of` names
    # the live one; an empty text marks one that is no longer needed. `number` stays the same after a rebuild.
    "m010_rebuilds": """
        ALTER TABLE leaderboards ADD COLUMN shadow_of TEXT;
        ALTER TABLE leaderboards ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE leaderboards ADD COLUMN number INTEGER;
    """,
    # Parameters that older hurdle models did not have, with the values that leave them as they were.
    "m011_parameters": """
        UPDATE leaderboards
        SET parameters = json_patch(
            '{"odds_scale": 1.0, "odds_doubt": 1.0, "spare_finishers": false}', parameters
        )
        WHERE model IN ('thurstone-hurdle', 'thurstone-filter');
        UPDATE leaderboards SET parameters = json_patch('{"spare_finishers": false}', parameters)
        WHERE model = 'plackett-luce-hurdle';
    """,
    # Names in plain letters, as `fold_name` writes them, for look-ups. Empty for forgotten players.
    "m012_letters": """
        ALTER TABLE players ADD COLUMN letters TEXT NOT NULL DEFAULT '';
        CREATE INDEX players_by_letters ON players (letters);
        UPDATE players SET letters = fold_name(name) WHERE name <> 'deleted account';
    """,
    # Whether players gave an order about themselves. Until now, only its reason showed that.
    "m013_order_givers": """
        ALTER TABLE orders ADD COLUMN by_player INTEGER NOT NULL DEFAULT 0;
        UPDATE orders SET by_player = 1 WHERE kind IN ('hide', 'unhide') AND reason = 'asked in chat';
    """,
    # Places in the index of each player's changes, which then counts finishes and wins up to any race.
    "m014_results": """
        DROP INDEX changes_by_player;
        CREATE INDEX changes_by_player ON changes (leaderboard, player, sequence, place);
    """,
    # When a recorded race got another result, for feeds.
    "m015_corrections": """
        ALTER TABLE races ADD COLUMN corrected_at TEXT;
    """,
    # When races of a leaderboard were last rated, for its pages. Unknown until the next race.
    "m016_updates": """
        ALTER TABLE leaderboards ADD COLUMN updated_at TEXT;
    """,
    # Names in plain letters with single spaces, as players type them.
    "m017_spaces": """
        UPDATE players SET letters = fold_name(name) WHERE name <> 'deleted account';
    """,
    # Races in a table with row numbers, which takes half the space and is faster to read.
    # Without them, SQLite moves the end of each row longer than about 1,000 bytes to a page of its own.
    # Foreign keys must be off: https://www.sqlite.org/lang_altertable.html#otheralter
    "m018_wide_races": """
        CREATE TABLE races_by_number (
            name TEXT NOT NULL PRIMARY KEY,
            category TEXT NOT NULL,
            goal TEXT NOT NULL,
            ended_at TEXT NOT NULL,
            counted_at TEXT NOT NULL,
            source TEXT NOT NULL CHECK (source IN ('live', 'backfill', 'import')),
            corrected_at TEXT,
            fingerprint TEXT NOT NULL,
            result TEXT NOT NULL
        );
        INSERT INTO races_by_number
        SELECT name, category, goal, ended_at, counted_at, source, corrected_at, fingerprint, result
        FROM races ORDER BY category, goal, counted_at, name;
        DROP TABLE races;
        ALTER TABLE races_by_number RENAME TO races;
        CREATE INDEX races_in_order ON races (category, goal, counted_at, name);
    """,
    # Jobs that rate leaderboards again in another process, and ids of leaderboards that are never reused.
    # Rated races no longer refer to stored ones by a foreign key, so that a race can be deleted while a
    # hidden leaderboard holds it. Foreign keys must be off, as for `m018_wide_races`.
    "m019_jobs": """
        CREATE TABLE jobs (
            leaderboard INTEGER PRIMARY KEY,
            model TEXT NOT NULL,
            parameters TEXT NOT NULL,
            teams TEXT NOT NULL,
            carry TEXT NOT NULL,
            counted_at TEXT NOT NULL,
            race TEXT NOT NULL,
            reason TEXT NOT NULL,
            revision INTEGER NOT NULL DEFAULT 0,
            error TEXT,
            tries INTEGER NOT NULL DEFAULT 0,
            not_before TEXT NOT NULL DEFAULT ''
        );
        CREATE TABLE leaderboards_by_number (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            category TEXT NOT NULL,
            name TEXT NOT NULL,
            goals TEXT NOT NULL,
            model TEXT NOT NULL,
            parameters TEXT NOT NULL,
            teams TEXT NOT NULL,
            carry TEXT NOT NULL,
            shadow_of TEXT,
            revision INTEGER NOT NULL DEFAULT 0,
            number INTEGER,
            updated_at TEXT,
            UNIQUE (category, name)
        );
        INSERT INTO leaderboards_by_number SELECT * FROM leaderboards;
        DROP TABLE leaderboards;
        ALTER TABLE leaderboards_by_number RENAME TO leaderboards;
        CREATE TABLE rated_races (
            leaderboard INTEGER NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
            sequence INTEGER NOT NULL,
            race TEXT NOT NULL,
            note TEXT,
            PRIMARY KEY (leaderboard, sequence),
            UNIQUE (leaderboard, race)
        ) WITHOUT ROWID;
        INSERT INTO rated_races SELECT * FROM rated;
        DROP TABLE rated;
        ALTER TABLE rated_races RENAME TO rated;
    """,
    # One row for each race that the bot follows, in place of four tables.
    "m020_cases": """
        CREATE TABLE cases (
            race TEXT PRIMARY KEY,
            category TEXT NOT NULL,
            ended_at TEXT,
            next_look TEXT,
            misses INTEGER NOT NULL DEFAULT 0,
            over INTEGER NOT NULL DEFAULT 0,
            quiet INTEGER NOT NULL DEFAULT 0,
            ordered_at TEXT,
            unrecorded_since TEXT
        ) WITHOUT ROWID;
        INSERT INTO cases (race, category, ended_at, next_look, misses, over)
        SELECT race, category, ended_at, next_look, misses, over FROM pending;
        INSERT OR IGNORE INTO cases (race, category) SELECT race, category FROM joined;
        INSERT OR IGNORE INTO cases (race, category, ended_at)
        SELECT race, substr(race, 1, instr(race, '/') - 1), first_seen FROM unrecorded;
        UPDATE cases SET unrecorded_since = (SELECT first_seen FROM unrecorded WHERE race = cases.race);
        UPDATE cases SET quiet = 1 WHERE race IN (SELECT race FROM quiet);
        DROP TABLE pending;
        DROP TABLE joined;
        DROP TABLE unrecorded;
        DROP TABLE quiet;
        CREATE INDEX cases_by_next_look ON cases (category, next_look);
    """,
    # Which rooms a leaderboard chooses, and races that count without a record. Orders have an author, and
    # kinds that the code alone knows.
    "m021_rooms": """
        ALTER TABLE leaderboards ADD COLUMN rule TEXT NOT NULL DEFAULT '';
        ALTER TABLE races ADD COLUMN recorded INTEGER NOT NULL DEFAULT 1;
        ALTER TABLE cases ADD COLUMN standing TEXT;
        ALTER TABLE cases ADD COLUMN stands_since TEXT;
        CREATE INDEX races_by_category ON races (category, counted_at, name);
        DROP VIEW hidden_players;
        DROP VIEW excluded_races;
        CREATE TABLE orders_with_author (
            id INTEGER PRIMARY KEY,
            given_at TEXT NOT NULL,
            kind TEXT NOT NULL,
            subject TEXT NOT NULL,
            target TEXT,
            reason TEXT NOT NULL,
            by_player INTEGER NOT NULL DEFAULT 0,
            author TEXT NOT NULL DEFAULT ''
        );
        INSERT INTO orders_with_author SELECT *, '' FROM orders;
        DROP TABLE orders;
        ALTER TABLE orders_with_author RENAME TO orders;
        CREATE INDEX orders_by_subject ON orders (subject, kind, id);
        CREATE VIEW hidden_players AS
        SELECT subject AS player FROM orders
        WHERE kind IN ('forget', 'hide') AND NOT EXISTS (
            SELECT 1 FROM orders AS later
            WHERE later.subject = orders.subject AND later.kind = 'unhide' AND later.id > orders.id
        );
        CREATE VIEW excluded_races AS
        SELECT subject AS race, kind FROM orders
        WHERE kind IN ('exclude', 'skip') AND NOT EXISTS (
            SELECT 1 FROM orders AS later
            WHERE later.subject = orders.subject AND later.id > orders.id
            AND later.kind = CASE orders.kind WHEN 'exclude' THEN 'include' ELSE 'count' END
        );
    """,
    # What the messages of races on Discord should show, and what they show.
    "m022_discord": """
        CREATE TABLE discord (
            id INTEGER PRIMARY KEY,
            race TEXT NOT NULL,
            webhook TEXT NOT NULL,
            wanted TEXT NOT NULL,
            shown TEXT NOT NULL DEFAULT '',
            result TEXT,
            moves TEXT NOT NULL DEFAULT '{}',
            message TEXT,
            problem TEXT,
            UNIQUE (race, webhook)
        );
        CREATE INDEX discord_waiting ON discord (webhook, id) WHERE shown <> wanted;
    """,
    # Events: one race made of rooms and sheets.
    "m023_events": """
        CREATE TABLE events (
            name TEXT PRIMARY KEY,
            title TEXT NOT NULL,
            category TEXT NOT NULL,
            leaderboard TEXT NOT NULL,
            goal TEXT NOT NULL,
            until TEXT NOT NULL,
            timing TEXT NOT NULL,
            shown INTEGER NOT NULL,
            created_at TEXT NOT NULL,
            closed_at TEXT
        ) WITHOUT ROWID;
        CREATE TABLE event_sources (
            id INTEGER PRIMARY KEY,
            event TEXT NOT NULL REFERENCES events (name) ON DELETE CASCADE,
            kind TEXT NOT NULL CHECK (kind IN ('room', 'sheet')),
            name TEXT NOT NULL,
            result TEXT,
            remarks TEXT NOT NULL,
            added_at TEXT NOT NULL,
            added_by TEXT NOT NULL,
            UNIQUE (event, name)
        );
        CREATE UNIQUE INDEX event_rooms ON event_sources (name) WHERE kind = 'room';
        ALTER TABLE races ADD COLUMN counts_on TEXT NOT NULL DEFAULT '';
    """,
    # How often a message was posted: one that somebody deletes is posted anew once.
    "m024_posts": """
        ALTER TABLE discord ADD COLUMN posts INTEGER NOT NULL DEFAULT 0;
        UPDATE discord SET posts = 1 WHERE message IS NOT NULL;
    """,
}
"""The statements of each migration. `casefold` and `fold_name` are ours: SQLite folds only ASCII letters."""

NAMES = tuple(_STATEMENTS)


def unknown(db: Database) -> list[str]:
    """Return the names of migrations that a newer racebot applied to a database."""
    return [migration.name for migration in migrations.applied(db) if migration.name not in NAMES]


def _migration(statements: str) -> Callable[[Database], None]:
    def migrate(db: Database) -> None:
        db.conn.create_function("casefold", 1, str.casefold)
        db.conn.create_function("fold_name", 1, fold_name)
        for statement in statements.split(";"):
            db.execute(statement)

    return migrate


migrations = Migrations("racebot")
for name, statements in _STATEMENTS.items():
    migrations(name=name)(_migration(statements))
