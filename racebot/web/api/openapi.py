"""Derive the OpenAPI 3.1 description of the data API from its types."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import orjson
from pydantic import TypeAdapter

from racebot import __version__, addresses
from racebot.addresses import MOST, Route
from racebot.web.api import types
from racebot.web.api.endpoints import ENDPOINTS, MOST_IN_A_RACE, MOST_PER_PAGE, PER_PAGE
from racebot.web.html import templating
from racebot.web.site.ledger_view import JSON, Content, Document

Schema = dict[str, Any]

_FIELDS = {each: ("category", each) for each in ("board", "race", "event")} | {
    each: (each,) for each in ("player", "category")
}
_FIELD_TEXTS = {
    "category": "The category's slug: the part of a leaderboard's `id` before the slash",
    "board": "The part of a leaderboard's `id` after the slash",
    "race": "The race's slug: the part of its name after the slash",
    "player": "The player's id on racetime.gg",
    "event": "The part of the event's name after the slash",
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
    "name": _required("Part of the name, in any case, with or without accents"),
}


def description(url: str = "", *, served: bool) -> Schema:
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
    kinds = [each.kind for each in ENDPOINTS.values() if isinstance(each.kind, type)]
    schemas, definitions = TypeAdapter.json_schemas(
        [(kind, "serialization", TypeAdapter(kind)) for kind in (*kinds, types.ProblemDetails)],
        ref_template="#/components/schemas/{model}",
    )
    for schema in definitions["$defs"].values():
        _flatten(schema, definitions["$defs"])
        if "description" in schema:
            schema["description"] = schema["description"].partition("\n\n")[0]
    problem = schemas[types.ProblemDetails, "serialization"]
    paths: dict[str, Any] = {}
    for route, endpoint in ENDPOINTS.items():
        if isinstance(kind := endpoint.kind, str):
            summary = kind
            answer = _answer("A heading row, then the data rows", "text/csv", {"type": "string"})
        else:
            summary = (kind.__doc__ or "").partition("\n")[0].rstrip(".")
            answer = _answer(summary, "application/json", schemas[kind, "serialization"])
        if served or not route.served_only:
            paths[_path(route, served)] = _operation(route, summary, answer, problem, served)
    return {"paths": paths, "components": {"schemas": definitions["$defs"]}}


def _flatten(schema: Schema, definitions: Mapping[str, Schema]) -> None:
    """Put the fields of records that stand beside others in JSON beside them."""
    properties, required = dict[str, Any](), dict.fromkeys(schema.get("required", ()))
    for name, value in schema.get("properties", {}).items():
        if value.pop("beside", False):
            inner = definitions[value["$ref"].rpartition("/")[2]]
            _flatten(inner, definitions)
            properties |= inner["properties"]
            del required[name]
            required |= dict.fromkeys(inner["required"])
        else:
            properties[name] = value
    if properties:
        schema |= {"properties": properties, "required": list(required)}


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
    return path.removesuffix(".json") if served else path


def _answer(text: str, media_type: str, schema: Schema) -> Schema:
    return {"description": text, "content": {media_type: {"schema": schema}}}


DATA: Mapping[Route, Callable[..., Content]] = {
    addresses.API: lambda request: templating.page(
        request, "api.html", paths=description(served=request.served)["paths"]
    ),
    addresses.OPENAPI: lambda request: Document(
        orjson.dumps(description(request.view.publication.url, served=request.served)), JSON
    ),
    **{route: endpoint.content for route, endpoint in ENDPOINTS.items()},
}
"""Every address of the API with its function."""
