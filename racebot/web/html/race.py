"""Render a race: the result, what it did to each rating and why, and the odds before; and events."""

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from racebot import addresses
from racebot.live_file import LiveEntrant, LiveRoom
from racebot.queries.race import RacedEntrant, changes_before, edits_of, event_reports
from racebot.races.events import is_event
from racebot.text.format import counted, timer
from racebot.web.html import templating
from racebot.web.site.formats import percent, shown_name
from racebot.web.site.ledger_view import Content, Moved, PageRequest

_SLUG = re.compile("[a-z0-9]+(-[a-z0-9]+)+")  # the form of the names that the site gives to races


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
    ledger, now, room = request.view.ledger, datetime.now(UTC), request.view.before_record(race)
    former = changes_before(ledger, race, now) if request.served else {}
    if room is not None and room.was_edited(now):
        former = {each.leaderboard: each.changes_before for each in room.leaderboards}
    names = {each.id: each.name for each in report.result if each.id}
    return templating.page(
        request,
        template,
        report=report,
        news=_first(report.result, "won") or "nobody finished",
        changes_before=former,
        edits=edits_of(ledger, race, names, room.edits if room else ()),
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
    if room is not None and room.refused:
        return f"{room.refused}, changed no rating"
    if room is None or board is None or not board.entrants:
        return ""
    first, racers = board.entrants[0], counted(len(board.entrants), "racer")
    if room.finished:
        return f"{won} ({board.condition})" if (won := _first(board.entrants, "won")) else "nobody finished"
    if leads := _first(board.entrants, "first"):
        done = sum(each.place is not None for each in board.entrants)
        return f"{done}/{len(board.entrants)} in, {leads}"
    if first.win_chance is None:
        return racers
    return f"{racers}, {shown_name(first.name, 40)} {percent(first.win_chance)} to win"


def _first(entrants: Iterable[LiveEntrant | RacedEntrant], verb: str) -> str:
    """Say who is or was first, as in "Ann won, 1:23:45"; return an empty text if nobody is."""
    found = [each for each in entrants if each.place == 1]
    names = " and ".join(shown_name(each.name, 40) for each in found)
    times = [f", {timer(each.finish_time)}" for each in found[:1] if each.finish_time is not None]
    return f"{names} {verb}{''.join(times)}" if found else ""


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
