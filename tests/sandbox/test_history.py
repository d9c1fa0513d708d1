"""Past races from a file, served through the list of past races."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from racebot.sandbox import history, render
from racebot.sandbox.history import HistoryError
from racebot.sandbox.site import FakeSite

from .conftest import Make
from .test_render import CURRENT_RACE, END, ENTRANT, check

ARCHIVE: list[dict[str, Any]] = [
    {
        "slug": "late-fjord-0002",
        "ended_at": "2025-05-02T10:00:00.500Z",
        "recorded": True,
        "entrants": [
            {"user_id": "aaaaaaaaaaaa", "place": 1, "score": 1200, "score_change": 100},
            {"user_id": "bbbbbbbbbbbb", "place": 2, "score": None, "score_change": 700},
            {"user_id": None, "place": 2, "score": 900, "score_change": -50},
            {"user_id": "cccccccccccc", "place": 9999, "score": None, "score_change": 10},
        ],
    },
    {
        "slug": "early-kiln-0001",
        "ended_at": "2025-05-01T10:00:00Z",
        "recorded": False,
        "entrants": [
            {"user_id": "aaaaaaaaaaaa", "place": 1, "score": None, "score_change": None},
            {"user_id": None, "place": 9999, "score": None, "score_change": None},
        ],
    },
]


def write(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_races_of_an_archive_appear_in_the_list(site: FakeSite, tmp_path: Path) -> None:
    assert history.load(site, write(tmp_path / "season-one.json", ARCHIVE)) == 2
    page = render.race_list(site, show_entrants=True)
    for race in page["races"]:
        check(race, CURRENT_RACE | {"entrants": [ENTRANT]} | END)
    late, early = page["races"]
    assert (late["name"], early["name"]) == ("sandbox/late-fjord-0002", "sandbox/early-kiln-0001")
    assert late["ended_at"] == "2025-05-02T10:00:00.500Z"
    assert late["goal"] == {"name": "season-one", "custom": False}
    assert "season-one" in site.category.goals
    assert [(e["finish_time"], e["place"], e["score"], e["score_change"]) for e in late["entrants"]] == [
        ("P0DT01H00M01S", 1, 1200, 100),
        ("P0DT01H00M02S", 2, None, 700),
        ("P0DT01H00M02S", 3, 900, -50),
        (None, None, None, 10),
    ]
    assert site.scores["season-one", "aaaaaaaaaaaa"] == 1300
    assert late["entrants"][0]["user"]["name"] == "Racer aaaaaaaaaaaa"
    assert late["entrants"][0]["user"]["id"] == early["entrants"][0]["user"]["id"]
    assert late["entrants"][2]["user"] is None
    assert early["entrants"][1]["user"] is None


def test_an_unrecorded_race_of_an_archive_can_be_recorded(site: FakeSite, tmp_path: Path) -> None:
    race = ARCHIVE[1] | {"entrants": [ARCHIVE[1]["entrants"][0]]}
    history.load(site, write(tmp_path / "x.json", [race]), goal="Any goal")
    room = site.room("early-kiln-0001")
    assert (room.goal, room.status, room.recordable, room.recorded) == ("Any goal", "finished", True, False)
    room.record()


def test_the_sites_own_list_survives_a_round_trip(site: FakeSite, tmp_path: Path, finished: Make) -> None:
    recorded, custom, unrecorded = finished(), finished(custom_goal=True), finished()
    recorded.disqualify("Bo")
    recorded.record()
    unrecorded.do_not_record()
    team = site.open_race(team_race=True)
    team.enter("Ann", "Red")
    team.enter("Bo", "Blue")
    team.start()
    team.finish("Ann")
    team.forfeit("Bo")
    site.delete_user("Cy")
    page = render.race_list(site, show_entrants=True)
    for name, content in (("page", page), ("races", page["races"])):
        again = FakeSite(clock=site.clock)
        again.category.owners.extend(site.category.owners)
        assert history.load(again, write(tmp_path / f"{name}.json", content)) == 4
        races = render.race_list(again, show_entrants=True)["races"]
        for race, original in zip(races, page["races"], strict=True):
            for entrant, before in zip(race["entrants"], original["entrants"], strict=True):
                for user in (entrant["user"] or {}, before["user"] or {}):
                    user.pop("full_name", None)
                    user.pop("discriminator", None)
                assert entrant | {"finished_at": None} == before | {"finished_at": None}
            assert race | {"entrants": []} == original | {"entrants": []}
    assert not again.room(custom.slug).recordable


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "not valid JSON"),
        ("7", "must hold a list of races"),
        ('{"races": 7}', "must hold a list of races"),
        ("[7]", "race 0: AttributeError"),
        ('[{"slug": "a-1", "ended_at": "2025-05-01", "recorded": true}]', "race 0: KeyError: 'entrants'"),
        ('[{"slug": "a-1", "ended_at": "yesterday", "entrants": []}]', "race 0: ValueError"),
    ],
)
def test_other_files_are_refused(site: FakeSite, tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(HistoryError, match=complaint):
        history.load(site, path)


def test_a_file_that_cannot_be_read_is_named(site: FakeSite, tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match=r"x\.json: No such file"):
        history.load(site, tmp_path / "x.json")
