"""The same as data: what each address below `api/` answers, as JSON or CSV.

What is served may be asked for in pages; an export holds the whole of each list in one file.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from racebot.ledger.history import ChangeRow
from racebot.web import addresses, leaderboards, openapi, players, races
from racebot.web.openapi import MOST_PER_PAGE, PER_PAGE
from racebot.web.view import Board, View

MOST_FOUND = 50
"""Players that a search by name gives at most."""

JSON = "application/json"
CSV = "text/csv; charset=utf-8"


class BadQueryError(ValueError):
    """A query asks for what there cannot be; the text says what is wrong."""


class Slice(NamedTuple):
    """A part of a list, and what says which: `page` from 1, `pages` of `per_page` items, `total` items."""

    page: int
    per_page: int
    total: int

    @classmethod
    def of(cls, query: Mapping[str, str], total: int, *, whole: bool) -> Slice:
        if whole:
            return cls(1, max(total, 1), total)
        per_page = _number(query, "per_page", PER_PAGE, most=MOST_PER_PAGE)
        return cls(_number(query, "page", 1), per_page, total)

    @property
    def offset(self) -> int:
        return (self.page - 1) * self.per_page

    def document(self) -> dict[str, int]:
        return {**self._asdict(), "pages": max(1, -(-self.total // self.per_page))}


def all_leaderboards(view: View) -> dict[str, Any]:
    """Every leaderboard, in short."""
    found = []
    for board in view.boards:
        report = view.once(leaderboards.report, board)
        facts = {
            key: report[key] for key in ("leaderboard", "category", "goals", "model", "races", "last_race_at")
        }
        found.append({"id": board.address.stem, **facts, "listed": len(report["players"])})
    return {"leaderboards": found}


def leaderboard(view: View, board: Board, query: Mapping[str, str], *, whole: bool) -> dict[str, Any]:
    """A leaderboard and a part of its players."""
    report = view.once(leaderboards.report, board)
    part = Slice.of(query, len(report["players"]), whole=whole)
    shown = report["players"][part.offset : part.offset + part.per_page]
    return {"id": board.address.stem, **report, **part.document(), "players": shown}


def races_of(view: View, board: Board, query: Mapping[str, str], *, whole: bool) -> dict[str, Any]:
    """A part of a leaderboard's races, newest first."""
    part = Slice.of(query, view.ledger.rated_count(board.stored), whole=whole)
    found = leaderboards.races(view, board, part.per_page, part.offset)
    return {"id": board.address.stem, **part.document(), "races": found}


def changes(view: View, board: Board, query: Mapping[str, str]) -> dict[str, Any]:
    """Changes in the order in which they count, from after a race of the sequence.

    `next` is what to ask for `after` to go on; asked later, it gives what has come since.
    """
    after = _number(query, "after", 0, least=0)
    limit = _number(query, "limit", PER_PAGE, most=MOST_PER_PAGE)
    rows = list(view.ledger.pages.changes(board.key, after, limit))
    return {
        "id": board.address.stem,
        "after": after,
        "next": rows[-1].sequence if rows else after,
        "changes": [_change(row) for row in rows],
    }


def player_on(view: View, board: Board, player: str) -> dict[str, Any] | None:
    """A player on one leaderboard, with all of their races and opponents."""
    found = players.standing(view, board, player)
    if found is None:
        return None
    return {
        "board": board.address.stem,
        **found,
        "history": players.history(view, board, player),
        "opponents": players.opponents(view, board, player),
    }


def player(view: View, player_id: str) -> dict[str, Any] | None:
    """A player on every leaderboard."""
    found = players.standings(view, player_id)
    if not found:
        return None
    standings = [{"board": board.address.stem, **standing} for board, standing in found]
    return {"id": player_id, "name": standings[0]["name"], "leaderboards": standings}


def find_players(view: View, query: Mapping[str, str]) -> dict[str, Any]:
    """Players whose name has a text in it, in any case."""
    wanted = query.get("name", "").strip().casefold()
    if not wanted:
        raise BadQueryError("name: give a part of the name to look for")
    found = [
        {"id": player_id, "name": name}
        for player_id, name in view.ledger.pages.players()
        if wanted in name.casefold()
    ]
    found.sort(key=lambda each: (len(each["name"]), each["name"]))
    return {"players": found[:MOST_FOUND], "total": len(found)}


