from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from builders import SECOND, entrant, result
from hypothesis import given, strategies as st
from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import validate

from racebot.standings.counting import LeaderboardPlan
from racebot.web.api import types
from racebot.web.api.csv_files import cell
from racebot.web.api.openapi import description
from racebot.web.manifest import export_tokens
from racebot.web.routes import Pages
from racebot.web.site.addresses import BadQueryError
from racebot.web.site.ledger_view import LedgerView

from .conftest import RACES, Merge, document_at

BOARD = "api/leaderboards/orb/any-orb"


def ask(view: LedgerView, path: str, *, served: bool = True, **query: str) -> Any:
    return json.loads(document_at(view, path, query, served=served).body)


def sheet(view: LedgerView, path: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(document_at(view, path).body.decode())))


def test_leaderboards_lead_to_their_players(view: LedgerView) -> None:
    (board,) = ask(view, "api/leaderboards")["leaderboards"]
    assert (board["id"], board["listed"], board["races"]) == ("orb/any-orb", 5, 3)
    found = ask(view, f"api/leaderboards/{board['id']}")
    assert [(p["place"], p["id"], p["points"]) for p in found["players"][:2]] == [
        (1, "id-cy", 1200),
        (2, "id-ann", 1190),
    ]


def test_lists_come_in_parts_and_whole_in_exports(view: LedgerView) -> None:
    second = ask(view, BOARD, page="2", per_page="2")
    assert [p["name"] for p in second["players"]] == ["Di", "Bo"]
    assert {key: second[key] for key in ("page", "pages", "per_page", "total")} == {
        "page": 2,
        "pages": 3,
        "per_page": 2,
        "total": 5,
    }
    assert ask(view, BOARD, page="9")["players"] == []
    assert len(ask(view, f"{BOARD}.json", served=False, per_page="2")["players"]) == 5


@pytest.mark.parametrize(
    ("path", "query"),
    [
        (BOARD, {"page": "0"}),
        (BOARD, {"page": "-1"}),
        (BOARD, {"page": "²"}),
        (BOARD, {"per_page": "1001"}),
        (BOARD, {"page": "9" * 30}),
        (f"{BOARD}/changes", {"after": "x"}),
        (f"{BOARD}/players/id-ann", {"limit": "0"}),
        (f"{BOARD}/players/id-ann", {"before": "x"}),
        (f"{BOARD}/odds", {}),
        (f"{BOARD}/odds", {"players": "id-ann"}),
        (f"{BOARD}/odds", {"players": "id-ann,id-ann"}),
        (f"{BOARD}/odds", {"players": "id-ann,,id-bo"}),
        (f"{BOARD}/odds", {"players": ",".join(f"p{number}" for number in range(201))}),
        (f"{BOARD}/head-to-head", {"a": "id-ann"}),
        (f"{BOARD}/head-to-head", {"a": "id-ann", "b": "id-ann"}),
        ("api/players", {}),
        ("api/players", {"name": " "}),
    ],
)
def test_invalid_queries_are_refused(view: LedgerView, path: str, query: Mapping[str, str]) -> None:
    with pytest.raises(BadQueryError):
        document_at(view, path, query)


@pytest.mark.parametrize(
    "path",
    [
        "api/nothing",
        "api/leaderboards/orb",
        "api/leaderboards/orb/other",
        f"{BOARD}/nothing",
        f"{BOARD}/players/id-nobody",
        f"{BOARD}/players/~!",
        f"{BOARD}/nothing.csv",
        "api/players/id-nobody",
        "api/players.csv",
        "api/races/orb/zzz",
        "api/races/a",
    ],
)
def test_unknown_paths_have_no_content(pages: Pages, path: str) -> None:
    assert pages.document(path, {}) is None


def test_races_of_a_player_can_be_limited(merge: Merge) -> None:
    races = [result(f"r{number}", "ann bo" if number < 4 else "ann cy", after=number) for number in range(5)]
    path = f"{BOARD}/players/id-ann"
    view = merge(races)
    found = ask(view, path, limit="2")
    assert [race["sequence"] for race in found["history"]] == [4, 5]
    assert [race["sequence"] for race in ask(view, path, limit="2", before="4")["history"]] == [2, 3]
    assert [race["sequence"] for race in ask(view, path, before="2")["history"]] == [1]
    assert [each["name"] for each in ask(view, path, limit="1")["opponents"]] == ["Bo"]
    whole = ask(view, path)
    assert (len(whole["history"]), len(whole["opponents"])) == (5, 2)
    assert found["races"] == whole["races"] == 5


