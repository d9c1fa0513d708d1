"""Derive the OpenAPI 3.1 description of the data API from its types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from racebot import __version__
from racebot.queries.scores import LeagueTable
from racebot.queries.seeds import SeedList
from racebot.web.api import types
from racebot.web.api.types import ProblemDetails
from racebot.web.site import addresses
from racebot.web.site.addresses import MOST, Route

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

    openapi: str
    addresses: Sequence[ApiAddress]


_ANSWERS: dict[Route, type | str] = {
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
    addresses.LEADERBOARD_CSV: "Listed players by place, as CSV",
    addresses.SCORES_DATA: LeagueTable,
    addresses.SCORES_CSV: "Scores by par of each racer and race, as CSV",
    addresses.SEEDS_DATA: SeedList,
    addresses.SEEDS_CSV: "Seeds of a bracket, best first, as CSV",
    addresses.CHANGES_CSV: "All changes in order, as CSV",
}
"""The type of each address's JSON, or what its CSV file holds."""
SERVED_ONLY = {
    addresses.CHANGES_DATA,
    addresses.FIND_PLAYERS,
    addresses.ODDS_DATA,
    addresses.HEAD_TO_HEAD_DATA,
    addresses.LIVE_DATA,
}

_FIELDS = {"board": ("category", "board"), "player": ("player",), "race": ("category", "race")}
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
    "limit": _number(
        f"Most races to return: of a leaderboard, {PER_PAGE} unless given; of a player, and opponents: all",
        most=MOST_PER_PAGE,
    ),
    "entrants": {
        "schema": _TEXT,
        "description": "Names or ids to seed, one a line. Default: all listed players",
    },
    "players": _required("Players' ids, separated by commas", _IDS, style="form", explode=False),
    "a": _required("A player's id"),
    "b": _required("Another player's id"),
    "name": _required("Part of the name, in any case, with or without accents"),
}


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
    kinds = [kind for kind in (*_ANSWERS.values(), ProblemDetails) if isinstance(kind, type)]
    adapters: dict[type, TypeAdapter[Any]] = {kind: TypeAdapter(kind) for kind in kinds}
    schemas, definitions = TypeAdapter.json_schemas(
        [(kind, "serialization", adapter) for kind, adapter in adapters.items()],
        ref_template="#/components/schemas/{model}",
    )
    _describe(definitions["$defs"])
    problem = schemas[ProblemDetails, "serialization"]
    paths: dict[str, Any] = {}
    for route, kind in _ANSWERS.items():
        if isinstance(kind, str):
            summary = kind
            answer = _answer("A heading row, then the data rows", "text/csv", {"type": "string"})
        else:
            summary = (kind.__doc__ or "").partition("\n")[0].rstrip(".")
            answer = _answer(summary, "application/json", schemas[kind, "serialization"])
        if served or route not in SERVED_ONLY:
            paths[_path(route, served)] = _operation(route, summary, answer, problem, served)
    return {"paths": paths, "components": {"schemas": definitions["$defs"]}}


def _describe(schemas: Mapping[str, Schema]) -> None:
    """Add the descriptions of fields to schemas, and shorten those of types to their first paragraph."""
    for name, schema in schemas.items():
        if "description" in schema:
            schema["description"] = schema["description"].partition("\n\n")[0]
        for field, facts in schema.get("properties", {}).items():
            text = types.FIELDS.get(f"{name}.{field}") or types.FIELDS.get(field)
            if text:
                facts["description"] = text
            if f"{name}.{field}" in types.HIDDEN_IDS:
                facts["type"] = ["string", "null"]


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
    return ApiIndex(addresses.OPENAPI.path().removeprefix("api/"), listed)


def _operation(route: Route, summary: str, answer: Schema, problem: Schema, served: bool) -> Schema:
    fields = [
        {"name": name, "in": "path"} | _required(_FIELD_TEXTS[name], {"type": "string"})
        for field, names in _FIELDS.items()
        if f"{{{field}}}" in route.pattern
        for name in names
    ]
    query = [{"name": name, "in": "query"} | _QUERY[name] for name in sorted(route.query)] if served else []
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
    return path.removesuffix(".json").removesuffix("index") if served else path


def _answer(text: str, media_type: str, schema: Schema) -> Schema:
    return {"description": text, "content": {media_type: {"schema": schema}}}
