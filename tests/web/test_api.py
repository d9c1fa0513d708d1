import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import pytest
from builders import entrant, result
from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import validate

from racebot.addresses import BadQueryError
from racebot.queries.standings import Listing
from racebot.scoring.rules import rules_of
from racebot.standings.counting import LeaderboardConfig
from racebot.web.api.openapi import description
from racebot.web.export_tokens import export_tokens
from racebot.web.site.ledger_view import LedgerView

from .conftest import RACES, Merge, data_at, document_at, page_at

BOARD = "api/leaderboards/orb/any-orb"


def rows(records: Iterable[Mapping[str, Any]], names: str) -> list[tuple[Any, ...]]:
    """Return the values of records under these names."""
    return [tuple(record[name] for name in names.split()) for record in records]


def sheet(view: LedgerView, path: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(page_at(view, path))))


def test_lists_come_in_parts_and_whole_in_exports(view: LedgerView) -> None:
    second = data_at(view, BOARD, page="2", per_page="2")
    assert rows(second["players"], "name") == [("Di",), ("Bo",)]
    assert rows([second], "page pages per_page total") == [(2, 3, 2, 5)]
    assert len(data_at(view, f"{BOARD}.json", served=False, per_page="2")["players"]) == 5


@pytest.mark.parametrize(
    ("path", "queries"),
    [
        (BOARD, ["page=0", "page=-1", "page=6", "page=3&per_page=4", "page=²", "per_page=1001"]),
        (BOARD, [f"page={'9' * 30}"]),
        (f"{BOARD}/changes", ["after=x"]),
        (f"{BOARD}/players/id-ann", ["limit=0", "before=x"]),
        (f"{BOARD}/odds", ["", "players=id-ann", "players=id-ann,id-ann", "players=id-ann,,id-bo"]),
        (f"{BOARD}/odds", [f"players={','.join(f'p{number}' for number in range(201))}"]),
        ("api/players", ["", "name= "]),
    ],
)
def test_invalid_queries_are_refused(view: LedgerView, path: str, queries: Sequence[str]) -> None:
    for query in queries:
        with pytest.raises(BadQueryError):
            document_at(view, path, dict(parse_qsl(query)))


def test_races_of_a_player_can_be_limited(merge: Merge) -> None:
    races = [result(f"r{number}", "ann bo" if number < 4 else "ann cy", after=number) for number in range(5)]
    view = merge(races)

    def found(**query: Any) -> tuple[int, list[int], list[str]]:
        player = data_at(view, f"{BOARD}/players/id-ann", **query)
        sequences = [race["sequence"] for race in player["history"]]
        return player["races"], sequences, [each["name"] for each in player["opponents"]]

    assert found() == (5, [1, 2, 3, 4, 5], ["Bo", "Cy"])
    assert found(before="2") == (5, [1], ["Bo", "Cy"])
    assert found(limit="2", before="4") == (5, [2, 3], ["Bo", "Cy"])
    assert found(limit="1") == (5, [5], ["Bo"])


def test_changes_can_be_followed(view: LedgerView) -> None:
    first = data_at(view, f"{BOARD}/changes", limit="2")
    assert rows(first["changes"], "race name change") == [
        *[("orb/a", "Ann", 100), ("orb/a", "Bo", -100)],
        *[("orb/b", "Cy", 200), ("orb/b", "Di", 0), ("orb/b", "Ed", -200)],
    ]
    rest = data_at(view, f"{BOARD}/changes", after=str(first["next"]))
    assert rows(rest["changes"], "race after") == [("orb/c", 1190), ("orb/c", 810)]
    end = data_at(view, f"{BOARD}/changes", after=str(rest["next"]))
    assert rows([end], "after next changes") == [(rest["next"], rest["next"], [])]


def test_answers_have_the_addresses_of_pages_and_rooms(merge: Merge) -> None:
    pages = "https://ratings.example.org/orb"
    view = merge(url=pages, site="https://site.example")
    race = data_at(view, "api/races/orb/a")
    listed = data_at(view, f"{BOARD}/races")["races"][-1]
    played = data_at(view, f"{BOARD}/players/id-ann")["history"][0]
    where = ("orb/a", "https://site.example/orb/a", f"{pages}/races/orb/a.html")
    assert rows([race, listed, played], "race room page") == [where] * 3
    assert listed["goal"] == played["goal"] == "Any Orb"
    player = data_at(view, "api/players/id-ann")
    own = ("https://site.example/user/id-ann", f"{pages}/players/id-ann.html")
    assert rows([player], "profile page") == [own]
    assert player["leaderboards"][0]["page"] == f"{pages}/players/id-ann/orb/any-orb.html"
    (board,) = data_at(view, "api/leaderboards")["leaderboards"]
    assert board["page"] == f"{pages}/leaderboards/orb/any-orb.html"


