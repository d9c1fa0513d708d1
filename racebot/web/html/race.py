"""Render a race: the result, what it did to each rating and why, and the odds before; and events."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from math import isclose
from typing import NamedTuple

from racebot import addresses
from racebot.live_file import LiveRoom
from racebot.queries.explain import RULES, ReasonKind
from racebot.queries.leaderboard import new_places
from racebot.queries.race import (
    RaceOnBoard,
    RaceReport,
    RatedEntrant,
    changes_before,
    course_of,
    edits_of,
    event_reports,
)
from racebot.queries.races import RaceRow, races_numbered
from racebot.queries.records import UPSET
from racebot.queries.standings import listed_now
from racebot.races.events import is_event
from racebot.races.outcome import TeamPolicy
from racebot.text.format import counted, timer
from racebot.web.html import charts, templating
from racebot.web.site.formats import ordinal, percent, shown_name
from racebot.web.site.ledger_view import Board, Content, LedgerView, Moved, PageRequest

PARTS = {"finish", "place"}
"""The parts of a change that are shown with their points; a limit is shown with its rule."""
_SLUG = re.compile("[a-z0-9]+(-[a-z0-9]+)+")  # the form of the names that the site gives to races
MOST_LINES = 60  # races with more entrants are not drawn


def race_page(request: PageRequest, race: str) -> Content:
    """Render the page of a race. Before its record, that is its room; None if no room could have its name.

    A room of an event leads to the event.
    """
    if event := request.view.ledger.events.rooms().get(race) if request.served else None:
        return Moved(addresses.EVENT.path(event=event))
    found = _open_race(request, race, "open_race.html", lasting=False)
    return found or _recorded_race(request, race, "race.html")


def _recorded_race(request: PageRequest, race: str, template: str) -> Content:
    report = request.view.race(race)
    if report is None:
        return None
    placed = (each for part in report.leaderboards for each in part.placed)
    shared = request.query.get("p", "")
    racer = next((each for each in placed if each.id == shared), None)
    return templating.page(
        request,
        template,
        report=report,
        racer=racer,
        changes_before=changes_before(request.view.ledger, race, datetime.now(UTC)) if request.served else {},
        edits=edits_of(request.view.ledger, race, {each.id: each.name for each in report.result if each.id}),
        event=next(iter(event_reports(request.view.ledger, race)), None) if is_event(race) else None,
        category=request.view.category_face(report.category),
        boards=list(zip(request.view.boards_of(report), report.leaderboards, strict=True)),
    )


def followed_race(request: PageRequest, race: str) -> Content:
    """Render the part of a race's page that changes until the race is recorded, and its last state."""
    request = replace(request, path=addresses.RACE.path(race=race))  # links are followed from that page
    return _open_race(request, race, "race_room.html") or _recorded_race(request, race, "race_report.html")


def _open_race(request: PageRequest, race: str, template: str, *, lasting: bool = True) -> Content:
    """Render the room of a race that may have one and has no record; unless `lasting`, unknown ones end."""
    view = request.view
    if view.race(race) is not None or not request.served:
        return None
    category, _, slug = race.partition("/")
    room, awaited = view.live_room(race, listed=True), True
    if room is None:
        known = any(board.category == category for board in view.boards) and _SLUG.fullmatch(slug)
        awaited = bool(known) and view.is_awaited(race)
        if not known or not (awaited or lasting):
            return None
    return templating.page(
        request,
        template,
        race=race,
        room=room,
        awaited=awaited,
        news=news_of(room),
        live=view.live_rooms(),
        category=view.category_face(category),
        categories={},
        events=f"events/{addresses.RACE_PART.path(race=race)}",
    )


def news_of(room: LiveRoom | None) -> str:
    """Return in a few words how a live race stands: odds, the first racers or the winner, if known."""
    board = room.leaderboards[0] if room and room.leaderboards else None
    if room is None or board is None or not board.entrants:
        return ""
    first, racers = board.entrants[0], counted(len(board.entrants), "racer")
    names = " and ".join(shown_name(each.name, 40) for each in board.entrants if each.place == 1)
    time = "" if first.finish_time is None else f", {timer(first.finish_time)}"
    if room.refused:
        return f"{room.refused}, changed no rating"
    if room.finished:
        return f"{names} won{time} ({board.condition})" if names else "nobody finished"
    if names:
        done = sum(each.place is not None for each in board.entrants)
        return f"{done}/{len(board.entrants)} in, {names} first{time}"
    if first.win_chance is None:
        return racers
    return f"{racers}, {shown_name(first.name, 40)} {percent(first.win_chance)} to win"


def fastest(part: RaceOnBoard) -> float | None:
    """Return the best finish time in seconds, None if there is none."""
    return min((each.finish_time for each in part.placed if each.finish_time is not None), default=None)


class Reason(NamedTuple):
    """A reason for a change, perhaps with points and short words for phones, or a verb with an opponent."""

    words: str
    points: int | None = None
    short: str = ""
    opponent: str = ""
    chance: float = 0.0


def why(entrant: RatedEntrant, names: Mapping[str | None, str]) -> tuple[list[Reason], list[Reason]]:
    """Return the reasons for a change, those first that phones show. `names` has the entrants by user id."""
    items = parts_of(entrant)
    brief = len(items) or 1
    is_part = entrant.why and entrant.why[-1].kind in {ReasonKind.FINISH, ReasonKind.PLACE, ReasonKind.LIMIT}
    if entrant.why and not entrant.pushed and not (is_part and entrant.change):
        items.append(Reason(entrant.reasons[-1]))
        if entrant.place is None:  # on phones, no time takes up room
            brief = len(items)
    met = [("", each) for each in entrant.pushed]
    met += [("but ", entrant.opposed)] if entrant.opposed is not None else []
    for but, each in met:
        words, name = f"{but}{'beat' if each.beaten else 'behind'}", each.team or names[each.player]
        items.append(Reason(words, opponent=name, chance=each.chance))
    return items[:brief], items[brief:]


