import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from builders import NOON, existing, result
from migrations import STATEMENTS, migrate
from sqlite_utils import Migrations
from sqlite_utils.db import Database

from racebot.errors import LedgerError, LedgerUnavailable
from racebot.ledger.lock import backups, folder_of, locked
from racebot.ledger.orders import OrderKind
from racebot.ledger.outbox import CaseRow, ChatBody, Delivery, Message, Post
from racebot.ledger.rows import CategoryProfile, Leaderboard, Position
from racebot.ledger.schema import VERSION, migrations
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import leaderboard_report, place_among, top_players
from racebot.queries.races import corrected_at
from racebot.queries.records import times_and_closest
from racebot.queries.standings import Listing
from racebot.races.outcome import outcome_of
from racebot.races.result import Profile
from racebot.races.rooms import RoomRule
from racebot.ratings import registry
from racebot.ratings.parameters import as_json
from racebot.standings.verify import verify

NAMES = tuple(STATEMENTS)
RACE = result("r", "ann", dnf="bo")
VALUES = {
    "noon": "2026-03-01T12:00:00.000000+00:00",
    "later": "2026-03-02T12:00:00.000000+00:00",
    # A result as the first schema stored it. Written out, so that it does not depend on today's code.
    "result": '{"name":"orb/r","category":"orb","goal":"Any Orb","ended_at":"2026-03-01T12:00:00+00:00",'
    '"entrants":[{"user_id":"id-ann","name":"Ann","status":"done","finish_time":3600000000},'
    '{"user_id":"id-bo","name":"Bo","status":"dnf"}],'
    '"recorded":true,"recordable":true,"custom_goal":false,"hidden":false}',
    "fingerprint": RACE.fingerprint(),
}
"""Values of statements below, by name."""


class Stage(NamedTuple):
    """A schema's test: rows as it stored them, and how today's code must read them."""

    statements: tuple[str, ...]
    read: Callable[[Ledger], None]


STAGES: dict[str, Stage] = {}


def stage(*statements: str) -> Callable[[Callable[[Ledger], None]], Callable[[Ledger], None]]:
    """Add the stage of the migration whose name the reading function has."""

    def add(read: Callable[[Ledger], None]) -> Callable[[Ledger], None]:
        STAGES[read.__name__] = Stage(statements, read)
        return read

    return add


def board_of(ledger: Ledger, name: str = "Any Orb") -> Leaderboard:
    return existing(ledger.leaderboards.get("orb", name))


@stage(
    "INSERT INTO players VALUES ('id-ann', 'Ann', :noon, :noon), ('id-bo', 'Bo', :noon, :noon)",
    "INSERT INTO races VALUES ('orb/r', 'orb', 'Any Orb', :noon, :noon, 'live', :result, :fingerprint)",
)
def m001_ledger(ledger: Ledger) -> None:
    assert existing(ledger.races.get("orb/r")).result == RACE
    board = board_of(ledger)
    assert board.key in {5, 7}
    assert verify(ledger, board) == []
    assert [(s.name, s.races) for s in ledger.standings.all(board)] == [("Ann", 1), ("Bo", 1)]


def rate_first_race(database: Database) -> None:
    """Rate the race of the first schema on a leaderboard."""
    model = registry.create("elo-ffa")
    before = model.initial()
    after = model.rate(np.array([before, before]), outcome_of(RACE).outcome)
    points = model.points(np.array([before, *after])).tolist()
    database.execute(
        "INSERT INTO leaderboards VALUES (7, 'orb', 'Any Orb', ?, 'elo-ffa', ?, 'ignore', 'null')",
        ('["Any Orb"]', json.dumps(as_json(model))),
    )
    database.execute("INSERT INTO rated VALUES (7, 1, 'orb/r', NULL)")
    for row, (player, place) in enumerate((("id-ann", 1), ("id-bo", None))):
        state, new = json.dumps(before.tolist()), json.dumps(after[row].tolist())
        database.execute(
            "INSERT INTO changes VALUES (7, 1, ?, ?, ?, ?, ?, ?, 0, '[]')",
            (player, place, state, new, points[0], points[row + 1]),
        )
        rating = float(model.rating(after)[row])
        won = int(place == 1)
        database.execute(
            "INSERT INTO standings VALUES (7, ?, ?, ?, ?, 1, ?, ?, ?)",
            (player, new, rating, points[row + 1], won, won, VALUES["noon"]),
        )


