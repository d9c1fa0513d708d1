from datetime import UTC, datetime
from typing import Any

import pytest
from builders import GOAL, entrant_document, existing, listed_document, race_document, room, user_document

from racebot.errors import PayloadError
from racebot.races.result import Entrant, EntrantStatus, Profile, RaceResult
from racebot.racetime.documents import MOST_ENTRIES
from racebot.racetime.payload import Race, parse_category, parse_race, parse_race_page

FINISHED = [
    entrant_document("ann", "done", "P0DT01H00M03.047053S", 1),
    entrant_document("bo", "done", "P0DT01H00M03.890791S", 2),
    entrant_document("cy", "dnf"),
]


def result_of(document: dict[str, Any]) -> RaceResult:
    return existing(parse_race(document).result)


def statuses(document: dict[str, Any]) -> list[str]:
    return [entrant.status.value for entrant in result_of(document).entrants]


# Races


def test_a_race_is_read_from_its_own_data() -> None:
    facts: dict[str, Any] = {"info_bot": "Seed: x", "bot_meta": {"seed": 5}, "recorded": True}
    room: dict[str, Any] = {
        "info": "League race",
        "opened_by": "Ann",
        "opened_by_bot": "Cup bot",
        "started_at": datetime(2026, 3, 1, 10, 30, 0, 200_000, UTC),
    }
    shown: dict[str, Any] = {
        "info": "League race",
        "opened_by": user_document("ann"),
        "opened_by_bot": "Cup bot",
    }
    ended_at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    entrants = (
        Entrant("id-ann", "Ann", EntrantStatus.DONE, 3_603_047_053, 1, discriminator="0007"),
        Entrant("id-bo", "Bo", EntrantStatus.DONE, 3_603_890_791, 2, discriminator="0007"),
        Entrant("id-cy", "Cy", EntrantStatus.DNF, discriminator="0007"),
    )
    assert parse_race(race_document("first", FINISHED, version=22, unlisted=True, **shown, **facts)) == Race(
        name="orb/first",
        category="orb",
        status="finished",
        goal=GOAL,
        version=22,
        recordable=True,
        result=RaceResult("orb/first", "orb", GOAL, ended_at, entrants, recorded=True, **room),
        entrants=entrants,
        opened_at=datetime(2026, 3, 1, 10, 0, 0, 100_000, UTC),
        ended_at=ended_at,
        unlisted=True,
        **room,
        **facts,
    )


def test_a_list_entry_reads_like_the_detail() -> None:
    listed = parse_race(listed_document("first", FINISHED))
    detailed = parse_race(race_document("first", FINISHED))
    assert listed.result == detailed.result
    assert listed.version is None
    assert (listed.info_bot, listed.bot_meta) == ("", {})


@pytest.mark.parametrize(
    ("status", "recordable", "over"),
    [
        ("open", True, False),
        ("in_progress", True, False),
        ("in_progress", False, False),
        ("finished", True, False),
        ("finished", False, True),
        ("cancelled", False, True),
        ("cancelled", True, True),
        ("partitioned", True, True),
    ],
)
def test_race_is_over_if_it_can_never_count(status: str, recordable: bool, over: bool) -> None:
    """A race for a custom goal is not recordable from its start and still goes on."""
    assert parse_race(race_document("r", FINISHED, status, recordable=recordable)).over is over


def test_teams_are_told_apart_by_slug_or_else_by_name() -> None:
    teams = [{"name": "The Red", "slug": "the-red-1", "formal": False}, {"name": "The Blue"}, None]
    entrants = [entrant_document(f"e{n}", "done", "PT1H", team=team) for n, team in enumerate(teams)]
    result = result_of(listed_document("r", entrants))
    assert [e.team for e in result.entrants] == ["the-red-1", "The Blue", None]
    assert [e.team_name for e in result.entrants] == ["The Red", "The Blue", None]
    assert result.team_race


def test_every_status_of_an_entrant_is_read() -> None:
    """All of the site's statuses: only the last three are results."""
    absent = ["requested", "invited", "declined", "partitioned"]
    racing = ["not_ready", "ready", "in_progress"]
    words = [*absent, *racing, "done", "dnf", "dq"]
    result = result_of(race_document("r", [entrant_document(word, word, "PT1H") for word in words]))
    read = {e.name.lower(): e.status.value for e in result.entrants}
    assert read == {**dict.fromkeys(racing, "racing"), "done": "done", "dnf": "dnf", "dq": "dq"}
    assert not result.final
    assert {e.finish_time for e in result.entrants} == {3_600_000_000}, "a disqualified one keeps it"


def test_a_deleted_account_keeps_its_place_without_an_id() -> None:
    result = result_of(race_document("r", [entrant_document(None, "done", "PT1H", 1)]))
    assert result.entrants == (Entrant(None, "deleted account", EntrantStatus.DONE, 3_600_000_000, 1),)
    assert not result.hidden