def parts_of(entrant: RatedEntrant) -> list[Reason]:
    """Return the parts that a change adds up from, the largest first, then a limit with its rule."""
    if not entrant.change:
        return []
    largest = sorted(entrant.parts.items(), key=lambda part: abs(part[1]), reverse=True)
    found = [
        Reason(entrant.standing if name == "finish" and entrant.place is None else name, points)
        for name, points in largest
        if points and name in PARTS
    ]
    limits = [reason for reason in entrant.why if found and reason.kind is ReasonKind.LIMIT]
    return found + [Reason(RULES[str(each.rule)], each.points, "limit") for each in limits]


def story(part: RaceOnBoard) -> str:
    """Compare the result with the odds in a sentence; empty if several or no racers were favored."""
    winners = [entrant for entrant in part.entrants if entrant.standing == "1"]
    deleted_winner = any(entrant.standing == "1" for entrant in part.unrated)
    best = max((entrant.win_chance for entrant in part.entrants), default=0.0)
    favorites = [entrant for entrant in part.entrants if isclose(entrant.win_chance, best)]
    if not winners or deleted_winner or len(favorites) > 1:
        return ""
    favorite = favorites[0]
    names = " and ".join(shown_name(each.name, 40) for each in winners)
    chance = percent(winners[0].win_chance)
    if favorite in winners:
        return f"{names} won as the favorite, with a chance of {chance}."
    other = shown_name(favorite.name, 40)
    upset = "an upset" if winners[0].win_chance < UPSET else "against the odds"
    finished = f"had a {favorite.standing}" if favorite.place is None else f"came {ordinal(favorite.place)}"
    return f"{names} won with a chance of {chance}, {upset}. The favorite, {other}, {finished}."


def drawn_story(view: LedgerView, board: Board, part: RaceOnBoard, report: RaceReport) -> charts.Story | None:
    """Draw a recorded race from expected to actual places; None for a single entrant and a race of teams."""
    by_team = board.stored.teams != TeamPolicy.INDIVIDUAL and any(each.team for each in report.result)
    drawn = not by_team and 2 <= len(part.entrants) <= MOST_LINES
    course = course_of(view.ledger, board.stored, report.race) if drawn else None
    if course is None:
        return None
    winner = part.entrants[0]
    upset = winner.place == 1 and winner.win_chance < UPSET
    label = "Lines from each racer's expected place to the place taken. The table above has all numbers."
    return charts.Story(label, part.entrants, course, upset=upset)


def sum_of(entrant: RatedEntrant) -> list[tuple[str, int, float, float, str]]:
    """Return the bars of what a change adds up from, in order; none if the model does not tell."""
    rules = [RULES[str(each.rule)] for each in entrant.why if each.kind is ReasonKind.LIMIT]
    words = {
        "finish": "Finishing" if entrant.place else entrant.standing,
        "place": "Place",
        "limit": f"Limit: {rules[0]}" if rules else "Limit",
    }
    parts = [(words[name], points) for name, points in entrant.parts.items() if points and name in words]
    return charts.waterfall(entrant.before, parts)


def targets(view: LedgerView, stem: str | None, part: RaceOnBoard) -> dict[str, tuple[int, int]]:
    """Return how many points each listed racer is behind which place, by player; empty after a later race."""
    board = None if stem is None else view.board(stem)
    if board is None or part.sequence not in {0, view.ledger.ratings.count(board.stored)}:
        return {}
    points = {each.player: each.points for each in listed_now(view.ledger, board.stored, board.listing)}
    points |= {each.id: each.after for each in part.entrants if each.id is not None and each.id in points}
    levels = sorted(points.values())
    found = {}
    for each in part.entrants:
        above = bisect_right(levels, each.after)
        if each.id is not None and each.id in points and above < len(levels):
            place = 1 + len(levels) - bisect_right(levels, levels[above])
            found[each.id] = levels[above] - each.after, place
    return found


def around(view: LedgerView, board: Board, part: RaceOnBoard) -> list[tuple[str, str]]:
    """Return the races before and after a recorded race on a leaderboard, with their words."""
    found = races_numbered(view.ledger, board.key, [part.sequence - 1, part.sequence + 1])
    words = {part.sequence - 1: "Previous race", part.sequence + 1: "Next race"}
    return [(words[number], found[number].race) for number in sorted(found)]


def places(view: LedgerView, board: Board, report: RaceReport | RaceRow) -> dict[str, tuple[int | None, int]]:
    """Return the places before and after a recorded race of its players whom the leaderboard then listed."""
    row = view.ledger.ratings.get(board.stored, report.race)
    if row is None:
        return {}
    at, changes = report.ended_at, row.changes
    return new_places(view.ledger, board.stored, board.listing, at, changes, row.sequence)


def names_of(part: RaceOnBoard) -> dict[str | None, str]:
    return {each.id: each.name for each in part.entrants}


def events_page(request: PageRequest) -> Content:
    return templating.page(request, "events.html", reports=event_reports(request.view.ledger))


def event_page(request: PageRequest, event: str) -> Content:
    """Render an event, or lead to its race once that is rated. In an export, a link does."""
    found = event_reports(request.view.ledger, event)
    is_rated = request.view.race(event) is not None
    if not found or (is_rated and request.served):
        return Moved(addresses.RACE.path(race=event)) if found else None
    category = request.view.category_face(found[0].event.category)
    return templating.page(request, "event.html", found=found[0], is_rated=is_rated, category=category)
