"""The ledger's tables, and how the tables of an older ledger become these.

To change the schema, edit it here and give it the next `VERSION`. Opening an older ledger compares each table
with its statement: a missing one is created, a different one is made anew with its rows. New columns need a
default. Data that must change as well has a statement in `_LATER`.

Times are ISO 8601 text in UTC, which sorts as time. States are JSON lists of floats, exact to the last bit.
"""

import re

from sqlite_utils import Migrations
from sqlite_utils.db import Database

from racebot.text.parse import fold_name

VERSION = "m039_leaderboards"
"""The name of this schema in the ledgers that have it. Names sort by their numbers."""

_SCHEMA = """
    -- Names are also folded and in plain letters, for look-ups. Players with one name have discriminators, as
    -- have those who had them in the ledger that exported their races.
    CREATE TABLE players (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        last_seen TEXT NOT NULL,
        folded TEXT NOT NULL DEFAULT '',
        discriminator TEXT NOT NULL DEFAULT '',
        letters TEXT NOT NULL DEFAULT '',
        numbered INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    CREATE INDEX players_by_name ON players (folded);
    CREATE INDEX players_by_letters ON players (letters);
    CREATE VIEW shown_players AS
    SELECT
        id,
        CASE
            WHEN discriminator <> '' AND (numbered OR EXISTS (
                SELECT 1 FROM players AS other
                WHERE other.folded = players.folded AND other.id <> players.id
            )) THEN name || '#' || discriminator
            ELSE name
        END AS name
    FROM players;
    -- What players and categories show on the site beside their names.
    CREATE TABLE profiles (
        player TEXT PRIMARY KEY,
        avatar TEXT,
        pronouns TEXT NOT NULL,
        twitch TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE categories (slug TEXT PRIMARY KEY, name TEXT NOT NULL, image TEXT) WITHOUT ROWID;
    -- Row numbers: without them, SQLite moves the end of each row longer than about 1,000 bytes to a page of
    -- its own, which takes twice the space.
    CREATE TABLE races (
        name TEXT NOT NULL PRIMARY KEY,
        category TEXT NOT NULL,
        goal TEXT NOT NULL,
        ended_at TEXT NOT NULL,
        counted_at TEXT NOT NULL,
        source TEXT NOT NULL CHECK (source IN ('live', 'backfill', 'import')),
        corrected_at TEXT,
        fingerprint TEXT NOT NULL,
        result TEXT NOT NULL,
        recorded INTEGER NOT NULL DEFAULT 1,
        counts_on TEXT NOT NULL DEFAULT '',
        fastest INTEGER,
        gap INTEGER
    );
    CREATE INDEX races_in_order ON races (category, goal, counted_at, name);
    CREATE INDEX races_by_category ON races (category, counted_at, name);
    CREATE INDEX races_by_fastest ON races (category, goal, fastest);
    CREATE INDEX races_of_events ON races (category, counts_on, counted_at, name) WHERE counts_on <> '';
    CREATE INDEX races_by_gap ON races (category, gap);
    CREATE TABLE renamed_goals (
        category TEXT NOT NULL,
        earlier TEXT NOT NULL,
        goal TEXT NOT NULL,
        PRIMARY KEY (category, earlier)
    ) WITHOUT ROWID;
    -- No `id` is used twice.
    CREATE TABLE leaderboards (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        category TEXT NOT NULL,
        name TEXT NOT NULL,
        goals TEXT NOT NULL,
        model TEXT NOT NULL,
        parameters TEXT NOT NULL,
        teams TEXT NOT NULL,
        carry TEXT NOT NULL,
        updated_at TEXT,
        rule TEXT NOT NULL DEFAULT '',
        odds_races INTEGER NOT NULL DEFAULT 0,
        odds_fitted_at TEXT,
        UNIQUE (category, name)
    );
    CREATE TABLE carried (
        leaderboard INTEGER NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
        player TEXT NOT NULL REFERENCES players (id),
        state TEXT NOT NULL,
        PRIMARY KEY (leaderboard, player)
    ) WITHOUT ROWID;
    -- The race is no foreign key, so that it can be deleted before a rebuild rates the races after it again.
    CREATE TABLE rated (
        leaderboard INTEGER NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
        sequence INTEGER NOT NULL,
        race TEXT NOT NULL,
        note TEXT,
        PRIMARY KEY (leaderboard, sequence),
        UNIQUE (leaderboard, race)
    ) WITHOUT ROWID;
    CREATE TABLE rated_on (
        leaderboard INTEGER NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
        sequence INTEGER NOT NULL,
        platform TEXT NOT NULL,
        PRIMARY KEY (leaderboard, sequence)
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
    CREATE INDEX changes_by_player ON changes (leaderboard, player, sequence, place);
    CREATE INDEX changes_by_points ON changes (leaderboard, points_after DESC);
    CREATE INDEX changes_won ON changes (leaderboard, place, sequence, player, points_before, races_before)
    WHERE place = 1;
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
    CREATE INDEX standings_by_rating ON standings (leaderboard, rating DESC, finishes, last_race_at);
    CREATE INDEX standings_by_last_race ON standings (leaderboard, last_race_at);
    -- Leaderboards to rate again in another process: with which settings, from which race on, and why.
    CREATE TABLE rebuilds (
        leaderboard INTEGER PRIMARY KEY REFERENCES leaderboards (id) ON DELETE CASCADE,
        model TEXT NOT NULL,
        parameters TEXT NOT NULL,
        teams TEXT NOT NULL,
        carry TEXT NOT NULL,
        counted_at TEXT NOT NULL,
        race TEXT NOT NULL,
        reason TEXT NOT NULL,
        revision INTEGER NOT NULL DEFAULT 0,
        error TEXT
    );
    CREATE TABLE orders (
        id INTEGER PRIMARY KEY,
        given_at TEXT NOT NULL,
        kind TEXT NOT NULL,
        subject TEXT NOT NULL,
        target TEXT,
        reason TEXT NOT NULL,
        by_player INTEGER NOT NULL DEFAULT 0,
        author TEXT NOT NULL DEFAULT '',
        amount INTEGER
    );
    CREATE INDEX orders_by_subject ON orders (subject, kind, id);
    -- Without those that another one took back. All orders about an event end with it.
    CREATE VIEW orders_in_force AS
    SELECT * FROM orders
    WHERE NOT EXISTS (
        SELECT 1 FROM orders AS later
        WHERE later.subject = orders.subject AND later.id > orders.id AND (
            (later.kind = 'event remove' AND later.target IS NULL) OR later.kind = CASE orders.kind
            WHEN 'hide' THEN 'unhide' WHEN 'exclude' THEN 'include' WHEN 'skip' THEN 'count' END
        )
    );
    CREATE VIEW hidden_players AS
    SELECT subject AS player FROM orders_in_force WHERE kind IN ('forget', 'hide');
    CREATE VIEW excluded_races AS
    SELECT subject AS race, kind FROM orders_in_force WHERE kind IN ('exclude', 'skip');
    -- Races that the bot follows, and messages to deliver.
    CREATE TABLE cases (
        race TEXT PRIMARY KEY,
        category TEXT NOT NULL,
        ended_at TEXT,
        next_look TEXT,
        misses INTEGER NOT NULL DEFAULT 0,
        over INTEGER NOT NULL DEFAULT 0,
        quiet INTEGER NOT NULL DEFAULT 0,
        ordered_at TEXT,
        unrecorded_since TEXT,
        standing TEXT,
        stands_since TEXT
    ) WITHOUT ROWID;
    CREATE INDEX cases_by_next_look ON cases (category, next_look);
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
    CREATE TABLE full_reads (category TEXT PRIMARY KEY, read_at TEXT NOT NULL) WITHOUT ROWID;
    -- What the messages of races on Discord should show, and what they show.
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
    -- Events: one race made of rooms and sheets.
    CREATE TABLE events (
        name TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        category TEXT NOT NULL,
        leaderboard TEXT NOT NULL,
        until TEXT NOT NULL,
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
        UNIQUE (event, name)
    );
    CREATE UNIQUE INDEX event_rooms ON event_sources (name) WHERE kind = 'room';
    -- The one site whose races these are.
    CREATE TABLE site (host TEXT PRIMARY KEY) WITHOUT ROWID;
"""

