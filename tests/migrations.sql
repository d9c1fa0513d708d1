-- The changes of the schema, in order. A ledger of each step must still open.

-- m001_ledger
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

-- m002_work
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

-- m003_chat
ALTER TABLE players ADD COLUMN folded TEXT NOT NULL DEFAULT '';
DROP INDEX players_by_name;
CREATE INDEX players_by_name ON players (folded);
CREATE TABLE quiet (race TEXT PRIMARY KEY) WITHOUT ROWID;
UPDATE players SET folded = casefold(name) WHERE name <> 'deleted account';

-- m004_places
DROP INDEX standings_by_rating;
CREATE INDEX standings_by_rating ON standings (leaderboard, rating DESC, finishes, last_race_at);
CREATE INDEX standings_by_last_race ON standings (leaderboard, last_race_at);

-- m005_people
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

-- m006_edits
ALTER TABLE pending RENAME COLUMN said TO announced_key;
ALTER TABLE pending ADD COLUMN over INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pending ADD COLUMN misses INTEGER NOT NULL DEFAULT 0;
CREATE TABLE unrecorded (race TEXT PRIMARY KEY, first_seen TEXT NOT NULL) WITHOUT ROWID;

-- m007_replays
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

-- m008_full_reads
CREATE TABLE full_reads (category TEXT PRIMARY KEY, read_at TEXT NOT NULL) WITHOUT ROWID;

-- m009_profiles
CREATE TABLE profiles (
    player TEXT PRIMARY KEY,
    avatar TEXT,
    pronouns TEXT NOT NULL,
    twitch TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE categories (slug TEXT PRIMARY KEY, name TEXT NOT NULL, image TEXT) WITHOUT ROWID;

-- m010_rebuilds
ALTER TABLE leaderboards ADD COLUMN shadow_of TEXT;
ALTER TABLE leaderboards ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE leaderboards ADD COLUMN number INTEGER;

-- m011_parameters
UPDATE leaderboards
SET parameters = json_patch(
    '{"odds_scale": 1.0, "odds_doubt": 1.0, "spare_finishers": false}', parameters
)
WHERE model IN ('thurstone-hurdle', 'thurstone-filter');
UPDATE leaderboards SET parameters = json_patch('{"spare_finishers": false}', parameters)
WHERE model = 'plackett-luce-hurdle';

-- m012_letters
ALTER TABLE players ADD COLUMN letters TEXT NOT NULL DEFAULT '';
CREATE INDEX players_by_letters ON players (letters);
UPDATE players SET letters = fold_name(name) WHERE name <> 'deleted account';

-- m013_order_givers
ALTER TABLE orders ADD COLUMN by_player INTEGER NOT NULL DEFAULT 0;
UPDATE orders SET by_player = 1 WHERE kind IN ('hide', 'unhide') AND reason = 'asked in chat';

-- m014_results
DROP INDEX changes_by_player;
CREATE INDEX changes_by_player ON changes (leaderboard, player, sequence, place);

-- m015_corrections
ALTER TABLE races ADD COLUMN corrected_at TEXT;

-- m016_updates
ALTER TABLE leaderboards ADD COLUMN updated_at TEXT;

-- m017_spaces
UPDATE players SET letters = fold_name(name) WHERE name <> 'deleted account';

-- m018_wide_races
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

-- m019_jobs
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

-- m020_cases
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

-- m021_rooms
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

-- m022_discord
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

-- m023_events
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

-- m024_posts
ALTER TABLE discord ADD COLUMN posts INTEGER NOT NULL DEFAULT 0;
UPDATE discord SET posts = 1 WHERE message IS NOT NULL;

-- m025_one_schema

-- m026_positions
ALTER TABLE event_sources ADD COLUMN counted_at TEXT;

-- m027_records
ALTER TABLE races ADD COLUMN fastest INTEGER;
ALTER TABLE races ADD COLUMN gap INTEGER;
CREATE INDEX races_by_fastest ON races (category, goal, fastest);
CREATE INDEX races_by_gap ON races (category, gap);
CREATE INDEX changes_by_points ON changes (leaderboard, points_after DESC);
CREATE INDEX changes_won ON changes (leaderboard, place, sequence, player, points_before, races_before) WHERE place = 1;
UPDATE races SET fastest = 3600000000 WHERE name = 'orb/r';

-- m028_backfills
DROP TABLE backfills;
DROP TABLE fetched;

-- m029_rebuilds
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
DELETE FROM leaderboards WHERE shadow_of NOT NULL;
UPDATE carried SET leaderboard = number FROM leaderboards WHERE id = leaderboard AND number NOT NULL;
UPDATE rated SET leaderboard = number FROM leaderboards WHERE id = leaderboard AND number NOT NULL;
UPDATE rated_on SET leaderboard = number FROM leaderboards WHERE id = leaderboard AND number NOT NULL;
UPDATE changes SET leaderboard = number FROM leaderboards WHERE id = leaderboard AND number NOT NULL;
UPDATE standings SET leaderboard = number FROM leaderboards WHERE id = leaderboard AND number NOT NULL;
UPDATE leaderboards SET id = number WHERE number NOT NULL;
INSERT INTO rebuilds (leaderboard, model, parameters, teams, carry, counted_at, race, reason)
SELECT leaderboard, model, parameters, teams, carry, counted_at, race, reason FROM jobs;
DROP TABLE jobs;
ALTER TABLE leaderboards DROP COLUMN shadow_of;
ALTER TABLE leaderboards DROP COLUMN number;

-- m030_odds
ALTER TABLE leaderboards ADD COLUMN odds_races INTEGER NOT NULL DEFAULT 0;
ALTER TABLE leaderboards ADD COLUMN odds_fitted_at TEXT;

-- m031_site
CREATE TABLE site (host TEXT PRIMARY KEY) WITHOUT ROWID;

-- m032_penalties
ALTER TABLE orders ADD COLUMN amount INTEGER;

-- m033_races_on_discord
ALTER TABLE discord DROP COLUMN posts;
DELETE FROM discord WHERE instr(race, ' ');

-- m034_sealed_events
ALTER TABLE players DROP COLUMN first_seen;
ALTER TABLE events DROP COLUMN timing;
ALTER TABLE events DROP COLUMN shown;
ALTER TABLE event_sources DROP COLUMN added_at;
ALTER TABLE event_sources DROP COLUMN added_by;

-- m035_sources
ALTER TABLE event_sources DROP COLUMN counted_at;

-- m036_numbered
DROP VIEW shown_players;
ALTER TABLE players ADD COLUMN numbered INTEGER NOT NULL DEFAULT 0;
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

-- m037_events_by_leaderboard
ALTER TABLE events DROP COLUMN goal;
CREATE INDEX races_of_events ON races (category, counts_on, counted_at, name) WHERE counts_on <> '';

-- m038_orders_in_force
DROP VIEW hidden_players;
DROP VIEW excluded_races;
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

-- m039_leaderboards
ALTER TABLE leaderboards DROP COLUMN revision;