def test_hidden_entrants_have_invented_names_and_empty_ids() -> None:
    masked = entrant_document(
        "ann", "done", "PT1H", 1, user={**user_document("ann"), "id": "", "name": "Sir Orb"}
    )
    result = result_of(race_document("r", [masked, FINISHED[1]], hide_entrants=True))
    assert result.hidden
    assert not result.final
    assert result.entrants[0].user_id is None


@pytest.mark.parametrize("odd", [None, "1", 1.5, [1]])
def test_place_or_version_that_is_not_a_number_is_left_out(odd: object) -> None:
    race = parse_race({**race_document("r", [entrant_document("ann") | {"place": odd}]), "version": odd})
    assert race.version is None
    assert existing(race.result).entrants[0].place is None


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ({"name": None}, "name"),
        ({"name": "first"}, "'first'"),
        ({"name": "orb/../../o/token"}, "not of the form category/race"),
        ({"name": "orb/r?x=1"}, "not of the form category/race"),
        ({"name": "orb/r\r\nHost: elsewhere.example"}, "not of the form category/race"),
        ({"name": "orb/" + "r" * 101}, "not of the form category/race"),
        ({"status": "finished"}, "orb/r: status"),
        ({"goal": None}, "orb/r: goal"),
        ({"goal": {"name": ""}}, "orb/r: goal"),
        *(
            ({"ended_at": time}, "orb/r: ended_at")
            for time in (None, "noon", "0001-01-01T00:00:00+10:00", "1969-12-31T23:59:59Z", "3000-01-01T00Z")
        ),
        ({"entrants": [entrant_document("ann")] * 2_001}, "orb/r: entrants: .*2000"),
        ({"goal": {"name": "x" * 1_001}}, r"orb/r: goal\.name.*1000"),
        ({"goal": {"name": ["x"]}}, r"orb/r: goal\.name"),
        (
            {"entrants": [entrant_document("ann") | {"user": {"id": 5, "name": "Ann"}}]},
            r"orb/r: entrants\.0\.user\.id",
        ),
        ({"entrants": [entrant_document("ann") | {"team": {}}]}, r"orb/r: entrants\.0\.team"),
        ({"entrants": None}, "orb/r: entrants"),
        ({"entrants": [entrant_document("ann") | {"status": "done"}]}, r"orb/r: entrants\.0\.status"),
        ({"entrants": [entrant_document("ann") | {"user": "ann"}]}, r"orb/r: entrants\.0\.user"),
        ({"entrants": [entrant_document("ann", "done", "an hour")]}, "orb/r: .*an hour"),
        (
            {"entrants": [entrant_document("ann", "done", "P" + "9" * 5000 + "DT1S")]},
            "orb/r: .* is not a duration",
        ),
        ({"entrants": [entrant_document("ann") | {"finish_time": 3600}]}, "orb/r: .*3600"),
    ],
)
def test_a_malformed_race_is_refused_naming_the_place(facts: dict[str, Any], named: str) -> None:
    with pytest.raises(PayloadError, match=named) as refused:
        parse_race({**race_document("r"), **facts})
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_an_unknown_race_status_is_logged_once_and_kept(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        assert parse_race(race_document("r", status="dancing-1")).status == "dancing-1"
    assert [r.getMessage() for r in caplog.records if "dancing-1" in r.getMessage()] == [
        "unknown race status 'dancing-1' from the site: ignored (logged once)"
    ]


@pytest.mark.parametrize("value", ["sleeping-1", None, ["done"], {"done": 1}, 7, True])
def test_an_entrant_with_an_unknown_status_is_left_out_and_a_text_logged_once(value: object, caplog) -> None:
    document = race_document("r", [*FINISHED, entrant_document("di") | {"status": {"value": value}}])
    assert statuses(document) == statuses(document) == ["done", "done", "dnf"]
    assert sum("sleeping-1" in r.getMessage() for r in caplog.records) == (value == "sleeping-1")


@pytest.mark.parametrize(
    "status", ["open", "invitational", "pending", "in_progress", "cancelled", "partitioned"]
)
def test_entrants_are_known_without_a_result(status: str) -> None:
    entered = [entrant_document("ann", "ready"), entrant_document("bo", "not_ready")]
    assert len(parse_race(race_document(status=status, entrants=entered)).entrants) == 2
    race = parse_race(race_document(status=status, entrants=[*entered, entrant_document("cy", "invited")]))
    assert race.result is None
    assert [entrant.name for entrant in race.entrants] == ["Ann", "Bo"]
    assert not race.hidden


# Categories


def category_document(**facts: Any) -> dict[str, Any]:
    room = {
        key: value
        for key, value in listed_document("open-1", status="open").items()
        if key not in {"entrants", "ended_at", "cancelled_at", "recordable", "recorded"}
    }
    return {
        "name": "Orb Hunt",
        "short_name": "Orb",
        "slug": "orb",
        "url": "/orb",
        "goals": ["Any Orb", "All Orbs"],
        "current_races": [room],
        "emotes": {},
        **facts,
    }


UNREADABLE: list[Any] = [
    None,
    [{"status": 7}],
    [{"user": {"id": "", "name": "Mole"}, "status": {"value": "ready"}}],
]


@pytest.mark.parametrize("entrants", UNREADABLE, ids=["none", "malformed", "hidden"])
def test_entrants_that_cannot_be_read_do_not_spoil_a_race_that_goes_on(entrants: Any) -> None:
    race = parse_race({**race_document(status="open"), "entrants": entrants})
    assert (race.entrants, race.hidden) == ((), entrants is UNREADABLE[2])


def test_a_category_has_its_goals_and_open_rooms() -> None:
    category = parse_category(category_document())
    assert (category.slug, category.name, category.goals) == ("orb", "Orb Hunt", ("Any Orb", "All Orbs"))
    opened_at = datetime(2026, 3, 1, 10, 0, 0, 100_000, UTC)
    started_at = datetime(2026, 3, 1, 10, 30, 0, 200_000, UTC)
    assert category.rooms == {
        "orb/open-1": room(slug="open-1", info="", opened_at=opened_at, started_at=started_at)
    }


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ({"slug": None}, "category: slug"),
        ({"goals": None}, "category: goals"),
        ({"current_races": None}, "category: current_races"),
    ],
)
def test_a_malformed_category_is_refused_naming_the_place(facts: dict[str, Any], named: str) -> None:
    with pytest.raises(PayloadError, match=named):
        parse_category(category_document(**facts))


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        (5, "race is not an object"),
        ({"name": "orb/x", "status": {"value": "open"}}, "orb/x: goal"),
        ({"status": {"value": "open"}, "goal": {}}, "race: name"),
    ],
)
def test_an_unreadable_room_is_left_out_of_its_category(bad: object, named: str) -> None:
    (good,) = category_document()["current_races"]
    category = parse_category(category_document(current_races=[bad, good]))
    assert list(category.rooms) == [good["name"]]
    (problem,) = category.problems
    assert named in problem


