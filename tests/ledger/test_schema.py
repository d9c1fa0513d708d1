from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
from builders import NOON, result
from sqlite_utils import Migrations
from sqlite_utils.db import Database

from racebot.errors import LedgerError, LedgerUnavailable
from racebot.ledger.backup import backups, folder_of
from racebot.ledger.cases import CaseRow
from racebot.ledger.lock import locked
from racebot.ledger.outbox import ChatBody, Delivery, Message
from racebot.ledger.rows import START, CategoryProfile
from racebot.ledger.schema import NAMES, migrations
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import Placing, open_leaderboard, placing_of, top_players
from racebot.queries.listing import Listing
from racebot.queries.races import races_numbered
from racebot.races.outcome import outcome_of
from racebot.races.result import Profile
from racebot.ratings import registry
from racebot.ratings.parameters import Parameters, as_json
from racebot.standings.verify import verify


def schema(path: Path) -> set[tuple[str, str]]:
    connection = sqlite3.connect(path)
    try:
        return set(
            connection.execute(
                "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE '%migrations%'"
            ).fetchall()
        )
    finally:
        connection.close()


def test_migrations_are_numbered_without_gaps() -> None:
    assert [int(name[1:4]) for name in NAMES] == list(range(1, len(NAMES) + 1))
    assert len(set(NAMES)) == len(NAMES)


def test_a_new_ledger_has_all_tables(tmp_path: Path) -> None:
    Ledger.open(tmp_path / "new.db").close()
    tables = {name for name, sql in schema(tmp_path / "new.db") if sql and sql.startswith("CREATE TABLE")}
    assert tables >= {
        "players",
        "races",
        "leaderboards",
        "rated",
        "changes",
        "standings",
        "cases",
        "outbox",
        "backfills",
        "fetched",
    }


def fill_m001(database: Database) -> None:
    """Insert data of the first schema: one race, rated on a leaderboard."""
    before = registry.create("elo-ffa").initial()
    after = registry.create("elo-ffa").rate(np.array([before, before]), outcome_of(RACE).outcome)
    points = registry.create("elo-ffa").points(np.array([before, *after])).tolist()
    ids = [entrant.user_id for entrant in RACE.entrants]
    noon = "2026-03-01T12:00:00.000000+00:00"
    for user_id, name in zip(ids, ("Ann", "Bo"), strict=True):
        database.execute("INSERT INTO players VALUES (?, ?, ?, ?)", (user_id, name, noon, noon))
    database.execute(
        "INSERT INTO races VALUES ('orb/r', 'orb', 'Any Orb', ?, ?, 'live', ?, ?)",
        (noon, noon, STORED_RESULT, RACE.fingerprint()),
    )
    parameters = json.dumps(as_json(registry.create("elo-ffa")))
    database.execute(
        "INSERT INTO leaderboards VALUES (7, 'orb', 'Any Orb', ?, 'elo-ffa', ?, 'ignore', 'null')",
        ('["Any Orb"]', parameters),
    )
    database.execute("INSERT INTO rated VALUES (7, 1, 'orb/r', NULL)")
    for row, (user_id, place) in enumerate(zip(ids, (1, None), strict=True)):
        state, new = json.dumps(before.tolist()), json.dumps(after[row].tolist())
        database.execute(
            "INSERT INTO changes VALUES (7, 1, ?, ?, ?, ?, ?, ?, 0, '[]')",
            (user_id, place, state, new, points[0], points[row + 1]),
        )
        rating = float(registry.create("elo-ffa").rating(after)[row])
        won = int(place == 1)
        database.execute(
            "INSERT INTO standings VALUES (7, ?, ?, ?, ?, 1, ?, ?, ?)",
            (user_id, new, rating, points[row + 1], won, won, noon),
        )


def read_m001(ledger: Ledger) -> None:
    stored = ledger.races.get("orb/r")
    assert stored is not None
    assert stored.result == RACE
    board = ledger.leaderboards.get("orb", "Any Orb")
    assert board is not None
    assert board.key == 7
    assert verify(ledger, board) == []
    assert [(s.name, s.races) for s in ledger.standings.all(board)] == [("Ann", 1), ("Bo", 1)]