TIMES_OF_RACES = """
    UPDATE races SET (fastest, gap) = (
        SELECT time, lead(time) OVER (ORDER BY time) - time FROM (
            SELECT json_extract(entrant, '$.finish_time') AS time FROM (
                SELECT CASE type WHEN 'object' THEN value END AS entrant FROM json_each(result, '$.entrants')
            ) WHERE json_extract(entrant, '$.status') = 'done' AND typeof(time) = 'integer' AND time > 0
        ) ORDER BY time LIMIT 1
    ) WHERE json_valid(result)
"""
"""Stores the fastest time of each race and its gap to the second one in microseconds, to sort by."""

_LATER = {
    # Parameters that older hurdle models did not have, with the values that leave them as they were.
    "m011": (
        """
        UPDATE leaderboards
        SET parameters = json_patch(
            '{"odds_scale": 1.0, "odds_doubt": 1.0, "spare_finishers": false}', parameters
        )
        WHERE model IN ('thurstone-hurdle', 'thurstone-filter')
        """,
        """
        UPDATE leaderboards SET parameters = json_patch('{"spare_finishers": false}', parameters)
        WHERE model = 'plackett-luce-hurdle'
        """,
    ),
    # Whether players gave an order about themselves. Before, only its reason showed that.
    "m013": (
        "UPDATE orders SET by_player = 1 WHERE kind IN ('hide', 'unhide') AND reason = 'asked in chat'",
    ),
    "m017": (
        """
        UPDATE players SET folded = casefold(name), letters = fold_name(name)
        WHERE name <> 'deleted account'
        """,
    ),
    "m027": (TIMES_OF_RACES,),
    # Summaries of weeks and seasons, which were posted besides races.
    "m033": ("DELETE FROM discord WHERE instr(race, ' ')",),
}
"""Changes of data in ledgers from before a version. `casefold` and `fold_name` are functions of ours."""

