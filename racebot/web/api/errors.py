"""The errors of the data API: what is wrong, and where to look."""

from __future__ import annotations

from dataclasses import dataclass

from racebot.web.site import addresses
from racebot.web.site.addresses import Route

_LOOK_UP = {
    "leaderboard": "api/leaderboards lists the ids of all leaderboards",
    "player": "api/players?name=TEXT finds the ids of players with a rating",
    "race": "api/leaderboards/CATEGORY/BOARD/races lists all rated races, and api/live the open rooms",
}


@dataclass(frozen=True, slots=True)
class ProblemDetails:
    """An error, in the format of RFC 9457: https://www.rfc-editor.org/rfc/rfc9457."""

    title: str
    status: int
    detail: str = ""
    type: str = "about:blank"


def missing(route: Route | None) -> str:
    """Return what is unknown if an API address has no content, and where to look it up."""
    if route is None:
        return "Unknown address: api/ lists all addresses."
    fields = {"leaderboard": "{board}", "player": "{player}", "race": "{race}"}
    unknown = [name for name, field in fields.items() if field in route.pattern]
    if route is addresses.HEAD_TO_HEAD_DATA:
        unknown.append("player")
    return f"Unknown {' or '.join(unknown)}: {', '.join(_LOOK_UP[name] for name in unknown)}."