@stage(
    "INSERT INTO pending VALUES ('orb/q', 'orb', :noon, :noon, 'abc', 2)",
    """INSERT INTO outbox
    VALUES (3, 'orb/q', 'orb', 'chat', 'g-1', '{"text":"hi"}', 'sent', NULL, :noon, :noon)""",
)
def m002_work(ledger: Ledger) -> None:
    assert ledger.cases.get("orb/q") == CaseRow("orb/q", "orb", NOON, NOON)
    (sent,) = ledger.messages.open_for("orb/q")
    assert sent.message == Message("orb/q", "orb", "g-1", ChatBody("hi"))
    assert (sent.id, sent.state, sent.created_at) == (3, Delivery.SENT, NOON)


@stage(
    """INSERT INTO players (id, name, folded, first_seen, last_seen)
    VALUES ('id-ólöf', 'Ólöf', 'ólöf', :noon, :noon),
        ('id-wide', 'Wide  Name', 'wide  name', :noon, :noon),
        ('id-gone', 'deleted account', 'deleted account', :noon, :noon)""",
)
def m003_chat(ledger: Ledger) -> None:
    assert [p.id for p in ledger.players.called("BO")] == ["id-bo"], "a player of the first schema"


@stage(
    "INSERT INTO leaderboards VALUES (9, 'orb', 'Old Orb', '[]', 'elo-ffa', '{}', 'ignore', 'null')",
    "INSERT INTO standings VALUES (9, 'id-ann', '[0.0]', 2.0, 2, 3, 1, 1, :noon)",
    "INSERT INTO standings VALUES (9, 'id-bo', '[0.0]', 3.0, 3, 3, 3, 2, :later)",
)
def m004_places(ledger: Ledger) -> None:
    board = board_of(ledger, "Old Orb")
    assert ledger.standings.latest_race(board) == NOON + timedelta(days=1)
    best = top_players(ledger, board, Listing(1), 5)
    assert [(place, standing.name) for place, standing in best] == [(1, "Bo"), (2, "Ann")]
    assert place_among(ledger, board, best[1][1], Listing(1)) == (2, 2)


@stage(
    """INSERT INTO orders (given_at, kind, subject, reason) VALUES
        (:noon, 'forget', 'gone', ''),
        (:noon, 'hide', 'shy', 'asked in chat'),
        (:noon, 'hide', 'rude', 'offensive'),
        (:noon, 'hide', 'bold', ''), (:noon, 'unhide', 'bold', ''),
        (:noon, 'exclude', 'orb/out', ''),
        (:noon, 'exclude', 'orb/in', ''), (:noon, 'include', 'orb/in', '')"""
)
def m005_people(ledger: Ledger) -> None:
    assert ledger.players.find("Bo#0007").id == "id-bo", "discriminators are still to be learned"
    assert ledger.people.hidden() == {"gone", "shy", "rude"}
    assert ledger.orders.under(OrderKind.EXCLUDE) == {"orb/out"}


@stage(
    """INSERT INTO pending (race, category, ended_at, next_look, announced_key, corrections, over, misses)
    VALUES ('orb/over', 'orb', :noon, :noon, NULL, 1, 1, 3)""",
)
def m006_edits(ledger: Ledger) -> None:
    over = CaseRow("orb/over", "orb", NOON, NOON, over=True, misses=3)
    assert ledger.cases.get("orb/over") == over


@stage(
    "INSERT INTO rated_on VALUES (7, 1, 'a platform')",
    "INSERT INTO renamed_goals VALUES ('orb', 'An Orb', 'Any Orb')",
)
def m007_replays(ledger: Ledger) -> None:
    assert ledger.ratings.platforms(board_of(ledger)) == ["a platform"]
    assert ledger.races.renamed_goals() == {"orb": {"An Orb": "Any Orb"}}


@stage("INSERT INTO full_reads VALUES ('orb', :noon)")
def m008_full_reads(ledger: Ledger) -> None:
    assert ledger.full_reads.last("orb", NOON + timedelta(days=1)) == NOON


@stage(
    "INSERT INTO profiles VALUES ('id-ann', '/media/ann.png', 'she/her', 'ann_runs')",
    "INSERT INTO categories VALUES ('orb', 'Orb Racing', NULL)",
)
def m009_profiles(ledger: Ledger) -> None:
    assert ledger.profiles.get("id-ann") == Profile("/media/ann.png", "she/her", "ann_runs")
    assert ledger.profiles.category("orb") == CategoryProfile("Orb Racing")


