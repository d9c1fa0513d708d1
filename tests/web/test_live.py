"""The live page, the overlays and their events, from a live file that the tests write."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import httpx
import pytest
import uvicorn
from builders import existing, live_room as room, racer, result
from openapi_schema_validator import OAS31Validator
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse
from worker_support import PATIENCE

from racebot.addresses import BadQueryError
from racebot.errors import LedgerUnavailable
from racebot.ledger.outbox import ChatBody, Edit, Message, MetaBody, MetaEntry
from racebot.ledger.store import Ledger
from racebot.live_file import LiveReport, LiveRoom, live_path, write_live
from racebot.queries.race import ResultEdit, facts_of, race_on_board
from racebot.queries.scores import ComingScore
from racebot.races.result import EntrantStatus, RaceResult
from racebot.standings import orders
from racebot.standings.counting import RatingRules
from racebot.standings.settle import Settler
from racebot.web.api.openapi import description
from racebot.web.http import events
from racebot.web.http.server import application, configuration
from racebot.web.routes import MatchedRoute
from racebot.web.site import live_rooms
from racebot.web.site.ledger_view import Document, Publication
from racebot.web.site.live_rooms import LiveReader

from .conftest import RACES, SIMPLE, listening
from .test_scores import SCORED

NOW = datetime.now(UTC)
BOARD = "orb/any-orb"
FOLLOWING = ("/overlay/room/orb", "/overlay/player/id-ann/room")
"""Overlays that follow the current room of a category or player."""


OPEN = room(
    racer("ann", points=1190, win_chance=0.734, rank_before=2), racer("zoe", new=True, win_chance=0.266)
)
FINISHED = room(
    racer("zoe", status=EntrantStatus.DONE, place=1, finish_time=3723.4, after=1021, change=21, rank_after=3),
    racer("ann", status=EntrantStatus.DNF, points=1190, after=1180, change=-10, rank_before=2, rank_after=4),
    status="finished",
)
IN: dict[str, Any] = {"leaderboards": FINISHED.leaderboards}


def test_streams_of_racers_who_are_live_are_linked_one_by_one_and_together(live: Live) -> None:
    live.write(room(racer("ann", stream="ann_tv"), racer("zoe", stream="zoe"), racer("cy")))
    for page in (live.get("races/orb/live-1").text, live.get("live").text):
        assert page.count('href="https://www.twitch.tv/ann_tv"') == 1
        assert page.count("https://www.multitwitch.tv/ann_tv/zoe") == 1
    live.write(room(racer("ann", stream="ann_tv"), racer("zoe")))
    assert "multitwitch" not in live.get("live").text


class Live:
    """The pages of a small leaderboard, with a live file to write."""

    def __init__(self, ledger: Ledger) -> None:
        self.settler = Settler(ledger, RatingRules(SIMPLE))
        self.rate(*RACES)
        self.ledger = ledger
        self.path = live_path(ledger.path)
        self.app = application(ledger.path, Publication())
        self._written_at = 0

    def rate(self, *races: RaceResult) -> None:
        self.settler.add_past_races(races, "import")

    def hide(self, id_: str) -> None:
        orders.hide(self.settler, existing(self.ledger.players.get(id_)), "asked", NOW)

    def write(self, *rooms: LiveRoom, ago: float = 0, unlisted: Iterable[str] = ()) -> None:
        seen_at = datetime.now(UTC) - timedelta(seconds=ago)
        write_live(self.path, LiveReport(seen_at, rooms, frozenset(unlisted)))
        # Two writes within one tick of the file system's clock would look like one.
        self._written_at = max(self._written_at + 1, self.path.stat().st_mtime_ns)
        os.utime(self.path, ns=(self._written_at, self._written_at))

    def get(self, path: str, **facts: object) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://pages") as client:
                return await client.get(path, **facts)  # type: ignore[arg-type]

        return asyncio.run(ask())


@pytest.fixture
def live(ledger: Ledger) -> Live:
    return Live(ledger)


def words(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    return " ".join(re.sub(r"<[^>]+>", " ", answer.text.partition("<body>")[2] or answer.text).split())


def test_reader_sees_changes_and_drops_rooms_of_a_dead_worker(tmp_path: Path) -> None:
    now = start = NOW.replace(second=0)
    reader = LiveReader(tmp_path / "racebot.db", lambda: now)
    stamps = [reader.stamp()]
    assert (reader.rooms().seen_at, reader.rooms().rooms) == (None, ())
    write_live(tmp_path / "live.json", LiveReport(now, (OPEN,)))
    for seconds, late, rooms in (
        (0, False, (OPEN,)),
        (60, False, (OPEN,)),
        (120, True, (OPEN,)),
        (660, True, ()),
    ):
        now = start + timedelta(seconds=seconds)
        stamps.append(reader.stamp())
        assert (reader.rooms().rooms, reader.rooms().late) == (rooms, late and bool(rooms))
    assert len(set(stamps)) == 5
    now += timedelta(seconds=59)
    assert reader.stamp() == stamps[-1]


def test_rooms_stay_while_the_live_file_is_damaged_or_missing(tmp_path: Path) -> None:
    path = tmp_path / "live.json"
    reader = LiveReader(tmp_path / "racebot.db", lambda: NOW)
    write_live(path, LiveReport(NOW, (OPEN,)))
    assert reader.rooms().rooms == (OPEN,)
    path.write_bytes(b"{")
    assert reader.rooms().rooms == (OPEN,)
    path.unlink()
    assert reader.rooms().rooms == (OPEN,)
    write_live(path, LiveReport(NOW, (FINISHED,)))
    assert reader.rooms().rooms == (FINISHED,)


def test_live_page_shows_odds_before_the_race_and_changes_after(live: Live) -> None:
    live.write(OPEN)
    shown = words(live.get("/live"))
    assert "live-1 open" in shown
    assert "A Ann 1190 2nd 75% 73%" in shown
    assert "Z Zoe first race 1000 75% 27%" in shown
    live.write(replace(OPEN, status="in_progress", started_at=datetime(2026, 3, 1, 12, 34, 56, tzinfo=UTC)))
    page = live.get("/live")
    assert "in progress since 12:34 UTC" in words(page) and "2026-03-01T12:34:56Z" in page.text
    assert "Live 1 room" in words(live.get("/")).replace("\xa0", " ")
    live.write(FINISHED)
    shown = words(live.get("/live"))
    assert "finished, changes if recorded" in shown
    assert "1 Z Zoe 1:02:03 1000 → 1021 3rd ▲ + 21 1:02:03 50%" in shown
    assert "DNF A Ann 1190 → 1180 ▼ 4th ▼ − 10" in shown


def test_live_page_says_how_a_chance_to_finish_differs_from_the_rating(live: Live) -> None:
    """From five points on: 75 % is said of each."""
    by_rating = {"ann": 0.69, "bo": 0.81, "cy": 0.74, "di": None}
    live.write(room(*(racer(name, finish_by_rating=chance) for name, chance in by_rating.items())))
    shown = words(live.get("/live"))
    for name, said in {
        "Ann": "more often than the rating says ",
        "Bo": "less often than the rating says ",
    }.items():
        assert f"{name} 1000 75% {said}50%" in shown
    assert "Cy 1000 75% 50%" in shown and "Di 1000 75% 50%" in shown


def test_page_of_a_race_shows_its_room_until_the_race_is_rated(live: Live) -> None:
    live.write(
        OPEN, replace(OPEN, race="orb/c"), replace(OPEN, race="orb/secret-1"), unlisted=["orb/secret-1"]
    )
    answer = live.get("/races/orb/live-1")
    assert "73%" in words(answer)
    assert "noindex" in answer.text
    (events,) = re.findall('data-events="([^"]+)"', answer.text)
    followed = httpx.URL("http://pages/races/orb/live-1.html").join(events).path
    assert live.get(followed.removeprefix("/events")).text in answer.text
    assert "reasons" in words(live.get("/races/orb/c")).lower()
    assert "Ann" not in live.get("/races/orb/secret-1").text
    for path in ("/races/orb/other", "/races/elsewhere/live-1", "/api/races/orb/live-1"):
        assert live.get(path).status_code == 404


def test_page_of_a_player_tells_what_the_record_of_their_room_will_change_and_search_has_its_racers(
    live: Live,
) -> None:
    path, racers = "/players/id-ann/orb/any-orb", "/search?race=orb/live-1"
    assert "id-ann" not in live.get(racers).text
    for status, told in (("open", "Entered in live-1 : 73% to win"), ("in_progress", "In live-1 now")):
        live.write(replace(OPEN, status=status))
        assert told in words(live.get(path))
    live.write(FINISHED)
    assert "1180 points ▼ − 10 , 4th, if recorded: live-1" in words(live.get(path))
    assert "id-ann" in live.get(racers).text
    live.write()
    assert "live-1" not in words(live.get(path))


@pytest.mark.parametrize(
    ("refused", "told"), [("cancelled", "cancelled: changed"), ("not recorded", "not recorded: changed")]
)
def test_page_of_a_race_that_changes_no_rating_keeps_its_result(live: Live, refused: str, told: str) -> None:
    (board,) = FINISHED.leaderboards
    kept = [replace(each, after=None, change=None) for each in board.entrants]
    former = replace(FINISHED, refused=refused, leaderboards=(replace(board, entrants=tuple(kept)),))
    live.write(former, ago=3600)  # the worker has ended
    shown = words(live.get("/races/orb/live-1"))
    assert told in shown and "1:02:03" in shown and "if recorded" not in shown
    live.write(replace(former, leaderboards=(replace(board, entrants=()),)))
    assert f"<title>live-1: {refused}, changed no rating</title>" in live.get("/races/orb/live-1").text
    live.write(former)
    assert "live-1" not in words(live.get("/live")) and live.get("/api/live").json()["rooms"] == []


@pytest.mark.parametrize(
    ("facts", "news", "leads"),
    [
        ({}, "2 racers, Ann 73% to win", "Ann 73% to win · Zoe 27% to win"),
        ({"status": "in_progress"}, "2 racers, Ann 73% to win", "Ann 73% to win"),
        (IN | {"status": "in_progress"}, "1/2 in, Zoe first, 1:02:03", "1 Zoe 1:02:03 · DNF Ann"),
        (IN | {"status": "finished"}, "Zoe won, 1:02:03 (if recorded)", "1 Zoe 1:02:03"),
    ],
)
def test_link_to_a_live_race_tells_how_it_stands(
    live: Live, facts: dict[str, Any], news: str, leads: str
) -> None:
    live.app = application(live.ledger.path, Publication(url="https://pages.example"))
    live.write(replace(OPEN, **facts))
    page = live.get("/races/orb/live-1").text
    assert f'property="og:title" content="live-1: {news}"' in page
    assert f'property="og:description" content="Any Orb, orb · {leads}' in page
    assert "https://pages.example/cards/races/orb/live-1.png" in page
    assert live.get("/cards/races/orb/live-1.png").headers["content-type"] == "image/png"
    assert live.get("/cards/races/orb/live-9.png").status_code == 404


def test_page_of_an_unknown_race_ends_after_some_minutes(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    live.write()
    assert live.get("/races/orb/soon-1").status_code == 200
    monkeypatch.setattr(live_rooms, "AWAIT", timedelta())
    live.write()
    assert live.get("/races/orb/soon-1").status_code == 404
    assert "knows no race" in words(live.get("/live/races/orb/soon-1"))


def test_page_of_a_race_tells_of_edits_and_of_a_silent_bot(live: Live) -> None:
    race = result("soon-1", "bo ann", dnf="zoe", after=300)
    (rated,) = live.settler.preview(race)
    outcome = race_on_board(rated.leaderboard, race, rated.changes, None)
    board = replace(FINISHED.leaderboards[0], outcome=outcome, changes_before={"id-bo": -77})
    for age, struck in ((5, True), (120, False)):
        edit = ResultEdit(datetime.now(UTC) - timedelta(seconds=age), "id-bo", "Bo", "dq")
        live.write(replace(FINISHED, race="orb/soon-1", leaderboards=(board,), edits=(edit,)), ago=age)
        answer = live.get("/races/orb/soon-1")
        assert "Bo disqualified" in words(answer)
        assert ("−77" in answer.text, "has been silent" in answer.text) == (struck, not struck)
        assert ("−77" in live.get("/live").text) == struck


def test_page_of_a_recorded_race_tells_of_its_edits(live: Live) -> None:
    told = ChatBody("Bo", correction=1, edits=(Edit("id-bo", "dq"), Edit("id-gone", "dq")))
    live.ledger.messages.put(Message("orb/c", "orb", "first", told), NOW)
    published = {"id-ann": (1000, 1077), "id-bo": (1000, 910)}, {"id-ann": (1000, 1090), "id-bo": (1000, 910)}
    before, after = (MetaBody((MetaEntry("Any Orb", "", changes),)) for changes in published)
    live.ledger.messages.put(Message("orb/c", "orb", "before", before), NOW)
    for number, (age, struck) in enumerate(((90, False), (5, True)), start=1):
        at = datetime.now(UTC) - timedelta(seconds=age)
        live.ledger.messages.put(Message("orb/c", "orb", f"{number}", after), at)
        answer = live.get("/races/orb/c")
        assert "Bo disqualified. The changes are new." in words(answer) and "id-gone" not in answer.text
        assert re.findall("<s [^>]+>([^<]+)</s>", answer.text) == ["+77"] * struck
        live.ledger.connection.write("DELETE FROM outbox WHERE guid = ?", f"{number}")


@pytest.mark.parametrize(
    ("results", "told", "words_of_edit"),
    [
        (("bo ann", "ann bo"), "", "the result was corrected"),
        (("bo ann", "ann bo"), "chat", "Ann has another time"),
        (("ann bo",), "chat", "Ann has another time"),
        (("ann bo",), "room", "Ann has another time"),
        (("ann bo",), "chat and room", "Ann has another time"),
        (("bo ann",), "chat and room", ""),
    ],
)
def test_page_of_a_recorded_race_tells_of_edits_with_and_after_its_record(
    live: Live, results: tuple[str, ...], told: str, words_of_edit: str
) -> None:
    """The room may be in the live file for a moment longer."""
    if "room" in told:
        shown = (
            racer(name, status=EntrantStatus.DONE, finish_time=time)
            for name, time in (("bo", 3600), ("ann", 3660))
        )
        live.write(replace(room(*shown, status="finished"), race="orb/soon-1"))
    if "chat" in told:
        body = ChatBody("Bo", told=facts_of(result("soon-1", "bo ann")))
        live.ledger.messages.put(Message("orb/soon-1", "orb", "first", body), NOW)
    for finishers in results:
        live.settler.settle(result("soon-1", finishers), NOW)
    page = words(live.get("/races/orb/soon-1"))
    assert words_of_edit in page
    assert page.count("The changes are new") == bool(words_of_edit)


def test_rooms_of_a_demo_have_no_links_to_the_site(live: Live) -> None:
    live.app = application(live.ledger.path, Publication(site=""))
    live.write(OPEN)
    for path in ("/live", "/races/orb/live-1", "/races/orb/soon-1"):
        assert 'rel="noreferrer"' not in live.get(path).text


def test_finished_room_shows_the_reasons_that_the_record_will_bring(live: Live) -> None:
    race = result("soon-1", "bo ann", dnf="zoe", after=300)
    (rated,) = live.settler.preview(race)
    outcome = race_on_board(rated.leaderboard, race, rated.changes, None)
    board = replace(FINISHED.leaderboards[0], outcome=outcome)
    live.write(replace(FINISHED, race="orb/soon-1", leaderboards=(board,)))
    before = [words(live.get(path)) for path in ("/live", "/races/orb/soon-1")]
    (board,) = live.get("/api/live").json()["rooms"][0]["leaderboards"]
    live.rate(race)
    reasons = re.findall(r'class="why">(.*?)</td>', live.get("/races/orb/soon-1").text)
    assert len(reasons) == 3
    for shown in before:
        assert "if recorded" in shown
        assert all(" ".join(re.sub("<[^>]+>", " ", each).split()) in shown for each in reasons)
    final = live.get("/api/races/orb/soon-1").json()["leaderboards"][0]
    assert [each["reasons"] for each in board["outcome"]["entrants"]] == [
        each["reasons"] for each in final["entrants"]
    ]


@pytest.mark.parametrize(
    "path", ["/live", "/races/orb/live-1", "/overlay/room/orb", "/overlay/player/id-ann"]
)
def test_pages_of_a_league_without_records_do_not_wait_for_one(live: Live, path: str) -> None:
    board = replace(FINISHED.leaderboards[0], needs_record=False)
    live.write(replace(FINISHED, leaderboards=(board,)))
    shown = words(live.get(path))
    assert "record" not in shown
    assert path == "/live" or "if it stands" in shown


def test_live_page_shows_the_latest_results_of_all_leaderboards(live: Live) -> None:
    ended = (("yesterday", "Any Orb", 24), ("now", "All Orbs", 0), ("today", "Any Orb", 8))
    for race, goal, hours in ended:
        live.rate(replace(result(race, "bo ann", goal=goal), ended_at=NOW - timedelta(hours=hours)))
    live.write()
    for path in ("/live", "/live/rooms"):
        latest = live.get(path).text.partition("Latest results")[2]
        assert re.findall(r'href="races/orb/([a-z]+)\.html"', latest) == ["now", "today", "yesterday"]
        assert "All Orbs, won by Bo" in re.sub(r"<[^>]+>", "", latest)


def test_live_page_says_when_the_bot_is_silent_or_down(live: Live) -> None:
    assert "not running" in words(live.get("/live"))
    live.write()
    assert "No room is open" in words(live.get("/live"))
    live.write(OPEN, ago=120)
    assert "has been silent since" in words(live.get("/live"))
    live.write(OPEN, ago=1200)
    assert "live-1" not in words(live.get("/live"))


def test_api_lists_live_rooms_with_the_newest_first(live: Live) -> None:
    earlier, unknown = NOW - timedelta(hours=1), None
    live.write(
        replace(OPEN, race="orb/z-live", opened_at=unknown),
        replace(FINISHED, race="orb/a-live", opened_at=earlier),
        OPEN,
    )
    found = live.get("/api/live").json()
    described = description(served=True)
    answer = described["paths"]["/live"]["get"]["responses"]["200"]["content"]["application/json"]
    OAS31Validator({**answer["schema"], "components": described["components"]}).validate(found)
    assert [(each["race"], each["status"]) for each in found["rooms"]] == [
        ("orb/live-1", "open"),
        ("orb/a-live", "finished"),
        ("orb/z-live", "open"),
    ]
    assert found["rooms"][0]["leaderboards"][0]["entrants"][0]["win_chance"] == 0.734
    room = found["rooms"][0]
    assert (room["room"], room["page"]) == ("https://racetime.gg/orb/live-1", "races/orb/live-1.html")


def test_pages_link_the_overlays_that_follow_a_room(live: Live) -> None:
    player = "/players/id-ann/orb/any-orb"
    for page, targets in (("/live", FOLLOWING[:1]), (player, (FOLLOWING[1], "/overlay/player/id-ann"))):
        text = live.get(page).text
        for target in targets:
            (link,) = re.findall(rf'href="([./]*{target[1:]}\.html)"', text)
            assert live.get(str(httpx.URL(f"http://pages{page}").join(link))).status_code == 200


def test_unlisted_room_is_only_on_its_own_overlay(live: Live) -> None:
    live.write(OPEN, unlisted=[OPEN.race])
    assert "Zoe" in words(live.get("/overlay/room/orb/live-1"))
    for path in ("/", "/live", "/live/rooms", "/api/live", *FOLLOWING):
        shown = live.get(path).text
        assert "live-1" not in shown and "Zoe" not in shown


def test_players_hidden_since_the_bot_wrote_the_file_are_not_shown(live: Live) -> None:
    live.write(OPEN)
    live.hide("id-ann")
    for path in ("live", "api/live", "overlay/room/orb/live-1", "overlay/room/orb", "overlay/player/id-ann"):
        shown = live.get(f"/{path}").text
        assert ("Zoe" in shown) == ("player" not in path) and "Ann" not in shown


OUT = racer("bo", status=EntrantStatus.DNF, win_chance=0.1)
RACING = room(racer("zoe", place=1, status=EntrantStatus.DONE), racer("ann"), OUT, status="in_progress")


@pytest.mark.parametrize(
    ("rooms", "path", "shown"),
    [
        ([OPEN], "room/orb/live-1", "live-1 Chance to win Ann 1190 73% Zoe 1000 27%"),
        (
            [RACING],
            "room/orb/live-1",
            "live-1 Odds before the start 1 Zoe 1000 50% Ann 1000 50% DNF Bo 1000 10%",
        ),
        ([FINISHED], "room/orb/live-1", "live-1 Ratings if recorded 1 Zoe 1:02:03 1021 +21 DNF Ann 1180 −10"),
        ([], "room/orb/c", "c Ratings 1 Ann 1:00:00 1190 +90 2 Bo 1:01:00 810 −90"),
        ([room(racer("ann", win_chance=None))], "room/orb/live-1", "live-1 Ratings Ann 1000"),
        ([], "room/orb/other", ""),
        ([], "player/id-ann", "Ann 1190 2nd of 5"),
        ([OPEN], "player/id-ann", "Ann 1190 2nd of 5 · 73% to win"),
        ([OPEN], "player/id-zoe", "Zoe 1000 27% to win"),
        ([FINISHED], "player/id-ann", "Ann 1180 −10 ▼ 4th if recorded"),
        ([FINISHED], "player/id-zoe", "Zoe 1021 +21 3rd if recorded"),
        ([FINISHED], "player/id-nobody", ""),
        ([RACING], "player/id-bo", "Bo 1000 4th of 5"),
        (
            [RACING],
            "room/orb/live-1?rows=1",
            "live-1 Odds before the start 1 Zoe 1000 50% and 2 more players",
        ),
    ],
)
def test_overlays_show_odds_then_coming_changes_then_final_ones(
    live: Live, rooms: list[LiveRoom], path: str, shown: str
) -> None:
    live.write(*rooms)
    assert words(live.get(f"/overlay/{path}")) == shown


@pytest.mark.parametrize(("rooms", "last"), [([OPEN], "73%"), ([RACING], "50%")])
def test_overlays_of_a_league_show_scores_before_its_race_ends(
    live: Live, rooms: list[LiveRoom], last: str
) -> None:
    # Ann ran two of four races in 60 minutes at a par of 60:30, and the mean is over three.
    live.app = application(live.ledger.path, Publication(lambda _: SCORED))
    live.write(*rooms)
    score = f"{2 * 100 * (2 - 60 / 60.5) / 3:.1f}"
    shown = words(live.get("/overlay/room/orb/live-1"))
    assert f"Ann {score} {last}" in shown and "1190" not in shown and "1000" not in shown
    assert words(live.get("/overlay/player/id-ann")).startswith(f"Ann {score} 1st by score · {last}")
    assert "Zoe no score yet" in words(live.get("/overlay/player/id-zoe"))


def test_a_racer_of_a_pending_race_is_told_where_it_leads_not_what_the_next_one_needs(live: Live) -> None:
    live.app = application(live.ledger.path, Publication(lambda _: SCORED))
    coming = ComingScore("id-ann", "Ann", 3600.0, 100.8, True, 98.2, 1, 2, -3.1)
    live.write(
        replace(FINISHED, leaderboards=(replace(FINISHED.leaderboards[0], scores=(coming,), par=3630),))
    )
    row = words(live.get(f"/leaderboards/{BOARD}")).partition(" Ann ")[2].partition(" Bo ")[0]
    assert "→ 98.2, 2nd outside the cut by 3.1" in row and "at least" not in row and "need" not in row
    player = words(live.get("/players/id-ann/orb/any-orb"))
    assert "To qualify outside the cut by 3.1" in player


def at(race: str, status: str, hours: float, *, board: str = BOARD) -> LiveRoom:
    """A room with Ann that was opened, that started, or that ended, some hours ago."""
    moment = datetime.now(UTC) - timedelta(hours=hours)
    entrant = (
        racer("ann", place=1, after=1200, change=int(10 * hours)) if status == "finished" else racer("ann")
    )
    made = room(entrant, race=f"orb/{race}", status=status, board=board)
    ended_at = moment if status == "finished" else None
    started_at = moment if status == "in_progress" else None
    opened_at = moment - timedelta(hours=1 if started_at else 0)
    return replace(made, opened_at=opened_at, started_at=started_at, ended_at=ended_at)


RUNNING, OPENED, ENDED = ("running", "in_progress", 9), ("opened", "open", 1), ("ended", "finished", 0.1)


@pytest.mark.parametrize(
    ("rooms", "shown"),
    [
        ([OPENED, ENDED, RUNNING], "running"),
        ([OPENED, ("ended", "finished", 0.5), RUNNING], "running"),
        ([ENDED, ("started", "in_progress", 0.05)], "started"),
        ([RUNNING, ("newer", "in_progress", 2)], "newer"),
        ([RUNNING, ENDED, ("starting", "pending", 1)], "starting"),
        ([OPENED, ENDED], "ended"),
        ([ENDED, ("later", "finished", 0.05)], "later"),
        ([OPENED, ("ended", "finished", 1)], "opened"),
        ([OPENED, ("newer", "open", 0.5)], "newer"),
        ([("ended", "finished", 2)], "ended"),
        ([("yesterday", "finished", 20)], None),
        ([], None),
    ],
)
def test_overlays_follow_the_current_room(
    live: Live, rooms: list[tuple[str, str, float]], shown: str | None
) -> None:
    live.write(*(at(*each) for each in rooms))
    expected = live.get(f"/overlay/part/room/orb/{shown}").text
    for path in FOLLOWING:
        assert live.get(path.replace("overlay", "overlay/part")).text == expected, path


def test_overlays_follow_a_race_beyond_its_record(live: Live) -> None:
    ended_at = datetime.now(UTC) - timedelta(minutes=5)
    for name, end in (("d", ended_at), ("recorded-last", ended_at - timedelta(hours=1))):
        live.settler.settle(replace(result(name, "bo ann"), ended_at=end), NOW)
    expected = live.get("/overlay/part/room/orb/d").text
    for path in FOLLOWING:
        assert live.get(path.replace("overlay", "overlay/part")).text == expected, path
    live.write(at("next", "open", 0))
    assert "if recorded" not in expected and words(live.get("/overlay/room/orb")).startswith("d Ratings")
    live.write(at("next", "in_progress", 0))
    assert words(live.get("/overlay/room/orb")).endswith("Ann 1000 50%")


def test_overlay_of_a_category_leaves_out_other_categories_and_leaderboards(live: Live) -> None:
    live.write(at(*OPENED), replace(at(*RUNNING), category="other", race="other/running"))
    assert "Chance to win" in live.get("/overlay/room/orb").text
    assert words(live.get("/overlay/room/none")) == ""
    assert words(live.get("/overlay/room/orb?board=orb/other")) == ""


def test_player_overlay_shows_the_current_room(live: Live) -> None:
    live.write(at("a", "finished", 20), at(*OPENED))
    assert words(live.get("/overlay/player/id-ann")) == "Ann 1000 2nd of 5 · 50% to win"
    live.write(at("a", "finished", 20))
    assert words(live.get("/overlay/player/id-ann")) == "Ann 1190 2nd of 5"
    live.write(at("new", "open", 1, board="orb/other"))
    assert words(live.get("/overlay/player/id-ann")) == "Ann 1000 50% to win"
    assert words(live.get("/overlay/player/id-ann?board=orb/any-orb")) == "Ann 1190 2nd of 5"
    live.rate(replace(result("d", "bo ann"), ended_at=datetime.now(UTC) - timedelta(minutes=5)))
    assert "+" in words(live.get("/overlay/player/id-bo"))


@pytest.mark.parametrize("path", ["/overlay/room/orb/live-1", "/overlay/player/id-ann", "/overlay/style.css"])
@pytest.mark.parametrize(
    "query",
    ["text=red", "text=12", "background=url(x)", "gain=%7D*%7Bcolor:red", "size=5", "size=x", "accent=fffff"],
)
def test_unusable_overlay_options_are_refused(live: Live, path: str, query: str) -> None:
    live.write(OPEN)
    assert live.get(f"{path}?{query}").status_code == 400


def test_names_reach_programs_unchanged_and_stay_within_their_event(live: Live) -> None:
    names = ["<script>alert(1)</script>", "\u202egnp.exe", "data: x\n\nevent: y"]
    live.write(room(*(racer(f"x{number}", name=name) for number, name in enumerate(names))))
    entrants = live.get("/api/live").json()["rooms"][0]["leaderboards"][0]["entrants"]
    assert [each["name"] for each in entrants] == names
    sent = events.event(live.get("/live/rooms").content)
    assert sent.endswith(b"\n\n") and b"\n\n" not in sent[:-2]
    assert all(line.startswith(b"data: ") for line in sent[:-2].split(b"\n"))


@asynccontextmanager
async def running(live: Live) -> AsyncGenerator[tuple[uvicorn.Server, str]]:
    server: uvicorn.Server | None = None
    app = application(live.ledger.path, Publication(), lambda: server is not None and server.should_exit)
    server = uvicorn.Server(configuration(app))
    async with listening(server) as port:
        yield server, f"http://127.0.0.1:{port}"


async def next_event(lines: AsyncIterator[str]) -> str:
    data = []
    async for line in lines:
        if line.startswith("data: "):
            data.append(line[6:])
        elif not line and data:
            return "\n".join(data)
    raise AssertionError("the stream ended")


@asynccontextmanager
async def followed(live: Live, path: str) -> AsyncGenerator[tuple[uvicorn.Server, httpx.Response]]:
    """Follow a document of a running server."""
    async with (
        asyncio.timeout(PATIENCE),
        running(live) as (server, address),
        httpx.AsyncClient(timeout=PATIENCE) as client,
        client.stream("GET", f"{address}/events/{path}") as answer,
    ):
        yield server, answer


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "LOOK_EVERY", 0.05)


@pytest.mark.usefixtures("quick")
async def test_events_follow_the_rooms(live: Live) -> None:
    live.write(OPEN)
    async with followed(live, "api/live") as (_, answer):
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        lines = answer.aiter_lines()
        assert json.loads(await next_event(lines))["rooms"][0]["status"] == "open"
        live.write(FINISHED)
        assert json.loads(await next_event(lines))["rooms"][0]["status"] == "finished"
        live.write()
        assert json.loads(await next_event(lines))["rooms"] == []


async def shown(match: MatchedRoute, query: Mapping[str, str]) -> Document | None:
    """Find a document for a stream: none, a bad query, or an empty document."""
    if "rows" in query:
        raise BadQueryError("rows: is wrong")
    return None if "missing" in query else Document(b"")


async def unchanged() -> str:
    return ""


async def stream(streams: events.EventStreams, query: str = "", client: str = "") -> list[Any]:
    """Return the status of a stream's response and the chunks that it sends."""
    sent: list[Any] = []

    async def send(message: Mapping[str, Any]) -> None:
        sent.append(message["status"] if "status" in message else message["body"])

    scope = {
        "type": "http",
        "method": "GET",
        "query_string": query.encode(),
        "path_params": {"path": "live/rooms"},
        "client": (client, 4000),
        "asgi": {"spec_version": "2.4"},
    }
    await streams(scope, AsyncMock(), send)
    return sent