_FORMER = ("backfills", "fetched", "jobs", "joined", "quiet", "unrecorded")
"""Tables of older ledgers, with what the bot learns again. It rates the ledgers that have jobs again."""

_STATEMENT = re.compile(r"CREATE (?:UNIQUE )?(TABLE|INDEX|VIEW) (\w+)[^;]*")

migrations = Migrations("racebot")


def unknown(db: Database) -> list[str]:
    """Return the names of the schemas that a newer racebot gave a database."""
    return [each.name for each in migrations.applied(db) if each.name[:4] > VERSION[:4]]


@migrations(name=VERSION)
def bring_up_to_date(db: Database) -> None:
    """Create all tables, or make those of an older ledger like them. Foreign keys must be off."""
    db.conn.create_function("casefold", 1, str.casefold)
    db.conn.create_function("fold_name", 1, fold_name)
    earlier = max((each.name for each in migrations.applied(db)), default="")
    for view in db.view_names():  # a table that a view reads cannot be replaced
        db.execute(f"DROP VIEW {view}")
    if "pending" in db.table_names():
        db.execute("ALTER TABLE pending RENAME TO cases")
    if "shadow_of" in db["leaderboards"].columns_dict:
        _restore_ids(db)
    for found in _STATEMENT.finditer(_SCHEMA):
        statement, kind, name = found[0], found[1], found[2]
        if kind == "INDEX":
            db.execute(f"DROP INDEX IF EXISTS {name}")
        if kind != "TABLE" or name not in db.table_names():
            db.execute(statement)
        elif _bare(db[name].schema) != _bare(statement):
            _replace(db, name, statement)
    for version, changes in _LATER.items():
        for change in changes if earlier < version else ():
            db.execute(change)
    for table in _FORMER:
        db.execute(f"DROP TABLE IF EXISTS {table}")


def _restore_ids(db: Database) -> None:
    """Give leaderboards that were rated again their first ids back, and delete the hidden ones."""
    db.execute("DELETE FROM leaderboards WHERE shadow_of NOT NULL")
    for table in ("carried", "rated", "rated_on", "changes", "standings"):
        db.execute(f"DELETE FROM {table} WHERE leaderboard NOT IN (SELECT id FROM leaderboards)")  # noqa: S608
        first = "FROM leaderboards WHERE id = leaderboard AND number NOT NULL"
        db.execute(f"UPDATE {table} SET leaderboard = number {first}")  # noqa: S608 - ours
    db.execute("UPDATE leaderboards SET id = number WHERE number NOT NULL")


def _replace(db: Database, table: str, statement: str) -> None:
    """Replace a table by one with another definition. https://www.sqlite.org/lang_altertable.html

    `transform` of sqlite-utils copies row numbers, which most of our tables do not have.
    """
    db.execute("PRAGMA legacy_alter_table = ON")  # references to the table keep its name
    db.execute(f"ALTER TABLE {table} RENAME TO former")
    db.execute("PRAGMA legacy_alter_table = OFF")
    db.execute(statement)
    former = db["former"].columns_dict
    columns = ", ".join(name for name in db[table].columns_dict if name in former)
    # Races that are read one after another stand together.
    order = "ORDER BY category, goal, counted_at, name" if table == "races" else ""
    db.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM former {order}")  # noqa: S608 - ours
    if "AUTOINCREMENT" in statement:
        db.execute("UPDATE sqlite_sequence SET seq = (SELECT max(seq) FROM sqlite_sequence)")
    db.execute("DROP TABLE former")


def _bare(statement: str) -> str:
    """Return a statement without what SQLite changes in it when a table is altered or renamed."""
    return "".join(statement.replace('"', "").split())