# List pages


def test_an_unreadable_entry_is_left_out_of_its_page() -> None:
    listed: dict[str, Any] = {"c": {}, "b": {"ended_at": None}, "a": {}}
    page = parse_race_page(
        {
            "count": 3,
            "num_pages": 4,
            "races": [listed_document(slug, **facts) for slug, facts in listed.items()],
        }
    )
    assert [race.name for race in page.races] == ["orb/c", "orb/a"]
    assert page.pages == 4
    (problem,) = page.problems
    assert "orb/b: ended_at" in problem


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {"count": 1, "num_pages": 1, "races": {}},
        {"count": 1, "num_pages": "1", "races": []},
        {"count": 1, "races": []},
    ],
)
def test_a_malformed_page_is_refused(document: object) -> None:
    with pytest.raises(PayloadError, match="race list"):
        parse_race_page(document)


def test_a_list_is_read_no_further_than_its_limit() -> None:
    """A page of bad entries costs two lines."""
    good = listed_document("a", [entrant_document("ann", "done", "PT1H", 1)])
    races = [*[good] * 9, *[{}] * (MOST_ENTRIES + 491)]
    page = parse_race_page({"num_pages": 1, "count": len(races), "races": races})
    assert (len(page.races), len(page.problems)) == (9, 2)
    assert "500 entries" in page.problems[1]


# Profiles


def racer_with(**facts: object) -> Entrant:
    document = race_document("first", [entrant_document("ann", "done", "PT1H", 1)])
    document["entrants"][0]["user"].update(facts)
    return parse_race(document).entrants[0]


def test_entrant_has_the_profile_of_the_account() -> None:
    shown = racer_with(avatar="https://cdn.example.org/a.png", pronouns="they/them", twitch_name="Ann_Runs")
    assert shown.profile == Profile("https://cdn.example.org/a.png", "they/them", "Ann_Runs")
    assert racer_with(avatar="/media/a.png", pronouns="she\u202e/\nher").profile == Profile(
        "/media/a.png", "she/ her"
    )


@pytest.mark.parametrize(
    "facts",
    [
        {"avatar": "javascript:alert(1)"},
        {"avatar": "file:///etc/passwd"},
        {"avatar": "https://user@host.example/a.png"},
        {"avatar": "https://a.example/" + "a" * 600},
        {"avatar": 'https://a.example/"onerror="'},
        {"pronouns": "x" * 300},
        {"twitch_name": "../../evil"},
        {"discriminator": "١٢"},
        {"discriminator": "1@here"},
    ],
)
def test_unusable_profile_is_left_empty(facts: dict[str, object]) -> None:
    racer = racer_with(**facts)
    assert racer.profile == Profile()
    assert racer.discriminator == (None if "discriminator" in facts else "0007")
