"""All answers about a leaderboard, in a form that can be compared, and new ledgers that must give the same.

A new ledger knows nothing of orders but names to hide: each leaderboard lists by name the rooms that count.
"""

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any

from builders import CATEGORY, existing, room
from pydantic import SecretStr

from racebot.bot.discord import body_of, race_embeds
from racebot.bot.room.announcements import shown_race
from racebot.chat.answers import Answers
from racebot.chat.info_box import info_block
from racebot.ledger.outbox import Post
from racebot.ledger.races import EXCLUDED, SKIPPED
from racebot.ledger.rows import NamedPlayer
from racebot.ledger.store import Ledger
from racebot.queries.export_races import counted_results, csv_text
from racebot.queries.leaderboard import leaderboard_report
from racebot.queries.player import player_report
from racebot.queries.race import race_report
from racebot.queries.records import hall_of_fame, recap
from racebot.queries.scores import document, league
from racebot.queries.seeds import seed_list
from racebot.queries.standings import listing_of
from racebot.races.result import RaceResult
from racebot.racetime.payload import Race
from racebot.settings.commands import Command, ParsedCommand
from racebot.settings.model import Settings
from racebot.standings import orders
from racebot.standings.counting import rating_rules
from racebot.standings.follow_settings import apply_settings
from racebot.standings.settle import Settler

from .truth import LEAGUE, TAG, WEEK, Plan, Truth

Counted = Mapping[str, Sequence[tuple[RaceResult, datetime]]]
ASKED = (Command.RATING, Command.WHY, Command.SCORE, Command.NEED)
OWN = {"sequence", "source", "goals", "parameters", "races", "updated_at", "category"}
"""Fields that may differ: a race that is left out keeps its number, and a new ledger has other settings."""
WEBHOOK = SecretStr("https://discord.com/api/webhooks/1234567890/secret")


def settings_of(plan: Plan) -> Settings:
    return _settings(model=plan.model, parameters=plan.parameters, leaderboards=list(plan.boards()))


def _settings(**facts: Any) -> Settings:
    return Settings(category=CATEGORY, minimum_finishes=2, discord_webhook=WEBHOOK, pages_url=None, **facts)


@dataclass(frozen=True)
class Side:
    """A ledger to ask, and the open room in which each leaderboard is asked about."""

    ledger: Ledger
    settings: Settings
    rooms: Mapping[str, Race]


def live_side(ledger: Ledger, settings: Settings, truth: Truth) -> Side:
    """Return a ledger with rooms of the goals that the site has now."""
    rooms = {LEAGUE: room(WEEK, custom_goal=True, info=TAG, recordable=False)}
    for goal, name in enumerate(truth.goals):
        rooms |= {board: room(name) for board in truth.goal_boards(goal)}
    return Side(ledger, settings, rooms)


@contextmanager
def new_side(truth: Truth, counted: Counted, odds: Mapping[str, Any], now: datetime) -> Iterator[Side]:
    """Rate the races that count, and nothing else, in a new ledger. Fitted odds are given."""
    seasons = {each.name: truth.source_of(each) for each in truth.plan.seasons}
    rooms = {name: room(slug=f"ask-{number}") for number, name in enumerate(counted)}
    planned = {table["name"]: table for table in truth.plan.boards()}
    tables = []
    for name in [*counted, *(planned.keys() - counted.keys())]:
        races = counted.get(name, ())
        scored = {key: planned[name][key] for key in ("scoring", "cut") if name in planned}
        carry = {"carry_over": {"from": seasons[name], "factor": 0.8}} if name in seasons else {}
        asked = [rooms[name].name] if name in rooms else [f"{CATEGORY}/of-no-race"]
        chosen = {"rooms": [*asked, *(race.name for race, _ in races)]}
        rates = {"model": truth.plan.model, "parameters": {**truth.plan.parameters, **odds.get(name, {})}}
        counts = {"counts": "finished", "grace": "0 s"}
        tables.append({"name": name, **counts, **chosen, **rates, **scored, **carry})
    settings = _settings(goals=["none"], leaderboards=tables)
    each = {race.name: (race, moment) for races in counted.values() for race, moment in races}
    with tempfile.TemporaryDirectory() as folder, Ledger.open(Path(folder) / "new.db") as ledger:
        settler, later = Settler(ledger, rating_rules(settings)), now + timedelta(days=9)
        with ledger.transaction():
            for race, moment in each.values():
                ledger.races.save(race, counted_at=moment, source="backfill")
        apply_settings(settler)
        for player in filter(None, map(ledger.players.get, sorted(truth.forgotten))):
            orders.forget(settler, player, "", later)
        for player in filter(None, map(ledger.players.get, sorted(truth.hidden - truth.forgotten))):
            orders.hide(settler, player, "", later)
        yield Side(ledger, settings, rooms)