def fill_m002(database: Database) -> None:
    """Insert data of the second migration: a pending race, a watched race, a message, half a backfill."""
    noon = "2026-03-01T12:00:00.000000+00:00"
    database.execute("INSERT INTO pending VALUES ('orb/q', 'orb', ?, ?, 'abc', 2)", (noon, noon))
    database.execute("INSERT INTO joined VALUES ('orb/s', 'orb')")
    database.execute(
        "INSERT INTO outbox VALUES (3, 'orb/q', 'orb', 'chat', 'g-1', ?, 'sent', NULL, ?, ?)",
        ('{"text":"hi"}', noon, noon),
    )
    database.execute("INSERT INTO backfills VALUES ('orb', 4, ?)", (noon,))
    database.execute("INSERT INTO fetched VALUES ('orb/r', 'orb', ?)", (STORED_RESULT,))


def read_m002(ledger: Ledger) -> None:
    row = ledger.cases.get("orb/q")
    assert row is not None
    assert replace(row, quiet=False) == CaseRow("orb/q", "orb", NOON, NOON)
    assert ledger.cases.unfinished("orb") == [CaseRow("orb/s", "orb")]
    (sent,) = ledger.messages.open_for("orb/q")
    assert sent.message == Message("orb/q", "orb", "g-1", ChatBody("hi"))
    assert (sent.id, sent.state, sent.created_at) == (3, Delivery.SENT, NOON)
    assert ledger.backfills.next_page("orb", not_before=NOON) == 4
    assert ledger.backfills.results("orb") == [RACE]


def fill_m003(database: Database) -> None:
    """Insert data of the third migration: a room in which a moderator asked for quiet."""
    database.execute("INSERT INTO quiet VALUES ('orb/q')")


def read_m003(ledger: Ledger) -> None:
    row = ledger.cases.get("orb/q")
    assert row is not None
    assert row.quiet
    assert [p.id for p in ledger.players.called("BO")] == ["id-bo"], "a player of the first schema"


def fill_m004(database: Database) -> None:
    """Insert nothing: the fourth migration only added indices."""
    noon, later = "2026-03-01T12:00:00.000000+00:00", "2026-03-02T12:00:00.000000+00:00"
    database.execute(
        "INSERT INTO leaderboards VALUES (9, 'orb', 'Old Orb', '[]', 'elo-ffa', '{}', 'ignore', 'null')"
    )
    database.execute("INSERT INTO standings VALUES (9, 'id-ann', '[0.0]', 2.0, 2, 3, 1, 1, ?)", (noon,))
    database.execute("INSERT INTO standings VALUES (9, 'id-bo', '[0.0]', 3.0, 3, 3, 3, 2, ?)", (later,))


def read_m004(ledger: Ledger) -> None:
    board = ledger.leaderboards.get("orb", "Old Orb")
    assert board is not None
    assert ledger.standings.latest_race(board) == NOON + timedelta(days=1)
    best = top_players(ledger, board, Listing(1), 5)
    assert [(place, standing.name) for place, standing in best] == [(1, "Bo"), (2, "Ann")]
    assert placing_of(ledger, board, best[1][1], Listing(1)) == Placing(2, 2)


def fill_m005(database: Database) -> None:
    """Orders of each kind, two of them undone."""
    for number, (kind, subject) in enumerate(ORDERS):
        given_at = f"2026-03-0{number + 1}T12:00:00.000000+00:00"
        database.execute("INSERT INTO orders VALUES (NULL, ?, ?, ?, NULL, '')", (given_at, kind, subject))


def read_m005(ledger: Ledger) -> None:
    assert ledger.players.find("Bo#0007").id == "id-bo", "discriminators are still to be learned"
    assert {"gone", "shy"} <= ledger.orders.hidden()
    assert not ledger.orders.is_hidden("bold")
    assert ledger.connection.db.execute("SELECT race FROM excluded_races").fetchall() == [("orb/out",)]


def fill_m006(database: Database) -> None:
    """A race that is over but may come back, and a settled race that lost its record."""
    noon = "2026-03-01T12:00:00.000000+00:00"
    database.execute(
        "INSERT INTO pending (race, category, ended_at, next_look, announced_key, corrections, over, misses)"
        " VALUES ('orb/over', 'orb', ?, ?, NULL, 1, 1, 3)",
        (noon, noon),
    )
    database.execute("INSERT INTO unrecorded VALUES ('orb/r', ?)", (noon,))