@pytest.mark.usefixtures("quick")
async def test_a_change_while_a_stream_opens_is_not_missed() -> None:
    states = ["before", "after"]
    found = 0

    async def find(match: MatchedRoute, query: Mapping[str, str]) -> Document:
        nonlocal found
        found += 1
        shown = states[0]
        states[:] = states[-1:]  # changes as soon as it is read
        return Document(shown.encode())

    async def stamp() -> str:
        return states[0]

    async with asyncio.timeout(PATIENCE):
        status, before, after, *_ = await stream(events.EventStreams(find, stamp, {}, lambda: found > 1))
    assert (status, b"before" in before, b"after" in after) == (200, True, True)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("limit", "elsewhere"), [("STREAMS", 503), ("STREAMS_OF_CLIENT", 200)])
async def test_streams_are_bounded_in_all_and_for_each_client(
    monkeypatch: pytest.MonkeyPatch, limit: str, elsewhere: int
) -> None:
    monkeypatch.setattr(events, limit, 2)
    stopped = asyncio.Event()
    streams = events.EventStreams(shown, unchanged, {}, stopped.is_set)
    held = [asyncio.create_task(stream(streams, client=client)) for client in ("a", "a", "a", "a", "b")]
    async with asyncio.timeout(PATIENCE):
        await asyncio.wait(held[2:4])
        stopped.set()
        assert [sent[0] for sent in await asyncio.gather(*held)] == [200, 200, 503, 503, elsewhere]
        assert (await stream(streams))[0] == 200


