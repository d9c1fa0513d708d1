from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from builders import HOUR, entrant, result
from hypothesis import given, strategies as st

from racebot.races.result import NO_NAME, Entrant, EntrantStatus, shown_names


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


TIED = (
    entrant("ann", time=HOUR),
    entrant("gone", time=HOUR + 1, user_id=None),
    entrant("lost", "dnf", user_id=None),
    entrant("bo", time=HOUR + 2),
)


@pytest.mark.parametrize(
    "facts",
    [
        {"name": "Anna"},
        {"place": 2},  # the site's place, if there is a time
        {"discriminator": "0007"},
        {"team_name": "Reds"},
    ],
    ids=lambda facts: next(iter(facts)),
)
def test_the_fingerprint_ignores_what_changes_no_rating(facts: dict[str, Any]) -> None:
    race = result("r", entrants=TIED)
    changed = replace(race, recorded=False, entrants=(replace(TIED[0], **facts), *TIED[1:]))
    elsewhere = race.ended_at.astimezone(timezone(timedelta(hours=9)))
    assert replace(changed, ended_at=elsewhere).fingerprint() == race.fingerprint()


@given(st.permutations(TIED))
def test_the_fingerprint_does_not_depend_on_the_order_of_listing(entrants: list[Entrant]) -> None:
    shuffled = result("r", entrants=tuple(entrants))
    assert shuffled.fingerprint() == result("r", entrants=TIED).fingerprint()


@pytest.mark.parametrize(
    "change",
    [
        {"finish_time": HOUR + 1},
        {"status": EntrantStatus.DQ},
        {"user_id": "id-else"},
        {"user_id": None},
        {"team": "red"},
        {"finish_time": None, "place": 2},
        {"finish_time": None, "place": 3},
    ],
    ids=str,
)
def test_the_fingerprint_depends_on_every_fact_of_an_entrant_and_of_the_race(change: dict[str, Any]) -> None:
    race = result("r", "ann bo")
    ann, bo = race.entrants
    later = race.ended_at + timedelta(days=1)
    others = [replace(race, name="orb/s"), replace(race, goal="All Orbs"), replace(race, ended_at=later)]
    others += [replace(race, entrants=(replace(ann, finish_time=None, place=1), bo))]
    changed = replace(race, entrants=(replace(ann, **change), bo))
    assert changed.fingerprint() not in {race.fingerprint(), *(other.fingerprint() for other in others)}
    assert race.fingerprint() not in {other.fingerprint() for other in others}


def test_an_account_deleted_after_the_race_is_still_known_from_an_earlier_result() -> None:
    """Of two entrants with equal results, the one that still has an account is matched first."""
    earlier, gone = result("r", "ann bo", dnf="cy di"), {"id-bo", "id-di"}
    shown = (replace(e, user_id=None, name=NO_NAME) if e.user_id in gone else e for e in earlier.entrants)
    later = replace(earlier, entrants=tuple(shown))
    assert later.fingerprint() != earlier.fingerprint()
    assert later.with_accounts_of(earlier).fingerprint() == earlier.fingerprint()
    assert later.deleted_accounts(earlier) == ["id-bo", "id-di"]
    assert earlier.deleted_accounts(earlier) == earlier.deleted_accounts(later) == []


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