def read_m006(ledger: Ledger) -> None:
    over = CaseRow("orb/over", "orb", NOON, NOON, over=True, misses=3)
    assert ledger.cases.get("orb/over") == over
    assert ledger.cases.get("orb/r") == CaseRow("orb/r", "orb", NOON, unrecorded_since=NOON)


ORDERS = [
    ("forget", "gone"),
    ("hide", "shy"),
    ("hide", "bold"),
    ("unhide", "bold"),
    ("exclude", "orb/out"),
    ("exclude", "orb/in"),
    ("include", "orb/in"),
]


def fill_m007(database: Database) -> None:
    """Insert data of the seventh migration: the platform that rated a sequence, and a renamed goal."""
    database.execute("INSERT INTO rated_on VALUES (7, 1, 'a platform')")
    database.execute("INSERT INTO renamed_goals VALUES ('orb', 'An Orb', 'Any Orb')")


def read_m007(ledger: Ledger) -> None:
    board = ledger.leaderboards.get("orb", "Any Orb")
    assert board is not None
    assert ledger.ratings.platforms(board) == ["a platform"]
    assert ledger.races.current_goal("orb", "An Orb") == "Any Orb"
    assert ledger.races.current_goal("orb", "Any Orb") == "Any Orb"


def fill_m008(database: Database) -> None:
    """Insert data of the eighth migration: when all past races were last read."""
    database.execute("INSERT INTO full_reads VALUES ('orb', '2026-03-01T12:00:00+00:00')")


def read_m008(ledger: Ledger) -> None:
    assert ledger.backfills.fully_read_at("orb", NOON + timedelta(days=1)) == NOON


def fill_m009(database: Database) -> None:
    """Insert data of the ninth migration: a player's and a category's profile."""
    database.execute("INSERT INTO profiles VALUES ('id-ann', '/media/ann.png', 'she/her', 'ann_runs')")
    database.execute("INSERT INTO categories VALUES ('orb', 'Orb Racing', NULL)")


def read_m009(ledger: Ledger) -> None:
    assert ledger.profiles.get("id-ann") == Profile("/media/ann.png", "she/her", "ann_runs")
    assert ledger.profiles.category("orb") == CategoryProfile("Orb Racing")


def fill_m010(database: Database) -> None:
    """Insert data of the tenth migration: a leaderboard that was being rebuilt."""
    database.execute(
        "INSERT INTO leaderboards VALUES"
        " (11, 'orb', 'abc', '[]', 'elo-ffa', '{}', 'ignore', 'null', 'Any Orb', 0, NULL)"
    )
    database.execute("UPDATE leaderboards SET number = 5, revision = 2 WHERE id = 7")


def read_m010(ledger: Ledger) -> None:
    board = ledger.leaderboards.get("orb", "Any Orb")
    assert board is not None
    assert (board.number, ledger.ratings.revision_of(board)) == (5, 2)
    assert ledger.jobs.due(NOON), "a hidden leaderboard is to be deleted"
    assert 11 not in {each.id for each in ledger.leaderboards.all()}


def fill_m011(database: Database) -> None:
    """Insert data of the eleventh migration: a leaderboard with all parameters of its model."""
    parameters = {**as_json(registry.create("plackett-luce-hurdle")), "spare_finishers": False}
    database.execute(
        "INSERT INTO leaderboards (id, category, name, goals, model, parameters, teams, carry)"
        " VALUES (8, 'orb', 'Duels', '[\"Duels\"]', ?, ?, 'ignore', 'null')",
        ("plackett-luce-hurdle", json.dumps(parameters)),
    )


def read_m011(ledger: Ledger) -> None:
    assert parameters_of(ledger, "Duels")["spare_finishers"] is False


def fill_m012(database: Database) -> None:
    """Insert data of the twelfth migration: a name with an accent, and a forgotten player."""
    database.execute(
        "INSERT INTO players (id, name, folded, letters, discriminator, first_seen, last_seen)"
        " VALUES ('id-ólöf', 'Ólöf', 'ólöf', 'olof', '', '2026-03-01', '2026-03-01'),"
        " ('id-gone', 'deleted account', 'deleted account', '', '', '2026-03-01', '2026-03-01')"
    )