def race(view: View, name: str) -> dict[str, Any] | None:
    """A race, its result, and what it did on each leaderboard."""
    found = races.report(view, name)
    if found is None:
        return None
    for board, part in races.boards(view, found):
        part["board"] = board.address.stem
    return found


def leaderboard_sheet(view: View, board: Board) -> bytes:
    """A leaderboard as CSV: one line for each listed player."""
    columns = ("place", "id", "name", "points", "races", "finishes", "wins", "last_race_at", "provisional")
    report = view.once(leaderboards.report, board)
    return _sheet(columns, ([entry[column] for column in columns] for entry in report["players"]))


def changes_sheet(view: View, board: Board) -> bytes:
    """A leaderboard's whole ledger as CSV: one line for each change, in the order in which they count."""
    columns = [*ChangeRow._fields[:-1], "change"]
    rows = view.ledger.pages.changes(board.key)
    return _sheet(columns, ([*row[:-1], row.after - row.before] for row in rows))


def as_json(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def problem(status: int, title: str, detail: str = "") -> bytes:
    """An error as RFC 9457 has it."""
    return as_json(
        {"type": "about:blank", "title": title, "status": status, **({"detail": detail} if detail else {})}
    )


def harmless(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: text that could be one has an apostrophe before it."""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r", "\n")):
        return f"'{value}"
    return value


def _sheet(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(columns)
    writer.writerows([harmless(value) for value in row] for row in rows)
    return file.getvalue().encode(errors="replace")


def _change(row: ChangeRow) -> dict[str, Any]:
    return {**row._asdict(), "change": row.after - row.before, "parts": dict(json.loads(row.parts))}


def _number(query: Mapping[str, str], name: str, default: int, *, least: int = 1, most: int = 10**9) -> int:
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 12 and least <= int(text) <= most):
        raise BadQueryError(f"{name}: not a number from {least} to {most}")
    return int(text)


def answer(view: View, path: str, query: Mapping[str, str], *, whole: bool) -> tuple[bytes, str] | None:
    """What belongs to an address below `api/`, with its media type; None where there is nothing.

    Args:
        view: the state of the ledger.
        path: from the root, `.json` at its end or not.
        query: what of it is asked for.
        whole: whether lists come whole, whatever is asked for.

    Raises:
        BadQueryError: a query that cannot be answered.
    """
    sheet = path.endswith(".csv")
    parts = path.removesuffix(".csv" if sheet else ".json").split("/")[1:]
    if parts[:1] == ["leaderboards"] and len(parts) > 2:
        board = view.board("/".join(parts[1:3]))
        if board is None:
            return None
        rest = parts[3:]
        if sheet:
            made = {(): leaderboard_sheet, ("changes",): changes_sheet}.get(tuple(rest))
            return None if made is None else (made(view, board), CSV)
        found = _of_board(view, board, rest, query, whole=whole)
    elif sheet:
        return None
    else:
        match parts:
            case ["openapi"]:
                found = openapi.description(whole=whole)
            case ["leaderboards"]:
                found = all_leaderboards(view)
            case ["players"] if not whole:
                found = find_players(view, query)
            case ["players", player_id]:
                found = player(view, addresses.text_of(player_id))
            case ["races", *names]:
                found = race(view, "/".join(map(addresses.text_of, names)))
            case _:
                found = None
    return None if found is None else (as_json(found), JSON)


def _of_board(
    view: View, board: Board, rest: list[str], query: Mapping[str, str], *, whole: bool
) -> dict[str, Any] | None:
    match rest:
        case []:
            return leaderboard(view, board, query, whole=whole)
        case ["races"]:
            return races_of(view, board, query, whole=whole)
        case ["changes"] if not whole:
            return changes(view, board, query)
        case ["players", player_id]:
            return player_on(view, board, addresses.text_of(player_id))
    return None
