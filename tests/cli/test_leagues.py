"""A league from an empty folder, against the sandbox: set up, rooms, ratings."""

import asyncio
import csv
import json
import random
import tomllib
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from racebot.ledger.store import Ledger
from racebot.sandbox import render
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.server import serve
from racebot.sandbox.site import FakeSite
from racebot.scoring.rules import rules_of
from racebot.settings.sources import load

from .conftest import Done, Racebot

OFFICIAL = "Orb%"
GOAL = "SGL 2026 q1"


class League(NamedTuple):
    """A served site, and commands in an empty folder that use it."""

    site: FakeSite
    address: str
    racebot: Racebot

    async def run(self, *words: str) -> Done:
        return await asyncio.to_thread(self.racebot, *words)

    async def begin(self, pattern: str = "SGL 2026*") -> Done:
        return await self.run("setup", "--league", pattern, "--category", "ootr", "--site", self.address)


@pytest.fixture
async def league(racebot: Racebot, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[League]:
    """A category with two races of its own goal, and one room of a league."""
    site = FakeSite(category="ootr", goals=(OFFICIAL,))
    for goal in (OFFICIAL, OFFICIAL, GOAL):
        play(site, goal, ["Ann", "Bo", "Cy"], hours_ago=4)
    monkeypatch.setenv("RACEBOT_REQUEST_INTERVAL", "0")
    async with serve(site, list_cache=0.0, race_cache=0.0) as address:
        yield League(site, address, racebot)


def play(site: FakeSite, goal: str, names: Sequence[str], hours_ago: float) -> FakeRoom:
    """Play a race of an hour in which racers finish a minute apart. Official goals are recorded."""
    known = {user.name: user.id for user in site.users.values()}
    room = site.open_race(goal, custom_goal=goal not in site.category.goals)
    for name in names:
        room.enter(known.get(name) or site.add_user(name).id)
    room.start(ago=timedelta(hours=hours_ago))
    for minutes, entrant in enumerate(room.entrants):
        room.finish(entrant.user.id, timedelta(hours=1, minutes=minutes))
    assert room.started_at
    room.ended_at = room.started_at + timedelta(hours=1, minutes=len(names) - 1)
    if not room.custom_goal:
        room.record()
    return room


async def test_one_command_sets_up_a_league_that_lists_its_racers(league: League) -> None:
    done = await league.begin()
    assert (done.code, done.err.count("Error")) == (0, 0), done.err
    (table,) = tomllib.loads(Path("racebot.toml").read_text())["leaderboards"]
    rooms = {"name": "SGL 2026", "category": "ootr", "custom_goals": ["SGL 2026*"]}
    assert table == rooms | {"counts": "finished", "grace": "1 h"}
    assert load().read_only() == ["ootr"]
    shown = await league.run("leaderboard")
    assert "1 race, 3 players" in shown.out
    assert OFFICIAL not in shown.out
    again = await league.begin()
    assert again.code == 2 and "already" in again.complaints[0]


async def test_goals_of_the_category_that_fit_the_league_count_too(league: League) -> None:
    await league.begin("orb*")
    (board,) = load().leaderboards
    assert (board.goals, board.custom_goals) == ([OFFICIAL], ("orb*",))


async def test_a_backfill_replaces_a_damaged_race_of_a_new_leaderboard(league: League) -> None:
    await league.begin("orb*")
    table = Path("racebot.toml").read_text()
    with Ledger.open(load().database) as ledger:
        ledger.connection.write("UPDATE races SET result = '{'")
    Path("racebot.toml").write_text(table + table.replace('name = "orb"', 'name = "again"'))
    done = await league.run("backfill")
    assert (done.code, done.out.count("2 races, 3 players")) == (0, 2), done.err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--league", "SGL*"), "--category"),
        (("--league", "*", "--category", "ootr"), "name"),
        (("--league", "SGL*", "--category", "nosuch"), "nosuch"),
    ],
)
async def test_a_refused_league_changes_nothing(league: League, words: tuple[str, ...], named: str) -> None:
    done = await league.run("setup", "--site", league.address, *words)
    assert done.code == 2
    assert named in done.complaints[0]
    assert not list(Path().iterdir())