async def test_only_open_streams_take_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither do requests that fail, nor readers who leave before the first event."""
    monkeypatch.setattr(events, "STREAMS", 1)
    streams = events.EventStreams(shown, unchanged, {}, lambda: True)
    with pytest.raises(HTTPException):
        await stream(streams, "missing=1")
    with pytest.raises(BadQueryError):
        await stream(streams, "rows=x")
    closed = AsyncMock(side_effect=OSError("the connection is closed"))
    with monkeypatch.context() as patch, contextlib.suppress(Exception):
        patch.setattr(StreamingResponse, "__call__", closed)
        await stream(streams)
    assert closed.called
    assert (await stream(streams))[0] == 200


@pytest.mark.usefixtures("quick")
async def test_unreadable_ledger_is_logged_once_while_streams_are_open(
    caplog: pytest.LogCaptureFixture,
) -> None:
    looks = 0

    async def stamp() -> str:
        nonlocal looks
        looks += 1
        if looks > 1:
            raise LedgerUnavailable("no such file")
        return ""

    async with asyncio.timeout(PATIENCE):
        assert await stream(events.EventStreams(shown, stamp, {}, lambda: looks > 5))
    assert caplog.messages == ["no such file"]


@pytest.mark.usefixtures("quick")
async def test_silent_streams_have_heartbeats_and_end_when_the_server_stops(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "HEARTBEAT", 0.1)
    async with followed(live, "live/rooms") as (server, answer):
        lines = answer.aiter_lines()
        await next_event(lines)
        while await anext(lines) != ":":
            pass
        server.should_exit = True
        async for _ in lines:
            pass


@pytest.mark.usefixtures("quick")
async def test_streams_end_with_their_readers(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "STREAMS", 1)
    async with followed(live, "live/rooms") as (_, answer), httpx.AsyncClient(timeout=PATIENCE) as client:
        await next_event(answer.aiter_lines())
        page = str(answer.url).replace("/events", "")
        refused = await client.get(str(answer.url))
        assert refused.status_code == 503 and refused.headers["retry-after"]
        assert (await client.get(page)).status_code == 200
        await answer.aclose()
        while True:
            async with client.stream("GET", answer.url) as again:
                if again.status_code == 200:
                    break
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("path", "status"),
    [("", 404), ("index.html", 404), ("api/leaderboards", 404), ("overlay/part/room/orb/a?rows=0", 400)],
)
def test_only_live_documents_can_be_followed(live: Live, path: str, status: int) -> None:
    assert live.get(f"/events/{path}").status_code == status