OLD_PARAMETERS = {
    "thurstone-hurdle": {"odds_scale": 1.0, "odds_doubt": 1.0},
    "thurstone-filter": {"odds_scale": 1.0, "odds_doubt": 1.0},
    "plackett-luce-hurdle": {},
}


@stage(
    """INSERT INTO leaderboards VALUES
    (11, 'orb', 'abc', '[]', 'elo-ffa', '{}', 'ignore', 'null', 'Any Orb', 0, NULL)""",
    "UPDATE leaderboards SET number = 5, revision = 2 WHERE id = 7",
    *(
        f"""INSERT INTO leaderboards (category, name, goals, model, parameters, teams, carry)
        VALUES ('orb', '{model}', '["Duels"]', '{model}', '{{"level": 0.5}}', 'ignore', 'null')"""  # noqa: S608
        for model in OLD_PARAMETERS
    ),
)
def m010_rebuilds(ledger: Ledger) -> None:
    board = board_of(ledger)
    assert board.id == 5, "it has its first id again"
    assert ledger.ratings.count(board) == 1
    assert 11 not in {each.id for each in ledger.leaderboards.all()}, "a hidden leaderboard is gone"


@stage()
def m011_parameters(ledger: Ledger) -> None:
    for model, odds in OLD_PARAMETERS.items():
        found = board_of(ledger, model).parameters
        assert found == {"level": 0.5, "spare_finishers": False, **odds}


@stage("UPDATE players SET letters = 'wide  name' WHERE id = 'id-wide'")
def m012_letters(ledger: Ledger) -> None:
    assert [player.id for player in ledger.players.called("olof", roughly=True)] == ["id-ólöf"]
    assert ledger.players.called("deleted account", roughly=True) == []


@stage()
def m013_order_givers(ledger: Ledger) -> None:
    assert [set(ledger.people.hiding(player)) for player in ("shy", "rude")] == [{True}, {False}]


@stage()
def m014_results(ledger: Ledger) -> None:
    players = leaderboard_report(ledger, board_of(ledger), Listing(), at=NOON + timedelta(days=1)).players
    assert sorted((row.player, row.finishes, row.wins) for row in players.rows) == [
        ("id-ann", 1, 1), ("id-bo", 0, 0)
    ]  # fmt: skip


@stage("UPDATE races SET corrected_at = :later")
def m015_corrections(ledger: Ledger) -> None:
    assert corrected_at(ledger, board_of(ledger).key, [1])[1] == NOON + timedelta(days=1)


@stage("UPDATE leaderboards SET updated_at = :later WHERE id = 7")
def m016_updates(ledger: Ledger) -> None:
    assert ledger.ratings.updated_at(board_of(ledger)) == NOON + timedelta(days=1)


@stage()
def m017_spaces(ledger: Ledger) -> None:
    assert [player.id for player in ledger.players.called("wide name", roughly=True)] == ["id-wide"]


@stage(
    """INSERT INTO races (name, category, goal, ended_at, counted_at, source, result, fingerprint)
    VALUES ('cave/r', 'cave', 'Any Cave', :noon, :noon, 'import', '{}', '')"""
)
def m018_wide_races(ledger: Ledger) -> None:
    assert ledger.races.has("cave/r")
    assert ledger.races.goals() == [("cave", "Any Cave"), ("orb", "Any Orb")]


@stage(
    """INSERT INTO leaderboards (id, category, name, goals, model, parameters, teams, carry, number)
    VALUES (30, 'cave', 'Any Cave', '["Any Cave"]', 'trueskill', '{}', 'ignore', 'null', 29)""",
    """INSERT INTO jobs (leaderboard, model, parameters, teams, carry, counted_at, race, reason)
    VALUES (29, 'elo-ffa', '{}', 'ignore', 'null', '', '', 'the settings changed')""",
)
def m019_jobs(ledger: Ledger) -> None:
    assert "jobs" not in ledger.connection.db.table_names()
    assert existing(ledger.leaderboards.get("cave", "Any Cave")).key == 29


@stage("INSERT INTO cases (race, category, quiet, ordered_at) VALUES ('cave/q', 'cave', 1, :noon)")
def m020_cases(ledger: Ledger) -> None:
    assert ledger.cases.get("cave/q") == CaseRow("cave/q", "cave", quiet=True, ordered_at=NOON)


