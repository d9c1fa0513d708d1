"""Simulated racers, the story of the demo, and past races, also those of a file."""

from __future__ import annotations

import asyncio
import json
import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from builders import Clock
from worker_support import PATIENCE

from racebot.sandbox import history, render
from racebot.sandbox.history import HistoryError
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.scenario import FIELD, Racer, Stage, play, play_past_races, recruit, silent_edit, upset
from racebot.sandbox.site import FakeSite

from .conftest import Make, chat_texts
from .test_render import CURRENT_RACE, END, ENTRANT, check


class Sleeper:
    """Advances the clock at once, and sums up the waits."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.slept = 0.0

    async def __call__(self, seconds: float) -> None:
        assert seconds >= 0
        self.slept += seconds
        self.clock.advance(seconds=seconds)
        await asyncio.sleep(0)


@pytest.fixture
def sleep(clock: Clock) -> Sleeper:
    return Sleeper(clock)


@pytest.fixture
def stage(site: FakeSite, sleep: Sleeper) -> Stage:
    return Stage(site, random.Random(1), sleep=sleep)


@pytest.fixture
def racers(site: FakeSite) -> list[Racer]:
    return list(recruit(site, FIELD, random.Random(2)))


def order(room: FakeRoom) -> list[str]:
    return [e.user.id for e in sorted(room.entrants, key=lambda e: e.place or 99) if e.place]


async def test_an_outsider_wins_and_the_second_is_disqualified(
    stage: Stage, racers: list[Racer], sleep: Sleeper
) -> None:
    room = await upset(stage, racers)
    assert sleep.slept < 100, "the wait for the bot ends"
    ids = [racer.user.id for racer in racers]
    assert order(room)[0] == ids[4]
    assert order(room).index(ids[0]) >= 2
    assert {e.user.id: str(e.status) for e in room.entrants if e.place is None} == {
        ids[1]: "dq",
        ids[3]: "dnf",
    }
    assert room.recorded
    assert {"!odds", "!why"} <= set(chat_texts(room))


async def test_the_moderator_changes_the_winner(stage: Stage, racers: list[Racer]) -> None:
    room = await silent_edit(stage, racers)
    first, second = (racers[0].user, racers[2].user)
    assert order(room)[:2] == [second.id, first.id]
    texts = chat_texts(room)
    edited = next(n for n, text in enumerate(texts) if "changed finish time" in text)
    assert texts.index("!why") > edited
    assert f"!vs {first.name}" in texts
    assert room.recorded
    assert room.started_at is not None
    assert room.ended_at is not None
    longest = max(entrant.finish_time or timedelta(0) for entrant in room.entrants)
    assert abs(room.ended_at - room.started_at - longest) < timedelta(seconds=1)


def test_past_races_are_recorded_one_after_another(site: FakeSite, clock: Clock) -> None:
    racers = recruit(site, 12, random.Random(4))
    play_past_races(site, racers, 30, random.Random(5))
    past = site.past_races()
    assert len(past) == 30
    assert all(room.recorded for room in past)
    ends = [room.ended_at for room in past if room.ended_at is not None]
    assert len(set(ends)) == 30
    assert max(ends) < clock() == site.clock()
    assert len({racer.user.name for racer in recruit(site, 60, random.Random(14))}) == 60
    entrants = {entrant.user.id for room in past for entrant in room.entrants}
    assert entrants == {racer.user.id for racer in racers}


def test_the_same_seed_plays_the_same_past_races(clock: Clock) -> None:
    def results() -> list[tuple[str, timedelta | None]]:
        site, rng = FakeSite(clock=clock, rng=random.Random(6)), random.Random(7)
        play_past_races(site, recruit(site, 8, rng), 10, rng)
        return [(e.user.name, e.finish_time) for room in site.past_races() for e in room.entrants]

    assert results() == results()


def test_every_past_race_has_a_finisher(site: FakeSite) -> None:
    quitters = [Racer(racer.user, 0.0, 1.0) for racer in recruit(site, 6, random.Random(8))]
    play_past_races(site, quitters, 5, random.Random(9))
    assert [sum(e.place == 1 for e in room.entrants) for room in site.past_races()] == [1] * 5


async def test_rooms_open_one_after_another_until_stopped(site: FakeSite, sleep: Sleeper) -> None:
    playing = asyncio.create_task(play(site, random.Random(1), sleep))
    past = 0
    async with asyncio.timeout(PATIENCE):
        while len(site.rooms) < past + 3:
            await asyncio.sleep(0)
            past = past or len([room for room in site.rooms.values() if room.recorded])
    playing.cancel()
    first = list(site.rooms.values())[past]
    assert first.recorded
    assert len(first.entrants) == FIELD


# Races of a file

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
    page = render.race_list(site.past_races(), show_entrants=True)
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
    page = render.race_list(site.past_races(), show_entrants=True)
    for name, content in (("page", page), ("races", page["races"])):
        again = FakeSite(clock=site.clock)
        again.category.owners.extend(site.category.owners)
        assert history.load(again, write(tmp_path / f"{name}.json", content)) == 4
        races = render.race_list(again.past_races(), show_entrants=True)["races"]
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