def test_odds_of_any_players_sum_to_one_at_most(merge: Merge) -> None:
    view = merge(RACES, LeaderboardConfig("thurstone-hurdle"))
    found = data_at(view, f"{BOARD}/odds", players="id-nobody, id-ann,id-ed")["entrants"]
    named = [("id-nobody", None, True), ("id-ann", "Ann", False), ("id-ed", "Ed", False)]
    assert rows(found, "id name new") == named
    assert 0.5 < sum(each["win_chance"] for each in found) <= 1
    assert sum(each["expected_place"] for each in found) == pytest.approx(6)
    nobody, ann, ed = found
    assert ann["win_chance"] > nobody["win_chance"] > ed["win_chance"]
    assert ann["finish_chance"] > ed["finish_chance"]
    assert data_at(view, "api/players/id-ann")["leaderboards"][0]["finish_chance"] == ann["finish_chance"]


@pytest.mark.parametrize("name", ['=HYPERLINK("x")', " =1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1"])
def test_no_name_is_a_formula_in_a_spreadsheet(merge: Merge, name: str) -> None:
    view = merge([result("a", entrants=(replace(entrant("ann", time=1), name=name), entrant("bo", time=2)))])
    cells = [cell for row in sheet(view, f"{BOARD}.csv") for cell in row]
    assert f"'{name}" in cells
    assert name not in cells


@pytest.mark.parametrize("name", ["<b>", "\u202egnp", "ليلى", "\U0001f469\u200d\U0001f4bb", '"\\', "W" * 60])
def test_names_arrive_unchanged_as_data(merge: Merge, name: str) -> None:
    view = merge([result("a", entrants=(replace(entrant("ann", time=1), name=name), entrant("bo", time=2)))])
    assert data_at(view, "api/players/id-ann")["name"] == name
    assert data_at(view, "api/races/orb/a")["result"][0]["name"] == name
    assert data_at(view, f"{BOARD}/odds", players="id-ann,id-bo")["entrants"][0]["name"] == name


# The description


def test_description_is_valid_openapi() -> None:
    validate(description(served=True))


EXAMPLES = {"category": "orb", "board": "any-orb", "player": "id-ann", "race": "b", "event": "event-one"}


@pytest.mark.parametrize("served", [False, True])
@pytest.mark.usefixtures("with_event")
def test_answers_match_the_description(merge: Merge, served: bool) -> None:
    unrated = result("d", "fay", dnf="gus", after=300)
    races = [*RACES, replace(unrated, entrants=unrated.entrants[:1])]
    check_answers(merge(races, listing=Listing(scoring=rules_of("sgl-2025", cut=2))), served=served)


def check_answers(view: LedgerView, *, served: bool) -> None:
    """Compare an answer of every address with its description."""
    described = description(served=served)
    assert len(described["paths"]) >= 8
    queries = {
        "/players": {"name": "ann"},
        "/leaderboards/{category}/{board}/odds": {"players": "id-ann,id-bo"},
    }
    for path, operations in described["paths"].items():
        found = document_at(view, f"api{path.format(**EXAMPLES)}", queries.get(path), served=served)
        ((media_type, content),) = operations["get"]["responses"]["200"]["content"].items()
        assert found.media_type.partition(";")[0] == media_type
        if media_type == "application/json":
            schema = {**content["schema"], "components": described["components"]}
            OAS31Validator(schema).validate(json.loads(found.body))


def test_page_of_the_api_lists_the_addresses_and_links_those_that_all_readers_can_open(
    view: LedgerView,
) -> None:
    for served in (True, False):
        page = page_at(view, "api/index.html", served=served)
        assert page.count('<tr><th scope="row">') == len(description(served=served)["paths"])
        for each in re.findall(r'<tr><th scope="row"><a href="([^"]+)"', page):
            assert document_at(view, f"api/{each}", served=served).body


@pytest.mark.usefixtures("with_event")
def test_export_holds_every_path_of_its_description(merge: Merge) -> None:
    written = export_tokens(merge(listing=Listing(scoring=rules_of("sgl-2025"))), [])
    for path in description(served=False)["paths"]:
        assert f"api{path.format(**EXAMPLES)}" in written
