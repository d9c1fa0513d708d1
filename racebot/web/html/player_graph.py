"""The data behind a player's graph, embedded in the page for the script that makes the graph interactive."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

from markupsafe import Markup

from racebot.ledger.history import PlayedRace
from racebot.web.html.formats import shown_name
from racebot.web.site.addresses import RACE, link

NAMED = 250
"""Number of last races with their names. Older races have only their date, place and points."""


def graph_data(path: str, series: Sequence[tuple[str, Sequence[PlayedRace]]]) -> Markup:
    """Return the races of one or two players as JSON that can stand inside HTML.

    Args:
        path: the address of the page.
        series: each player's name and races, oldest first.
    """
    content = json.dumps(
        {"series": [_series(path, name, races) for name, races in series]},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    # In a script element, only `<` can begin the end of the element or a comment.
    return Markup(content.replace("<", "\\u003c"))  # noqa: S704 - JSON without `<`


def _series(path: str, name: str, races: Sequence[PlayedRace]) -> dict[str, object]:
    minutes = [int(race.ended_at.timestamp() // 60) for race in races]
    named = races[-NAMED:]
    prefix = named[-1].race.rpartition("/")[0] if named else ""
    page = link(path, RACE.path(race=f"{prefix}/x" if prefix else "x")).removesuffix("x.html")
    return {
        "name": shown_name(name),
        "start": minutes[0] if minutes else 0,
        "steps": [late - early for early, late in pairwise(minutes)],
        "before": races[0].before if races else 0,
        "points": [race.after for race in races],
        "places": [race.standing if race.place is None else race.place for race in races],
        "entrants": [race.entrants for race in races],
        "races": [RACE.path(race=race.race).rpartition("/")[2].removesuffix(".html") for race in named],
        "page": page,
    }