def test_changes_can_be_followed(view: LedgerView) -> None:
    first = ask(view, f"{BOARD}/changes", limit="2")
    assert [(c["race"], c["name"], c["change"]) for c in first["changes"]] == [
        ("orb/a", "Ann", 100),
        ("orb/a", "Bo", -100),
        ("orb/b", "Cy", 200),
        ("orb/b", "Di", 0),
        ("orb/b", "Ed", -200),
    ]
    rest = ask(view, f"{BOARD}/changes", after=str(first["next"]))
    assert [(c["race"], c["after"]) for c in rest["changes"]] == [("orb/c", 1190), ("orb/c", 810)]
    assert ask(view, f"{BOARD}/changes", after=str(rest["next"])) == {
        "board": "orb/any-orb",
        "after": rest["next"],
        "next": rest["next"],
        "changes": [],
    }


def test_player_has_all_races_and_opponents(view: LedgerView) -> None:
    found = ask(view, f"{BOARD}/players/id-ann")
    assert [(race["race"], race["before"], race["after"]) for race in found["history"]] == [
        ("orb/a", 1000, 1100),
        ("orb/c", 1100, 1190),
    ]
    (opponent,) = found["opponents"]
    assert 0.5 < opponent.pop("chance") < 1
    assert 0.5 < opponent.pop("gained") < 1
    assert opponent == {"id": "id-bo", "name": "Bo", "met": 2, "ahead": 2, "behind": 0, "points": 810}
    assert [s["place"] for s in ask(view, "api/players/id-ann")["leaderboards"]] == [2]


def test_players_are_found_by_part_of_their_name(view: LedgerView) -> None:
    assert ask(view, "api/players", name="A")["players"] == [
        {
            "id": "id-ann",
            "name": "Ann",
            "page": "players/id-ann.html",
            "leaderboards": [{"board": "orb/any-orb", "points": 1190, "place": 2}],
        }
    ]


def test_players_are_found_without_the_accents_of_their_name(merge: Merge) -> None:
    view = merge([result("a", entrants=(entrant("Ólöf", place=1), entrant("bo", place=2)))])
    for text in ("olof", "ÓLÖ"):
        assert [each["name"] for each in ask(view, "api/players", name=text)["players"]] == ["Ólöf"]


def test_answers_have_the_addresses_of_pages_and_rooms(merge: Merge) -> None:
    view = merge(url="https://ratings.example.org/orb", site="https://site.example")
    pages = "https://ratings.example.org/orb"
    race = ask(view, "api/races/orb/a")
    assert (race["room"], race["page"]) == ("https://site.example/orb/a", f"{pages}/races/orb/a.html")
    listed = ask(view, "api/leaderboards/orb/any-orb/races")["races"][-1]
    played = ask(view, f"{BOARD}/players/id-ann")["history"][0]
    shared = ask(view, f"{BOARD}/head-to-head", a="id-ann", b="id-bo")["meetings"][-1]
    assert listed["goal"] == played["goal"] == "Any Orb"
    for row in (listed, played, shared):
        assert (row["race"], row["room"], row["page"]) == ("orb/a", race["room"], race["page"])
    player = ask(view, "api/players/id-ann")
    assert player["profile"] == "https://site.example/user/id-ann"
    assert player["page"] == f"{pages}/players/id-ann.html"
    assert player["leaderboards"][0]["page"] == f"{pages}/players/id-ann/orb/any-orb.html"
    assert (
        ask(view, "api/leaderboards")["leaderboards"][0]["page"] == f"{pages}/leaderboards/orb/any-orb.html"
    )


def test_odds_of_any_players_sum_to_one_at_most(merge: Merge) -> None:
    view = merge(RACES, LeaderboardPlan("thurstone-hurdle"))
    found = ask(view, f"{BOARD}/odds", players="id-nobody, id-ann,id-ed")["entrants"]
    assert [(each["id"], each["name"], each["new"]) for each in found] == [
        ("id-nobody", None, True),
        ("id-ann", "Ann", False),
        ("id-ed", "Ed", False),
    ]
    assert 0.5 < sum(each["win_chance"] for each in found) <= 1
    assert sum(each["expected_place"] for each in found) == pytest.approx(6)
    nobody, ann, ed = found
    assert ann["win_chance"] > nobody["win_chance"] > ed["win_chance"]
    assert ann["finish_chance"] > ed["finish_chance"]
    assert ask(view, "api/players/id-ann")["leaderboards"][0]["finish_chance"] == ann["finish_chance"]


