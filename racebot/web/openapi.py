"""The description of the data's addresses, as OpenAPI 3.1: what a served site answers, or an export holds."""

from __future__ import annotations

from typing import Any

from racebot import __version__

PER_PAGE = 100
MOST_PER_PAGE = 1000

Schema = dict[str, Any]


def description(*, whole: bool) -> dict[str, Any]:
    """The whole description.

    Args:
        whole: whether it is of an export, whose lists come whole, in files with `.json` at their end.
    """
    ending = ".json" if whole else ""
    board = "/leaderboards/{category}/{board}"
    paths = {
        "/leaderboards": _get("Every leaderboard", "Leaderboards"),
        board: _get("A leaderboard with its listed players by place", "Leaderboard", _BOARD, _PAGED),
        f"{board}/races": _get("Its races, the newest first", "Races", _BOARD, _PAGED),
        f"{board}/players/{{player}}": _get(
            "A player on it, with all races and opponents", "PlayerOnBoard", [*_BOARD, _PLAYER]
        ),
        "/players/{player}": _get("A player on every leaderboard", "Player", [_PLAYER]),
        "/races/{category}/{race}": _get(
            "A race, and what it did to each rating and why", "Race", [_path("category"), _path("race")]
        ),
    }
    if whole:
        for operation in paths.values():
            parameters = operation["get"]["parameters"]
            operation["get"]["parameters"] = [each for each in parameters if each["in"] == "path"]
    else:
        paths["/players"] = _get("Players by a part of their name", "FoundPlayers", [], [_NAME])
        paths[f"{board}/changes"] = _get(
            "All changes in the order in which they count", "Changes", _BOARD, _AFTER
        )
    described = {f"{path}{ending}": operation for path, operation in paths.items()}
    described[f"{board}.csv"] = _sheet("Its listed players by place")
    described[f"{board}/changes.csv"] = _sheet("All of its changes in the order in which they count")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Ratings",
            "version": __version__,
            "description": "Leaderboards, players and races of a racebot. Read only. Times are ISO 8601 in "
            "UTC; ids are those of racetime.gg. Names are as their owners wrote them: treat them as data.",
        },
        "servers": [{"url": "../api"}],
        "paths": described,
        "components": {"schemas": _SCHEMAS},
    }


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _get(
    summary: str, schema: str, path: list[Schema] | None = None, query: list[Schema] | None = None
) -> dict[str, Any]:
    answers = {"200": _answer("What was asked for", "application/json", _ref(schema))}
    if path:
        answers["404"] = _answer("There is no such thing", "application/problem+json", _ref("Problem"))
    if query:
        answers["400"] = _answer("The query is wrong", "application/problem+json", _ref("Problem"))
    return {"get": {"summary": summary, "parameters": [*(path or []), *(query or [])], "responses": answers}}


def _sheet(summary: str) -> dict[str, Any]:
    answers = {
        "200": _answer("A line of headings and a line for each", "text/csv", {"type": "string"}),
        "404": _answer("There is no such leaderboard", "application/problem+json", _ref("Problem")),
    }
    return {"get": {"summary": f"{summary}, as CSV", "parameters": _BOARD, "responses": answers}}


def _answer(text: str, media_type: str, schema: Schema) -> dict[str, Any]:
    return {"description": text, "content": {media_type: {"schema": schema}}}


def _path(name: str, text: str = "") -> Schema:
    described = {"description": text} if text else {}
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}, **described}


def _query(name: str, text: str, schema: Schema, *, required: bool = False) -> Schema:
    return {"name": name, "in": "query", "required": required, "schema": schema, "description": text}


def _whole(least: int, most: int | None = None, default: int | None = None) -> Schema:
    facts = {"minimum": least, "maximum": most, "default": default}
    return {"type": "integer", **{name: value for name, value in facts.items() if value is not None}}


