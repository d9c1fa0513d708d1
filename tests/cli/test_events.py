"""Events as an operator types them: two rooms and a sheet become one race."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from builders import HOUR, NOON, SECOND, Clock, entrant, existing, result, seen, settler_of

from racebot.ledger.store import Ledger
from racebot.races.events import SourceKind
from racebot.races.result import NO_NAME, Entrant, Profile, RaceResult
from racebot.racetime.client import Site
from racebot.racetime.payload import Race
from racebot.web.routes import Pages
from racebot.web.site.ledger_view import LedgerView, Moved, Publication

from .conftest import Done, Racebot

Rooms = dict[str, RaceResult | None]
EVENT = "orb/event-qualifier-1"
SHEET = """Name,Time,VOD,Comment,Status
Old Bo,1:05:00,https://example.org/bo,late at night,done
id-cy,0:30:00,,,DNF
Old Bo,0:58:00,https://example.org/second,,done
ann,0:59:00,,again,done
"""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Rooms:
    """The rooms of the site, which the commands read."""
    rooms: Rooms = {
        "orb/one": result("one", "ann bo", dnf="dee"),
        "orb/two": result("two", "eve", after=1, recorded=False, custom_goal=True),
    }

    async def race(self: Site, name: str) -> tuple[Race, float]:
        shown = rooms[name]
        return seen(shown) if shown else replace(seen(), name=name), 0.0

    async def accounts(self: Site, text: str) -> list[Entrant]:
        return []

    monkeypatch.setattr(Site, "race", race)
    monkeypatch.setattr(Site, "accounts", accounts)
    return rooms


@pytest.fixture
def racebot(
    racebot: Racebot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: Rooms, clock: Clock
) -> Iterator[Racebot]:
    """Run a command on a ledger that rated the first room and knows the players of the sheet.

    A replay confirms the ratings that the test leaves.
    """
    monkeypatch.setattr("racebot.cli.leagues.utc_now", clock)
    clock.advance(hours=4)  # after the races
    monkeypatch.setenv("RACEBOT_DATABASE", str(tmp_path / "ledger.db"))
    monkeypatch.setenv("RACEBOT_CATEGORY", "orb")
    monkeypatch.setenv("RACEBOT_MODEL", "elo-ffa")
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        known = (entrant("old bo", user_id="id-old", time=HOUR), entrant("cy", time=HOUR + SECOND))
        early = [result("early", entrants=known, after=-9), result("one", "ann bo", dnf="dee")]
        settler_of(ledger, "elo-ffa").add_past_races(early, "import")
    (tmp_path / "async.csv").write_text(SHEET)
    yield racebot
    verified = racebot("verify")
    assert verified.code == 0, verified.err


def done(run: Racebot, *words: str) -> Done:
    """Run a command that must work."""
    outcome = run(*words)
    assert outcome.code == 0, outcome.err
    return outcome


def create(run: Racebot, *options: str) -> None:
    done(run, "event", "create", "Qualifier 1", "--leaderboard", "any orb", "--until", "2026-04-01", *options)


def standing(run: Racebot, race: str = EVENT) -> dict[str, str]:
    """The result of each player in a rated race."""
    (board,) = json.loads(done(run, "race", race, "--json").out)["leaderboards"]
    return {each["id"]: each["standing"] for each in board["entrants"]}


@pytest.mark.parametrize("words", ["event add Q orb/two", "event close Q", "rooms orb", "count orb/two"])
def test_no_other_site_is_asked_than_the_one_of_the_races(
    racebot: Racebot, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    done(racebot, "event", "create", "Q", "--leaderboard", "any orb", "--until", "2026-04-01")
    done(racebot, "event", "add", "Q", "orb/one")
    monkeypatch.setenv("RACEBOT_SITE", "https://races.example")
    outcome = racebot(*words.split())
    assert outcome.code == 2
    assert "holds races of racetime.gg, and RACEBOT_SITE is https://races.example" in outcome.complaints[0]


def test_an_event_of_two_rooms_and_a_sheet_from_start_to_end(racebot: Racebot, tmp_path: Path) -> None:
    create(racebot)
    done(racebot, "event", "add", "qualifier 1", "orb/one", "https://racetime.gg/orb/two", "async.csv")
    assert racebot("race", "orb/one").code == 2, "the room no longer counts by itself"
    sealed = done(racebot, "event", "show", "Qualifier 1").out
    assert ("4 finished" in sealed, "Ann" in sealed) == (True, False)

    done(racebot, "event", "close", "Qualifier 1")
    # 1:01 is the second place of a room; Ann's second attempt, which was faster, does not count.
    first = {"id-ann": "1", "id-eve": "1", "id-bo": "3", "id-old": "4", "id-cy": "DNF", "id-dee": "DNF"}
    assert standing(racebot) == first
    done(racebot, "verify")
    shown = done(racebot, "event", "show", EVENT).out
    assert (shown.count("second attempt"), "https://example.org/bo" in shown) == (2, True)

    done(racebot, "annul", EVENT, "id-ann", "--reason", "no video")
    assert standing(racebot) == {"id-eve": "1", "id-bo": "2", "id-old": "3", "id-cy": "DNF", "id-dee": "DNF"}
    assert "no video" in done(racebot, "event", "show", EVENT).out
    done(racebot, "annul", EVENT, "id-ann", "--undo")
    assert standing(racebot) == first

    done(racebot, "merge", "id-old", "id-bo", "--yes")
    done(racebot, "verify")
    without_old = {player: place for player, place in first.items() if player != "id-old"}
    assert standing(racebot) == without_old
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        (sheet,) = (each for each in ledger.events.sources(EVENT) if each.kind is SourceKind.SHEET)
        ledger.events.save_source(replace(sheet, result=None))
        assert EVENT in racebot("verify").err
        ledger.events.save_source(sheet)
    done(racebot, "exclude", EVENT, "--reason", "wrong seed")
    done(racebot, "include", EVENT)
    done(racebot, "forget", "id-bo", "--yes")
    assert "example.org" not in done(racebot, "event", "show", EVENT).out

    done(racebot, "event", "reopen", EVENT)
    assert racebot("race", EVENT).code == 2
    done(racebot, "event", "close", EVENT)
    assert standing(racebot) == without_old
    done(racebot, "event", "remove", EVENT, "--yes")
    assert standing(racebot, "orb/one") == {"id-ann": "1", "id-bo": "2", "id-dee": "DNF"}
    orders = [each["order"] for each in json.loads(racebot("audit", "--json").out)]
    steps = ["create", *["add"] * 3, "close", "reopen", "close", *["remove"] * 4]
    assert [each for each in orders if each.startswith("event")] == [f"event {step}" for step in steps]


def test_an_open_room_keeps_an_event_open_and_is_read_again(racebot: Racebot, site: Rooms) -> None:
    create(racebot)
    site["orb/three"] = None
    done(racebot, "event", "add", EVENT, "orb/three", "orb/one")
    assert "orb/three" in racebot("event", "close", EVENT).complaints[0]
    assert "Ann" not in done(racebot, "event", "show", EVENT).out
    site["orb/three"] = result("three", "cy", after=2)
    done(racebot, "event", "close", EVENT)
    assert standing(racebot)["id-cy"] == "1"
    done(racebot, "event", "reopen", EVENT)
    done(racebot, "event", "remove", EVENT, "orb/three")
    done(racebot, "event", "close", EVENT)
    assert "id-cy" not in standing(racebot)


def test_the_page_of_an_event_lists_results_with_proofs_and_reasons(racebot: Racebot, tmp_path: Path) -> None:
    create(racebot)
    done(racebot, "event", "add", EVENT, "orb/one", "async.csv")
    page, own = (tmp_path / f"site/{folder}/{EVENT}.html" for folder in ("races", "event"))
    done(racebot, "export-site", "site")
    assert not page.exists(), "the results are sealed"
    sealed = own.read_text()
    assert ("3 finished" in sealed, "orb/one" in sealed, "Ann" in sealed) == (True, True, False)
    assert f'href="event/{EVENT}.html"' in (tmp_path / "site/events.html").read_text()
    api = tmp_path / "site/api"
    (listed,) = json.loads((api / "events.json").read_text())["events"]
    assert (listed["name"], listed["finished"], listed["closed_at"]) == (EVENT, 3, None)
    data, rows = (api / f"events/{EVENT}.{kind}" for kind in ("json", "csv"))
    assert json.loads(data.read_text()) == listed | {"sources": ["orb/one", "async.csv"], "results": []}
    assert len(rows.read_text().splitlines()) == 1
    done(racebot, "event", "close", EVENT)
    done(racebot, "export-site", "site")
    assert f'href="../../races/{EVENT}.html"' in own.read_text()
    with Ledger.open_to_publish(tmp_path / "ledger.db") as ledger:
        pages = Pages(LedgerView(ledger, Publication()), served=True)
        assert pages.document(f"event/{EVENT}", {}) == Moved(f"races/{EVENT}.html")
        assert pages.document("event/orb/event-none", {}) is None
    assert done(racebot, "penalty", EVENT, "id-old", "+1:02:03", "--reason", "warped & <cut>").err == ""
    done(racebot, "annul", EVENT, "id-bo", "--reason", "wrong <seed>")
    done(racebot, "annul", EVENT, "id-cy", "--reason", "Cy cut the track")
    done(racebot, "hide", "id-cy")
    done(racebot, "export-site", "site")
    text = page.read_text()
    assert "<h1>Qualifier 1</h1>" in text
    assert 'href="https://example.org/bo"' in text
    assert 'racetime.gg/orb/one"' in text
    assert f"racetime.gg/{EVENT}" not in text
    assert "wrong &lt;seed&gt;" in text
    assert "+1:02:03: warped &amp; &lt;cut&gt;" in text
    assert "warped & <cut>" in done(racebot, "race", EVENT).out
    assert "second attempt" in text
    assert "Cy" not in text
    found = {each["name"]: each for each in json.loads(data.read_text())["results"]}
    assert len(rows.read_text().splitlines()) == 1 + 7
    assert (found["Bo"]["note"], found["Bo"]["status"], found["Bo"]["source"]) == (
        "wrong <seed>",
        "done",
        "orb/one",
    )
    assert ("Cy" in found, found["hidden player"]["note"]) == (False, "annulled")


def test_a_forgotten_name_stays_away_when_the_room_of_an_event_is_edited(racebot: Racebot, tmp_path) -> None:
    create(racebot)
    done(racebot, "event", "add", EVENT, "orb/one")
    done(racebot, "forget", "id-ann", "--yes")
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        settler = settler_of(ledger, "elo-ffa")
        settler.settle(result("one", "bo ann"), NOON)
        (source,) = ledger.events.sources(EVENT)
    assert [each.name for each in existing(source.result).entrants] == ["Bo", NO_NAME]


def test_a_run_after_the_end_does_not_count(racebot: Racebot, clock: Clock, site: Rooms, tmp_path) -> None:
    create(racebot)
    end = datetime(2026, 4, 1, tzinfo=UTC)
    for name, begin in (("four", end), ("five", end + timedelta(seconds=1))):
        ended = {"started_at": begin, "ended_at": begin + timedelta(hours=1)}
        site[f"orb/{name}"] = replace(result(name, f"{name} ann"), **ended)  # type: ignore[arg-type]
    done(racebot, "event", "add", EVENT, "orb/five", "orb/four")
    clock.advance(days=40)
    done(racebot, "event", "add", EVENT, "async.csv")
    done(racebot, "event", "close", EVENT)
    counted = {"id-four": "1", "id-ann": "2", "id-old": "3", "id-cy": "DNF"}
    assert standing(racebot) == counted
    assert done(racebot, "event", "show", EVENT).out.count("event's end") == 2


@pytest.mark.parametrize(
    ("sheet", "columns", "expected"),
    [
        (
            (
                "Timestamp,Your name,Finish time,VOD\n1/4/2026,ann,1:00:00,https://example.org/1\n1/4/2026,bo,DNF,\n"
                "1/5/2026,ann,0:50:00,\n"
            ),
            "player=Your name,time=Finish time,proof=VOD",
            {"id-ann": "1", "id-bo": "DNF"},
        ),
        (
            "player,time,igt\nann,1:00:00,50:00\nbo,0:55:00,52:00\ncy,0:50:00,DNF\n",
            "time=igt",
            {"id-ann": "1", "id-bo": "2", "id-cy": "DNF"},
        ),
        (
            "runner,time\nhttps://racetime.gg/user/abcdefghijklmnop/ann,59:00\nbo,1:00:00\n",
            "",
            {"abcdefghijklmnop": "1", "id-bo": "2"},
        ),
    ],
    ids=["answers of a form", "in-game times", "addresses of profiles"],
)
def test_a_sheet_has_any_form_that_a_study_reads(
    racebot: Racebot, tmp_path: Path, sheet: str, columns: str, expected: dict[str, str]
) -> None:
    create(racebot)
    (tmp_path / "sheet.csv").write_text(sheet)
    done(racebot, "event", "add", EVENT, "sheet.csv", "--columns", columns)
    done(racebot, "event", "close", EVENT)
    assert standing(racebot) == expected


@pytest.mark.parametrize(
    ("sheet", "place"),
    [
        ("race,player,time\nr1,ann,0:30:00\nr2,ann,0:40:00\n", "2 races"),
        ("player,time\nNobody,1:00\nann,1:00:00\nx,1:00\n", "line 2, column player|line 4, column player"),
        ("player,time\nannn,1:00:00\n", "Did you mean Ann (id-ann)? Correct 'annn', write"),
        ("player,time\nann,\n", "line 2, column time: empty: write a time such as 1:02:03.4, or DNF"),
        ("player,time,proof\nann,59:00,javascript:alert(1)\n", "line 2, column proof"),
        ("player,date\nann,2026-03-01\n", "no column place or time"),
    ],
)
def test_a_bad_sheet_names_its_lines_only(racebot: Racebot, tmp_path: Path, sheet: str, place: str) -> None:
    create(racebot)
    (tmp_path / "bad.csv").write_text(sheet)
    refused = racebot("event", "add", EVENT, "orb/one", "bad.csv")
    found = zip(place.split("|"), refused.complaints, strict=True)
    assert (refused.code, all(own in line for own, line in found)) == (2, True), refused.err
    assert standing(racebot, "orb/one")["id-ann"] == "1"


@pytest.mark.parametrize(
    "words",
    [
        ("event", "create", "Q", "--leaderboard", "any orb"),
        ("event", "create", "Q", "--leaderboard", "other", "--until", "2026-04-01"),
        ("event", "create", "?", "--leaderboard", "any orb", "--until", "2026-04-01"),
        ("event", "create", "Qualifier 1", "--leaderboard", "any orb", "--until", "2026-04-01"),
        ("event", "add", EVENT),
        ("event", "add", "Qualifier 2", "orb/one"),
        ("event", "add", EVENT, "no room"),
        ("event", "close", EVENT),
        ("event", "reopen", EVENT),
        ("event", "remove", EVENT, "orb/one"),
        ("annul", EVENT, "id-ann", "--reason", "no video"),
    ],
)
def test_a_step_that_cannot_be_taken_is_refused(racebot: Racebot, words: tuple[str, ...]) -> None:
    create(racebot)
    before = racebot("audit", "--json").out
    refused = racebot(*words)
    assert (refused.code, len(refused.complaints)) == (2, 1), refused
    assert racebot("audit", "--json").out == before


def test_an_event_has_a_message_on_discord(racebot: Racebot, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("RACEBOT_DISCORD_WEBHOOK", "https://discord.com/api/webhooks/1/token")

    def wanted(race: str = EVENT) -> list[str]:
        with Ledger.open_to_read(tmp_path / "ledger.db") as ledger:
            return [ledger.posts.get(race, "1").wanted] if race in ledger.posts.waiting("1") else []

    create(racebot)
    with Ledger.open(tmp_path / "ledger.db") as ledger:  # its message is on Discord, or waits
        ledger.posts.put(result("one", "ann bo"), ["1"], None)
    done(racebot, "event", "add", "Qualifier 1", "orb/one", "orb/two")
    assert wanted("orb/one") == ["withdrawn"]
    done(racebot, "event", "close", "Qualifier 1")
    (closed,) = wanted()
    done(racebot, "annul", "Qualifier 1", "id-bo", "--reason", "no video")
    assert len(set(wanted()) - {closed, "withdrawn"}) == 1
    done(racebot, "event", "reopen", "Qualifier 1")
    assert wanted()[0].startswith("withdrawn")


def test_names_on_twitch_strangers_who_did_not_finish_and_guests_stop_no_sheet(racebot, tmp_path) -> None:
    create(racebot)
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        streaming = replace(entrant("cy"), profile=Profile(twitch="Cy_Live"))
        ledger.profiles.save([streaming], current=True)
    lines = "https://twitch.tv/cy_live,1:00:00\nZoe,1:10:00\nnobody,DNF\nnoone,DNS\n"
    (tmp_path / "async.csv").write_text("player,time\n" + lines)
    refused = racebot("event", "add", EVENT, "async.csv")
    assert (refused.code, "--guest" in refused.complaints[-1]) == (2, True)
    added = done(racebot, "event", "add", EVENT, "async.csv", "--guest", "zoe")
    assert added.err.count("did not finish") == 1  # who did not start is no entrant
    done(racebot, "event", "close", EVENT)
    assert (standing(racebot)["id-cy"], standing(racebot)["guest-zoe"]) == ("1", "2")
    assert "unknown player" in racebot("race", EVENT).out


def test_a_word_like_an_id_is_a_new_player_only_if_the_operator_says_so(racebot, tmp_path: Path) -> None:
    create(racebot)
    (tmp_path / "async.csv").write_text("player,time\nann,1:00:00\nChristopherSmitt,1:10:00\n")
    refused = racebot("event", "add", EVENT, "async.csv")
    assert (refused.code, "ChristopherSmitt" in refused.complaints[-1]) == (2, True)
    assert "--new" in refused.complaints[-1]
    done(racebot, "event", "add", EVENT, "async.csv", "--new")
    done(racebot, "event", "close", EVENT)
    assert standing(racebot) == {"id-ann": "1", "ChristopherSmitt": "2"}


def test_a_sheet_means_ids_before_names_and_no_name_that_two_racers_have(
    racebot: Racebot, tmp_path: Path, site: Rooms
) -> None:
    bobs = [
        entrant("bob", user_id=f"id-bob{number}", time=HOUR, discriminator=f"{number}111")
        for number in (1, 2)
    ]
    site["orb/one"] = result("one", entrants=(bobs[0], entrant("id-ann", user_id="id-thief", time=2 * HOUR)))
    site["orb/two"] = result("two", entrants=(bobs[1],), after=1)
    create(racebot)
    done(racebot, "event", "add", EVENT, "orb/one", "orb/two")
    sheet = tmp_path / "async.csv"
    sheet.write_text("player,time\nbob,0:30:00\n")
    refused = racebot("event", "add", EVENT, "async.csv")
    assert (refused.code, "2 racers there" in refused.complaints[-1]) == (2, True), refused
    sheet.write_text("player,time\nid-ann,0:20:00\nBob#1111,0:30:00\n")
    done(racebot, "event", "add", EVENT, "async.csv")
    annulled = done(racebot, "annul", EVENT, "id-bob1", "--reason", "no video")
    assert ("Bob#1111 is annulled" in annulled.out, annulled.err) == (True, "")
    done(racebot, "event", "close", EVENT)
    shown = done(racebot, "event", "show", EVENT).out
    assert [shown.count(name) for name in ("Bob#1111", "Bob#2111")] == [2, 1], (
        "once in a room, and in the sheet"
    )
    with Ledger.open_to_read(tmp_path / "ledger.db") as ledger:
        added = existing(ledger.events.sources(EVENT)[-1].result)
    assert [each.user_id for each in added.entrants] == ["id-ann", "id-bob1"]
