"""Races in JSON: of the site, of well-known programs and archives, or records in any nesting."""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

from racebot.errors import PayloadError
from racebot.files import cells
from racebot.files.cells import DONE, KNOWN, SIGNS, WORDS, is_date, is_result
from racebot.files.options import PAIRS, RACE_NAME, RESULTS, few, plain, words_of
from racebot.files.rows import MOST_LINES
from racebot.races.result import HIDDEN_ID, RaceResult
from racebot.racetime.payload import parse_race
from racebot.text.format import counted, without_apostrophe
from racebot.text.parse import parse_duration, read_json

MOST_VALUES = 1_000_000
"""Most commas and opening brackets in a JSON document."""
EXPORTED = {"race": "race.name", "goal": "race.goal.name", "custom_goal": "race.goal.custom"}
_OF_RACE = ("ended_at", "started_at", "recorded", "recordable", "leaderboard", "info", "opened_by_bot")
EXPORTED |= {column: f"race.{column}" for column in _OF_RACE} | {"opened_by": "race.opened_by.name"}
EXPORTED |= {"player": "user.id", "name": "user.name", "discriminator": "user.discriminator"}
EXPORTED |= {"status": "status.value", "finish_time": "finish_time", "place": "place", "team": "team.slug"}
EXPORTED |= {"team_name": "team.name", "penalty": "penalty", "penalty_reason": "penalty_reason"}
EXPORTED |= {"twitch_name": "user.twitch_name", "numbered": "user.numbered"}
"""The columns of the table that racebot exports, and where its JSON says the same."""
Record = Mapping[str, Any]
_PLAYERS = {"teams", *KNOWN["columns"]["player"]}
_PEOPLE = {name + "s" for name in (*KNOWN["columns"]["player"], "entrant")}
_RACES = {name + end for name in KNOWN["columns"]["race"] for end in ("s", "es")}
_ORDERS = {"order", "finish order", "finishing order", "finishers", "ranking", "results", "placements"}
_TELLING = {
    "place": {*KNOWN["columns"]["place"]},
    "player": _PLAYERS,
    "result": {name for ours in (*RESULTS, "status") for name in KNOWN["columns"][ours]},
}
_Path = tuple[str, ...]
"""The keys of the lists around a value."""
_Found = tuple[_Path, tuple[int, ...], Record, Record]
"""Where an object is: its lists, and the numbers within them; its own values, and with those around it."""
_KINDS = {name: kind for kind in RESULTS for name in KNOWN["columns"][kind]} | {"results": "place"}


@dataclass(frozen=True, slots=True)
class _Program:
    """Where the results of a program or site are in its JSON; `known.toml` explains it."""

    path: str
    columns: Mapping[str, str]
    session: str = ""
    finish: str = ""
    base: int = 1
    refused: str = "results without a race, as of practice or records"

    def records(self, document: Any) -> list[Record] | None:
        """Return the records of a document, or None if it has another form."""
        entrants = list(_below(document, self.path.split(), {}))
        if not any(_value(each, self.columns["player"]) and self._session(each) for each in entrants):
            return None
        found: list[Record] = []
        for entrant in entrants:
            if self._session(entrant) in SIGNS["races"]:
                record = {ours: _value(entrant, form) for ours, form in self.columns.items()}
                if "#" in self.columns.values() and any(record.values()):  # an empty slot has no name
                    record["place"] = len(found) + 1
                elif isinstance(record["place"], int):
                    record["place"] += 1 - self.base
                if self.finish and _value(entrant, self.finish) in NO_FINISH:
                    record["place"] = "DNF"
                found += [record] if any(record.values()) else []
        return found

    def _session(self, entrant: Record) -> str:
        session = _value(entrant, self.session) if self.session else "race"
        return str(session or "").lower().rstrip("0123456789")


NO_FINISH = {None, 0, 9999, 2**31 - 1}
PROGRAMS = {name: _Program(**form) for name, form in KNOWN["programs"].items()}