async def test_rooms_come_with_the_number_that_counts_and_alike_ones_together(
    league: League, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(league.site, "Quali of 2026", ["Ann", "Bo"], hours_ago=4)
    await league.begin()
    for console in ("console", "notices"):
        monkeypatch.setattr(f"racebot.cli.common.{console}._width", 80)
    done = await league.run("rooms", "SGL 2026")
    lines = done.out.splitlines()
    assert lines[0] == "SGL 2026: 1 of 4 rooms count"
    assert all(len(line) <= 80 for line in lines)
    marks = [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]
    assert marks == ["yes", "no", "no"]
    assert "and 1 more" in done.out
    assert "nearest: 'SGL 2026*'" in done.out


async def test_rooms_are_judged_by_the_current_names_of_goals(league: League) -> None:
    await league.begin("orb*")
    league.site.category = replace(league.site.category, goals=["Any New"])
    for each in league.site.rooms.values():
        each.goal = "Any New" if each.goal == OFFICIAL else each.goal
    await league.run("backfill")
    assert "orb: 2 of 3 rooms count" in (await league.run("rooms", "orb")).out


async def test_a_league_whose_category_nobody_names_says_so(league: League) -> None:
    Path("racebot.toml").write_text('[[leaderboards]]\nname = "S"\ncustom_goals = "S"\ncounts = "finished"\n')
    done = await league.run("rooms", "S")
    assert done.code == 2
    assert "category" in done.complaints[0]


async def test_races_that_have_to_stand_first_are_said_to_wait(league: League) -> None:
    play(league.site, "SGL 2026 q2", ["Ann", "Bo"], hours_ago=1.5)
    ended = max(room.ended_at for room in league.site.rooms.values() if room.ended_at)
    begun = await league.begin()
    assert f"1 race waits until {ended + timedelta(hours=1):%Y-%m-%d %H:%M} UTC" in begun.out
    table = Path("racebot.toml").read_text()
    other = table.replace("SGL 2026", "Other").replace("1 h", "5 h")
    Path("racebot.toml").write_text(table + other)
    at = f"{ended + timedelta(hours=5):%Y-%m-%d %H:%M}"
    until = f"1 race waits until {at} UTC"
    assert "1 waiting, 2 not counted" in begun.out
    assert until in (await league.run("leaderboard")).out
    status = await league.run("status")
    assert "Finished, to be counted: 1" in status.out
    assert f"waits until {at} UTC (it needs no record)" in status.out
    await league.run("export-site", "site")
    page = next(Path("site/leaderboards").rglob("sgl-2026.html"))
    waits = page.read_text().partition("1 race of this category waits until")[2][:80]
    assert at in waits.replace("T", " "), waits
    waiting = next(room.name for room in league.site.rooms.values() if room.goal.endswith("q2"))
    await league.run("count", waiting)
    assert "2 unchanged, 2 not" in (await league.run("backfill")).out
    assert "waits" not in (await league.run("leaderboard")).out
    await league.run("export-site", "site")
    assert "of this category waits until" not in page.read_text()
    assert '"status">counts<' in Path(f"site/races/{waiting}.html").read_text()


async def test_scores_come_first_with_what_each_racer_needs_and_the_rules(league: League) -> None:
    await league.begin()
    toml = Path("racebot.toml")
    toml.write_text(toml.read_text() + 'scoring = { rules = "sgl-2025", races = 4 }\ncut = 1\n')
    shown = (await league.run("leaderboard")).out
    first, rest = shown.split("SGL 2026 (")
    assert "points" not in first.lower()
    # The par of one race of 60, 61 and 62 minutes is 61; one race is divided by three.
    assert "101.6 ÷ 3" in first and "33.880" in first
    assert "needs" in first or "inside the cut" in first
    assert f"{rules_of('sgl-2025').words}." in " ".join(first.split())
    assert "1 race, " in rest


async def tells_all_in_a_report_and_seeds_for_brackets(league: League, seeds: list[Any]) -> None:
    for file in ("report.html", "report.csv"):
        done = await league.run("report", "SGL 2026", file)
        assert done.code == 0, done.err
    rows = list(csv.DictReader(Path("report.csv").read_text().splitlines()))
    kinds = Counter(row["kind"] for row in rows)
    assert (kinds["standing"], kinds["race"]) == (len(seeds), 6)
    assert {row["note"] for row in rows if row["note"].startswith(("annul", "penalty", "skip:"))} == {
        "annul: no video",
        "annul: cheated",
        "penalty +20:00: =warped",
        "penalty +1:30: late",
        "skip: wrong seed",
        "skip: too early",
    }
    page = Path("report.html").read_text()
    assert all(text in page for text in ("=warped", "no video", seeds[0]["name"], "<h2>Results</h2>"))
    names = [seed["name"] for seed in seeds]
    # https://kb.challonge.com/en/article/participant-management-1m6ooqe: one name per line
    assert (await league.run("seeds", "SGL 2026", "--for", "challonge")).out.splitlines() == names
    tags = [f"TSM | {names[1]}", "Nobody", names[0].lower()]
    lines = [f"{n},{tag},{100 + n}" for n, tag in enumerate(tags)]
    Path("phase.csv").write_text("\n".join(["Seed,Gamer Tag,Seed ID", *lines]))
    done = await league.run("seeds", "SGL 2026", "--entrants", "phase.csv", "--for", "start.gg")
    expected = ["seedNum,gamerTag,seedId", f"1,{tags[2]},102", f"2,{names[1]},100", "3,Nobody,101"]
    assert (done.out.splitlines(), "Nobody" in done.err) == (expected, True)


@pytest.mark.parametrize(("seed", "file"), [(1, "league.json"), (2, "league.csv")])
async def test_what_leaves_comes_back_with_all_it_was(league: League, seed: int, file: str) -> None:
    """A league of random fields with all that orders, sheets and names can do to it."""
    rng = random.Random(seed)
    people = ["Ann", "Bo", "=Cy", "Dee", "Eve", "Finn"]
    rooms = [
        play(league.site, f"SGL 2026 q{n}", rng.sample(people, rng.randint(3, 6)), hours_ago=60 - 8 * n)
        for n in range(2, 6)
    ]
    rooms.append(play(league.site, "SGL 2026 q6", [*people[:3], "Hid", "Alt"], hours_ago=10))
    rooms += [play(league.site, f"SGL 2026 q{n}", people, hours_ago=1.5) for n in (7, 8)]
    await league.begin()
    toml = Path("racebot.toml")
    toml.write_text(toml.read_text() + 'scoring = "sgl-2025"\n')
    out, second, late = rooms[0].entrants[0].user, rooms[0].entrants[1].user, rooms[3].entrants[0].user
    hidden, alt = (entrant.user for entrant in rooms[4].entrants[-2:])
    on_twitch = (render.user(second, league.site.category) or {})["twitch_name"] or second.name
    name = next(each.user.name for each in rooms[4].entrants if each.user not in {out, second})
    new, twin = league.site.add_user("Zoe"), league.site.add_user(name)
    sheet = f"Old Pal,59:00\n{new.full_name},58:00\nStranger,DNF\n{twin.full_name},57:00\n"
    Path("async.csv").write_text(f"player,time\n{sheet}")
    for words in (
        ("event", "create", "Async", "--leaderboard", "SGL 2026", "--until", "2027"),
        ("event", "add", "Async", rooms[0].name, rooms[1].name, "async.csv", "--guest", "Old Pal"),
        ("annul", "Async", out.full_name, "--reason", "no video"),
        ("count", rooms[5].name),
        ("event", "close", "Async"),
        ("annul", "Async", twin.full_name, "--reason", "cheated"),
        ("penalty", "Async", on_twitch.upper(), "+20:00", "--reason", "=warped"),
        ("penalty", rooms[3].name, f"{league.address}/user/{late.id}/x", "1:30", "--reason", "late"),
        ("skip", rooms[2].name, "--reason", "wrong seed"),
        ("skip", rooms[6].name, "--reason", "too early"),
        ("merge", "guest-old-pal", alt.id, "--yes"),
        ("hide", hidden.id),
        ("export-races", "SGL 2026", file),
    ):
        done = await league.run(*words)
        assert done.code == 0, done.err
    skipped = "1 race skipped by a moderator, 1 race skipped by a moderator before it counted"
    assert (skipped in done.out, "Async: no video" in done.out) == (True, True), done.out
    verdicts = Counter(line.strip() for line in (await league.run("rooms", "SGL 2026")).out.splitlines())
    assert verdicts["skipped by a moderator"] == verdicts["part of ootr/event-async"] == 1
    waiting = [await league.run(command) for command in ("leaderboard", "status", "backfill")]
    assert not any(rooms[6].name in each.out or "wait" in each.out for each in waiting)
    asked = (("leaderboard", "--json"), ("seeds", "SGL 2026", "--json"))
    before = [json.loads((await league.run(*words)).out) for words in asked]
    await tells_all_in_a_report_and_seeds_for_brackets(league, before[1]["seeds"])
    # One of the fixture, three by themselves, and the event of two; two are skipped.
    assert "5 races" in (await league.run("evaluate", file, "--model", "thurstone-hurdle")).err
    elsewhere = ("--database", "other.db")
    imported = await league.run("import", file, *elsewhere)
    assert (imported.code, "5 new races" in imported.out) == (0, True), imported.err
    (board,), seeds = [json.loads((await league.run(*words, *elsewhere)).out) for words in asked]
    assert (board["players"], seeds) == (before[0][0]["players"], before[1]), "with names on Twitch"
    assert twin.full_name not in str(board) and f"{name}#" in str(board)
    assert before[0][0]["races"] == board["races"] == 5
    counts = [(await league.run(command)).out for command in ("leaderboard", "status", "verify")]
    assert all("5 races, " in each for each in counts), "without those that are skipped"
    toml.write_text(toml.read_text().replace('name = "SGL 2026"', 'name = "Other"'))
    assert "'SGL 2026'" in (await league.run("import", file, "--database", "misnamed.db")).err
    again = await league.run("export-races", "SGL 2026", f"again-{file}", *elsewhere)
    assert (again.code, Path(f"again-{file}").read_text()) == (0, Path(file).read_text())
    await league.run("penalty", rooms[3].name, late.id, "0", *elsewhere)
    audit = json.loads((await league.run("audit", "--json", *elsewhere)).out)
    assert {each["amount"] for each in audit} == {None, 0, 90_000_000, 1_200_000_000}, "None: hidden"


async def test_a_sheet_names_people_whom_only_the_site_knows_and_guests_for_later(
    league: League,
) -> None:
    """By name, by name#1234, and by the profile's address."""
    await league.begin()
    new = [league.site.add_user(name) for name in ("Zoe", "Zoe", "Yan", "Xia")]
    named = [new[0].full_name, f"{league.address}/user/{new[1].id}/zoe", "yan", "Xia"]
    Path("async.csv").write_text("\n".join(["player,time", "Zoe,59:00"]))
    create = ("event", "create", "Async", "--leaderboard", "SGL 2026", "--until", "2027")
    assert (await league.run(*create)).code == 0
    refused = await league.run("event", "add", "Async", "async.csv")
    assert (refused.code, new[0].full_name in refused.complaints[-1]) == (2, True), "two are named so"
    lines = [f"{name},1:0{n}:00" for n, name in enumerate(["Old Pal", *named])]
    Path("async.csv").write_text("\n".join(["player,time", *lines]))
    for words in (
        ("event", "add", "Async", "async.csv", "--guest", "Old Pal"),
        ("event", "close", "Async"),
    ):
        done = await league.run(*words)
        assert done.code == 0, done.err
    race = json.loads((await league.run("race", "event-async", "--json")).out)
    assert [(each["id"], each["name"].partition("#")[0]) for each in race["result"]] == [
        ("guest-old-pal", "Old Pal"),
        *((user.id, user.name) for user in new),
    ]
    pal = league.site.add_user("Pal")  # who has not raced
    assert (await league.run("merge", "guest-old-pal", pal.name, "--yes")).code == 2, "not unique"
    merged = await league.run("merge", "guest-old-pal", pal.full_name, "--yes")
    assert merged.code == 0, merged.err
    race = json.loads((await league.run("race", "event-async", "--json")).out)
    assert (race["result"][0]["id"], race["result"][0]["name"]) == (pal.id, pal.name)
    assert (await league.run("verify")).code == 0