def test_head_to_head_has_the_record_the_races_and_the_chance(view: LedgerView) -> None:
    found = ask(view, f"{BOARD}/head-to-head", a="id-bo", b="id-ann")
    assert (found["ahead"], found["behind"]) == (0, 2)
    assert [(each["race"], each["change"], each["other_change"]) for each in found["meetings"]] == [
        ("orb/c", -90, 90),
        ("orb/a", -100, 100),
    ]
    assert found["meetings"][0]["other_finish_time"] < found["meetings"][0]["finish_time"]
    assert found["a"] == {
        "id": "id-bo",
        "name": "Bo",
        "points": 810,
        "place": 4,
        "page": "players/id-bo/orb/any-orb.html",
    }
    assert (found["b"]["name"], found["b"]["points"]) == ("Ann", 1190)
    other = ask(view, f"{BOARD}/head-to-head", a="id-ann", b="id-bo")
    assert found["chance"] + other["chance"] == pytest.approx(1)
    nobody = {"a": "id-cy", "b": "id-nobody"}
    assert Pages(view, served=True).document(f"{BOARD}/head-to-head", nobody) is None


def test_api_gives_the_reasons_of_each_change(merge: Merge) -> None:
    view = merge([result("a", "ann bo cy", dnf="di ed")], LeaderboardPlan("thurstone-hurdle"))
    race = ask(view, "api/races/orb/a")
    (part,) = race["leaderboards"]
    rated = [(each["id"], each["place"], each["finish_time"]) for each in part["entrants"]]
    assert rated == [(each["id"], each["place"], each["finish_time"]) for each in race["result"]]
    for entry in part["entrants"]:
        assert len(entry["why"]) == len(entry["reasons"])
        points = [each["points"] for each in entry["why"] if each["points"] is not None]
        assert not points or sum(points) == entry["change"]
        named = {each["player"] for reason in entry["why"] for each in reason["opponents"]}
        assert named <= {"id-ann", "id-bo", "id-cy", "id-di", "id-ed"}
    assert [each["kind"] for each in part["entrants"][0]["why"]][:2] == ["finish", "place"]
    assert part["entrants"][-1]["why"][0]["kind"] == "unfinished"


def test_race_has_its_result_and_changes(merge: Merge) -> None:
    deleted = entrant("gone", time=5, user_id=None)
    race = result("a", "ann bo", dnf="cy")
    view = merge([replace(race, entrants=(*race.entrants, deleted))])
    found = ask(view, "api/races/orb/a")
    assert [(e["id"], e["standing"]) for e in found["result"]] == [
        (None, "1"),
        ("id-ann", "2"),
        ("id-bo", "3"),
        ("id-cy", "DNF"),
    ]
    (part,) = found["leaderboards"]
    assert [entry["name"] for entry in part["entrants"]] == ["Ann", "Bo", "Cy"]


@pytest.mark.parametrize(
    ("model", "actual", "sum_of_expected"),
    [
        # Finishers are compared with each other only: their places sum to 1 + 2 + 3.
        ("thurstone-hurdle", {"Ann": 1, "Bo": 2, "Cy": 3, "Di": 4.5, "Ed": 4.5}, 6),
        # Everybody against everybody: 1 + 2 + 3 + 4 + 5, of which the last two entrants expect 3 each.
        ("plackett-luce", {"Ann": 1, "Bo": 2, "Cy": 3, "Di": 4.5, "Ed": 4.5}, 9),
    ],
)
def test_expected_places_are_among_the_racers_the_model_compares(
    merge: Merge, model: str, actual: Mapping[str, float], sum_of_expected: float
) -> None:
    view = merge([result("a", "ann bo cy", dnf="di ed")], LeaderboardPlan(model))
    (part,) = ask(view, "api/races/orb/a")["leaderboards"]
    assert {entry["name"]: entry["actual"] for entry in part["entrants"]} == actual
    finishers = [entry["expected"] for entry in part["entrants"] if entry["standing"] != "DNF"]
    assert sum(finishers) == pytest.approx(sum_of_expected)


def test_sheets_hold_players_and_changes_as_csv(view: LedgerView) -> None:
    heading, *players = sheet(view, f"{BOARD}.csv")
    assert heading[:4] == ["place", "id", "name", "points"]
    assert players[0][:4] == ["1", "id-cy", "Cy", "1200"]
    assert {row[heading.index("provisional")] for row in players} == {"true"}
    heading, *changes = sheet(view, f"{BOARD}/changes.csv")
    assert len(changes) == 7
    assert dict(zip(heading, changes[4], strict=True)) == {
        "sequence": "2",
        "race": "orb/b",
        "ended_at": RACES[1].ended_at.isoformat(),
        "player": "id-ed",
        "name": "Ed",
        "place": "",
        "before": "1000",
        "after": "800",
        "races_before": "0",
        "change": "-200",
        "finish_time": "",
    }
    assert float(changes[2][-1]) == (RACES[1].entrants[0].finish_time or 0) / SECOND


