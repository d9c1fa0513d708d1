import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest
from builders import CATEGORY, GOAL, entrant, result
from hypothesis import example, given, settings, strategies as st

from racebot.chat.info_box import (
    INFO_LIMIT,
    META_LIMIT,
    info_block,
    merged_info,
    meta,
    meta_entry,
)
from racebot.chat.rating_message import (
    MESSAGE_LIMIT,
    announcement,
    correction,
    entries,
    players,
    split,
)
from racebot.ledger.outbox import Edit, MetaEntry
from racebot.ledger.rows import TEAM_RACE, Change, Leaderboard
from racebot.races.result import RaceResult
from racebot.settings.texts import Texts
from racebot.standings.settle import RatedRace
from racebot.text.safe import plain


def change(name: str, place: int | None, before: int, after: int, races: int = 5) -> Change:
    return Change(f"id-{name}", place, (before / 1000,), (after / 1000,), before, after, races)


NBSP = "\N{NO-BREAK SPACE}"
OPENING = "Ratings if recorded (Any Orb): "
CONTINUED = "Ratings, continued: "
SEPARATOR = f"{NBSP}· "
"""Lines may break behind the dot, not before it."""
RACE = result("r", "ann bo", dnf="cy")
CHANGES = [change("cy", None, 1420, 1402), change("ann", 1, 1712, 1745), change("bo", 2, 1650, 1641)]
BOARD = Leaderboard(CATEGORY, GOAL, (GOAL,), "thurstone-hurdle", {}, "ignore")


def rated(
    race: RaceResult = RACE, changes: Sequence[Change] = CHANGES, board: str = GOAL, note: str | None = None
) -> RatedRace:
    return RatedRace(replace(BOARD, name=board), race, tuple(changes), note)


def announced(
    race: RaceResult = RACE, changes: Sequence[Change] = CHANGES, texts: Texts | None = None
) -> list[str]:
    """Messages with ordinary spaces, to compare."""
    return [spaced(text) for text in announcement([rated(race, changes)], texts or Texts())]


def spaced(text: str) -> str:
    return text.replace(NBSP, " ").replace("\N{WORD JOINER}", "")


def written(race: RaceResult, changes: Sequence[Change], texts: Texts | None = None) -> list[str]:
    return [spaced(text) for text in players(rated(race, changes), texts or Texts()).values()]


# The rating message


def test_a_rating_message_lists_entrants_by_place_and_breaks_between_them() -> None:
    assert announced() == [f"{OPENING}1 Ann 1745 (+33) · 2 Bo 1641 (−9) · DNF Cy 1402 (−18)"]
    (text,) = announcement([rated()])
    entries = text.removeprefix(OPENING).split(SEPARATOR)
    assert not any(" " in entry for entry in entries)


def test_unfinished_come_before_disqualified_by_points_and_then_by_name() -> None:
    race = result("r", "ann", dnf="bo di", dq="cy")
    places = {"di": 1490, "cy": 1690, "bo": 1490}
    changes = [
        *(change(name, None, 1500, after) for name, after in places.items()),
        change("ann", 1, 1500, 1520),
    ]
    shown = ["1 Ann 1520 (+20)", "DNF Bo 1490 (−10)", "DNF Di 1490 (−10)", "DQ Cy 1690 (+190)"]
    assert written(race, changes) == shown


def test_two_leaderboards_share_one_message() -> None:
    boards = [rated(board="S4"), rated(board="All time")]
    (text,) = announcement(boards)
    entries = "1 Ann 1745 (+33) · 2 Bo 1641 (−9) · DNF Cy 1402 (−18)"
    assert spaced(text) == f"{OPENING}S4: {entries} · All time: {entries}"


def test_nothing_is_said_about_a_race_that_changes_nothing_or_with_an_empty_text() -> None:
    assert announcement([rated(changes=[])]) == []
    assert announcement([rated()], Texts(provisional="")) == []
    assert correction([rated()], {}, [], Texts(correction="")) == []


# Corrections


def test_a_correction_says_what_was_edited_and_only_the_entries_that_changed() -> None:
    before = entries([rated()])
    after = [change("cy", None, 1420, 1402), change("ann", 2, 1712, 1703), change("bo", 1, 1650, 1680)]
    edit = [Edit("id-bo", "time")]
    (text,) = correction([rated(result("r", "bo ann", dnf="cy"), after)], before, edit)
    assert spaced(text) == "Correction (Bo's time edited): 1 Bo 1680 (+30) · 2 Ann 1703 (−9)"