def read_document(
    text: str, left_out: Counter[str], *, parts: bool = False
) -> list[RaceResult] | tuple[list[str], list[Record]]:
    """Read JSON or lines of JSON: races of the site, or records with notes on them.

    `left_out` counts the site's races without a result. `parts` allows entrants in several lists, by `part`.
    """
    document = _document(text)
    races = list(_site_races(document))
    if races and all(isinstance(each, Mapping) and isinstance(each.get("status"), dict) for each in races):
        return list(_results(races, left_out))
    for name, program in PROGRAMS.items():
        records = program.records(document)
        if records:
            return [f"results of {name}"], records
        if records is not None:
            wanted = "export those of a race, or a table with race, player and place"
            raise PayloadError(f"{name}, {program.refused}: {wanted}")
    return _of_entrants(_exploded(_by_key(_keyed(_by_column(document))), {}), parts)


def read_exported(lines: Iterator[str], left_out: Counter[str]) -> list[RaceResult] | None:
    """Read the table that racebot exports, or raise a ValueError; None if the lines are another table."""
    first = next(lines, "")
    if not first.startswith(",".join([*EXPORTED][:-2])):  # earlier files lack the last columns
        return None
    return list(_results(documents_of(map(_exported, csv.DictReader(chain([first], lines)))), left_out))


def _exported(line: Mapping[str, str]) -> Record:
    row = {column: without_apostrophe(line.get(column) or "") for column in EXPORTED}
    typed: dict[str, Any] = {each: row[each] == "true" for each in ("custom_goal", "recorded", "recordable")}
    typed["numbered"] = row["numbered"] == "true" or None
    return row | typed | {"place": row["place"] and int(row["place"])}


def documents_of(rows: Iterable[Record]) -> Iterator[dict[str, Any]]:
    """Yield races as the site writes them, given rows of `EXPORTED`. A fact that is unknown is left out."""
    names = set()
    for name, rows_of_race in groupby(rows, itemgetter("race")):
        if name in names:
            raise ValueError(f"the lines of {name} are not together: sort them by the column race")
        names.add(name)
        race: dict[str, Any] = {}
        for row in rows_of_race:
            entrant: dict[str, Any] = {"race": {"status": {"value": "finished"}, "entrants": []}}
            for column, path in EXPORTED.items():
                if row[column] not in {None, ""}:
                    *above, key = path.split(".")
                    reduce(lambda found, name: found.setdefault(name, {}), above, entrant)[key] = row[column]
            own = entrant.pop("race")
            race = race or own
            race["entrants"].append(entrant)
        yield race


def _document(text: str) -> Any:
    if sum(map(text.count, ",[{")) > MOST_VALUES:
        raise PayloadError(f"more than {MOST_VALUES:,} values: split it into several files")
    lines = [line for line in text.splitlines() if line.strip() and line.strip()[0] not in "#/"]
    if lines[1:]:
        with suppress(PayloadError):
            read_json(lines[0])
            return list(map(read_json, lines))
    try:
        return read_json(text)
    except PayloadError as error:
        raise PayloadError(f"{error}: correct it, or save a table as CSV") from None


def _site_races(document: Any) -> Iterator[Any]:
    """Yield the races in JSON saved from the site: a list page, several pages, one race, or a list."""
    if isinstance(document, list):
        for item in document:
            yield from _site_races(item) if isinstance(item, dict) else [item]
    elif isinstance(document, dict):
        yield from document["races"] if isinstance(document.get("races"), list) else [document]
    else:
        raise PayloadError("neither an archive nor races saved from the site")


def _results(races: Iterable[Any], left_out: Counter[str]) -> Iterator[RaceResult]:
    lacking = 0
    for given in races:
        if "entrants" not in given:
            lacking += 1
        elif (race := parse_race(given)).result is not None:
            counts_on = given.get("leaderboard")  # of a file that racebot exported, as are penalties
            for each, own in zip(given["entrants"], race.result.entrants, strict=False):
                if counts_on and (own.user_id or "").startswith(HIDDEN_ID):  # of this file's leaderboard
                    own.user_id = f"{own.user_id} of {counts_on}"
                if penalty := each.get("penalty"):
                    own.penalty, own.penalty_reason = parse_duration(penalty), str(each.get("penalty_reason"))
                if own.profile and each["user"].get("numbered"):
                    own.profile = replace(own.profile, numbered=True)
            yield replace(race.result, leaderboard=counts_on if isinstance(counts_on, str) else None)
        else:
            left_out["cancelled" if race.status == "cancelled" else "not finished yet"] += 1
    if lacking:
        raise PayloadError(f"{counted(lacking, 'race')} without entrants: save it with ?show_entrants=true")