def read_m012(ledger: Ledger) -> None:
    assert [player.id for player in ledger.players.called("olof", roughly=True)] == ["id-ólöf"]
    assert ledger.players.called("deleted account", roughly=True) == []


def test_older_names_are_found_without_their_accents(tmp_path: Path) -> None:
    database = Database(tmp_path / "old.db")
    migrations.apply(database, stop_before="m012_letters")
    database.execute(
        "INSERT INTO players (id, name, folded, discriminator, first_seen, last_seen)"
        " VALUES ('id-ólöf', 'Ólöf', 'ólöf', '', '2026-03-01', '2026-03-01'),"
        " ('id-gone', 'deleted account', 'deleted account', '', '2026-03-01', '2026-03-01')"
    )
    database.close()
    with Ledger.open(tmp_path / "old.db") as ledger:
        read_m012(ledger)


def fill_m013(database: Database) -> None:
    """Insert data of the thirteenth migration: hide orders of a player and of the operator."""
    database.execute(
        "INSERT INTO orders (given_at, kind, subject, target, reason, by_player)"
        " VALUES ('2026-03-01', 'hide', 'id-own', NULL, 'asked in chat', 1),"
        " ('2026-03-01', 'hide', 'id-other', NULL, 'offensive', 0)"
    )


def read_m013(ledger: Ledger) -> None:
    hidden = [ledger.orders.is_hidden_by_operator(player) for player in ("id-own", "id-other")]
    assert hidden == [False, True]


def test_givers_of_older_orders_follow_from_the_reasons(tmp_path: Path) -> None:
    database = Database(tmp_path / "old.db")
    migrations.apply(database, stop_before="m013_order_givers")
    database.execute(
        "INSERT INTO orders (given_at, kind, subject, target, reason)"
        " VALUES ('2026-03-01', 'hide', 'id-own', NULL, 'asked in chat'),"
        " ('2026-03-01', 'hide', 'id-other', NULL, 'offensive')"
    )
    database.close()
    with Ledger.open(tmp_path / "old.db") as ledger:
        read_m013(ledger)


def fill_m014(database: Database) -> None:
    """Insert nothing: the fourteenth migration only changed an index."""


def read_m014(ledger: Ledger) -> None:
    (board,) = (each for each in ledger.leaderboards.all() if each.id == 7)
    players = open_leaderboard(ledger, board, Listing(), at=NOON + timedelta(days=1)).players
    assert sorted((row.player, row.finishes, row.wins) for row in players.rows) == [
        ("id-ann", 1, 1), ("id-bo", 0, 0)
    ]  # fmt: skip


def fill_m015(database: Database) -> None:
    database.execute("UPDATE races SET corrected_at = '2026-03-02T12:00:00.000000+00:00'")


def read_m015(ledger: Ledger) -> None:
    assert races_numbered(ledger, 7, [1])[1].updated_at == NOON + timedelta(days=1)


def fill_m016(database: Database) -> None:
    database.execute("UPDATE leaderboards SET updated_at = '2026-03-02T12:00:00+00:00'")


def read_m016(ledger: Ledger) -> None:
    assert {ledger.ratings.updated_at(board) for board in ledger.leaderboards.all()} == {
        NOON + timedelta(days=1)
    }


def fill_m017(database: Database) -> None:
    """Insert data of the seventeenth migration: a name with two spaces in a row."""
    database.execute(
        "INSERT INTO players (id, name, folded, letters, discriminator, first_seen, last_seen)"
        " VALUES ('id-wide', 'Wide  Name', 'wide  name', 'wide name', '', '2026-03-01', '2026-03-01')"
    )


def read_m017(ledger: Ledger) -> None:
    assert [player.id for player in ledger.players.called("wide name", roughly=True)] == ["id-wide"]


def test_older_names_are_found_with_single_spaces(tmp_path: Path) -> None:
    database = Database(tmp_path / "old.db")
    migrations.apply(database, stop_before="m017_spaces")
    fill_m017(database)
    database.execute("UPDATE players SET letters = folded WHERE id = 'id-wide'")
    database.close()
    with Ledger.open(tmp_path / "old.db") as ledger:
        read_m017(ledger)