def test_a_correction_lists_the_whole_team_of_a_changed_entry() -> None:
    """Only a team's first entry names it, so another alone would read as one of the team before it."""
    race = result(
        "t", entrants=tuple(entrant(n, time=1, team=t) for n, t in zip("abcd", "rrgg", strict=True))
    )
    before = [change(name, place, 1000, 1000) for name, place in zip("abcd", (1, 1, 2, 2), strict=True)]
    board = replace(BOARD, teams="team")
    first, then = (
        RatedRace(board, race, tuple(changes))
        for changes in (before, [*before[:3], change("d", 2, 1000, 991)])
    )
    (text,) = correction([then], entries([first]), [])
    assert spaced(text).partition("): ")[2] == "2 g: C 1000 (±0) · D 991 (−9)"


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ([("bo", "dq")], "Bo disqualified"),
        ([("bo", "dnf")], "Bo set to DNF"),
        ([("bo", "done")], "Bo set to finished"),
        ([("bo", "time"), ("ann", "dq")], "Bo's time edited, Ann disqualified"),
        ([("bo", "time"), ("ann", "time"), ("cy", "done")], "result changed"),
        ([], "result changed"),
        ([("someone else", "time")], "result changed"),
        ([("bo", "promoted")], "result changed"),
    ],
)
def test_a_correction_names_the_edits(edits: list[tuple[str, str]], words: str) -> None:
    given = [Edit(f"id-{name}", edit) for name, edit in edits]
    assert correction([rated()], {}, given)[0].startswith(f"Correction ({words}): ")


def test_a_correction_lists_every_entry_if_the_announcement_is_unknown_and_says_if_there_is_none() -> None:
    (text,) = correction([rated()], {}, [])
    assert spaced(text).endswith(": 1 Ann 1745 (+33) · 2 Bo 1641 (−9) · DNF Cy 1402 (−18)")
    nothing = correction([rated(changes=[])], entries([rated()]), [])
    assert nothing == ["Correction (result changed): no rating changes"]


# The info box


def test_own_line_in_the_info_box_is_known_by_old_and_new_wording() -> None:
    texts = Texts(info="Wertung ({goal}): ")
    for own in ("Ratings by racebot (Any Orb): 1 Ann", "Wertung (Any Orb): 1 Ann"):
        assert merged_info(own, ["Wertung (Any Orb): new"], texts) == "Wertung (Any Orb): new"


def test_teams_are_named_before_their_members() -> None:
    race = result(
        "t",
        entrants=(
            entrant("ann", time=10, team="r", team_name="The @everyone"),
            entrant("bo", "dnf", team="b", team_name="Blues"),
            entrant("cy", time=20, team="r", team_name="The @everyone"),
            entrant("di", time=5, team="b", team_name="Blues"),
            entrant("ed", "dq", 4, team="g", team_name="Greys"),
            entrant("fay", time=15),
        ),
    )
    places = {"ann": 1, "cy": 1, "fay": 1, "bo": None, "di": None, "ed": None}
    changes = [change(name, place, 1000, 1000) for name, place in places.items()]
    by_team = RatedRace(replace(BOARD, teams="team"), race, tuple(changes))
    assert [spaced(text).partition(" 1000 (")[0] for text in players(by_team).values()] == [
        "1 Fay",
        "1 The ＠everyone: Ann",
        "Cy",
        "DNF Blues: Bo",
        "Di",
        "DNF Greys: Ed",
    ]
    assert written(race, changes)[0].startswith("1 Ann 1000 ("), "where each member counts alone"


# Length


def field(names: Sequence[str], board: str = GOAL) -> RatedRace:
    race = result("r", entrants=tuple(entrant(name, time=n) for n, name in enumerate(names)))
    return rated(race, [change(name, n + 1, 1500, 1500 - n) for n, name in enumerate(names)], board)


LONG = [f"漢字の長い名前のひと{n:02}".ljust(25, "字") for n in range(60)]


