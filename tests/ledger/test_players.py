"""Names, lookups and profiles of players."""

from dataclasses import replace

import pytest
from builders import NOON, entrant, existing, keep, result, settler_of

from racebot.errors import NoSuchEntryError
from racebot.ledger.rows import CategoryProfile
from racebot.ledger.store import Ledger
from racebot.races.result import NO_NAME, Entrant, Profile, RaceResult
from racebot.standings import orders
from racebot.standings.settle import Settler


def named(slug: str, after: float, name: str, discriminator: str | None = None) -> RaceResult:
    racer = replace(entrant("ann", time=1), name=name, discriminator=discriminator)
    return result(slug, entrants=(racer,), after=after)


def ann(user_id: str, discriminator: str | None, time: int = 1) -> Entrant:
    return entrant("ann", time=time, user_id=user_id, discriminator=discriminator)


def two_anns(slug: str = "r", first: str | None = "0001", second: str | None = "0002") -> RaceResult:
    return result(slug, entrants=(ann("a1", first), ann("a2", second, time=2)))


def shown(ledger: Ledger, player: str) -> str:
    return existing(ledger.players.get(player)).shown


def test_a_removed_player_has_no_name(ledger: Ledger) -> None:
    keep(ledger, result("r", "ann bo"))
    names = ledger.people.names(["id-bo", "id-gone", "id-ann"])
    assert names == {"id-bo": "Bo", "id-gone": NO_NAME, "id-ann": "Ann"}


def test_players_are_found_by_id_or_by_name_in_any_case(ledger: Ledger) -> None:
    keep(ledger, result("r", "ann annabel bo"))
    assert ledger.players.find("id-ann").name == "Ann"
    assert ledger.players.find("aNN").id == "id-ann"
    with pytest.raises(NoSuchEntryError, match=r"Did you mean Ann \(id-ann\), Annabel \(id-annabel\)\?"):
        ledger.players.find("nn")
    with pytest.raises(NoSuchEntryError, match=r"no player 'zed' in the ledger$"):
        ledger.players.find("zed")


def test_site_shows_current_names_in_old_races_and_archives_do_not(ledger: Ledger) -> None:
    for race, source, expected in (
        (named("e", 1, "id-ann"), "import", "id-ann"),  # an archive without names
        (named("f", 0, "Ann"), "import", "Ann"),  # any name is better than none
        (named("g", 1.5, "id-ann"), "import", "Ann"),
        (named("b", 2, "Anna"), "live", "Anna"),
        (named("a", 1, "Ann"), "import", "Anna"),
        (named("d", 3, "Annie"), "import", "Annie"),
        (named("c", 0, "Annika"), "backfill", "Annika"),
    ):
        ledger.races.save(race, counted_at=race.ended_at, source=source)
        assert ledger.players.find("id-ann").name == expected


# Discriminators


def test_players_with_the_same_name_are_shown_with_their_discriminators(ledger: Ledger) -> None:
    keep(ledger, two_anns(), result("s", "bo"))
    assert [shown(ledger, player) for player in ("a1", "a2", "id-bo")] == ["Ann#0001", "Ann#0002", "Bo"]
    keep(ledger, result("t", entrants=(replace(ann("a2", "0002"), name="Annika"),), after=1))
    assert [shown(ledger, player) for player in ("a1", "a2")] == ["Ann", "Annika"]


def test_a_discriminator_finds_exactly_one_player(ledger: Ledger) -> None:
    keep(ledger, two_anns())
    assert ledger.players.find("ann#0002").id == "a2"
    assert ledger.people.subject("Ann#0001").id == "a1"
    with pytest.raises(NoSuchEntryError, match=r"Ann#0001 \(a1\), Ann#0002 \(a2\)"):
        ledger.players.find("Ann")
    with pytest.raises(NoSuchEntryError, match="Ann#0003"):
        ledger.players.find("Ann#0003")