@stage(
    """INSERT INTO orders (given_at, kind, subject, reason, by_player) VALUES
    (:noon, 'hide', 'shy', 'asked in chat', 1)"""
)
def m021_rooms(ledger: Ledger) -> None:
    assert ledger.people.hiding("shy")[True] == "asked in chat"
    assert ledger.people.hidden() == {"gone", "shy", "rude"}
    assert {board.rule for board in ledger.leaderboards.all()} == {RoomRule()}
    assert ledger.races.state("orb/r") == (RACE.fingerprint(), True)


@stage("INSERT INTO discord (race, webhook, wanted, message) VALUES ('orb/r', '1', 'withdrawn', '7')")
def m022_discord(ledger: Ledger) -> None:
    assert ledger.posts.get("orb/r", "1") == Post("orb/r", "1", "withdrawn", None, {}, "7")


@stage(
    """INSERT INTO events VALUES ('orb/event-q', 'Q', 'orb', 'Any Orb', 'Any Orb', :later, 'rta', 0, :noon,
    NULL)""",
    """INSERT INTO event_sources (event, kind, name, result, remarks, added_at, added_by)
    VALUES ('orb/event-q', 'room', 'orb/room', :result, '[["https://example.org", "late"]]', :noon, '')""",
)
def m023_events(ledger: Ledger) -> None:
    assert ledger.events.rooms() == {"orb/room": "orb/event-q"}
    (source,) = ledger.events.sources("orb/event-q")
    assert source.result == RACE
    assert ledger.events.find("q").closed_at is None
    assert {stored.result.leaderboard for stored in ledger.races.of(board_of(ledger))} == {None}
    assert {order.author for order in ledger.orders.all()} == {""}


@stage(
    "INSERT INTO discord (race, webhook, wanted) VALUES ('orb/q', '1', 'x'), ('week 2026-03-02', '1', 'x')"
)
def m024_posts(ledger: Ledger) -> None:
    assert [ledger.posts.get(f"orb/{each}", "1").message for each in "qr"] == [None, "7"]


@stage()
def m025_one_schema(ledger: Ledger) -> None:
    assert ledger.players.find("ólöf").id == "id-ólöf"


@stage("""UPDATE event_sources SET counted_at = :later""")
def m026_positions(ledger: Ledger) -> None:
    (source,) = ledger.events.sources("orb/event-q")
    assert source.name == "orb/room"


@stage()
def m027_records(ledger: Ledger) -> None:
    times, _ = times_and_closest(ledger, board_of(ledger))
    assert [(each.player.name, each.number) for each in times["Any Orb"]] == [("Ann", 3600.0)]


@stage()
def m028_backfills(ledger: Ledger) -> None:
    former = {"backfills", "fetched", "joined", "quiet", "unrecorded"}
    assert not former & set(ledger.connection.db.table_names())


@stage("UPDATE rebuilds SET error = 'a damaged race', race = 'orb/r', counted_at = :noon")
def m029_rebuilds(ledger: Ledger) -> None:
    (rebuild,) = ledger.rebuilds.all()
    assert (rebuild.board.key, rebuild.board.model, rebuild.error) == (29, "elo-ffa", "a damaged race")
    assert rebuild.start == Position(NOON, "orb/r")


@stage("UPDATE leaderboards SET odds_races = 25, odds_fitted_at = :later")
def m030_odds(ledger: Ledger) -> None:
    board = board_of(ledger)
    assert (board.odds_races, board.odds_fitted_at) == (25, RACE.ended_at + timedelta(days=1))


@stage("INSERT INTO site VALUES ('racetime.gg')")
def m031_site(ledger: Ledger) -> None:
    ledger.belong_to("https://racetime.gg")
    with pytest.raises(
        LedgerError, match=r"races of racetime\.gg, and RACEBOT_SITE is http://other\.example"
    ):
        ledger.belong_to("http://other.example")


@stage(
    """INSERT INTO orders (given_at, kind, subject, target, reason, amount)
    VALUES (:noon, 'penalty', 'orb/none', 'id-ann', 'warped', 30000000)"""
)
def m032_penalties(ledger: Ledger) -> None:
    amounts = [order.amount for order in ledger.orders.all()]
    assert (amounts[-1], set(amounts[:-1])) == (30_000_000, {None})


@stage()
def m033_races_on_discord(ledger: Ledger) -> None:
    assert not [race for race in ledger.posts.waiting("1") if " " in race]


