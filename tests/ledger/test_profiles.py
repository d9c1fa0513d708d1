"""Profiles: the newest from the site is kept, files only fill gaps, forgotten players have none."""

from __future__ import annotations

from dataclasses import replace

from builders import NOON, entrant, result

from racebot.ledger.rows import CategoryProfile
from racebot.ledger.store import Ledger
from racebot.races.result import Profile, RaceResult
from racebot.standings import orders
from racebot.standings.counting import LeaderboardPlan, Plans
from racebot.standings.settle import Settler

OLD = Profile("/media/old.png", "they/them", "ann_runs")
NEW = Profile("https://media.example.org/new.png", "she/her", "")


def race(slug: str, profile: Profile | None, after: float = 0) -> RaceResult:
    entrants = (replace(entrant("ann", time=3), profile=profile), entrant("bo", time=4))
    return result(slug, entrants=entrants, after=after)


def settler(ledger: Ledger) -> Settler:
    return Settler(ledger, Plans(LeaderboardPlan("pairwise-elo")))


def test_newest_profile_from_the_site_is_kept_and_changes_no_rating(ledger: Ledger) -> None:
    settler(ledger).add_past_races([race("a", OLD)], "backfill")
    # An old race shows today's profile.
    settler(ledger).add_past_races([race("b", None, after=-24)], "backfill")
    report = settler(ledger).add_past_races([race("b", NEW, after=-24)], "backfill")
    assert (report.known, report.changed) == (1, 0)
    assert ledger.profiles.get("id-ann") == NEW
    assert ledger.profiles.get("id-bo") == Profile()
    assert ledger.profiles.avatars() == {"id-ann": NEW.avatar}


def test_files_only_fill_gaps_in_profiles(ledger: Ledger) -> None:
    settler(ledger).add_past_races([race("a", OLD)], "import")
    assert ledger.profiles.get("id-ann") == OLD
    settler(ledger).add_past_races([race("a", NEW)], "import")
    assert ledger.profiles.get("id-ann") == OLD


def test_stored_results_hold_no_profile(ledger: Ledger) -> None:
    assert "media" not in race("a", OLD).to_json()
    assert race("a", OLD) == race("a", NEW)
    assert race("a", OLD).fingerprint() == race("a", None).fingerprint()


def test_forgotten_player_has_no_profile_again(ledger: Ledger) -> None:
    settling = settler(ledger)
    settling.add_past_races([race("a", OLD)], "backfill")
    player = ledger.players.find("id-ann")
    orders.forget(settling, player, "", NOON)
    assert ledger.profiles.get("id-ann") == Profile()
    settling.add_past_races([race("a", NEW), race("b", NEW, after=1)], "backfill")
    ledger.profiles.save(race("c", NEW).entrants, current=True)
    assert ledger.profiles.get("id-ann") == Profile()


def test_category_profile_is_the_newest(ledger: Ledger) -> None:
    assert ledger.profiles.category("orb") is None
    ledger.profiles.save_category("orb", CategoryProfile("Orbs"))
    ledger.profiles.save_category("orb", CategoryProfile("Orb Racing", "/media/orb.png"))
    assert ledger.profiles.category("orb") == CategoryProfile("Orb Racing", "/media/orb.png")
    assert ledger.profiles.pictures() == ["/media/orb.png"]