def fill_m018(database: Database) -> None:
    """Insert data of the eighteenth migration: a race, by the names of its columns."""
    noon = "2026-03-01T12:00:00.000000+00:00"
    database.execute(
        "INSERT INTO races (name, category, goal, ended_at, counted_at, source, result, fingerprint)"
        " VALUES ('cave/r', 'cave', 'Any Cave', ?, ?, 'import', '{}', '')",
        (noon, noon),
    )


def read_m018(ledger: Ledger) -> None:
    assert ledger.races.has("cave/r")
    assert ledger.races.goals() == [("cave", "Any Cave"), ("orb", "Any Orb")]


def fill_m019(database: Database) -> None:
    """Insert data of the nineteenth migration: a leaderboard with a job, by its number."""
    database.execute(
        "INSERT INTO leaderboards (id, category, name, goals, model, parameters, teams, carry, number,"
        " updated_at) VALUES (30, 'cave', 'Any Cave', '[\"Any Cave\"]', 'trueskill', '{}', 'ignore', 'null',"
        " 29, '2026-03-02T12:00:00+00:00')"
    )
    database.execute(
        "INSERT INTO jobs (leaderboard, model, parameters, teams, carry, counted_at, race, reason)"
        " VALUES (29, 'elo-ffa', '{}', 'ignore', 'null', '', '', 'the settings changed')"
    )


def read_m019(ledger: Ledger) -> None:
    (job,) = ledger.jobs.all()
    assert (job.board.key, job.board.model, job.start) == (30, "elo-ffa", START)


def fill_m020(database: Database) -> None:
    """Insert data of the twentieth migration: a race whose room was ordered to be quiet."""
    noon = "2026-03-01T12:00:00.000000+00:00"
    database.execute(
        "INSERT INTO cases (race, category, quiet, ordered_at) VALUES ('cave/q', 'cave', 1, ?)", (noon,)
    )


def read_m020(ledger: Ledger) -> None:
    assert ledger.cases.get("cave/q") == CaseRow("cave/q", "cave", quiet=True, ordered_at=NOON)


def parameters_of(ledger: Ledger, name: str) -> Parameters:
    """Return the stored parameters of a leaderboard."""
    (board,) = (board for board in ledger.leaderboards.all() if board.name == name)
    return board.parameters


@pytest.mark.parametrize("model", ["thurstone-hurdle", "thurstone-filter", "plackett-luce-hurdle"])
def test_a_leaderboard_older_than_the_floor_stays_without_it(tmp_path: Path, model: str) -> None:
    database = Database(tmp_path / "old.db")
    migrations.apply(database, stop_before="m011_parameters")
    database.execute(
        "INSERT INTO leaderboards (id, category, name, goals, model, parameters, teams, carry)"
        " VALUES (8, 'orb', 'Duels', '[\"Duels\"]', ?, ?, 'ignore', 'null')",
        (model, '{"level": 0.5}'),
    )
    database.close()
    with Ledger.open(tmp_path / "old.db") as ledger:
        found = parameters_of(ledger, "Duels")
    odds = {} if model == "plackett-luce-hurdle" else {"odds_scale": 1.0, "odds_doubt": 1.0}
    assert found == {"level": 0.5, "spare_finishers": False, **odds}


RACE = result("r", "ann", dnf="bo")
STORED_RESULT = (
    '{"name":"orb/r","category":"orb","goal":"Any Orb","ended_at":"2026-03-01T12:00:00+00:00","entrants":['
    '{"user_id":"id-ann","name":"Ann","status":"done","finish_time":3600000000},'
    '{"user_id":"id-bo","name":"Bo","status":"dnf"}],'
    '"recorded":true,"recordable":true,"custom_goal":false,"hidden":false}'
)
"""A result as the first schema stored it. Written out, so that it does not depend on today's code."""