def test_a_discriminator_is_learned_from_later_races_and_kept(ledger: Ledger) -> None:
    """Ledgers of earlier versions hold none, and archives never have them."""
    keep(ledger, named("a", 5, "Ann"))
    assert ledger.players.find("Ann#0001").discriminator == "", "an unknown discriminator may be any"
    keep(ledger, named("b", 1, "Ann", "0001"))
    assert ledger.players.find("Ann#0001").discriminator == "0001"
    keep(ledger, named("c", 9, "Ann"))
    assert ledger.players.find("Ann").discriminator == "0001"
    keep(ledger, named("d", 10, "Ann", "0777"))
    assert ledger.players.find("Ann").discriminator == "0777"


@pytest.mark.parametrize("text", ["Ann", "ann", "nobody", "Ann#0003", "Bo", "a"])
def test_an_exact_lookup_takes_ids_and_full_names_alone(ledger: Ledger, text: str) -> None:
    keep(ledger, two_anns(), result("s", "bo"))
    with pytest.raises(NoSuchEntryError, match="is not the id or name#1234 of a player"):
        ledger.people.subject(text)


def test_an_exact_lookup_guesses_no_discriminator_and_no_accent(ledger: Ledger) -> None:
    keep(ledger, result("r", "bo"), result("s", entrants=(entrant("ólöf", time=1, discriminator="0007"),)))
    for text, player in (("Bo#0007", "id-bo"), ("olof#0007", "id-ólöf")):
        assert ledger.players.find(text).id == player
        with pytest.raises(NoSuchEntryError, match=rf"Did you mean .* \({player}\)\? Give the id"):
            ledger.people.subject(text)
    assert ledger.people.subject("ólöf#0007").id == "id-ólöf"


def test_players_are_found_without_their_accents(ledger: Ledger) -> None:
    keep(ledger, result("r", "ólöf elan élan"))
    assert ledger.players.find("olof").id == "id-ólöf"
    assert ledger.players.find("elan").id == "id-elan", "an exact name comes first"
    assert ledger.players.find("ÉLAN").id == "id-élan"


def test_players_are_found_by_part_of_a_name_or_full_name(ledger: Ledger) -> None:
    keep(ledger, two_anns(), result("s", "hannah bo"))
    assert ledger.players.containing("ÁN") == ["a1", "a2", "id-hannah"]
    assert ledger.players.containing("ann#0002") == ["a2"]
    assert ledger.players.containing("0002") == ledger.players.containing(" ") == []


def test_a_renamed_player_is_found_without_the_new_accents(ledger: Ledger) -> None:
    keep(ledger, named("a", 1, "Ann"), named("b", 2, "Änne"))
    assert ledger.players.find("anne").id == "id-ann"
    assert ledger.players.called("ann", roughly=True) == []


def test_a_typo_is_answered_with_similar_names(ledger: Ledger) -> None:
    keep(ledger, result("r", "zaphkiel ólöf bo"))
    assert [player.id for player in ledger.players.like("zapkiel", 3)] == ["id-zaphkiel"]
    assert [player.id for player in ledger.players.like("ollof", 3)] == ["id-ólöf"]
    assert ledger.players.like("quickthorn", 3) == []
    assert ledger.players.like("", 3) == []
    with pytest.raises(NoSuchEntryError, match=r"Did you mean Zaphkiel \(id-zaphkiel\)\?"):
        ledger.players.find("zapkiel")


# Profiles: the newest from the site is kept, files only fill gaps, forgotten players have none

OLD = Profile("/media/old.png", "they/them", "ann_runs")
NEW = Profile("https://media.example.org/new.png", "she/her", "")


def race(slug: str, profile: Profile | None, after: float = 0) -> RaceResult:
    entrants = (replace(entrant("ann", time=3), profile=profile), entrant("bo", time=4))
    return result(slug, entrants=entrants, after=after)


def settler(ledger: Ledger) -> Settler:
    return settler_of(ledger, "pairwise-elo")


def test_newest_profile_from_the_site_is_kept_and_changes_no_rating(ledger: Ledger) -> None:
    settler(ledger).add_past_races([race("a", OLD)], "backfill")
    # An old race shows today's profile.
    settler(ledger).add_past_races([race("b", None, after=-24)], "backfill")
    report = settler(ledger).add_past_races([race("b", NEW, after=-24)], "backfill")
    assert (report.known, report.changed) == (1, 0)
    assert ledger.profiles.get("id-ann") == NEW
    assert ledger.profiles.get("id-bo") == Profile()


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
