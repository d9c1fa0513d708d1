"""Render a race: the result, what it did to each rating and why, and the odds before the start."""

from __future__ import annotations

from racebot.standings.queries import RaceOnBoard
from racebot.web import templating
from racebot.web.asked import Asked
from racebot.web.document import Content

PARTS = {"finish": "finishing", "place": "place"}
"""Names of the parts of a change."""
UPSET = 0.15
"""A win with a lower chance is an upset."""


def race_page(asked: Asked, race: str) -> Content:
    """Render the page of a race. Return None if the race counts on no leaderboard."""
    report = asked.view.race(race)
    if report is None:
        return None
    placed = (entrant for entrant in report.result if entrant.place is not None)
    times = {e.id: e.finish_time for e in placed if e.finish_time is not None}
    return asked.page(
        "race.html",
        report=report,
        category=asked.view.category_face(report.category),
        boards=list(zip(asked.view.boards_of(report), report.leaderboards, strict=True)),
        stories=[story(part) for part in report.leaderboards],
        times=times,
        fastest=min(times.values(), default=None),
        explained=any(part.entrants for part in report.leaderboards),
        unrated=[entrant for entrant in report.result if entrant.id is None],
        names={entrant.id: entrant.name for entrant in report.result},
        words=PARTS,
    )


def story(part: RaceOnBoard) -> str:
    """Return one or two sentences: who won, and how that compares with the odds before the start."""
    winners = [entrant for entrant in part.entrants if entrant.standing == "1"]
    if not winners or len(part.entrants) < 2:
        return ""
    favorite = max(part.entrants, key=lambda entrant: entrant.win_chance)
    names = " and ".join(templating.shown_name(each.name, 40) for each in winners)
    chance = templating.percent(winners[0].win_chance)
    if favorite in winners:
        return f"{names} won as the favorite, with a chance of {chance}."
    other = templating.shown_name(favorite.name, 40)
    upset = "an upset" if winners[0].win_chance < UPSET else "against the odds"
    finished = f"came {favorite.standing}" if favorite.standing.isdecimal() else f"had a {favorite.standing}"
    if favorite.standing.isdecimal():
        finished = f"came {templating.ordinal(int(favorite.standing))}"
    return f"{names} won with a chance of {chance}, {upset}. The favorite, {other}, {finished}."