DATA = {
    "m001_ledger": (fill_m001, read_m001),
    "m002_work": (fill_m002, read_m002),
    "m003_chat": (fill_m003, read_m003),
    "m004_places": (fill_m004, read_m004),
    "m005_people": (fill_m005, read_m005),
    "m006_edits": (fill_m006, read_m006),
    "m007_replays": (fill_m007, read_m007),
    "m008_full_reads": (fill_m008, read_m008),
    "m009_profiles": (fill_m009, read_m009),
    "m010_rebuilds": (fill_m010, read_m010),
    "m011_parameters": (fill_m011, read_m011),
    "m012_letters": (fill_m012, read_m012),
    "m013_order_givers": (fill_m013, read_m013),
    "m014_results": (fill_m014, read_m014),
    "m015_corrections": (fill_m015, read_m015),
    "m016_updates": (fill_m016, read_m016),
    "m017_spaces": (fill_m017, read_m017),
    "m018_wide_races": (fill_m018, read_m018),
    "m019_jobs": (fill_m019, read_m019),
    "m020_cases": (fill_m020, read_m020),
}
"""For each migration: rows as that schema stored them, and checks of how today's code reads them."""


DIGESTS = {
    "m001_ledger": "10d8bc4f04dd4508",
    "m002_work": "6756632d4cf49c6a",
    "m003_chat": "901c7c7fbcc5ff58",
    "m004_places": "22bbd58f68180183",
    "m005_people": "7368651a5b953de0",
    "m006_edits": "42e9cf97e7390fc1",
    "m007_replays": "ae2b92bfe23150ae",
    "m008_full_reads": "5a930416e7fedeae",
    "m009_profiles": "34ffb5464e4ce093",
    "m010_rebuilds": "9d1679d1c306737c",
    "m011_parameters": "9d1679d1c306737c",
    "m012_letters": "7786c133888d9ba4",
    "m013_order_givers": "7714c66fb60056fe",
    "m014_results": "ed71f84456c85f20",
    "m015_corrections": "009bbf38c00e88d7",
    "m016_updates": "21bcb1713140bc69",
    "m017_spaces": "21bcb1713140bc69",
    "m018_wide_races": "28d42151d1fc4f9e",
    "m019_jobs": "7bb8cf7b3882e919",
    "m020_cases": "fa1bc8b273807bd8",
}
"""For each migration: a digest of the schema that it leads to. Those of released migrations never change."""


def older(path: Path, last: str) -> Path:
    """Make a ledger whose last migration is this one, with rows from each stage of its life."""
    database = Database(path)
    for count, name in enumerate(NAMES[: NAMES.index(last) + 1], start=1):
        migrations.apply(database, stop_before=set(NAMES[count:]))
        DATA[name][0](database)
    database.close()
    return path


def test_each_migration_is_tested_with_data() -> None:
    assert tuple(DATA) == tuple(DIGESTS) == NAMES


@pytest.mark.parametrize("last", NAMES)
def test_migrations_keep_the_data_of_every_earlier_schema(tmp_path: Path, last: str) -> None:
    path = older(tmp_path / "old.db", last)
    Ledger.open(tmp_path / "new.db").close()
    with Ledger.open(path) as ledger:
        for name in NAMES[: NAMES.index(last) + 1]:
            DATA[name][1](ledger)
        assert ledger.check() == []
    assert schema(path) == schema(tmp_path / "new.db")


@pytest.mark.parametrize("last", NAMES)
def test_released_migration_is_never_edited(tmp_path: Path, last: str) -> None:
    """Otherwise new ledgers would have a different schema from old ones."""
    found = sorted(schema(older(tmp_path / "old.db", last)), key=str)
    assert blake2b(repr(found).encode(), digest_size=8).hexdigest() == DIGESTS[last]


def test_a_database_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Ledger.open(path).close()
    database = Database(path)
    newer = Migrations("racebot")
    newer(name="m900_later")(lambda db: db.execute("CREATE TABLE later (thing TEXT)"))
    newer.apply(database)
    database.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=r"written by a newer racebot \(it holds m900_later\): update"):
        Ledger.open(path)
    assert path.read_bytes() == before


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Ledger.open(path).close()
    before = path.read_bytes()
    Ledger.open(path).close()
    assert path.read_bytes() == before


