BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'racebot','m001_ledger','2026-03-01 12:00:00.000000+00:00');
INSERT INTO "_sqlite_migrations" VALUES(2,'racebot','m002_work','2026-03-01 12:00:00.000000+00:00');
INSERT INTO "_sqlite_migrations" VALUES(3,'racebot','m003_chat','2026-03-01 12:00:00.000000+00:00');
INSERT INTO "_sqlite_migrations" VALUES(4,'racebot','m004_places','2026-03-01 12:00:00.000000+00:00');
INSERT INTO "_sqlite_migrations" VALUES(5,'racebot','m005_people','2026-03-01 12:00:00.000000+00:00');
INSERT INTO "_sqlite_migrations" VALUES(6,'racebot','m006_edits','2026-03-01 12:00:00.000000+00:00');
INSERT INTO "_sqlite_migrations" VALUES(7,'racebot','m007_replays','2026-03-01 12:00:00.000000+00:00');
INSERT INTO "_sqlite_migrations" VALUES(8,'racebot','m008_full_reads','2026-03-01 12:00:00.000000+00:00');
INSERT INTO "_sqlite_migrations" VALUES(9,'racebot','m009_profiles','2026-03-01 12:00:00.000000+00:00');
INSERT INTO "_sqlite_migrations" VALUES(10,'racebot','m010_rebuilds','2026-03-01 12:00:00.000000+00:00');
INSERT INTO "_sqlite_migrations" VALUES(11,'racebot','m011_parameters','2026-03-01 12:00:00.000000+00:00');
INSERT INTO "_sqlite_migrations" VALUES(12,'racebot','m012_letters','2026-03-01 12:00:00.000000+00:00');
INSERT INTO "_sqlite_migrations" VALUES(13,'racebot','m013_order_givers','2026-03-01 12:00:00.000000+00:00');
INSERT INTO "_sqlite_migrations" VALUES(14,'racebot','m014_results','2026-03-01 12:00:00.000000+00:00');
INSERT INTO "_sqlite_migrations" VALUES(15,'racebot','m015_corrections','2026-03-01 12:00:00.000000+00:00');
INSERT INTO "_sqlite_migrations" VALUES(16,'racebot','m016_updates','2026-03-01 12:00:00.000000+00:00');
CREATE TABLE backfills (
            category TEXT PRIMARY KEY,
            next_page INTEGER NOT NULL,
            started_at TEXT NOT NULL
        ) WITHOUT ROWID
        ;
INSERT INTO "backfills" VALUES('orb',4,'2026-03-01T12:00:00.000000+00:00');
CREATE TABLE carried (
            leaderboard INTEGER NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
            player TEXT NOT NULL REFERENCES players (id),
            state TEXT NOT NULL,
            PRIMARY KEY (leaderboard, player)
        ) WITHOUT ROWID
        ;
CREATE TABLE categories (slug TEXT PRIMARY KEY, name TEXT NOT NULL, image TEXT) WITHOUT ROWID;
INSERT INTO "categories" VALUES('orb','Orb Racing',NULL);
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
        ;
INSERT INTO "changes" VALUES(7,1,'id-ann',1,'[1500.0]','[1505.0]',1500,1505,0,'[]');
INSERT INTO "changes" VALUES(7,1,'id-bo',NULL,'[1500.0]','[1495.0]',1500,1495,0,'[]');
CREATE TABLE fetched (
            race TEXT PRIMARY KEY,
            category TEXT NOT NULL,
            result TEXT NOT NULL
        ) WITHOUT ROWID
        ;