def answers(
    side: Side, name: str, races: Sequence[str], people: Sequence[str]
) -> Iterator[tuple[str, str, Any]]:
    """Yield the kind of each answer about a leaderboard, the race or player, and the answer."""
    ledger, settings = side.ledger, side.settings
    board = existing(ledger.leaderboards.get(CATEGORY, name))
    listing, settler = listing_of(settings, board), Settler(ledger, rating_rules(settings))
    left_out = {EXCLUDED, SKIPPED}
    rows = [row for row in ledger.ratings.rows(board) if row.note not in left_out]
    yield "ratings", "", [(row.race, row.note, row.changes) for row in rows]
    yield "ratings", "", ledger.standings.all(board)
    yield "ratings", "", sorted(ledger.leaderboards.carried(board).items())
    past = existing(ledger.races.position(rows[len(rows) // 2].race)).counted_at
    for at in (None, past):
        yield "places", "", facts(leaderboard_report(ledger, board, listing, at=at))
    if listing.scoring:
        yield "scores", "", facts(document(league(ledger, board, listing.scoring)))
    yield "seeds", "", facts(seed_list(ledger, board, listing))
    yield "records", "", facts(hall_of_fame(ledger, board, settled=2))
    yield "recap", "", facts(recap(ledger, board, replace(listing, provisional_races=2)))
    # A leaderboard that lists rooms by name exports no info.
    exported = csv_text(replace(each, info=None) for each in counted_results(ledger, board))
    numbers = dict.fromkeys(re.findall(r"hidden-\d+", exported))  # of orders, which differ
    for place, number in enumerate(numbers):
        exported = re.sub(rf"{number}\b", f"hidden racer {place}", exported)
    yield "export", "", exported
    for race in races:
        report = race_report(ledger, race)
        yield "race", race, facts([each for each in report.leaderboards if each.leaderboard == name])
        yield "race", race, facts(report.result)
        for rated in settler.rated(race):
            if rated.leaderboard.name == name:
                shown = shown_race(ledger, settings, rated, settled=True)
                yield "info box", race, info_block(shown, settings.texts)
        post = Post(race, "1234567890", "result", None, {}, None)
        embeds = race_embeds(ledger, settings, post, settler.rated(race))
        yield "discord", race, body_of([each for each in embeds if each.board == name], settings.texts)
    chat = Answers(settler, settings)
    for player in people:
        known = existing(ledger.players.get(player))
        standings = player_report(ledger, player, partial(listing_of, settings), limit=99).leaderboards
        yield "player", player, facts([each for each in standings if each.standing.leaderboard == name])
        for command in ASKED:
            asker = NamedPlayer(player, known.name)
            yield (
                "chat",
                player,
                chat.answer(ParsedCommand(command), side.rooms[name], asker, moderator=False),
            )


def facts(value: Any) -> Any:
    """Return a record as plain values, without the fields that may differ."""
    if type(value) in {str, int, float, bool, NoneType, datetime}:
        return value
    if hasattr(value, "_asdict"):
        return {key: facts(each) for key, each in value._asdict().items() if key not in OWN}
    if isinstance(value, Mapping):
        return {key: facts(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(map(facts, value))
    if is_dataclass(value) and not isinstance(value, type):
        names = [each.name for each in fields(value) if each.name not in OWN]
        return {type(value).__name__: {name: facts(getattr(value, name)) for name in names}}
    return value


def first_difference(found: Any, expected: Any, at: str = "") -> str:
    """Say where two answers differ first."""
    if isinstance(found, dict) and isinstance(expected, dict) and found.keys() == expected.keys():
        pairs: Any = [(key, found[key], expected[key]) for key in found]
    elif (
        isinstance(found, list | tuple) and isinstance(expected, list | tuple) and len(found) == len(expected)
    ):
        pairs = [(number, *pair) for number, pair in enumerate(zip(found, expected, strict=True))]
    else:
        return f"{at or 'it'} is {str(found)[:300]!r}, not {str(expected)[:300]!r}"
    key, one, other = next((key, one, other) for key, one, other in pairs if one != other)
    return first_difference(one, other, f"{at}.{key}")