def test_a_migration_that_fails_leaves_the_schema_before_it(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    database = Database(path)
    migrations.apply(database, stop_before="m002_work")
    database.execute("CREATE TABLE fetched (mine TEXT)")
    database.close()
    before = schema(path)
    with pytest.raises(Exception, match="table fetched already exists"):
        Ledger.open(path)
    assert schema(path) == before


def test_older_ledger_is_backed_up_before_its_schema_changes(tmp_path: Path) -> None:
    path = older(tmp_path / "ledger.db", NAMES[0])
    before = schema(path)
    Ledger.open(path).close()
    Ledger.open(path).close()
    (copy,) = backups(folder_of(path), "ledger")
    assert schema(copy) == before
    assert schema(path) != before


FOLLOWED = frozenset({"pending", "joined", "quiet", "unrecorded", "cases"})
"""Tables of races that the bot follows, which one migration merges."""


def content(path: Path, but: frozenset[str] = frozenset()) -> dict[str, list[str]]:
    """Return the rows of every other table but the migrations, whatever the order of rows and columns."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
            " AND name NOT LIKE '%migrations%' AND name NOT IN ('jobs', 'sqlite_sequence')"
        ).fetchall()
        names = [table for (table,) in tables if table not in but]
        found = {table: connection.execute(f"SELECT * FROM {table}") for table in names}  # noqa: S608
        return {table: sorted(repr(sorted(dict(r).items())) for r in rows) for table, rows in found.items()}


def test_replaced_tables_keep_all_rows_and_references(tmp_path: Path) -> None:
    path = older(tmp_path / "ledger.db", "m017_spaces")
    before = content(path, but=FOLLOWED)
    with Ledger.open(path) as ledger:
        assert ledger.check() == []
        with pytest.raises(LedgerError, match="FOREIGN KEY constraint failed"):
            ledger.connection.write("INSERT INTO rated VALUES (99, 1, 'orb/r', NULL)")
        with pytest.raises(LedgerError, match="FOREIGN KEY constraint failed"):
            ledger.connection.write(
                "INSERT INTO changes SELECT 7, 2, player, 1, '', '', 0, 0, 0, '' FROM changes"
            )
    assert content(path, but=FOLLOWED) == before
    assert "('corrected_at', '2026-03-02" in before["races"][0]


def test_migration_that_is_killed_leaves_the_ledger_as_it_was(tmp_path: Path) -> None:
    path = older(tmp_path / "ledger.db", "m017_spaces")
    before = schema(path), content(path)
    dying = (
        "import os, sys; from pathlib import Path\n"
        "from racebot.ledger.schema import migrations; from racebot.ledger.store import Ledger\n"
        "migrations(name='m900_killed')(lambda db: os._exit(9))\n"
        "Ledger.open(Path(sys.argv[1]))"
    )
    assert subprocess.run([sys.executable, "-c", dying, str(path)], check=False).returncode == 9
    assert (schema(path), content(path)) == before
    kept = content(path, but=FOLLOWED)
    Ledger.open(path).close()
    assert content(path, but=FOLLOWED) == kept


def test_no_id_of_a_leaderboard_is_used_twice(tmp_path: Path) -> None:
    with Ledger.open(older(tmp_path / "ledger.db", "m018_wide_races")) as ledger:
        board = ledger.leaderboards.all()[0]
        last = max(row["id"] for row in ledger.connection.rows("SELECT id FROM leaderboards"))
        for expected in (last + 1, last + 2):
            shadow = ledger.shadows.add(board)
            assert shadow.id == expected
            ledger.shadows.remove_hidden()


def test_space_that_a_migration_frees_is_given_back(tmp_path: Path) -> None:
    path = older(tmp_path / "ledger.db", "m017_spaces")
    with Ledger.open(path) as ledger:
        assert ledger.connection.value("PRAGMA freelist_count") == 0


def test_only_the_worker_itself_migrates_a_database_with_a_worker(tmp_path: Path) -> None:
    path = older(tmp_path / "racebot.db", NAMES[-2])
    with locked(path):
        with pytest.raises(LedgerError, match="stop its worker first"):
            Ledger.open(path)
        with Ledger.open(path, holds_lock=True) as ledger:
            assert migrations.pending(ledger.connection.db) == []
        Ledger.open(path).close()


def test_ledger_that_cannot_be_backed_up_keeps_its_schema(tmp_path: Path) -> None:
    path = older(tmp_path / "ledger.db", NAMES[0])
    before = schema(path)
    (tmp_path / "backups").touch()  # no folder
    with pytest.raises(LedgerUnavailable, match="backup"):
        Ledger.open(path)
    assert schema(path) == before