INSERT INTO "fetched" VALUES('orb/r','orb','{"name":"orb/r","category":"orb","goal":"Any Orb","ended_at":"2026-03-01T12:00:00+00:00","entrants":[{"user_id":"id-ann","name":"Ann","status":"done","finish_time":3600000000},{"user_id":"id-bo","name":"Bo","status":"dnf"}],"recorded":true,"recordable":true,"custom_goal":false,"hidden":false}');
CREATE TABLE full_reads (category TEXT PRIMARY KEY, read_at TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "full_reads" VALUES('orb','2026-03-01T12:00:00+00:00');
CREATE TABLE joined (
            race TEXT PRIMARY KEY,
            category TEXT NOT NULL
        ) WITHOUT ROWID
        ;
INSERT INTO "joined" VALUES('orb/s','orb');
CREATE TABLE leaderboards (
            id INTEGER PRIMARY KEY,
            category TEXT NOT NULL,
            name TEXT NOT NULL,
            goals TEXT NOT NULL,
            model TEXT NOT NULL,
            parameters TEXT NOT NULL,
            teams TEXT NOT NULL,
            carry TEXT NOT NULL, shadow_of TEXT, revision INTEGER NOT NULL DEFAULT 0, number INTEGER, updated_at TEXT,
            UNIQUE (category, name)
        );
INSERT INTO "leaderboards" VALUES(7,'orb','Any Orb','["Any Orb"]','elo-ffa','{"initial_rating": 1500.0, "dummy": null, "knots": [0.0], "rates": [10.0], "floor": null, "points_scale": 1.0, "spread": 400.0, "unfinished": "unobserved"}','ignore','null',NULL,2,5,'2026-03-02T12:00:00+00:00');
INSERT INTO "leaderboards" VALUES(8,'orb','Duels','["Duels"]','plackett-luce-hurdle','{"initial_rating": 0.869, "knots": [0.0, 1.0, 2.0], "rates": [0.554, 0.599, 0.16], "floor": 0.0, "points_scale": 250.0, "level": 1.87, "width": 1.33, "spare_finishers": false, "finish_level": -0.3, "finish_width": 1.67, "newcomer_points": 1000.0}','ignore','null',NULL,0,NULL,'2026-03-02T12:00:00+00:00');
INSERT INTO "leaderboards" VALUES(9,'orb','Old Orb','[]','elo-ffa','{}','ignore','null',NULL,0,NULL,'2026-03-02T12:00:00+00:00');
INSERT INTO "leaderboards" VALUES(11,'orb','abc','[]','elo-ffa','{}','ignore','null','Any Orb',0,NULL,'2026-03-02T12:00:00+00:00');
CREATE TABLE orders (
            id INTEGER PRIMARY KEY,
            given_at TEXT NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('forget', 'hide', 'unhide', 'merge', 'exclude', 'include')),
            subject TEXT NOT NULL,
            target TEXT,
            reason TEXT NOT NULL
        , by_player INTEGER NOT NULL DEFAULT 0);