@stage()
def m034_sealed_events(ledger: Ledger) -> None:
    assert [event.until for event in ledger.events.all()] == [NOON + timedelta(days=1)]


@stage()
def m035_sources(ledger: Ledger) -> None:
    assert [source.result for source in ledger.events.sources("orb/event-q")] == [RACE]


@stage()
def m036_numbered(ledger: Ledger) -> None:
    assert [standing.name for standing in ledger.standings.all(board_of(ledger))] == ["Ann", "Bo"]


@stage()
def m037_events_by_leaderboard(ledger: Ledger) -> None:
    assert [event.leaderboard for event in ledger.events.all()] == ["Any Orb"]


@stage()
def m038_orders_in_force(ledger: Ledger) -> None:
    assert [set(ledger.people.hiding(player)) for player in ("shy", "rude")] == [{True}, {False}]


@stage()
def m039_leaderboards(ledger: Ledger) -> None:
    assert {board.name for board in ledger.leaderboards.all()} >= {"Any Orb"}


def test_a_ledger_takes_its_site_once_races_came_from_there(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        ledger.belong_to("https://typo.example", learn=False)
        for address in ("https://racetime.gg", "https://racetime.gg:443/"):
            ledger.belong_to(address)
        with pytest.raises(LedgerError):
            ledger.belong_to("https://typo.example", learn=False)


DAMAGED = (
    "x",
    '{"entrants": ["x"]}',
    '{"entrants": "x"}',
    '{"entrants": [{"status": "done", "finish_time": "x"}, {"status": "done", "finish_time": 0.5}]}',
)


def test_damaged_races_do_not_stop_a_ledger_from_opening(tmp_path: Path) -> None:
    path = older(tmp_path / "old.db", "m026_positions")
    with closing(sqlite3.connect(path)) as connection:
        copy = "INSERT INTO races SELECT ?, category, goal, ended_at, counted_at, source, corrected_at,"
        rest = " fingerprint, ?, recorded, counts_on FROM races WHERE name = 'orb/r'"
        connection.executemany(copy + rest, [(f"orb/{n}", text) for n, text in enumerate(DAMAGED)])
        connection.commit()
    with Ledger.open(path) as ledger:
        found = ledger.connection.rows("SELECT fastest FROM races WHERE goal = 'Any Orb' ORDER BY name")
        assert [row["fastest"] for row in found] == [None] * len(DAMAGED) + [3_600_000_000]


def schema(path: Path) -> set[tuple[str, str]]:
    """Return the name and the statement of each table, index and view but those of the migrations.

    SQLite writes spaces and quotes of its own when it alters a table.
    """
    query = "SELECT name, coalesce(sql, '') FROM sqlite_master WHERE name NOT LIKE '%migrations%'"
    with closing(sqlite3.connect(path)) as connection:
        return {(name, "".join(sql.replace('"', "").split())) for name, sql in connection.execute(query)}


def older(path: Path, last: str) -> Path:
    """Make a ledger in this schema, with rows from each stage of its life."""
    database = Database(path)
    database.execute("PRAGMA synchronous = OFF")
    for name in NAMES[: NAMES.index(last) + 1]:
        migrate(database, name)
        for statement in STAGES[name].statements:
            database.execute(statement, VALUES)
        if name == NAMES[0]:
            rate_first_race(database)
    database.close()
    return path


def test_each_schema_is_numbered_and_tested() -> None:
    assert [int(name[1:4]) for name in NAMES] == list(range(1, len(NAMES) + 1))
    assert tuple(STAGES) == NAMES
    assert NAMES[-1] == VERSION


@pytest.mark.parametrize("last", NAMES)
def test_ledger_of_every_schema_keeps_its_data_in_the_newest(tmp_path: Path, last: str) -> None:
    path = older(tmp_path / "old.db", last)
    Ledger.open(tmp_path / "new.db").close()
    with Ledger.open(path) as ledger:
        for name in NAMES[: NAMES.index(last) + 1]:
            STAGES[name].read(ledger)
        assert ledger.check() == []
    assert schema(path) == schema(tmp_path / "new.db")


def test_a_database_of_this_or_a_newer_version_is_left_as_it_is_and_a_newer_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Ledger.open(path).close()
    before = path.read_bytes()
    Ledger.open(path).close()
    assert path.read_bytes() == before
    database = Database(path)
    newer = Migrations("racebot")
    newer(name="m900_later")(lambda db: db.execute("CREATE TABLE later (thing TEXT)"))
    newer.apply(database)
    database.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=r"written by a newer racebot \(it holds m900_later\): update"):
        Ledger.open(path)
    assert path.read_bytes() == before