@pytest.mark.parametrize(("entrants", "most"), [(3, 1), (12, 1), (25, 2), (60, 4)])
def test_large_races_take_few_messages(entrants: int, most: int) -> None:
    race = field(LONG[:entrants])
    messages = announcement([race])
    assert len(messages) <= most
    assert all(len(message) <= MESSAGE_LIMIT for message in messages)
    assert all(message.startswith(CONTINUED) for message in messages[1:])
    assert all(len(message) > MESSAGE_LIMIT - 60 for message in messages[:-1]), "messages are filled"
    bodies = [messages[0].removeprefix(OPENING), *(text.removeprefix(CONTINUED) for text in messages[1:])]
    shown = [entry for body in bodies for entry in body.split(SEPARATOR)]
    assert shown == list(players(race).values()), "every entrant once, in one piece"


@given(st.text(max_size=30), st.lists(st.text(min_size=1, max_size=40), max_size=12), st.integers(20, 60))
def test_no_message_is_ever_too_long(opening: str, parts: list[str], limit: int) -> None:
    assert all(0 <= len(message) <= limit for message in split(opening, parts, limit=limit))


def test_dot_in_a_name_stays_unless_the_site_would_link_it() -> None:
    assert plain("dr.dashwood") == "dr.dashwood", "chat links addresses with a scheme only"
    block = info_block(field(["dr.dashwood"]))
    assert "Dr.Dashwood" not in block, "the info box links bare domains, too"
    assert "Dr\N{WORD JOINER}․\N{WORD JOINER}Dashwood" in block, "no line breaks inside the name"


users_text = st.text(st.characters(), max_size=60) | st.text(
    "@#:/ .everyonhcm\n\u202e\u200d\x00", max_size=30
)


def harmless(text: str) -> bool:
    return "@" not in text and "##" not in text and "://" not in text and text.splitlines() in ([text], [])


@given(st.lists(users_text, min_size=1, max_size=4), users_text, st.integers(0, 2))
def test_messages_never_repeat_users_text(names: list[str], goal: str, edited: int) -> None:
    named = result(
        "r", entrants=tuple(replace(entrant(str(n), time=n), name=name) for n, name in enumerate(names))
    )
    changes = [change(str(n), n + 1, 1500, 1510) for n in range(len(names))]
    board = rated(named, changes, goal)
    edits = [Edit("id-0", "time")] * edited
    for message in [*announcement([board]), *correction([board], {}, edits)]:
        assert harmless(message)
    assert harmless(info_block(board))
    assert all(map(harmless, announcement([rated(named, [], goal, TEAM_RACE)])))


# The info block


def test_an_info_block_names_eight_entrants_and_counts_the_rest() -> None:
    shown = "Ratings by racebot (Any Orb): 1 Ann 1745 (+33) · 2 Bo 1641 (−9) · DNF Cy 1402 (−18)"
    assert spaced(info_block(rated())) == shown
    race = field(LONG[:25])
    phrases = info_block(race).removeprefix("Ratings by racebot (Any Orb): ").split(SEPARATOR)
    assert phrases == [*list(players(race).values())[:8], "and 17 more"]


def test_an_info_block_links_the_race_page() -> None:
    """Chat closes with the record, so that no button leads to the page any more."""
    page = "https://example.org/races/orb/r.html"
    race = field(LONG[:25])
    assert info_block(race, page=page).endswith(f"and 17 more {page}")
    assert info_block(rated(), page=page).endswith(f"{SEPARATOR}{page}")
    assert info_block(race, Texts(more="", link=""), page=page).count(SEPARATOR) == 7


@given(st.integers(0, 80), st.integers(1, 60), st.text(max_size=1200))
@settings(max_examples=50)
def test_no_info_block_is_too_long(count: int, length: int, goal: str) -> None:
    names = [f"{n}".rjust(length, "x") for n in range(count)]
    assert len(info_block(field(names, goal))) <= INFO_LIMIT


OURS = "Ratings by racebot (Any Orb): 1 Ann 1712→1745 (+33)"
OLD = "Ratings by racebot (Any Orb): 1 Bo 1500→1510 (+10)"
SEED = "Seed: https://orbs.example/seed/77"