def _below(value: Any, path: list[str], above: Record) -> Iterator[Record]:
    """Yield the objects at the end of a path, with the plain values of those around them."""
    if isinstance(value, list):
        for item in value:
            yield from _below(item, path, above)
    elif isinstance(value, Mapping):
        here = {**above, **dict(_flat(value))}
        if not path:
            yield here
            return
        keys = path[0].split("|")
        found = next((value[key] for key in keys if key in value), value if "" in keys else None)
        yield from _below(found, path[1:], here)


def _value(values: Record, form: str) -> Any:
    for choice in form.split("|"):
        parts = [each for name in choice.split("+") if (each := values.get(name)) not in {None, ""}]
        if parts:
            return " ".join(map(str, parts)) if "+" in choice else parts[0]
    return None


def _by_column(document: Any) -> Any:
    """Return the objects that pandas writes in columns or rows, `{"player": {"0": "Ann", "1": "Bo"}}`."""
    rows = document if isinstance(document, list) else []
    if isinstance(document, Mapping) and _are_names(document.get("columns")):
        rows = [document["columns"], *(document.get("data") or document.get("rows") or [])]
    if rows and _are_names(rows[0]) and all(isinstance(row, list) for row in rows):
        return [dict(zip(rows[0], row, strict=False)) for row in rows[1:]]
    columns = list(document.values()) if isinstance(document, Mapping) else []
    if not columns or not all(isinstance(each, Mapping) and "0" in each for each in columns):
        return document
    return [{key: each.get(at) for key, each in document.items()} for at in columns[0]]


def _keyed(value: Any, name: str = "") -> Any:
    """Return a document in which objects that stand for lists are lists of objects that have their keys.

    These hold objects, or lists of them, and are called races or players, or have numbered names or dates as
    keys. `["Ann", 61.2]` in a list of such pairs is an object, too.
    """
    if isinstance(value, list):
        pairs = all(isinstance(each, list) and len(each) == 2 and isinstance(each[0], str) for each in value)
        return [{"player": each[0], "result": each[1]} if pairs else _keyed(each) for each in value]
    if not isinstance(value, Mapping) or not value:
        return value
    own = {key: _keyed(each, key) for key, each in value.items()}
    values = [*own.values()]
    alike = all(isinstance(each, list) and each and len(each) == len(values[0]) for each in values)
    plain_cells = alike and not any(isinstance(cell, list | Mapping) for each in values for cell in each)
    if plain_cells and values[1:] and not any(map(_tells, own)) and not any(map(_are_names, values)):
        return [{"player": key} | {f"race {n}": cell for n, cell in enumerate(own[key], 1)} for key in own]
    rows = [{"results": each} if _are_objects(each) else each for each in values]
    if not all(isinstance(row, Mapping) for row in rows) or tuple(map(plain, own)) in PAIRS:
        return own
    if all(re.fullmatch(r"(19|20)\d\d", key) for key in own):
        label = "season"
    elif plain(name) in _RACES:
        label = "race"
    elif all(map(is_date, own)):
        label = "date"
    elif plain(name) in _PEOPLE or (plain(name) in _ORDERS and all(map(_has_result, rows))):
        label = "player"
    elif all(RACE_NAME.fullmatch(plain(key)) for key in own):
        label = "race" if rows[0].keys() == {"results"} or not all(map(str.isdecimal, own)) else name or "key"
    else:
        return own
    return [{label: key} | row for key, row in zip(own, rows, strict=True)]


def _has_result(entrant: Record) -> bool:
    return any("result" in _tells(key) for key in entrant)


def _by_key(document: Any) -> Any:
    """Return the objects, or lists of names in order, that an object holds by a key, with that key."""
    if not isinstance(document, Mapping) or not document or not _PLAYERS.isdisjoint(map(plain, document)):
        return document
    each, name = list(document.values()), "date" if all(map(is_date, document)) else "key"
    if all(one and _are_names(one) for one in each):
        starts = Counter(player for one in each for player in {*one})
        if name != "date" and starts.total() == len(starts):  # nobody is in two of them
            return document
        each = [{f"place {n}": player for n, player in enumerate(one, start=1)} for one in each]
        name = name.replace("key", "race")
    if any(not isinstance(one, Mapping) or len(dict(_flat(one))) < len(one) for one in each):
        return document
    return [{name: key, **one} for key, one in zip(document, each, strict=True)]


