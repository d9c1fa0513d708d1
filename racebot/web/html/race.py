"""Render a race: the result, what it did to each rating and why, and the odds before the start."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import isclose

from markupsafe import Markup

from racebot.queries.race import RaceOnBoard, RatedEntrant
from racebot.queries.reasons import ReasonKind
from racebot.web.html import fragments, templating
from racebot.web.site.formats import ordinal, percent, shown_name
from racebot.web.site.request import Content, PageRequest

PARTS = {"finish", "place"}
"""The parts of a change that are shown with their points; a limit is shown with its rule."""
BRIEF = 2
"""Most reasons that a phone shows before the reader asks for all."""
UPSET = 0.15
"""A win with a lower chance is an upset."""


def race_page(request: PageRequest, race: str) -> Content:
    """Render the page of a race. Return None if the race counts on no leaderboard."""
    report = request.view.race(race)
    if report is None:
        return None
    times = [entrant.finish_time for entrant in report.result if entrant.finish_time is not None]
    return templating.page(
        request,
        "race.html",
        report=report,
        category=request.view.category_face(report.category),
        boards=list(zip(request.view.boards_of(report), report.leaderboards, strict=True)),
        stories=[story(part) for part in report.leaderboards],
        fastest=min(times, default=None),
        explained=any(part.entrants for part in report.leaderboards),
        why=partial(why, {entrant.id: entrant.name for entrant in report.result}),
    )


def why(names: Mapping[str | None, str], entrant: RatedEntrant) -> Markup:
    """Return the reasons for a change: its parts, its opponents, or a remark.

    Args:
        names: names of the race's entrants, by user id.
        entrant: the entrant.
    """
    items = [fragments.part(*part) for part in parts_of(entrant)]
    brief = min(len(items), BRIEF) or 1
    remark = remark_on(entrant)
    if remark:
        items.append(fragments.part(remark, None))
        if entrant.place is None:  # on phones, no time takes up room
            brief = min(len(items), BRIEF)
    for each in entrant.pushed:
        verb = "beat" if each.beaten else "behind"
        items.append(fragments.opponent(verb, names[each.player], each.chance))
    if entrant.opposed is not None:
        verb = "but beat" if entrant.opposed.beaten else "but behind"
        items.append(fragments.opponent(verb, names[entrant.opposed.player], entrant.opposed.chance))
    return fragments.reasons("".join(items[:brief]), "".join(items[brief:]))


def parts_of(entrant: RatedEntrant) -> list[tuple[str, int | None]]:
    """Return the parts that a change adds up from, the largest first; a limit has its points in its words."""
    if not entrant.change:
        return []
    largest = sorted(entrant.parts.items(), key=lambda part: abs(part[1]), reverse=True)
    parts: list[tuple[str, int | None]] = [
        (entrant.standing if name == "finish" and not entrant.standing.isdecimal() else name, points)
        for name, points in largest
        if points and name in PARTS
    ]
    for reason, words in zip(entrant.why, entrant.reasons, strict=True):
        if parts and reason.kind is ReasonKind.LIMIT:
            parts.append((words, None))
    return parts


def remark_on(entrant: RatedEntrant) -> str:
    """Return what explains a change without opponents, if it is not one of its parts; else an empty text."""
    if entrant.pushed or not entrant.why:
        return ""
    is_part = entrant.why[-1].kind in {ReasonKind.FINISH, ReasonKind.PLACE, ReasonKind.LIMIT}
    return "" if is_part and entrant.change else entrant.reasons[-1]


def story(part: RaceOnBoard) -> str:
    """Return one or two sentences that compare the result with the odds before the start.

    The text is empty if several racers had the best odds, or if a deleted account won, since it had none.
    """
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