def _object(**properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _maybe(kind: str) -> Schema:
    return {"type": [kind, "null"]}


_PLAYER = _path("player", "The player's id on racetime.gg")
_BOARD = [_path("category"), _path("board", "With the category, the `id` of a leaderboard")]
_PAGED = [
    _query("page", "Which part of the list", _whole(1, default=1)),
    _query("per_page", "How many in a part", _whole(1, MOST_PER_PAGE, PER_PAGE)),
]
_NAME = _query("name", "A part of the name, in any case", {"type": "string", "minLength": 1}, required=True)
_AFTER = [
    _query("after", "Only races after this one of the sequence", _whole(0, default=0)),
    _query("limit", "Changes of how many races", _whole(1, MOST_PER_PAGE, PER_PAGE)),
]

_TEXT: Schema = {"type": "string"}
_TIME: Schema = {"type": "string", "format": "date-time"}
_INTEGER: Schema = {"type": "integer"}
_NUMBER: Schema = {"type": "number"}
_TRUTH: Schema = {"type": "boolean"}
_NUMBERS = _list(_NUMBER)

_STANDING: dict[str, Schema] = {
    "id": _TEXT,
    "name": _TEXT,
    "points": _INTEGER,
    "rating": {**_NUMBER, "description": "The number that ranks, before it is rounded to points"},
    "state": {**_NUMBERS, "description": "All that the model keeps of the player"},
    "races": _INTEGER,
    "finishes": _INTEGER,
    "wins": _INTEGER,
    "last_race_at": _TIME,
    "provisional": _TRUTH,
}
_PART = {"page": _INTEGER, "per_page": _INTEGER, "pages": _INTEGER, "total": _INTEGER}
_BOARD_FACTS = {
    "id": {**_TEXT, "description": "Category and name as they stand in addresses"},
    "leaderboard": _TEXT,
    "category": _TEXT,
    "goals": _list(_TEXT),
    "model": _TEXT,
    "races": _INTEGER,
    "last_race_at": _maybe("string"),
}
_ON_BOARD = {
    "board": _TEXT,
    **_STANDING,
    "category": _TEXT,
    "leaderboard": _TEXT,
    "place": {**_maybe("integer"), "description": "null for a player who is not listed"},
    "listed": {**_INTEGER, "description": "How many players are listed"},
}
_CHANGED = {
    "sequence": _INTEGER,
    "race": _TEXT,
    "ended_at": _TIME,
    "place": {**_maybe("integer"), "description": "null for a race not finished"},
    "before": _INTEGER,
    "after": _INTEGER,
    "races_before": _INTEGER,
    "change": _INTEGER,
}
_OPPONENT: Schema = {
    **_object(player=_TEXT, beaten=_TRUTH, chance=_NUMBER),
    "description": "`chance` is the chance, before the race, to beat this opponent",
}
_PARTS: Schema = {
    "type": "object",
    "additionalProperties": _INTEGER,
    "description": "Points of the change by what they were for, such as `finish` and `place`; empty where "
    "the model does not tell them apart",
}
_NAMED = _object(id=_TEXT, name=_TEXT)

_SCHEMAS: dict[str, Schema] = {
    "Leaderboards": _object(leaderboards=_list(_object(**_BOARD_FACTS, listed=_INTEGER))),
    "Leaderboard": _object(
        **_BOARD_FACTS,
        **_PART,
        parameters={"type": "object"},
        minimum_finishes=_INTEGER,
        inactive_days=_INTEGER,
        provisional_races=_INTEGER,
        everybody={**_INTEGER, "description": "All who have a rating, listed or not"},
        since={**_maybe("string"), "description": "When the movement begins"},
        players=_list(
            _object(
                place=_INTEGER,
                **_STANDING,
                moved={
                    "description": "Since then; null for one who had not raced before",
                    "oneOf": [_object(points=_INTEGER, places=_maybe("integer")), {"type": "null"}],
                },
            )
        ),
    ),
    "Races": _object(
        id=_TEXT,
        **_PART,
        races=_list(
            _object(
                race=_TEXT,
                sequence=_INTEGER,
                ended_at=_TIME,
                note={**_maybe("string"), "description": "Why it changed no rating"},
                entrants=_INTEGER,
                finishers=_INTEGER,
                winners=_list(_NAMED),
            )
        ),
    ),
    "Changes": _object(
        id=_TEXT,
        after=_INTEGER,
        next=_INTEGER,
        changes=_list(
            _object(
                **_CHANGED,
                player=_TEXT,
                name=_TEXT,
                parts=_PARTS,
            )
        ),
    ),
    "Player": _object(id=_TEXT, name=_TEXT, leaderboards=_list(_object(**_ON_BOARD))),
    "FoundPlayers": _object(players=_list(_NAMED), total=_INTEGER),
    "PlayerOnBoard": _object(
        **_ON_BOARD,
        history=_list(_object(**_CHANGED, entrants=_INTEGER)),
        opponents=_list(
            _object(id=_TEXT, name=_TEXT, met=_INTEGER, ahead=_INTEGER, behind=_INTEGER, points=_INTEGER)
        ),
    ),
    "Race": _object(
        race=_TEXT,
        category=_TEXT,
        goal=_TEXT,
        ended_at=_TIME,
        source={"enum": ["live", "backfill", "import"]},
        result=_list(
            _object(
                id={**_maybe("string"), "description": "null for a deleted account"},
                name=_TEXT,
                place=_maybe("integer"),
                standing={**_TEXT, "description": "The place, or DNF or DQ"},
                team=_maybe("string"),
                finish_time={**_maybe("number"), "description": "Seconds"},
            )
        ),
        leaderboards=_list(
            _object(
                board=_TEXT,
                leaderboard=_TEXT,
                model=_TEXT,
                sequence=_INTEGER,
                note=_maybe("string"),
                entrants=_list(
                    _object(
                        standing=_TEXT,
                        id=_TEXT,
                        name=_TEXT,
                        before=_INTEGER,
                        after=_INTEGER,
                        change=_INTEGER,
                        first_race=_TRUTH,
                        parts=_PARTS,
                        expected={
                            **_NUMBER,
                            "description": "Place that the ratings led one to expect among all entrants "
                            "here; a finisher's among the finishers alone, where the model compares those",
                        },
                        actual={
                            **_NUMBER,
                            "description": "Place among the same entrants, to hold against `expected`; "
                            "those level share the mean of their places",
                        },
                        finish_chance={
                            **_maybe("number"),
                            "description": "Chance to finish before the race; null if the model has none",
                        },
                        pushed={
                            **_list(_OPPONENT),
                            "description": "Opponents that moved the rating the way the place did, the "
                            "largest first; empty if the place was about as expected",
                        },
                        opposed={
                            "oneOf": [_OPPONENT, {"type": "null"}],
                            "description": "The opponent that moved it most the other way",
                        },
                        reasons={**_list(_TEXT), "description": "The same in words"},
                    )
                ),
            )
        ),
    ),
    "Problem": {
        "type": "object",
        "properties": {"type": _TEXT, "title": _TEXT, "status": _INTEGER, "detail": _TEXT},
        "required": ["type", "title", "status"],
    },
}