def _of_entrants(found: Iterable[_Found], parts: bool) -> tuple[list[str], list[Record]]:
    """Return a note on lists that are not used, and the records of those of entrants, which get a number.

    Which of several lists of entrants counts is asked, except for one of those who did not finish.
    """
    tells: defaultdict[_Path, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    kept: list[tuple[_Path, tuple[int, ...], Record]] = []
    for path, at, *both in found:
        for seen, keys in zip(tells[path], both, strict=True):
            seen.update(*map(_tells, keys))
        kept += [(path, at, both[1])] if both[1] else []
        if len(kept) > MOST_LINES:
            raise PayloadError(f"more than {MOST_LINES:,} lines: split it into several files")
    if not kept:
        form = "write an object for each entrant, with race, player and place"
        raise PayloadError(f"no races: neither of racetime.gg, nor a list of objects: {form}")
    full = [path for path, (own, told) in tells.items() if own and {"player", "result"} <= told]
    # What stands beside a list of results, or in one of places, may be details, unless it is called players.
    people = {path for path in full if "player" in _tells("".join(path[-1:]))}
    ranked = [path for path in full if "result" in tells[path][0] or path in people]
    places = [path for path in ranked if "place" in tells[path][0]]
    within = {path for path in ranked for outer in places if path != outer == path[: len(outer)]}
    within -= {*people, *places}
    ranked = [path for path in ranked if path not in within]
    full = full if parts else ranked or full
    full = [] if all(map(_is_out, full)) else full  # nobody finished only if no other list says so
    used = {path: " ".join(path) or "top level" for path in full or (path for path, _, _ in kept)}
    lists = sorted(
        (path for path in used if not _is_out(path)), key=lambda path: (-len(tells[path][0]), path)
    )
    several = [cells.quoted(used[path]) for path in lists]
    if len(several) > 1 and not parts:
        keys_of_all = [key for key in kept[0][2] if all(key in row for path, _, row in kept if path in used)]
        races = [key for key in keys_of_all if plain(key) in KNOWN["columns"]["race"]]
        own = cells.quoted(f"race={'+'.join([*races[:1], 'part'])}")
        fix = f"choose by --where part={several[0]}, or add --columns {own} if each is a race"
        raise PayloadError(f"entrants in {' and in '.join(several[:5])}: {fix}")
    out = any(map(_is_out, used))  # they are numbered as the list beside them
    end = {path: None if out or "result" in tells[path][0] else -1 for path in used}
    kept = [(path, at[: end[path]], row) for path, at, row in kept if path in used]
    number = {at: n for n, at in enumerate(dict.fromkeys(at for _, at, _ in kept), start=1)}
    by_list = len(number) > 1 and not any("player" in tells[path][1] - tells[path][0] for path in used)
    records: list[Record] = [
        ({"list": number[at]} if by_list else {})
        | ({"part": used[path]} if several[1:] or parts else {})
        | dict(row)
        for path, at, row in kept
    ]
    unused = [" ".join(path) or "top level" for path in tells if path not in used]
    return [f"lists not used: {few(unused)}"] if unused else [], records


def _are_details(key: str) -> bool:
    """Return whether a list is of parts of an entrant's race, as `laps` and `RaceSessionLaps` are."""
    return not {plain(key), *words_of(key)[-1:]}.isdisjoint(KNOWN["details"])


@lru_cache(maxsize=10_000)
def _tells(key: str) -> set[str]:
    """Return whether a key seems to name a player, a result or a place."""
    words = {plain(key), *words_of(key)}
    return {kind for kind, names in _TELLING.items() if not names.isdisjoint(words)}


def _is_out(path: _Path) -> bool:
    """Return whether a list is of entrants who did not finish."""
    return WORDS.get(plain("".join(path[-1:])), DONE) is not DONE


def _exploded(value: Any, above: Record, at: tuple[int, ...] = (), path: _Path = ()) -> Iterator[_Found]:
    """Yield the innermost objects of nested lists, each with the plain values of those around it.

    An object with a player and a result comes, too, if its lists seem to have no others. A key that is used
    within stays; the outer one gets the name of its object, `race name`.
    """
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _exploded(item, above, (*at, number), path)
    elif isinstance(value, Mapping):
        node = value.get("node")  # in lists of GraphQL
        value = node if isinstance(node, Mapping) and value.keys() <= {"node", "cursor"} else value
        value = _by_player(value, races=not _RACES.isdisjoint(map(plain, path[-1:])))
        flat = ({"status": path[-1]} if _is_out(path) else {}) | dict(_flat(value))
        lists = dict(_lists(value, path))
        inner = {
            key: each
            for key, each in lists.items()
            if isinstance(each[0], Mapping) and not _are_details(key[-1])
        }
        names = [key for each in inner.values() for key, _ in _flat(each[0]) if "player" in _tells(key)]
        out = {key: each for key, each in lists.items() if _is_out(key) and _are_names(each)}
        own_name = min(names, key=lambda key: not plain(key).endswith("name"), default="name")
        inner |= {key: [{own_name: who} for who in each] for key, each in out.items()}
        own = set[str]().union(*map(_tells, flat))
        is_entrant = {"player", "result"} <= own and ("place" in own or not (names or out))
        if is_entrant or not inner:
            named = {"name"} if "player" in own else set()
            taken = (flat.keys() | named) & {"name", "id", "status"}
            row = {f"race {key}" if key in taken else key: each for key, each in above.items()} | flat
            rows = list(_side_by_side(value)) if "result" not in own else []
            yield from [(path, at, each, {**row, **each}) for each in rows] or [(path, at[:-1], flat, row)]
            lists = {} if rows else lists
        for key in lists:
            items = _exploded(inner[key], {**above, **flat}, at, key) if key in inner else [(key, at, {}, {})]
            yield from items


def _by_player(value: Record, *, races: bool) -> Record:
    """Return a race of `"results": {"Ann": 1}`, or `"order": ["Ann", "Bo"]`, with a list of objects."""
    keys = [key for key, each in value.items() if isinstance(each, Mapping | list)]
    key, *more = sorted(keys, key=lambda each: plain(each) not in _ORDERS) or [""]
    if plain(key) in _ORDERS and _are_names(value[key]) and all(_is_out((each,)) for each in more):
        return {**value, key: [{"name": who, "place": n} for n, who in enumerate(value[key], start=1)]}
    own = dict(value[key]) if key and isinstance(value[key], Mapping) else {}
    by_place = all(n.isdecimal() and isinstance(who, str) and not is_result(who) for n, who in own.items())
    alone = races or by_place or _PLAYERS.isdisjoint(map(plain, value))
    if more or plain(key) not in _KINDS or not alone:
        return value
    own = {who: place for place, who in own.items()} if by_place else own
    kind = "time" if ":" in "".join(map(str, own.values())) else _KINDS[plain(key)]
    listed = [{"name": who, kind: each} for who, each in own.items() if isinstance(each, int | float | str)]
    return {**value, key: listed} if own and len(listed) == len(own) else value


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _side_by_side(value: Record) -> Iterator[Record]:
    """Yield the entrants of `{"participants": ["Ann", "Bo"], "ranks": [1, 2]}`. Lists within are teams."""
    lists = {key: each for key, each in value.items() if isinstance(each, list)}
    who = next((key for key in lists if plain(key) in _PLAYERS), "")
    if who and len(lists) > 1:
        if len({*map(len, lists.values())}) > 1:
            raise PayloadError(f"lists of different lengths: {', '.join(lists)}: write one value an entrant")
        for row in zip(*lists.values(), strict=True):
            record = dict(zip(lists, row, strict=True))
            team = record.pop(who)
            for member in team if isinstance(team, list) else [team]:
                named = {"team": "+".join(map(str, team))} if isinstance(team, list) and team[1:] else {}
                yield record | {"player": member} | named


def _lists(value: Record, before: _Path) -> Iterator[tuple[_Path, list[Any]]]:
    """Yield the lists in an object and in those within it, but empty ones, with their keys."""
    for key, each in value.items():
        if isinstance(each, Mapping):
            yield from _lists(each, (*before, key))
        elif isinstance(each, list) and each:
            yield (*before, key), each


def _flat(value: Record, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the plain values of an object and those within it, without lists, by name: `Driver driverId`."""
    for key, each in value.items():
        if isinstance(each, Mapping):
            yield from _flat(each, f"{before}{key} ")
        elif not isinstance(each, list):
            yield f"{before}{key}", each
