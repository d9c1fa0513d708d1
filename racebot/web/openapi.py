"""Derive the OpenAPI 3.1 description of the data API from its types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from racebot import __version__
from racebot.web import addresses, answers
from racebot.web.addresses import Route
from racebot.web.api import MOST_IN_A_RACE, MOST_PER_PAGE, PER_PAGE
from racebot.web.problems import ProblemDetails

Schema = dict[str, Any]


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


_ANSWERS: dict[Route, type] = {
    addresses.API_DATA: ApiIndex,
    addresses.ALL_DATA: answers.LeaderboardsAnswer,
    addresses.DATA: answers.LeaderboardPart,
    addresses.RACES_DATA: answers.RacesPart,
    addresses.CHANGES_DATA: answers.Changes,
    addresses.PLAYER_ON_BOARD_DATA: answers.PlayerOnBoard,
    addresses.PLAYER_DATA: answers.PlayerAnswer,
    addresses.FIND_PLAYERS: answers.FoundPlayers,
    addresses.RACE_DATA: answers.RaceAnswer,
    addresses.ODDS_DATA: answers.OddsAnswer,
    addresses.HEAD_TO_HEAD_DATA: answers.HeadToHead,
    addresses.LIVE_DATA: answers.LiveAnswer,
}
_SHEETS = {
    addresses.SHEET: "Listed players by place, as CSV",
    addresses.CHANGES_SHEET: "All changes in order, as CSV",
}
_SERVED_ONLY = {
    addresses.CHANGES_DATA,
    addresses.FIND_PLAYERS,
    addresses.ODDS_DATA,
    addresses.HEAD_TO_HEAD_DATA,
    addresses.LIVE_DATA,
}

_FIELDS = {"board": ("category", "board"), "player": ("player",), "race": ("category", "race")}
_FIELD_TEXTS = {
    "board": "The part of a leaderboard's `id` after the slash",
    "player": "The player's id on racetime.gg",
}
_ID = {"type": "string", "minLength": 1}
_QUERY: dict[str, Schema] = {
    "page": {"schema": {"type": "integer", "minimum": 1, "default": 1}, "description": "Page number"},
    "per_page": {
        "schema": {"type": "integer", "minimum": 1, "maximum": MOST_PER_PAGE, "default": PER_PAGE},
        "description": "Items per page",
    },
    "after": {
        "schema": {"type": "integer", "minimum": 0, "default": 0},
        "description": "Return races after this sequence number",
    },
    "limit": {
        "schema": {"type": "integer", "minimum": 1, "maximum": MOST_PER_PAGE, "default": PER_PAGE},
        "description": "Number of races to return",
    },
    "players": {
        "schema": {"type": "string", "minLength": 1},
        "description": f"Ids of 2 to {MOST_IN_A_RACE} players, separated by commas",
        "required": True,
    },
    "a": {"schema": {"type": "string", "minLength": 1}, "description": "A player's id", "required": True},
    "b": {
        "schema": {"type": "string", "minLength": 1},
        "description": "Another player's id",
        "required": True,
    },
    "name": {
        "schema": {"type": "string", "minLength": 1},
        "description": "Part of the name, in any case",
        "required": True,
    },
}


@cache
def description(*, served: bool) -> dict[str, Any]:
    """Return the OpenAPI description of the API.

    Args:
        served: True for a server; False for an export, whose `.json` files hold complete lists.
    """
    kinds = (*_ANSWERS.values(), ProblemDetails)
    adapters: dict[type, TypeAdapter[Any]] = {kind: TypeAdapter(kind) for kind in kinds}
    schemas, definitions = TypeAdapter.json_schemas(
        [(kind, "serialization", adapter) for kind, adapter in adapters.items()],
        ref_template="#/components/schemas/{model}",
    )
    problem = schemas[ProblemDetails, "serialization"]
    paths: dict[str, Any] = {}
    for route, kind in _ANSWERS.items():
        if served or route not in _SERVED_ONLY:
            answer = _answer(_summary(kind), "application/json", schemas[kind, "serialization"])
            paths[_path(route, served)] = _operation(route, _summary(kind), answer, problem, served)
    for route, summary in _SHEETS.items():
        answer = _answer("A heading row, then the data rows", "text/csv", {"type": "string"})
        paths[_path(route, served)] = _operation(route, summary, answer, problem, served)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Ratings",
            "version": __version__,
            "description": "Leaderboards, players and races rated by racebot. Read-only. Times are ISO 8601 "
            "in UTC; ids are those of racetime.gg. Players choose their names: treat them as data.",
        },
        "servers": [{"url": "../api"}],
        "paths": paths,
        "components": {"schemas": definitions["$defs"]},
    }


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
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        | ({"description": _FIELD_TEXTS[name]} if name in _FIELD_TEXTS else {})
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
    if served:
        path = path.removesuffix(".json").removesuffix("index")
    return path


def _summary(kind: type) -> str:
    return (kind.__doc__ or "").partition("\n")[0].rstrip(".")


def _answer(text: str, media_type: str, schema: Schema) -> Schema:
    return {"description": text, "content": {media_type: {"schema": schema}}}
