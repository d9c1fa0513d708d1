"""Results that leave the ledger and come back to the same ratings."""

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from builders import NOON, entrant, result, settler_of

from racebot.errors import PayloadError
from racebot.files.read import read_races
from racebot.ledger.rows import Leaderboard, State
from racebot.ledger.store import Ledger
from racebot.queries.export_races import counted_results, csv_text, json_text
from racebot.races.result import Entrant, EntrantStatus, RaceResult
from racebot.races.rooms import RoomRule
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.orders import exclude, forget, hide
from racebot.standings.settle import Settler

Writer = Callable[[Iterator[RaceResult]], str]
FIRST = result("first", "ann bo cy=di", dnf="ed", dq="flo")
GONE = replace(FIRST.entrants[1], user_id=None)
LATE = result("late", "di ann", after=-30)
"""A race that ended before the others, and was recorded after them."""


def imported(file: Path, settler: Settler, goal: str) -> tuple[Leaderboard, dict[str, State]]:
    """Import a file into an empty ledger, and return its leaderboard and the states."""
    with Ledger.open(file.with_name("empty.db")) as empty:
        other = Settler(empty, settler.rules)
        other.add_past_races(read_races(file, category="orb", goal=goal).results, "import")
        (board,) = empty.leaderboards.all()
        return board, states_of(empty, board)


def states_of(ledger: Ledger, board: Leaderboard) -> dict[str, State]:
    return {each.player: each.state for each in ledger.standings.all(board)}


@pytest.fixture
def settler(ledger: Ledger) -> Settler:
    settler = settler_of(ledger, "thurstone-hurdle")
    odd = replace(
        FIRST,
        name="orb/second",
        ended_at=NOON + timedelta(hours=1.1234567),
        entrants=(*FIRST.entrants[:1], GONE, entrant("cy", time=3_723_000_001), *FIRST.entrants[3:]),
    )
    settler.add_past_races([FIRST, odd, result("out", "ed ann", after=5)], "backfill")
    settler.add_past_races([LATE], "backfill")
    moved = "UPDATE races SET counted_at = ? WHERE name = ?"
    ledger.connection.write(moved, NOON + timedelta(hours=9), LATE.name)
    settler.rebuild(ledger.leaderboards.all()[0])
    stored = ledger.races.get("orb/out")
    assert stored is not None
    exclude(settler, stored, "crashed", NOON)
    hide(settler, ledger.players.find("id-cy"), "", NOON)
    return settler


@pytest.mark.parametrize(("text_of", "ending"), [(json_text, "json"), (csv_text, "csv")])
def test_an_exported_leaderboard_is_imported_with_the_same_ratings(
    settler: Settler, tmp_path: Path, text_of: Writer, ending: str
) -> None:
    ledger = settler.ledger
    (board,) = ledger.leaderboards.all()
    file = tmp_path / f"races.{ending}"
    file.write_text(text_of(counted_results(ledger, board)), newline="")
    assert not {"id-cy", "Cy"}.intersection(re.findall(r"[\w-]+", file.read_text()))
    expected = states_of(ledger, board)
    expected[f"hidden-2 of {board.name}"] = expected.pop("id-cy")  # his was the second order
    assert imported(file, settler, FIRST.goal)[1] == expected
    forget(settler, ledger.players.find("id-ann"), "she raced before him", NOON)
    forget(settler, ledger.players.find("id-cy"), "", NOON)
    ids = {e.user_id for race in counted_results(ledger, board) for e in race.entrants}
    assert {"hidden-2", "hidden-3"} == {each for each in ids if each and "hidden" in each}


@pytest.mark.parametrize(("text_of", "ending"), [(json_text, "json"), (csv_text, "csv")])
def test_a_league_of_custom_goals_is_imported_with_the_same_ratings_and_without_its_openers(
    ledger: Ledger, tmp_path: Path, text_of: Writer, ending: str
) -> None:
    rule = RoomRule(custom_goals=("SGL*",), opened_by=("Ze*",), finished=True)
    league = LeaderboardConfig("thurstone-hurdle", name="League", rule=rule)
    rules = RatingRules(LeaderboardConfig("thurstone-hurdle"), (league,))
    unrecorded: dict[str, Any] = {"custom_goal": True, "recordable": False, "recorded": False}
    facts = unrecorded | {"goal": "SGL 1", "opened_by": "Zed"}
    settler, zed = Settler(ledger, rules), result("b", "zed ann", after=2, **facts)
    settler.add_past_races([result("a", "ann bo", dnf="zed", **facts), zed], "backfill")
    forget(settler, ledger.players.find("id-zed"), "", NOON)
    (board,) = ledger.leaderboards.all()
    file = tmp_path / f"races.{ending}"
    file.write_text(text_of(counted_results(ledger, board)), newline="")
    assert "Zed" not in file.read_text()
    if ending == "csv":
        header, first, *rest = file.read_text().splitlines()
        (tmp_path / "sorted.csv").write_text("\n".join([header, *rest, first]))
        with pytest.raises(PayloadError, match="are not together: sort them by the column race"):
            read_races(tmp_path / "sorted.csv")
    copy, states = imported(file, settler, "SGL 1")
    assert copy.name == "League"
    expected = states_of(ledger, board)
    expected["hidden-1 of League"] = expected.pop("id-zed")
    assert states == expected


@pytest.mark.parametrize("name", ["two\rlines", "two\nlines", "=1+1", "'=1", "'n", "\tx", " @x", '"', ";"])
def test_any_name_is_read_back_from_csv_and_no_spreadsheet_runs_it(tmp_path: Path, name: str) -> None:
    written = result(
        "a", entrants=(Entrant("id-1", name, EntrantStatus.DONE, place=1), entrant("bo", place=2))
    )
    file = tmp_path / "races.csv"
    file.write_text(csv_text(iter([written])), newline="")
    (race,) = read_races(file).results
    assert [(each.user_id, each.name) for each in race.entrants] == [("id-1", name), ("id-bo", "Bo")]
    with file.open(newline="") as lines:
        cells = [cell.lstrip(" ") for row in csv.reader(lines) for cell in row]
    assert not any(cell.startswith(tuple("=+-@\t")) for cell in cells)
