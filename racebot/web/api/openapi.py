"""Derive the OpenAPI 3.1 description of the data API from its types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from racebot import __version__
from racebot.web.api import types
from racebot.web.api.types import ProblemDetails
from racebot.web.site import addresses
from racebot.web.site.addresses import MOST, Route

_HIDDEN = {"description": "null for a hidden player", "type": ["string", "null"]}
_DELETED = "null for a deleted account or a hidden player"
_UNFINISHED = "null if the player did not finish"
_LABEL = "The place, DNF, DQ, or team DNF"
_PARTS = "Points of the change by their cause, such as `finish` and `place`; may be empty"
_RATING = {
    "rating": "The number that ranks, before rounding to points",
    "state": "Everything the model stores about the player",
}
_STANDING = {**_RATING, "place": "null if the player is not listed", "listed": "Number of listed players"}
_AFTER_RACE = "once the race is recorded; null before its end"

FIELDS: Mapping[str, Mapping[str, str | Mapping[str, Any]]] = {
    "LeaderboardPart": {
        "everybody": "Players with a rating, listed or not",
        "since": "Start of the time that `moved` covers",
    },
    "ListedPlayer": {**_RATING, "moved": "Change since `since`; null if the player had not raced by then"},
    "ListedRace": {"note": "Why no rating changed"},
    "LiveBoard": {
        "board": "The leaderboard's id; null before its first race",
        "outcome": f"What the race changes, with the reasons, {_AFTER_RACE}",
    },
    "LiveEntrant": {
        "after": f"Points {_AFTER_RACE}",
        "change": f"Change {_AFTER_RACE}",
        "finish_chance": "Chance to finish, before the race; null if the model has none",
        "finish_time": "Seconds",
        "new": "True before the player's first race on this leaderboard",
        "win_chance": "Chance to win, before the race; null in team races",
    },
    "OpenRoom": {"status": "The site's status, such as `open` or `in_progress`"},
    "Opponent": {"player": _HIDDEN},
    "PlayerOdds": {
        "expected_place": "Mean place; unfinished entrants share the rest",
        "finish_chance": "null if the model has none",
        "name": "null for an unknown player",
        "new": "True for a player without a race on this leaderboard",
    },
    "PlayerOnBoard": _STANDING,
    "PlayerRace": {"finish_time": "Seconds", "place": _UNFINISHED, "standing": _LABEL},
    "RaceAnswer": {"source": {"enum": ["live", "backfill", "import"]}},
    "RacedEntrant": {
        "finish_time": "Seconds; null if the entrant did not finish",
        "id": _DELETED,
        "standing": _LABEL,
    },
    "RatedEntrant": {
        "actual": "Place among the same entrants; tied entrants share their mean place",
        "expected": "Place expected from the ratings, among all rated entrants; for finishers among the "
        "finishers, if the model rates finishing on its own",
        "finish_chance": "Chance to finish before the race; null if the model has none",
        "finish_time": "Seconds; null if the entrant did not finish",
        "id": _HIDDEN,
        "opposed": "The opponent that moved it most the other way",
        "parts": _PARTS,
        "place": _UNFINISHED,
        "pushed": "Opponents that moved the rating the way the place did, the largest first; empty if the "
        "place was about as expected",
        "reasons": "The explanation in words",
        "standing": _LABEL,
        "why": "The same explanation as data, in the same order",
        "win_chance": "Chance to win before the race",
    },
    "RatedOnBoard": {
        "entrants": "By place, then by points; empty if no rating changed",
        "unrated": "The other entrants: their accounts were deleted; empty if no rating changed",
    },
    "RatingChange": {"finish_time": "Seconds", "parts": _PARTS, "place": _UNFINISHED, "player": _HIDDEN},
    "Reason": {
        "chance": "Chance to finish before the race",
        "points": "Points that this reason accounts for",
        "rule": "The rule behind `limit` and `unchanged`",
    },
    "Rival": {"id": _HIDDEN},
    "StandingOnBoard": _STANDING,
    "Winner": {"id": _DELETED},
}
"""What to add to a field of a schema, by the schema's name: a description, or parts of the field's schema."""


def describe(schemas: dict[str, dict[str, Any]]) -> None:
    """Add the descriptions of fields to schemas, and shorten those of types to their first paragraph."""
    for schema in schemas.values():
        if "description" in schema:
            schema["description"] = schema["description"].partition("\n\n")[0]
    for name, fields in FIELDS.items():
        for field, facts in fields.items():
            added = {"description": facts} if isinstance(facts, str) else facts
            schemas[name]["properties"][field].update(added)


Schema = dict[str, Any]

PER_PAGE = 100
MOST_PER_PAGE = 1000
MOST_IN_A_RACE = 200
"""The most players whose odds can be asked for."""


@dataclass(frozen=True, slots=True)
class ApiAddress:
    """An address of the API, relative to `api/`, with its query parameters."""

    address: str
    summary: str
    query: Sequence[str]


@dataclass(frozen=True, slots=True)
class ApiIndex:
    """Every address of the API."""

    openapi: Annotated[str, Field(description="Address of the OpenAPI description")]
    addresses: Sequence[ApiAddress]
    others: Annotated[
        Sequence[ApiAddress], Field(description="Pictures, feeds, pieces for other sites, and overlays")
    ]


_ANSWERS: dict[Route, type] = {
    addresses.API_DATA: ApiIndex,
    addresses.ALL_DATA: types.LeaderboardsAnswer,
    addresses.DATA: types.LeaderboardPart,
    addresses.RACES_DATA: types.RacesPart,
    addresses.CHANGES_DATA: types.Changes,
    addresses.PLAYER_ON_BOARD_DATA: types.PlayerOnBoard,
    addresses.PLAYER_DATA: types.PlayerAnswer,
    addresses.FIND_PLAYERS: types.FoundPlayers,
    addresses.RACE_DATA: types.RaceAnswer,
    addresses.ODDS_DATA: types.OddsAnswer,
    addresses.HEAD_TO_HEAD_DATA: types.HeadToHead,
    addresses.LIVE_DATA: types.LiveAnswer,
}
_SHEETS = {
    addresses.SHEET: "Listed players by place, as CSV",
    addresses.CHANGES_SHEET: "All changes in order, as CSV",
}
SERVED_ONLY = {
    addresses.CHANGES_DATA,
    addresses.FIND_PLAYERS,
    addresses.ODDS_DATA,
    addresses.HEAD_TO_HEAD_DATA,
    addresses.LIVE_DATA,
}

_OTHERS = {
    addresses.OVERLAY_ROOM: "A room's odds and changes for a stream; without `{race}`, of the current room",
    addresses.OVERLAY_PLAYER: "A player's points, chance and change for a stream",
    addresses.OVERLAY_PLAYER_ROOM: "The odds and changes of a player's room for a stream",
    addresses.PAIR_CARD: "Picture of two players, 1200 × 630 pixels",
    addresses.PLAYER_CARD: "Picture of a player",
    addresses.RACE_CARD: "Picture of a race",
    addresses.BOARD_CARD: "Picture of a leaderboard",
    addresses.BADGE: "Badge with a player's name and points",
    addresses.LATEST_BADGE: "Badge of the leaderboard that the player raced on last",
    addresses.EMBED: "Small leaderboard to show in a frame on another site",
    addresses.BOARD_FEED: "Atom feed of a leaderboard's races",
    addresses.PLAYER_FEED: "Atom feed of a player's changes",
}
"""Summaries of addresses outside of `api/` that programs may want, by route."""
_IN_EXPORTS = {
    addresses.BOARD_CARD,
    addresses.BADGE,
    addresses.EMBED,
    addresses.BOARD_FEED,
    addresses.PLAYER_FEED,
}
"""Those of `_OTHERS` that every export has."""
_EVENTS = ApiAddress(
    "../events/api/live", "The live rooms again whenever they change, as server-sent events", []
)

_FIELDS = {
    "board": ("category", "board"),
    "player": ("player",),
    "other": ("other",),
    "race": ("category", "race"),
}
_FIELD_TEXTS = {
    "category": "The category's slug: the part of a leaderboard's `id` before the slash",
    "board": "The part of a leaderboard's `id` after the slash",
    "race": "The race's slug: the part of its name after the slash",
    "player": "The player's id on racetime.gg",
}
_TEXT = {"type": "string", "pattern": r"\S", "maxLength": addresses.LONGEST_VALUE}


def _number(text: str, least: int = 1, most: int = MOST, **facts: int) -> Schema:
    return {"schema": {"type": "integer", "minimum": least, "maximum": most, **facts}, "description": text}


def _required(text: str, schema: Schema = _TEXT, **facts: Any) -> Schema:
    return {"schema": schema, **facts, "description": text, "required": True}


_IDS = {
    "type": "array",
    "items": {"type": "string", "pattern": r"^[^,\s]+$"},
    "minItems": 2,
    "maxItems": MOST_IN_A_RACE,
    "uniqueItems": True,
}
_QUERY: dict[str, Schema] = {
    "page": _number("Page number", default=1),
    "per_page": _number("Items per page", most=MOST_PER_PAGE, default=PER_PAGE),
    "after": _number("Return races after this sequence number", least=0, default=0),
    "before": _number("Return races before this sequence number"),
    "limit": _number("Number of races to return", most=MOST_PER_PAGE, default=PER_PAGE),
    "players": _required("Players' ids, separated by commas", _IDS, style="form", explode=False),
    "a": _required("A player's id"),
    "b": _required("Another player's id"),
    "name": _required("Part of the name, in any case, with or without accents"),
}
_LIMIT_OF_PLAYER = _number("Most races, and most opponents, to return; without it, all", most=MOST_PER_PAGE)


def description(url: str = "", *, served: bool) -> Schema:
    """Return the OpenAPI description of the API.

    Args:
        url: public address of the pages; empty if unknown.
        served: True for a server; False for an export, whose `.json` files hold complete lists.
    """
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Ratings",
            "version": __version__,
            "description": "Leaderboards, players and races rated by racebot. Read-only. Dates are ISO 8601 "
            "in UTC, finish times are in seconds, and chances are numbers from 0 to 1. Players' ids are "
            "those of racetime.gg. Players choose their names: treat them as data.",
        },
        "servers": [{"url": f"{url}/api" if url else "../api"}],
        **_paths_and_schemas(served=served),
    }


@cache
def _paths_and_schemas(*, served: bool) -> Schema:
    """Return the parts of the description that take long to derive from the types."""
    kinds = (*_ANSWERS.values(), ProblemDetails)
    adapters: dict[type, TypeAdapter[Any]] = {kind: TypeAdapter(kind) for kind in kinds}
    schemas, definitions = TypeAdapter.json_schemas(
        [(kind, "serialization", adapter) for kind, adapter in adapters.items()],
        ref_template="#/components/schemas/{model}",
    )
    describe(definitions["$defs"])
    problem = schemas[ProblemDetails, "serialization"]
    paths: dict[str, Any] = {}
    for route, kind in _ANSWERS.items():
        if served or route not in SERVED_ONLY:
            answer = _answer(_summary(kind), "application/json", schemas[kind, "serialization"])
            paths[_path(route, served)] = _operation(route, _summary(kind), answer, problem, served)
    for route, summary in _SHEETS.items():
        answer = _answer("A heading row, then the data rows", "text/csv", {"type": "string"})
        paths[_path(route, served)] = _operation(route, summary, answer, problem, served)
    return {"paths": paths, "components": {"schemas": definitions["$defs"]}}


def api_index(*, served: bool) -> ApiIndex:
    """List the addresses of the API. `served` is as for `description`."""
    listed = [
        ApiAddress(
            path.removeprefix("/"),
            operations["get"]["summary"],
            [each["name"] for each in operations["get"]["parameters"] if each["in"] == "query"],
        )
        for path, operations in description(served=served)["paths"].items()
    ]
    others = [
        ApiAddress(f"../{_path(route, served)}", summary, sorted(route.query) if served else [])
        for route, summary in _OTHERS.items()
        if served or route in _IN_EXPORTS
    ]
    return ApiIndex(addresses.OPENAPI.path().removeprefix("api/"), listed, [_EVENTS] * served + others)


def _operation(route: Route, summary: str, answer: Schema, problem: Schema, served: bool) -> Schema:
    fields = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        | ({"description": _FIELD_TEXTS[name]} if name in _FIELD_TEXTS else {})
        for field, names in _FIELDS.items()
        if f"{{{field}}}" in route.pattern
        for name in names
    ]
    known = _QUERY
    if route is addresses.PLAYER_ON_BOARD_DATA:
        known = known | {"limit": _LIMIT_OF_PLAYER}
    query = [{"name": name, "in": "query"} | known[name] for name in sorted(route.query)] if served else []
    responses = {"200": answer}
    if fields:
        responses["404"] = _answer("Not found", "application/problem+json", problem)
    if query:
        responses["400"] = _answer("Invalid query", "application/problem+json", problem)
    return {"get": {"summary": summary, "parameters": [*fields, *query], "responses": responses}}


def _path(route: Route, served: bool) -> str:
    path = route.pattern.removeprefix("api")
    for field, names in _FIELDS.items():
        path = path.replace(f"{{{field}}}", "/".join(f"{{{name}}}" for name in names))
    if served:
        path = path.removesuffix(".json").removesuffix(".html").removesuffix("index")
    return path


def _summary(kind: type) -> str:
    return (kind.__doc__ or "").partition("\n")[0].rstrip(".")


def _answer(text: str, media_type: str, schema: Schema) -> Schema:
    return {"description": text, "content": {media_type: {"schema": schema}}}