@pytest.mark.parametrize(
    ("existing", "merged"),
    [
        ("  \n", OURS),
        (OLD, OURS),
        (f"{SEED}\n", f"{SEED}\n{OURS}"),
        (f"{OLD}\n{SEED}", f"{SEED}\n{OURS}"),
        (f"{SEED}\n\nHash: a b c", f"{SEED}\n\nHash: a b c\n{OURS}"),
        (f"{SEED}\n{OURS}", None),
        ("x" * (999 - len(OURS)), "x" * (999 - len(OURS)) + "\n" + OURS),
        ("x" * (1000 - len(OURS)), None),
        ("x" * 990 + "\n", None),
    ],
)
def test_our_lines_stand_below_the_others_in_the_info_box(existing: str, merged: str | None) -> None:
    assert merged_info(existing, [OURS]) == merged
    in_use = foreign(existing) == existing.rstrip().split("\n")
    assert merged_info(existing, [OURS], append=False) == (None if in_use else merged)


def test_several_leaderboards_fit_as_space_allows() -> None:
    second = OURS.replace("Any", "All")
    assert merged_info(SEED, [OURS, second]) == f"{SEED}\n{OURS}\n{second}"
    long = OURS + "x" * 930
    assert merged_info(SEED, [long, second]) == f"{SEED}\n{second}"


def foreign(text: str) -> list[str]:
    lines = [line for line in text.split("\n") if not line.startswith("Ratings by racebot (")]
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


@given(
    st.lists(
        st.sampled_from([SEED, OURS, OLD, "", "  ", "tail  ", "\tx"]) | st.text(max_size=30), max_size=6
    ).map("\n".join),
    st.lists(st.sampled_from([OURS, OLD, OURS + "y" * 800]), min_size=1, max_size=3),
)
@example("one\x0btwo\u2028three\x85four\r\nfive ", [OURS])
@settings(max_examples=300)
def test_every_foreign_line_is_kept_as_it_stands(existing: str, blocks: list[str]) -> None:
    merged = merged_info(existing, blocks)
    if merged is None:
        return
    assert foreign(merged) == foreign(existing)
    assert len(merged) <= max(INFO_LIMIT, len(existing))
    assert merged != existing
    assert merged_info(merged, blocks) is None, "the site is told once"


# Meta


ENTRY = {
    "leaderboard": "Any Orb",
    "model": "thurstone-hurdle",
    "changes": {"id-ann": [1712, 1745], "id-bo": [1650, 1641], "id-cy": [1420, 1402]},
}


def meta_of(size: int, board: str = GOAL) -> MetaEntry:
    return meta_entry(field([f"{n:03}" for n in range(size)], board))


def entries_in(keys: dict[str, object]) -> list[dict[str, Any]]:
    return cast(list[dict[str, Any]], keys["racebot"])


def test_meta_lists_changes_by_place() -> None:
    existing = {"seed": 7, "racebot": ["our own old key takes no space" * 70]}
    (made,) = entries_in(meta(existing, [meta_entry(rated())]))
    assert made == ENTRY
    assert list(made["changes"]) == ["id-ann", "id-bo", "id-cy"]


def test_meta_drops_the_last_changes_and_counts_them() -> None:
    (made,) = entries_in(meta({}, [meta_of(200)]))
    kept = len(made["changes"])
    assert made["omitted"] == 200 - kept
    assert list(made["changes"]) == [f"id-{n:03}" for n in range(kept)]
    assert META_LIMIT - 40 < len(json.dumps({"racebot": [made]}).encode()) <= META_LIMIT


def test_meta_takes_from_the_longest_leaderboard() -> None:
    made = entries_in(meta({}, [meta_of(100, "Long"), meta_entry(rated())]))
    assert made[1] == ENTRY
    assert made[0]["omitted"] > 0


@given(
    st.dictionaries(st.text(max_size=8), st.text(max_size=300), max_size=6),
    st.lists(st.integers(0, 120), max_size=3),
)
@settings(max_examples=50)
def test_meta_fits_beside_the_keys_of_other_bots(others: dict[str, str], sizes: list[int]) -> None:
    boards = [meta_of(size, f"Board {b}") for b, size in enumerate(sizes)]
    ours = meta(others, boards)
    assert set(ours) == {"racebot"}
    whole = len(json.dumps({**others, **ours}).encode())
    least = len(json.dumps({**others, "racebot": []}).encode())
    assert whole <= max(META_LIMIT, least)
    entries = entries_in(ours)
    for made, board in zip(entries, boards, strict=bool(entries)):
        assert len(made["changes"]) + made.get("omitted", 0) == len(board.changes)