INSERT INTO "orders" VALUES(1,'2026-03-01T12:00:00.000000+00:00','forget','gone',NULL,'',0);
INSERT INTO "orders" VALUES(2,'2026-03-02T12:00:00.000000+00:00','hide','shy',NULL,'',0);
INSERT INTO "orders" VALUES(3,'2026-03-03T12:00:00.000000+00:00','hide','bold',NULL,'',0);
INSERT INTO "orders" VALUES(4,'2026-03-04T12:00:00.000000+00:00','unhide','bold',NULL,'',0);
INSERT INTO "orders" VALUES(5,'2026-03-05T12:00:00.000000+00:00','exclude','orb/out',NULL,'',0);
INSERT INTO "orders" VALUES(6,'2026-03-06T12:00:00.000000+00:00','exclude','orb/in',NULL,'',0);
INSERT INTO "orders" VALUES(7,'2026-03-07T12:00:00.000000+00:00','include','orb/in',NULL,'',0);
INSERT INTO "orders" VALUES(8,'2026-03-01','hide','id-own',NULL,'asked in chat',1);
INSERT INTO "orders" VALUES(9,'2026-03-01','hide','id-other',NULL,'offensive',0);
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
INSERT INTO "outbox" VALUES(3,'orb/q','orb','chat','g-1','{"text":"hi"}','sent',NULL,'2026-03-01T12:00:00.000000+00:00','2026-03-01T12:00:00.000000+00:00');
CREATE TABLE pending (
            race TEXT PRIMARY KEY,
            category TEXT NOT NULL,
            ended_at TEXT NOT NULL,
            next_look TEXT NOT NULL,
            announced_key TEXT,
            corrections INTEGER NOT NULL DEFAULT 0
        , over INTEGER NOT NULL DEFAULT 0, misses INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID
        ;
INSERT INTO "pending" VALUES('orb/over','orb','2026-03-01T12:00:00.000000+00:00','2026-03-01T12:00:00.000000+00:00',NULL,1,1,3);
INSERT INTO "pending" VALUES('orb/q','orb','2026-03-01T12:00:00.000000+00:00','2026-03-01T12:00:00.000000+00:00','abc',2,0,0);
CREATE TABLE players (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            first_seen TEXT NOT NULL,
            last_seen TEXT NOT NULL
        , folded TEXT NOT NULL DEFAULT '', discriminator TEXT NOT NULL DEFAULT '', letters TEXT NOT NULL DEFAULT '') WITHOUT ROWID
        ;
INSERT INTO "players" VALUES('id-ann','Ann','2026-03-01T12:00:00.000000+00:00','2026-03-01T12:00:00.000000+00:00','ann','','ann');
INSERT INTO "players" VALUES('id-bo','Bo','2026-03-01T12:00:00.000000+00:00','2026-03-01T12:00:00.000000+00:00','bo','','bo');
INSERT INTO "players" VALUES('id-gone','deleted account','2026-03-01','2026-03-01','deleted account','','');
INSERT INTO "players" VALUES('id-ólöf','Ólöf','2026-03-01','2026-03-01','ólöf','','olof');
CREATE TABLE profiles (
            player TEXT PRIMARY KEY,
            avatar TEXT,
            pronouns TEXT NOT NULL,
            twitch TEXT NOT NULL
        ) WITHOUT ROWID
        ;
INSERT INTO "profiles" VALUES('id-ann','/media/ann.png','she/her','ann_runs');
CREATE TABLE quiet (race TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO "quiet" VALUES('orb/q');
CREATE TABLE races (
            name TEXT PRIMARY KEY,
            category TEXT NOT NULL,
            goal TEXT NOT NULL,
            ended_at TEXT NOT NULL,
            counted_at TEXT NOT NULL,
            source TEXT NOT NULL CHECK (source IN ('live', 'backfill', 'import')),
            result TEXT NOT NULL,
            fingerprint TEXT NOT NULL
        , corrected_at TEXT) WITHOUT ROWID
        ;
INSERT INTO "races" VALUES('orb/r','orb','Any Orb','2026-03-01T12:00:00.000000+00:00','2026-03-01T12:00:00.000000+00:00','live','{"name":"orb/r","category":"orb","goal":"Any Orb","ended_at":"2026-03-01T12:00:00+00:00","entrants":[{"user_id":"id-ann","name":"Ann","status":"done","finish_time":3600000000},{"user_id":"id-bo","name":"Bo","status":"dnf"}],"recorded":true,"recordable":true,"custom_goal":false,"hidden":false}','2ed19421fb7d3db16e4f5fbfd0888610','2026-03-02T12:00:00.000000+00:00');
CREATE TABLE rated (
            leaderboard INTEGER NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
            sequence INTEGER NOT NULL,
            race TEXT NOT NULL REFERENCES races (name),
            note TEXT,
            PRIMARY KEY (leaderboard, sequence),
            UNIQUE (leaderboard, race)
        ) WITHOUT ROWID
        ;
INSERT INTO "rated" VALUES(7,1,'orb/r',NULL);
CREATE TABLE rated_on (
            leaderboard INTEGER NOT NULL REFERENCES leaderboards (id) ON DELETE CASCADE,
            sequence INTEGER NOT NULL,
            platform TEXT NOT NULL,
            PRIMARY KEY (leaderboard, sequence)
        ) WITHOUT ROWID
        ;
INSERT INTO "rated_on" VALUES(7,1,'a platform');
CREATE TABLE renamed_goals (
            category TEXT NOT NULL,
            earlier TEXT NOT NULL,
            goal TEXT NOT NULL,
            PRIMARY KEY (category, earlier)
        ) WITHOUT ROWID
        ;
INSERT INTO "renamed_goals" VALUES('orb','An Orb','Any Orb');
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
        ;
INSERT INTO "standings" VALUES(7,'id-ann','[1505.0]',1505.0,1505,1,1,1,'2026-03-01T12:00:00.000000+00:00');
INSERT INTO "standings" VALUES(7,'id-bo','[1495.0]',1495.0,1495,1,0,0,'2026-03-01T12:00:00.000000+00:00');
INSERT INTO "standings" VALUES(9,'id-ann','[0.0]',2.0,2,3,1,1,'2026-03-01T12:00:00.000000+00:00');
INSERT INTO "standings" VALUES(9,'id-bo','[0.0]',3.0,3,3,3,2,'2026-03-02T12:00:00.000000+00:00');
CREATE TABLE unrecorded (race TEXT PRIMARY KEY, first_seen TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "unrecorded" VALUES('orb/r','2026-03-01T12:00:00.000000+00:00');
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE INDEX races_in_order ON races (category, goal, counted_at, name);
CREATE INDEX outbox_by_race ON outbox (race, id);
CREATE INDEX outbox_open ON outbox (race, id) WHERE state IN ('waiting', 'sent');
CREATE INDEX players_by_name ON players (folded);
CREATE INDEX standings_by_rating ON standings (leaderboard, rating DESC, finishes, last_race_at);
CREATE INDEX standings_by_last_race ON standings (leaderboard, last_race_at);
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
CREATE INDEX players_by_letters ON players (letters);
CREATE INDEX changes_by_player ON changes (leaderboard, player, sequence, place);
COMMIT;
