"""Accounts that were deleted before the bot read a race: they raced, but have no id and no rating.

won: a deleted account won, before Ann and Bo; another one did not finish.
third: Ann and Bo, then a deleted account; Cy did not finish.
"""

import io
import re
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from builders import HOUR, SECOND, entrant, result
from rich.console import Console

from racebot.cli.tables import print_race
from racebot.ledger.store import Ledger
from racebot.queries.race import race_report
from racebot.queries.races import latest_races
from racebot.queries.records import upsets
from racebot.races.outcome import TeamPolicy
from racebot.races.result import NO_NAME, Entrant, RaceResult
from racebot.web.routes import Pages
from racebot.web.site.ledger_view import LedgerView

from .conftest import SIMPLE, Merge, data_at, page_at, text_at as text

BOARD = "leaderboards/orb/any-orb"


def deleted(time: int | None = None, **facts: Any) -> Entrant:
    status = "dnf" if time is None else "done"
    return replace(entrant("gone", status, time, user_id=None), name=NO_NAME, **facts)


def with_deleted(race: RaceResult, *more: Entrant) -> RaceResult:
    return replace(race, entrants=(*race.entrants, *more))


@pytest.fixture
def view(merge: Merge) -> LedgerView:
    return merge(
        [
            with_deleted(result("won", "ann bo"), deleted(HOUR - SECOND), deleted()),
            with_deleted(result("third", "ann bo", dnf="cy", after=1), deleted(2 * HOUR)),
        ]
    )


def test_lists_count_and_name_deleted_accounts(view: LedgerView) -> None:
    listed = data_at(view, f"api/{BOARD}/races")["races"]
    assert [(each["entrants"], each["finishers"]) for each in listed] == [(4, 3), (4, 3)]
    assert listed[0]["winners"] == [{"id": "id-ann", "name": "Ann"}]
    assert listed[1]["winners"] == [{"id": None, "name": NO_NAME}]
    shown = text(view, f"{BOARD}/races.html")
    assert "third A Ann 4 racers 3 " in shown
    assert f"won DA {NO_NAME} 4 racers 3 " in shown
    history = data_at(view, f"api/{BOARD}/players/id-ann")["history"]
    assert [(each["place"], each["entrants"]) for each in history] == [(2, 4), (1, 4)]
    shown = text(view, "players/id-ann/orb/any-orb/races.html")
    assert "1 of 4 third" in shown
    assert re.search(rf"2 of 4 won .* {NO_NAME} 1 Mar 2026", shown)
    wins = upsets(view.ledger, view.boards[0].stored, settled=0)
    assert [(win.race.race, win.race.entrants) for win in wins] == [("orb/third", 4)]


def test_feeds_count_and_name_deleted_accounts(view: LedgerView) -> None:
    feed = page_at(view, f"{BOARD}/feed.xml")
    assert re.findall("<title>(.*)</title>", feed)[1:] == [
        "Ann won third, 3 of 4 finished",
        f"{NO_NAME} won won, 3 of 4 finished",
    ]
    of_bo = page_at(view, "players/id-bo/orb/any-orb/feed.xml")
    assert re.findall("<title>.*, (.*)</title>", of_bo) == ["2 of 4 in third", "3 of 4 in won"]


def test_race_page_has_a_row_for_each_deleted_account(view: LedgerView) -> None:
    shown = text(view, "races/orb/third.html")
    order = re.findall(rf"(\S+) [A-Z]+ (Ann|Bo|Cy|{NO_NAME}) ", shown)
    assert order == [("1", "Ann"), ("2", "Bo"), ("3", NO_NAME), ("DNF", "Cy")]
    assert f"{NO_NAME} 2:00:00 +1:00:00 not rated" in shown
    assert text(view, "races/orb/won.html").count("not rated") == 2
    assert text(view, "overlay/part/room/orb/won.html").startswith(
        f"won Ratings 1 {NO_NAME} 0:59:59 2 Ann 1:00:00 1100 +"
    )
    shared = re.findall(
        'property="og:(title|description)" content="([^"]*)">', page_at(view, "races/orb/won.html")
    )
    assert unescape(dict(shared)["title"]) == f"{NO_NAME} won won"
    about = f"Any Orb, 1 Mar 2026, 4 entrants · 1 {NO_NAME} · 2 Ann +"
    assert unescape(dict(shared)["description"]).startswith(about)


def test_api_lists_deleted_accounts_apart_from_rated_entrants(view: LedgerView) -> None:
    (part,) = data_at(view, "api/races/orb/won")["leaderboards"]
    assert [each["name"] for each in part["entrants"]] == ["Ann", "Bo"]
    unrated = [(each["id"], each["place"], each["standing"]) for each in part["unrated"]]
    assert unrated == [(None, 1, "1"), (None, None, "DNF")]


def test_race_card_and_race_command_list_deleted_accounts(view: LedgerView, drawn: list[str]) -> None:
    assert Pages(view, served=True).document("cards/races/orb/won.png", {}) is not None
    assert any("4 entrants" in each for each in drawn)
    assert [each for each in drawn if each in {NO_NAME, "Ann", "Bo"}] == [NO_NAME, "Ann", "Bo", NO_NAME]
    console = Console(width=150, file=io.StringIO(), record=True)
    print_race(console, race_report(view.ledger, "won"))
    assert re.search(rf"1 +{NO_NAME} +not rated\s+2 +Ann", console.export_text())


def test_places_of_deleted_accounts_follow_the_teams(merge: Merge) -> None:
    """A deleted account whose team did not finish has no place, and so did not win."""
    ann, bo, cy = entrant("ann", time=HOUR), entrant("bo", time=HOUR + SECOND), entrant("cy", "dnf")
    teams = [replace(each, team="b" if each is cy else "a") for each in (ann, bo, cy)]
    view = merge(
        [result("a", entrants=(*teams, deleted(SECOND, team="b")))], replace(SIMPLE, teams=TeamPolicy.TEAM)
    )
    (race,) = latest_races(view.ledger, view.boards[0].key, 1)
    assert (race.entrants, race.finishers) == (4, 2)
    assert [winner.name for winner in race.winners] == ["Ann", "Bo"]


def test_race_that_changed_no_rating_counts_everyone(merge: Merge) -> None:
    view = merge([with_deleted(result("a", "ann"), deleted(SECOND))])
    (race,) = latest_races(view.ledger, view.boards[0].key, 1)
    assert (race.note is None, race.entrants, race.finishers, race.winners) == (False, 2, 2, ())


def test_damaged_result_does_not_break_a_list(merge: Merge, ledger: Ledger) -> None:
    view = merge([with_deleted(result("a", "ann bo"), deleted(SECOND))])
    ledger.connection.write("UPDATE races SET result = replace(result, '}', '')")
    (race,) = latest_races(view.ledger, view.boards[0].key, 1)
    assert (race.entrants, race.finishers, race.winners) == (2, 2, ())
    assert race.note is not None
