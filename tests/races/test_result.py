from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from builders import HOUR, entrant, result
from hypothesis import given, strategies as st

from racebot.races.result import Entrant, EntrantStatus, RaceResult, shown_names

texts = st.text(max_size=12)
entrants = st.builds(
    Entrant,
    user_id=st.none() | st.text(min_size=1, max_size=8),
    name=texts,
    status=st.sampled_from(EntrantStatus),
    finish_time=st.none() | st.integers(0, 10**12),
    place=st.none() | st.integers(1, 9998),
    team=st.none() | texts,
    discriminator=st.none() | texts,
    team_name=st.none() | texts,
)
results = st.builds(
    RaceResult,
    name=texts,
    category=texts,
    goal=texts,
    ended_at=st.datetimes(timezones=st.just(UTC)),
    entrants=st.lists(entrants, max_size=6).map(tuple),
    recorded=st.booleans(),
    recordable=st.booleans(),
    custom_goal=st.booleans(),
    hidden=st.booleans(),
)


@pytest.mark.parametrize(
    ("status", "finished", "final"),
    [("done", True, True), ("dnf", False, True), ("dq", False, True), ("racing", False, False)],
)
def test_only_done_is_a_finish_and_all_but_racing_are_final(status: str, finished: bool, final: bool) -> None:
    assert entrant("bo", status).finished is finished
    assert result("r", entrants=(entrant("ann"), entrant("bo", status))).final is final


def test_a_race_with_a_team_is_a_team_race() -> None:
    alone = result("r", "ann bo")
    assert not alone.team_race
    assert replace(alone, entrants=(*alone.entrants, entrant("cy", team="red"))).team_race


def test_a_result_with_invented_names_is_not_final() -> None:
    assert not result("r", "ann bo", hidden=True).final


@pytest.mark.parametrize(
    ("facts", "countable"),
    [({}, True), ({"recorded": False}, True), ({"recordable": False}, False), ({"custom_goal": True}, False)],
)
def test_only_final_results_may_be_recorded(facts: dict[str, Any], countable: bool) -> None:
    assert result("r", "ann bo", **facts).countable is countable


def test_json_is_readable_and_omits_unknown_fields() -> None:
    race = result("r", "ann", dnf="bø", ended_at=datetime(2026, 3, 1, 12, tzinfo=UTC))
    assert race.to_json() == (
        '{"name":"orb/r","category":"orb","goal":"Any Orb","ended_at":"2026-03-01T12:00:00+00:00",'
        '"entrants":[{"user_id":"id-ann","name":"Ann","status":"done","finish_time":3600000000},'
        '{"user_id":"id-bø","name":"Bø","status":"dnf"}],'
        '"recorded":true,"recordable":true,"custom_goal":false,"hidden":false}'
    )


def test_fingerprint_ignores_names_order_places_and_recording() -> None:
    race = result("r", "ann bo", dnf="cy")
    print_ = race.fingerprint()
    ann, bo, cy = race.entrants
    assert replace(race, entrants=(cy, ann, bo)).fingerprint() == print_, "the order of listing"
    assert replace(race, entrants=(replace(ann, name="Anna"), bo, cy)).fingerprint() == print_, "a name"
    assert replace(race, recorded=False).fingerprint() == print_, "being recorded"
    assert replace(race, entrants=(replace(ann, place=2), bo, cy)).fingerprint() == print_, (
        "the site's place, if there is a time"
    )
    full = replace(ann, discriminator="0007", team_name="Reds")
    assert replace(race, entrants=(full, bo, cy)).fingerprint() == print_, "parts of names"


@given(st.permutations(range(4)))
def test_the_fingerprint_does_not_depend_on_where_deleted_accounts_are_listed(order: list[int]) -> None:
    people = (
        entrant("ann", time=HOUR),
        entrant("gone", time=HOUR + 1, user_id=None),
        entrant("lost", "dnf", user_id=None),
        entrant("bo", time=HOUR + 2),
    )
    shuffled = tuple(people[i] for i in order)
    assert result("r", entrants=shuffled).fingerprint() == result("r", entrants=people).fingerprint()


@pytest.mark.parametrize(
    "change",
    [
        {"finish_time": HOUR + 1},
        {"status": EntrantStatus.DQ},
        {"user_id": "id-else"},
        {"user_id": None},
        {"team": "red"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_fingerprint_depends_on_every_fact_of_an_entrant(change: dict[str, Any]) -> None:
    race = result("r", "ann bo")
    ann, bo = race.entrants
    assert replace(race, entrants=(replace(ann, **change), bo)).fingerprint() != race.fingerprint()


def test_the_fingerprint_depends_on_the_race() -> None:
    race = result("r", "ann bo")
    later = race.ended_at + timedelta(days=1)
    others = [replace(race, name="orb/s"), replace(race, goal="All Orbs"), replace(race, ended_at=later)]
    assert race.fingerprint() not in {other.fingerprint() for other in others}


def test_the_fingerprint_depends_on_places_where_there_are_no_times() -> None:
    first, second = (
        result("r", entrants=(entrant("ann", place=a), entrant("bo", place=b))) for a, b in ((1, 2), (2, 1))
    )
    assert first.fingerprint() != second.fingerprint()


def test_the_fingerprint_is_the_same_in_every_time_zone_and_session() -> None:
    race = result("r", "ann", dq="bo")
    elsewhere = race.ended_at.astimezone(datetime.fromisoformat("2026-01-01T00:00:00+09:00").tzinfo)
    assert replace(race, ended_at=elsewhere).fingerprint() == race.fingerprint()


def test_an_account_deleted_after_the_race_is_still_known_from_an_earlier_result() -> None:
    earlier = result("r", "ann bo", dnf="cy di")
    later = replace(
        earlier,
        entrants=tuple(
            replace(e, user_id=None, name="deleted account") if e.name in {"Bo", "Cy"} else e
            for e in earlier.entrants
        ),
    )
    assert later.fingerprint() != earlier.fingerprint()
    assert later.with_accounts_of(earlier).fingerprint() == earlier.fingerprint()


def test_an_entrant_with_another_result_is_not_matched_to_a_deleted_account() -> None:
    earlier = result("r", "ann bo")
    first, second = earlier.entrants
    changed = replace(earlier, entrants=(first, replace(second, user_id=None, status=EntrantStatus.DQ)))
    assert changed.with_accounts_of(earlier) == changed


def test_entrants_with_the_same_name_are_shown_with_their_discriminators() -> None:
    first, second, third, other = (
        entrant("ann", user_id="a1", discriminator="0001"),
        entrant("ann", user_id="a2", discriminator="0002"),
        entrant("ann", user_id="a3"),
        entrant("bo", discriminator="0003"),
    )
    assert shown_names([first, second, third, other]) == {
        first: "Ann#0001",
        second: "Ann#0002",
        third: "Ann",
        other: "Bo",
    }


def test_accounts_deleted_since_an_earlier_answer_are_matched_by_result() -> None:
    """Of two entrants with equal results, the one that still has an account is matched first."""
    before = result("r", "ann bo", dnf="cy di")
    after = replace(
        before,
        entrants=tuple(
            replace(e, user_id=None, name="deleted account", discriminator=None)
            if e.user_id in {"id-bo", "id-di"}
            else e
            for e in before.entrants
        ),
    )
    assert after.deleted_accounts(before) == ["id-bo", "id-di"]
    assert before.deleted_accounts(before) == []
    assert before.deleted_accounts(after) == []