def test_an_upgrade_that_fails_leaves_the_schema_before_it(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    database = Database(path)
    migrate(database, NAMES[0])
    database.execute("CREATE TABLE full_reads (category TEXT)")
    database.execute("INSERT INTO full_reads VALUES ('orb')")
    database.close()
    before = schema(path)
    with pytest.raises(LedgerError, match="NOT NULL constraint failed"):
        Ledger.open(path)
    assert schema(path) == before


def test_older_ledger_is_backed_up_before_its_schema_changes_or_keeps_it(tmp_path: Path) -> None:
    path = older(tmp_path / "ledger.db", NAMES[0])
    before = schema(path)
    (tmp_path / "backups").touch()  # no folder
    with pytest.raises(LedgerUnavailable, match="backup"):
        Ledger.open(path)
    assert schema(path) == before
    (tmp_path / "backups").unlink()
    Ledger.open(path).close()
    Ledger.open(path).close()
    (copy,) = backups(folder_of(path), "ledger")
    assert schema(copy) == before
    assert schema(path) != before


def test_replaced_tables_keep_all_rows_and_references(tmp_path: Path) -> None:
    path = older(tmp_path / "ledger.db", "m017_spaces")
    tables = ("players", "races", "changes", "standings", "orders", "outbox", "profiles")
    counted = " UNION ALL ".join(f"SELECT count(*) FROM {table}" for table in tables)  # noqa: S608
    with closing(sqlite3.connect(path)) as connection:
        before = connection.execute(counted).fetchall()
    with Ledger.open(path) as ledger:
        assert [tuple(row) for row in ledger.connection.rows(counted)] == before
        assert ledger.connection.value("PRAGMA freelist_count") == 0, "freed space is given back"
        with pytest.raises(LedgerError, match="FOREIGN KEY constraint failed"):
            ledger.connection.write("INSERT INTO rated VALUES (99, 1, 'orb/r', NULL)")
        with pytest.raises(LedgerError, match="FOREIGN KEY constraint failed"):
            ledger.connection.write(
                "INSERT INTO changes SELECT 7, 2, player, 1, '', '', 0, 0, 0, '' FROM changes"
            )


def content(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def test_migration_that_is_killed_leaves_the_ledger_as_it_was(tmp_path: Path) -> None:
    path = older(tmp_path / "ledger.db", "m017_spaces")
    before = content(path)
    dying = (
        "import os, sys; from pathlib import Path\n"
        "from racebot.ledger.schema import migrations; from racebot.ledger.store import Ledger\n"
        "migrations(name='m900_killed')(lambda db: os._exit(9))\n"
        "Ledger.open(Path(sys.argv[1]))"
    )
    assert subprocess.run([sys.executable, "-c", dying, str(path)], check=False).returncode == 9
    assert content(path) == before
    Ledger.open(path).close()
    assert content(path) != before


@pytest.mark.parametrize(("schema", "last"), [("m018_wide_races", 14), ("m020_cases", 99)])
def test_no_id_of_a_leaderboard_is_used_twice(tmp_path: Path, schema: str, last: int) -> None:
    path = older(tmp_path / "ledger.db", schema)
    with closing(sqlite3.connect(path)) as connection:
        ids = "INSERT INTO leaderboards (id, category, name, goals, model, parameters, teams, carry)"
        connection.execute(f"{ids} VALUES (99, '', '', '', '', '', '', '')")
        connection.execute("DELETE FROM leaderboards WHERE id = 99")
        connection.commit()
    with Ledger.open(path) as ledger:
        board = ledger.leaderboards.all()[0]
        for expected in (last + 1, last + 2):
            added = ledger.leaderboards.save(replace(board, id=None, name="new"))
            assert added.id == expected
            ledger.leaderboards.remove(added)


def test_only_the_worker_itself_migrates_a_database_with_a_worker(tmp_path: Path) -> None:
    path = older(tmp_path / "racebot.db", NAMES[-2])
    with locked(path):
        with pytest.raises(LedgerError, match="stop its worker first"):
            Ledger.open(path)
        with Ledger.open(path, holds_lock=True) as ledger:
            assert migrations.pending(ledger.connection.db) == []
        Ledger.open(path).close()
