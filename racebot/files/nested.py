"""Turns JSON of any nesting into records: the objects of entrants, with the values of those around them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import accumulate, islice
from typing import Any

from racebot.errors import PayloadError
from racebot.files import cells
from racebot.files.cells import DONE, KNOWN, SIGNS, WORDS, is_date
from racebot.files.options import PAIRS, RACE_NAME, RESULTS, few, plain, words_of
from racebot.files.rows import MOST_LINES
from racebot.text.format import counted

Record = Mapping[str, Any]
_PLAYERS = {"teams", *KNOWN["columns"]["player"]}
_PEOPLE = {name + "s" for name in (*KNOWN["columns"]["player"], "entrant")}
_ONE_PLAYER = {*KNOWN["columns"]["player"]} - {"players", "participants"} | {"team", "entrant"}
_RACES = {name + end for name in KNOWN["columns"]["race"] for end in ("s", "es")}
_ORDERS = {"order", "finish order", "finishing order", "finishers", "podium", "classification", "results"}
_ORDERS |= {"ranking", "rankings", "placements", "standings", "leaderboard"}
_TELLING = {
    "place": {*KNOWN["columns"]["place"]},
    "player": _PLAYERS,
    "result": {name for ours in RESULTS for name in KNOWN["columns"][ours]},
    "status": {*KNOWN["columns"]["status"]},
}
_RESULT = {"result", "status"}
_BY_NAME = {"results", "leaderboard", *(name for name in _TELLING["result"] if name[3:] and name[-1] == "s")}
_TEAMS = {*KNOWN["names"]["teams"]}
_PERSONS = _PLAYERS | _TEAMS
_SIDES = {name for pair in PAIRS for name in pair}
_PARTS = [{*KNOWN["names"][part]} - {"first", "last", "name", "nom"} for part in ("first", "last")]
_DETAILS = {*KNOWN["details"]}
_WRAPS = {"nodes", "edges", "items", "data", "results", "list"}
_DAY = re.compile(r"(19|20)\d\d \d\d \d\d")
_YEAR = re.compile(r"(?:19|20)\d\d")
_OF_PLAYER = {"id", "name", "uuid", "key", "tag"}
_OF_ID = {"id", "ref", "uuid", "key", "relationships", "data"}
Path = tuple[str, ...]
"""The keys of the lists around a value."""
Found = tuple[Path, tuple[int, ...], dict[str, Any], dict[str, Any]]
"""Where an object is: its lists, and the numbers within them; its own values, and with those around it."""


def objects_of(document: Any) -> list[Found]:
    """Return the objects of a document that may be entrants, with what its lists say of the ids in them."""
    found = [*islice(_exploded(_keyed(_by_column(document), around="top"), {}), MOST_LINES + 1)]
    if len(found) > MOST_LINES:
        raise PayloadError(f"more than {MOST_LINES:,} lines: split it into several files")
    return [*_joined(found)]


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


def _keyed(value: Any, name: str = "", around: str = "", owner: str = "") -> Any:
    """Return a document in which objects that stand for lists are lists of objects that have their keys.

    These hold objects, or lists of them, and are called races or players, or have numbered names or dates as
    keys. The `owner` is what the object `around` it is, or has in another list: a player, or objects.
    """
    kind, top = plain(name), around == "top"
    of_races = kind in _RACES or _YEAR.fullmatch(name)
    if isinstance(value, list):
        return _in_order(value, kind) or [_keyed(each, "", name) for each in value]
    if not isinstance(value, Mapping) or not value:
        return value
    if (entrants := _by_name(value, kind, owner)) is not None:
        return entrants
    if not any(isinstance(each, list | Mapping) for each in value.values()):
        return _with_sides(value) if "status" in value else value
    ones = {" ".join(word for word in words_of(key) if word not in _OF_PLAYER) or key for key in value}
    is_player = plain(around) not in _RACES and (plain(around) in _PEOPLE or not ones.isdisjoint(_ONE_PLAYER))
    named = {key for key, each in value.items() if plain(key) in _PEOPLE and isinstance(each, list | Mapping)}
    lists = named | {key for key, each in value.items() if _are_objects(each)}
    owns = "player" if is_player else "" if all(_out((key,)) for key in lists) else "objects"
    own = {key: _keyed(each, key, name, owns) for key, each in value.items()}
    own = _side_by_side(_with_sides(own))
    values = [*own.values()]
    alike = all(isinstance(each, list) and each and len(each) == len(values[0]) for each in values)
    plain_cells = alike and not any(isinstance(cell, list | Mapping) for each in values for cell in each)
    if plain_cells and values[1:] and not any(map(_tells, own)) and not any(map(_are_names, values)):
        return [{"player": key} | {f"race {n}": cell for n, cell in enumerate(own[key], 1)} for key in own]
    dated, in_order = all(map(is_date, own)), (top or of_races) and all(map(_are_names, values))
    starts = Counter(who for each in values for who in {*each}) if in_order else Counter[str]()
    if starts and (dated or of_races or starts.total() > len(starts)):  # somebody is in two of them
        own = {key: _in_order(each, "order") for key, each in own.items()}
    kept = {key: each for key, each in own.items() if each is not None}
    rows = [{"results": each} if _are_objects(each) else each for each in kept.values()]
    known = own.keys() <= _WRAPS or tuple(map(plain, own)) in PAIRS
    if not rows or known or not all(isinstance(row, Mapping) for row in rows):
        return own
    by_name = kind in _ORDERS | _BY_NAME or (name and plain(around) in _RACES and not _told(own))
    if all(map(_YEAR.fullmatch, own)):
        label = "season"
    elif dated and kind not in _RACES:
        label = "date"
    elif kind in _RACES or starts or (owner == "player" and kind in _BY_NAME):
        label = "race"
    elif kind in _PEOPLE or (by_name and all(_told(row) & _RESULT for row in rows)):
        label = "player"
    elif all(RACE_NAME.fullmatch(plain(key)) for key in own):
        label = "race" if rows[0].keys() == {"results"} or not all(map(str.isdecimal, own)) else name or "key"
    elif top and "player" not in _told(own) and all(len(dict(flat(row))) == len(row) for row in rows):
        label = "key"
    else:
        return own
    return [{label: key} | row for key, row in zip(kept, rows, strict=True)]


def _in_order(value: list[Any], kind: str) -> list[Record]:
    """Return the entrants of an order `["Ann", ["Bo", "Cy"]]`, who may be equal, or of `[["Ann", 61]]`."""
    groups = [each if isinstance(each, list) else [each] for each in value]
    people = [each for group in groups for each in group]
    ids = kind not in _BY_NAME and all(isinstance(each, int) for each in people)
    if kind in _ORDERS and groups != value and (ids or all(map(_may_be_name, people))):
        places = accumulate(map(len, groups), initial=1)
        return [{"name": who, "place": n} for n, of in zip(places, groups, strict=False) for who in of]
    pairs = groups == value and all(len(each) == 2 and isinstance(each[0], str) for each in value)
    timed = any(re.match(r"PT\d|\d+:", str(each[1])) for each in value if pairs)
    kind = "time" if timed else "result"
    return [{"player": who, kind: "DNF" if of is None else of} for who, of in value] if pairs else []


def _by_name(value: Record, kind: str, owner: str) -> list[Any] | None:
    """Return the entrants of `"results": {"Ann": 1}`, of `{"1": "Ann"}` or of `"dnf": {"Ann": "late"}`."""
    groups = [each if isinstance(each, list) else [each] for each in value.values()]
    by_place = all(plain(key) in WORDS or cells.is_result(key) for key in value)
    if (
        by_place
        and (kind in _ORDERS | _BY_NAME or _DAY.fullmatch(kind))
        and all(_may_be_name(who) for group in groups for who in group)
    ):
        return [{"name": who, "place": n} for n, group in zip(value, groups, strict=True) for who in group]
    if any(isinstance(each, list | Mapping) for each in value.values()):
        return None
    if _out((kind,)) and not _told(value):
        return [*value]
    if kind in _PEOPLE and all(map(_may_be_name, value.values())):
        return [{"id": key, "name": each} for key, each in value.items()]
    if kind not in _BY_NAME or owner or not any(cells.is_result(str(each)) for each in value.values()):
        return None
    timed = ":" in "".join(map(str, value.values()))
    kind = kind if kind != "results" else "time" if timed else "place"
    return [{"name": who, kind: each} for who, each in value.items() if each is not None]


def _with_sides(own: Record) -> dict[str, Any]:
    """Return an object of two players, `{"white": {"name": "Ann", "score": 1}, …}`, with plain values."""
    found, keys = dict[str, Any](), {*map(plain, own)}
    third = "3" in {key[-1:] for key in keys}
    pair = () if third else next(filter(keys.issuperset, PAIRS), ())
    sides = {key: each for key, each in own.items() if plain(key) in pair and isinstance(each, Mapping)}
    signs = {key: str(each.get("result") or "").lower() for key, each in sides.items()}
    won = [key for key, sign in signs.items() if sign in SIGNS["first_won"]]
    if won or (all(signs.values()) and len({*signs.values()}) == 1):
        found["winner"] = won[0] if won else "draw"
    for key, each in own.items():
        if key in sides and (name := _name(each) or " / ".join(_names_in(each))):
            found |= {key: name} | {f"{key} {what}": of for what, of in flat(each) if of != name}
        elif isinstance(each, Mapping) and any(_are_names([*map(each.get, names)]) for names in PAIRS):
            found |= each
        else:
            found[key] = each
    drawn = str(own.get("status")).lower() in SIGNS["drawn"]
    if drawn and any(_are_names([*map(found.get, names)]) for names in PAIRS):
        found["winner"] = found.get("winner") or "draw"
    return found


def _names_in(value: Record) -> list[str]:
    """Return the names of people in the lists of an object."""
    lists = [each for key, each in value.items() if plain(key) in _PEOPLE and isinstance(each, list)]
    return [_name(who) if isinstance(who, Mapping) else str(who) for each in lists for who in each]


def _name(value: Record) -> str:
    """Return the name in an object, of which there may be several parts."""
    names = {plain(key): str(each) for key, each in flat(value) if "player" in _tells(key) and each}
    return names.get("name") or " ".join(name for key, name in names.items() if key.endswith("name"))


def records_of(found: Iterable[Found], *, parts: bool) -> tuple[list[str], list[Record]]:
    """Return notes on what is not used, and the records of the lists of entrants, which get a number.

    Which of several lists of entrants counts is asked, except for one of those who did not finish. `parts`
    allows several, by `part`.
    """
    keys = defaultdict[Path, tuple[set[str], set[str]]](lambda: (set(), set()))
    for path, _, own, row in found:
        keys[path][0].update(own)
        keys[path][1].update(row)
    tells = {path: (_told(own), _told(row)) for path, (own, row) in keys.items()}
    kept = [each for each in found if each[3]]
    if not kept:
        form = "write an object for each entrant, with race, player and place"
        raise PayloadError(f"no races: neither of racetime.gg, nor a list of objects: {form}")
    full = [path for path, (own, told) in tells.items() if own and "player" in told and told & _RESULT]
    full = full if parts else _without_details(full, tells)
    full = [] if all(map(_out, full)) else full  # nobody finished only if no other list says so
    used = {path: " ".join(path) or "top level" for path in full or (path for path, *_ in kept)}
    lists = sorted((path for path in used if not _out(path)), key=lambda path: (-len(tells[path][0]), path))
    several = [cells.quoted(used[path]) for path in lists]
    rows = [(path, at, row) for path, at, _, row in kept if path in used]
    if len(several) > 1 and not parts:
        keys_of_all = [key for key in rows[0][2] if all(key in row for _, _, row in rows)]
        races = [key for key in keys_of_all if plain(key) in KNOWN["columns"]["race"]]
        race = cells.quoted(f"race={'+'.join([*races[:1], 'part'])}")
        fix = f"choose by --where part={several[0]}, or add --columns {race} if each is a race"
        raise PayloadError(f"entrants in {' and in '.join(several[:5])}: {fix}")
    out = any(map(_out, used))  # they are numbered as the list beside them
    around = {path: told - own for path, (own, told) in tells.items()}
    inner = {path for path in used if not out and ("result" not in tells[path][0] or "place" in around[path])}
    race_of = {at: at[: -2 if path in inner else -1] for path, at, _ in rows}
    number = {race: n for n, race in enumerate(dict.fromkeys(race_of.values()), start=1)}
    by_list = len(number) > 1 and not any("player" in around[path] for path in used)
    members = Counter(at[:-1] for path, at, _ in rows if path in inner and around[path] & {"place", "result"})
    records: list[Record] = [
        ({"list": number[race_of[at]]} if by_list else {})
        | ({"part": used[path]} if several[1:] or parts else {})
        | ({"team": f"team {at[-2] + 1}"} if members[at[:-1]] > 1 < len(at) else {})
        | row
        for path, at, row in rows
    ]
    outer = {path for path in tells if any(path == each[: len(path)] for each in used)}
    unused = [" ".join(path) for path in tells if path not in outer]
    notes = [f"lists not used: {few(unused)}"] if unused else []
    within = {at[:n] for _, at, _ in rows for n in range(len(at))}
    bare = [own for path, at, own, _ in kept if path in outer - used.keys() and at not in within]
    if bare:
        first = ", ".join(f"{key}={value!s:.40}" for key, value in [*bare[0].items()][:2])
        notes.append(f"{counted(len(bare), 'object')} without entrants (the first: {first})")
    return notes, records


def _joined(found: Sequence[Found]) -> Iterator[Found]:
    """Yield objects with names in place of ids of players, and with what other lists say of further ids."""
    known, alike = defaultdict[str, dict[str, Record]](dict), Counter[str]()
    for path, _, own, _ in found:
        of_id = own.get("id", own.get("player"))
        if of_id is not None and (one := _one_of(str(own.get("type") or "".join(path[-1:])))):
            before = known[one].setdefault(str(of_id), own)
            alike[_name(own)] += before is own
            known[one][str(of_id)] = own if _name(before) == _name(own) else {}
    if not known:
        yield from found
        return
    people = [of_id for one, of_id in known.items() if one in _PERSONS]

    @cache
    def referred(key: str) -> tuple[str, list[dict[str, Record]], bool]:
        words = [word for word in words_of(key) if word not in _OF_ID]
        one, last = " ".join(words), "".join(words[-1:]).rstrip("0123456789")
        if one in _SIDES | {"name"}:
            return one, people, True
        return one, [known[last]] if last in known else [], last in _PERSONS

    for path, at, own, row in found:
        joined = dict[str, Any]()
        for key, value in row.items():
            one, lists, of_person = referred(key)
            other = next((of_id[str(value)] for of_id in lists if str(value) in of_id), {})
            if of_person and (name := _name(other)) and (one == key or one not in row):
                joined[one] = f"{name} #{value}" if alike[name] > 1 else name
            else:
                joined[key] = value
                joined |= {f"{one} {what}": of for what, of in other.items() if one != plain(key)}
        yield path, at, own, joined


@lru_cache(maxsize=10_000)
def _one_of(name: str) -> str:
    """Return the last word of a name, which may be a plural, in the singular."""
    return re.sub("(?<=ch)es$|s$", "", "".join(words_of(name)[-1:]))


def _without_details(full: list[Path], tells: Mapping[Path, tuple[set[str], set[str]]]) -> list[Path]:
    """Return lists of entrants with results, but not what stands within and beside them.

    What stands beside a list of results, or in one of places, may be details, unless it is called players.
    """
    full = [path for path in full if "result" in tells[path][1] or _out(path)] or full
    people = {path for path in full if "player" in _tells("".join(path[-1:]))}
    ranked = [path for path in full if "result" in tells[path][0] or path in people or _out(path)]
    ranked = [path for path in ranked if plain("".join(path[-1:])) not in SIGNS["standings"]] or ranked
    around = {path: [outer for outer in ranked if path != outer == path[: len(outer)]] for path in ranked}
    places = {path for path in ranked if "place" in tells[path][0]}
    within = {path for path in ranked if not places.isdisjoint(around[path])} - people - places
    members = {path for path in people if "result" not in tells[path][0] or "place" not in tells[path][0]}
    teams = {outer for path in members & around.keys() for outer in around[path] if outer in places}
    return [path for path in ranked if path not in within | teams] or full


@lru_cache(maxsize=10_000)
def _tells(key: str) -> set[str]:
    """Return whether a key seems to name a player, a result, a place or a status."""
    words = {plain(key), *words_of(key)}
    exact = {"result"} if plain(key) in {"won", "is winner", "result"} else set[str]()
    return exact | {kind for kind, names in _TELLING.items() if not names.isdisjoint(words)}


def _told(keys: Iterable[str]) -> set[str]:
    return set[str]().union(*map(_tells, keys))


@lru_cache(maxsize=10_000)
def _out(path: Path) -> str:
    """Return the word for no finish by which a list is called, or an empty text."""
    name = plain("".join(path[-1:]))
    words = [name, name.removesuffix("s")] if name not in _DETAILS else []
    return next((word for word in words if WORDS.get(word, DONE) is not DONE), "")


def _exploded(value: Any, above: Record, at: tuple[int, ...] = (), path: Path = ()) -> Iterator[Found]:
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
        own = dict(flat(value)) | ({"status": word} if (word := _out(path)) else {})
        lists, told, one = dict(_lists(value, path)), _told(own), _one_of("".join(path[-1:]))
        details = {key for key in lists if not {plain(key[-1]), *words_of(key[-1])[-1:]}.isdisjoint(_DETAILS)}
        inner = {key: of for key, of in lists.items() if isinstance(of[0], Mapping) and key not in details}
        names = [key for each in inner.values() for key, _ in flat(each[0]) if "player" in _tells(key)]
        name = min(names, key=lambda key: not plain(key).endswith("name"), default="name")
        out = {key: [{name: who} for who in lists[key]] for key in lists if _out(key) and key not in inner}
        inner |= out
        is_entrant = "player" in told and told & _RESULT and ("place" in told or not (names or out))
        if is_entrant or not inner:
            named = {"name"} if "player" in told else set()
            taken = (own.keys() | named) & {"name", "id", "status"}
            row = {f"race {key}" if key in taken else key: each for key, each in above.items()} | own
            yield path, at, own, row
        own = {f"{one} {key}" if key == "name" and one in _TEAMS else key: each for key, each in own.items()}
        for key in lists:
            items = _exploded(inner[key], {**above, **own}, at, key) if key in inner else [(key, at, {}, {})]
            yield from items


def _may_be_name(value: Any) -> bool:
    return isinstance(value, str) and value.lower() not in WORDS and not cells.is_result(value)


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _side_by_side(own: dict[str, Any]) -> dict[str, Any]:
    """Return an object of `{"participants": ["Ann", "Bo"], "ranks": [1, 2]}`. Lists within are teams.

    Without results, a winner is before the others.
    """
    lists = {key: each for key, each in own.items() if isinstance(each, list) and not _out((key,))}
    who = next((key for key in lists if plain(key) in _PLAYERS), "")
    people = [_name(each) if isinstance(each, Mapping) else each for each in lists.get(who, [])]
    objects, told = any(map(_are_objects, lists.values())), _told(own.keys() - lists)
    if len(lists) == 1 and own.get("winner", {}) in people and "result" not in told:
        lists["place"] = [2 - (each == own["winner"]) for each in people]
    elif not who or len(lists) < 2 or objects or "result" in told:
        return own
    if len({*map(len, lists.values())}) > 1:
        raise PayloadError(f"lists of different lengths: {', '.join(lists)}: write one value an entrant")
    rows = []
    for row in zip(*lists.values(), strict=True):
        record = dict(zip(lists, row, strict=True))
        team = record.pop(who)
        for member in team if isinstance(team, list) else [team]:
            named = {"team": "+".join(map(str, team))} if isinstance(team, list) and team[1:] else {}
            own_name = dict(member) if isinstance(member, Mapping) else {"player": member}
            rows.append(record | own_name | named)
    return {key: each for key, each in own.items() if key not in lists} | {who: rows}


def _lists(value: Record, before: Path) -> Iterator[tuple[Path, list[Any]]]:
    """Yield the lists in an object and in those within it, but empty ones, with their keys."""
    for key, each in value.items():
        if isinstance(each, Mapping):
            yield from _lists(each, (*before, key))
        elif isinstance(each, list) and each:
            yield (*before, key), each


def flat(value: Record, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the plain values of an object and those within it, without lists, by name: `Driver driverId`."""
    for key, each in value.items():
        if isinstance(each, Mapping):
            yield from flat(each, before if key == "attributes" else f"{before}{key} ")
        elif not isinstance(each, list):
            yield f"{before}{key}", each
    if before and "name" not in value:
        first, last = (next((value[key] for key in value if plain(key) in names), "") for names in _PARTS)
        if first and last:
            yield f"{before}name", f"{first} {last}"
