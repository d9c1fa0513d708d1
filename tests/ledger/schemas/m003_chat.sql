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
            carry TEXT NOT NULL,
            UNIQUE (category, name)
        );
INSERT INTO "leaderboards" VALUES(7,'orb','Any Orb','["Any Orb"]','elo-ffa','{"initial_rating": 1500.0, "dummy": null, "knots": [0.0], "rates": [10.0], "floor": null, "points_scale": 1.0, "spread": 400.0, "unfinished": "unobserved"}','ignore','null');
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
            said TEXT,
            corrections INTEGER NOT NULL DEFAULT 0
        ) WITHOUT ROWID
        ;
INSERT INTO "pending" VALUES('orb/q','orb','2026-03-01T12:00:00.000000+00:00','2026-03-01T12:00:00.000000+00:00','abc',2);
CREATE TABLE players (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            first_seen TEXT NOT NULL,
            last_seen TEXT NOT NULL
        , folded TEXT NOT NULL DEFAULT '') WITHOUT ROWID
        ;
INSERT INTO "players" VALUES('id-ann','Ann','2026-03-01T12:00:00.000000+00:00','2026-03-01T12:00:00.000000+00:00','ann');
INSERT INTO "players" VALUES('id-bo','Bo','2026-03-01T12:00:00.000000+00:00','2026-03-01T12:00:00.000000+00:00','bo');
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
        ) WITHOUT ROWID
        ;
INSERT INTO "races" VALUES('orb/r','orb','Any Orb','2026-03-01T12:00:00.000000+00:00','2026-03-01T12:00:00.000000+00:00','live','{"name":"orb/r","category":"orb","goal":"Any Orb","ended_at":"2026-03-01T12:00:00+00:00","entrants":[{"user_id":"id-ann","name":"Ann","status":"done","finish_time":3600000000},{"user_id":"id-bo","name":"Bo","status":"dnf"}],"recorded":true,"recordable":true,"custom_goal":false,"hidden":false}','2ed19421fb7d3db16e4f5fbfd0888610');
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
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE INDEX races_in_order ON races (category, goal, counted_at, name);
CREATE INDEX changes_by_player ON changes (leaderboard, player, sequence);
CREATE INDEX standings_by_rating ON standings (leaderboard, rating DESC);
CREATE INDEX outbox_by_race ON outbox (race, id);
CREATE INDEX outbox_open ON outbox (race, id) WHERE state IN ('waiting', 'sent');
CREATE INDEX players_by_name ON players (folded);
COMMIT;