@pytest.mark.parametrize(
    "name", ['=HYPERLINK("http://x")', " =1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1"]
)
def test_no_name_is_a_formula_in_a_spreadsheet(merge: Merge, name: str) -> None:
    race = result("a", "ann bo")
    view = merge([replace(race, entrants=(replace(race.entrants[0], name=name), race.entrants[1]))])
    for path in (f"{BOARD}.csv", f"{BOARD}/changes.csv"):
        cells = [cell for row in sheet(view, path) for cell in row]
        assert f"'{name}" in cells
        assert name not in cells


@pytest.mark.parametrize(
    "name", ["<script>", "\u202egnp", "ليلى", "\U0001f469\u200d\U0001f4bb", '"\\', "W" * 60]
)
def test_names_arrive_unchanged_as_data(merge: Merge, name: str) -> None:
    race = result("a", "ann bo")
    view = merge([replace(race, entrants=(replace(race.entrants[0], name=name), race.entrants[1]))])
    assert ask(view, "api/players/id-ann")["name"] == name
    assert ask(view, "api/races/orb/a")["result"][0]["name"] == name
    assert ask(view, f"{BOARD}/head-to-head", a="id-ann", b="id-bo")["a"]["name"] == name
    assert ask(view, f"{BOARD}/odds", players="id-ann,id-bo")["entrants"][0]["name"] == name


@given(st.one_of(st.text(), st.integers(), st.none()))
def test_numbers_and_harmless_names_stay_as_they_are(value: Any) -> None:
    if not isinstance(value, str) or value[:1].isalnum() or not value:
        assert cell(value) == value


# The description


@pytest.mark.parametrize("served", [False, True])
def test_description_is_valid_openapi(served: bool) -> None:
    described = description(served=served)
    validate(described)
    schemas = described["components"]["schemas"]
    named = {f"{name}.{field}" for name, schema in schemas.items() for field in schema.get("properties", {})}
    known = named | {each.partition(".")[2] for each in named}
    assert not served or types.FIELDS.keys() - known == set()


EXAMPLES = {"category": "orb", "board": "any-orb", "player": "id-ann", "race": "b"}


@pytest.mark.parametrize("served", [False, True])
def test_answers_match_the_description(merge: Merge, served: bool) -> None:
    unrated = result("d", "fay", dnf="gus", after=300)
    view = merge([*RACES, replace(unrated, entrants=unrated.entrants[:1])])
    described = description(served=served)
    assert len(described["paths"]) >= 8
    for path, operations in described["paths"].items():
        asked = f"api{path.format(**EXAMPLES)}"
        queries = {
            "/players": {"name": "ann"},
            "/leaderboards/{category}/{board}/odds": {"players": "id-ann,id-bo"},
            "/leaderboards/{category}/{board}/head-to-head": {"a": "id-ann", "b": "id-bo"},
        }
        query = queries.get(path, {})
        found = document_at(view, asked, query, served=served)
        (media_type, content), *others = operations["get"]["responses"]["200"]["content"].items()
        assert not others
        assert found.media_type.partition(";")[0] == media_type
        if media_type == "application/json":
            schema = {**content["schema"], "components": described["components"]}
            OAS31Validator(schema).validate(json.loads(found.body))


def test_index_lists_every_address_of_the_description(view: LedgerView) -> None:
    listed = {each["address"]: each["query"] for each in ask(view, "api/")["addresses"]}
    assert {f"/{each}" for each in listed} == set(description(served=True)["paths"])
    assert listed["leaderboards/{category}/{board}/changes"] == ["after", "limit"]


def test_page_of_the_api_lists_the_addresses_and_links_those_that_all_readers_can_open(
    view: LedgerView,
) -> None:
    for served in (True, False):
        page = document_at(view, "api/index.html", served=served).body.decode()
        assert page.count('<tr><th scope="row">') == len(description(served=served)["paths"]) - 1
        for each in re.findall(r'<tr><th scope="row"><a href="([^"]+)"', page):
            assert document_at(view, f"api/{each}", served=served).body


def test_export_holds_every_path_of_its_description(view: LedgerView) -> None:
    written = export_tokens(view)
    for path in description(served=False)["paths"]:
        assert f"api{path.format(**EXAMPLES)}" in written
