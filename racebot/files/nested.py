"""Turns JSON of any nesting into records: the objects of entrants, with the values of those around them.

One pass flattens a document, and reads objects that stand for lists as lists. Then ids become names, and the
lists of entrants are chosen.
"""

from __future__ import annotations

import re
from collections import ChainMap, Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain, islice
from typing import Any

from racebot.errors import PayloadError
from racebot.files import cells
from racebot.files.cells import DONE, KNOWN, SIGNS, WORDS, is_date
from racebot.files.options import PAIRS, RACE_NAME, RESULTS, few, plain
from racebot.files.rows import MOST_LINES
from racebot.text.format import counted

Record = Mapping[str, Any]
_PEOPLE = {name + "s" for name in (*KNOWN["columns"]["player"], "entrant")}
_ONE_PLAYER = {*KNOWN["columns"]["player"], "team", "entrant"} - {"players", "participants"}
_TEAMS = {*KNOWN["names"]["teams"]}
_PERSONS = _TEAMS | {*KNOWN["columns"]["player"], "teams"}
_RACES = {name + end for name in KNOWN["columns"]["race"] for end in ("s", "es")}
_TELLING = {ours: {*KNOWN["columns"][ours]} for ours in ("place", "player", "status")}
_TELLING["player"].add("teams")
_TELLING["result"] = {"result", "won", "is winner"}.union(*(KNOWN["columns"][ours] for ours in RESULTS))
_RESULT = {"result", "status"}
_VALUES = {"results", "leaderboard", *(name for name in _TELLING["result"] if name[3:] and name[-1] == "s")}
_RACE, _ONE = "a race", "a player"
_RANKED = {_RACE, *_VALUES, *KNOWN["orders"]}
_PARTS = [{*KNOWN["names"][part]} - {"first", "last", "name", "nom"} for part in ("first", "last")]
_DETAILS, _WRAPS, _OF_ID = ({*KNOWN[words]} for words in ("details", "wraps", "ids"))
_YEAR = re.compile(r"(?:19|20)\d\d")
_NESTED = frozenset({dict, list})
Path = tuple[str, ...]
"""The keys of the lists around a value."""
At = tuple[int, ...]
Found = tuple[Path, At, Record, Record]
"""Where an object is, and its number in each list there; its own values, and with those around it."""


def objects_of(document: Any) -> list[Found]:
    """Return the objects of a document that may be entrants, with what its lists say of the ids in them."""
    columns = [*document.values()] if isinstance(document, dict) else []
    if columns and all(_is_flat(each) and "0" in each for each in columns):  # as pandas writes them
        document = {key: [*each.values()] for key, each in document.items()}
    found = [*islice(_flattened(document, "top", {}), MOST_LINES + 1)]
    if len(found) > MOST_LINES:
        raise PayloadError(f"more than {MOST_LINES:,} lines: split it into several files")
    return _joined(found)


def _flattened(value: Any, kind: str, above: Record, at: At = (), path: Path = ()) -> Iterator[Found]:
    """Yield the innermost objects of nested lists, each with the plain values of those `above` it.

    The `kind` is the plain name of the value, or `a race` or `a player` in a list that is called so.
    """
    entries = _entries(value, kind)
    if entries is None and isinstance(value, dict):
        yield from _within(value, kind, above, at, path)
    of = _RACE if kind in _RACES else _ONE if kind in _PEOPLE else ""
    plain_only = not _out(path)
    for number, entry in enumerate(entries or ()):
        if plain_only and _is_flat(entry) and "status" not in entry:
            yield path, (*at, number), entry, _below(above, entry)
        else:
            yield from _flattened(entry, of, above, (*at, number), path)


def _within(value: Record, kind: str, above: Record, at: At, path: Path) -> Iterator[Found]:
    """Yield the objects in the lists of an object, and itself if it has none, or seems to be an entrant.

    A list of other values comes as an empty object.
    """
    parts = dict(_parts(value, kind))
    own = {" ".join(keys): each for keys, each in parts.items() if not isinstance(each, list)}
    own |= {"status": word} if (word := _out(path)) else {}
    lists = {(*path, *keys): each for keys, each in parts.items() if isinstance(each, list) and each}
    details = {key for key in lists if _DETAILS & {plain(key[-1]), plain(key[-1]).rpartition(" ")[2]}}
    inner = {key: of for key, of in lists.items() if isinstance(of[0], dict) and key not in details}
    names = [key for of in inner.values() for key in _flat(of[0]) if "player" in _told(key)]
    name = min(names, key=lambda key: not plain(key).endswith("name"), default="player")
    out = {key: [{name: who} for who in of] for key, of in lists.items() if _out(key) and key not in inner}
    own, told = _with_winner(own), _told(*own)
    is_entrant = "player" in told and told & _RESULT and ("place" in told or not (names or out))
    if is_entrant or not inner | out:
        yield path, at, own, _below(above, own)
    one = _one("".join(path[-1:]))
    own = {f"{one} {key}" if key == "name" and one in _TEAMS else key: each for key, each in own.items()}
    for key, of in (lists | out).items():
        used = key in inner or key in out
        yield from _flattened(of, plain(key[-1]), {**above, **own}, at, key) if used else [(key, at, {}, {})]


def _parts(value: Record, kind: str, before: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the plain values of an object and those within it, and lists of entries, each with its keys."""
    value = _by_entrant(value)
    pair = _pair(tuple(value))
    keys = set[str]() if kind == _RACE else {*map(_of, value)}
    people = [each for key, each in value.items() if plain(key) in _PEOPLE and _are(each, dict)]
    ones = ["player"] if kind == _ONE else sorted(keys & _ONE_PLAYER, key="name".__eq__)
    beside = next(iter(ones), "people" if people else "")
    for key, each in value.items():
        if (entries := _entries(each, plain(key), beside)) is not None:
            yield (*before, key), entries
        elif isinstance(each, dict):
            sides = [each[side] for side in _pair(tuple(each))]
            of_two = dict in map(type, sides) or (sides and plain(key) in _PEOPLE)
            above = before if of_two or key in {"attributes", "node"} else (*before, key)
            parts = _parts(each, plain(key), above)
            if key in pair and (name := _name(each)):
                yield (*before, key), name
                parts = (part for part in parts if part[1] != name and not isinstance(part[1], list))
            yield from parts
        else:
            yield (*before, key), each
    if before and "name" not in value:
        first, last = (next((value[key] for key in value if plain(key) in names), "") for names in _PARTS)
        if first and last:
            yield (*before, "name"), f"{first} {last}"


def _flat(value: Record) -> dict[str, Any]:
    """Return the plain values of an object and those within it by name, such as `Driver driverId`."""
    return {" ".join(keys): each for keys, each in _parts(value, _RACE) if not isinstance(each, list)}


def _below(above: Record, own: Record) -> Record:
    """Return the values of an object and of those around it, with `race name` for an outer `name`."""
    taken = {"name", "id", "status"}.intersection((*own, "name" if "player" in _told(*own) else ""))
    if not taken.isdisjoint(above):
        above = {f"race {key}" if key in taken else key: each for key, each in above.items()}
    return {**above, **own}


def _entries(value: Any, kind: str, beside: str = "") -> list[Any] | None:
    """Return the entries of a list, or of an object that stands for one, or None for other values."""
    if isinstance(value, list):
        names = str in map(type, value) and all(map(_may_be_names, value))
        if kind not in _RANKED or not (names or (kind not in _VALUES and _are(value, int))):
            return value
        sizes = (len(each) if isinstance(each, list) else 1 for each in value)
        return _placed(zip(accumulate(sizes, initial=1), value, strict=False))
    if not isinstance(value, dict) or not value:
        return None
    if _out((kind,)) and _is_flat(value) and not _told(*value):
        return [*value]  # {"dnf": {"Ann": "engine"}}
    numbered = all(RACE_NAME.fullmatch(plain(key)) for key in value)
    if beside == "name" and kind in _VALUES and not numbered and _label(value, kind) == "player":
        raise PayloadError(f"{kind} by name beside a key name: rename that key player or race")
    if not (label := _label(value, kind, beside)):
        return None
    kept = {key: each for key, each in value.items() if each is not None}
    if label == "place":
        return _placed(kept.items())
    timed = any(":" in str(each) for each in kept.values())
    column = "name" if label == "id" else kind if "result" in _told(kind) else "time" if timed else "place"
    of, lists = ("season", "races") if label == "season" else (_RACE, "results")
    rows = {key: {lists if type(each) in _NESTED else column: each} for key, each in kept.items()}
    rows |= {key: each for key, each in kept.items() if isinstance(each, dict) and not _label(each, of)}
    return [{label: key} | row for key, row in rows.items()]


def _placed(groups: Iterable[tuple[Any, Any]]) -> list[Record]:
    """Return the entrants of places, each of one or of several who are equal."""
    lists = ((place, group if isinstance(group, list) else [group]) for place, group in groups)
    return [{"player": who, "place": place} for place, group in lists for who in group]


def _label(value: Record, kind: str, beside: str = "") -> str:
    """Return what the keys of an object are if it stands for a list, such as `race`, or an empty text.

    They are ids in `"drivers": {"44": "Ann"}`, places in `"results": {"1": "Ann", "dnf": ["Bo"]}`, races in
    `{"cup-1": ["Ann", "Bo"], "cup-2": ["Bo", "Ann"]}`, and players in `"scores": {"Ann": 1, "Bo": 2}`.
    """
    own = {key: each for key, each in value.items() if each is not None}
    values = [*own.values()]
    if not own or _pair(tuple(value)):
        return ""
    if all(map(_may_be_names, values)):
        if kind in _PEOPLE and _is_flat(own):
            return "id"
        if kind in _RANKED and all(plain(key) in WORDS or cells.is_result(key) for key in own):
            return "place"
    if _is_flat(own):
        results = kind in _RANKED - {_RACE} and any(cells.is_result(str(each)) for each in values)
        return "player" if results and not beside else ""
    rows = all(isinstance(each, dict) or _are(each, dict) for each in values)
    orders = all(_are(each, str) for each in values)
    return _label_of_rows(own, kind, beside) if orders or (rows and not own.keys() <= _WRAPS) else ""


def _label_of_rows(own: Record, kind: str, beside: str) -> str:
    """Return what the keys of objects, or of lists of objects or of names, are, or an empty text."""
    values, told = [*own.values()], _told(*own)
    numbered = all(RACE_NAME.fullmatch(plain(key)) for key in own)
    named = numbered and not all(map(str.isdecimal, own))
    if all(map(_YEAR.fullmatch, own)):
        return "season"
    if kind in _RACES or (beside not in {"", "people"} and kind in _VALUES):
        return "race"
    if all(map(is_date, own)):
        return "date"
    if all(_are(each, str) for each in values):
        often = len({*chain(*values)}) < sum(map(len, values)) and _RANKED.isdisjoint(map(plain, own))
        return "race" if (often and kind == "top") or named or kind == "season" else ""
    with_results = all(isinstance(each, dict) and _told(*each) & _RESULT for each in values)
    if kind in _PEOPLE or (kind in _RANKED and with_results and not (told and kind == _RACE)):
        return "player"
    if named or (numbered and all(_are(each, dict) for each in values)):
        return "race"
    is_wide = kind == "top" and "player" not in told and all(map(_is_flat, values))
    return "key" if numbered or is_wide else ""


def _with_winner(own: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a game with a `winner` if they have signs: `white result`, or a drawn `status`."""
    pair = _pair(tuple(own))
    signs = [str(own.get(f"{key} result") or "").lower() for key in pair]
    won = [key for key, sign in zip(pair, signs, strict=True) if sign in SIGNS["first_won"]]
    equal = pair and signs[0] == signs[1] != ""
    drawn = pair and str(own.get("status")).lower() in SIGNS["drawn"]
    return {**own, "winner": own.get("winner") or next(iter(won), "draw")} if won or equal or drawn else own


@lru_cache(maxsize=10_000)
def _pair(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys of two players, such as `white` and `black`, unless there is a third."""
    key_of = {plain(key): key for key in keys}
    third = any("3" in key[-1:] for key in keys)
    pairs = (pair for pair in PAIRS if key_of.keys() >= {*pair} and not third)
    return tuple(key_of[name] for name in next(pairs, ()))


def _by_entrant(own: Record) -> Record:
    """Return an object of lists side by side, `{"players": ["Ann", "Bo"], "ranks": [1, 2]}`, with entrants.

    Without results, a winner is before the others.
    """
    lists = {key: each for key, each in own.items() if isinstance(each, list) and not _out((key,))}
    others = {key: each for key, each in own.items() if key not in lists}
    who = next((key for key in lists if plain(key) in _TELLING["player"]), "")
    if not who or "result" in _told(*others):
        return own
    places = [2 - (_name(each) == own.get("winner")) for each in lists[who]]
    if len(lists) == 1 and 1 in places:
        lists["place"] = places
    elif len(lists) == 1 or any(_are(each, dict) for each in lists.values()):
        return own
    if len({*map(len, lists.values())}) > 1:
        raise PayloadError(f"lists of different lengths: {', '.join(lists)}: write one value an entrant")
    people = [each if isinstance(each, dict) else {"player": each} for each in lists.pop(who)]
    rows = (dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True))
    return others | {who: [row | each for row, each in zip(rows, people, strict=True)]}


def _name(value: Any) -> str:
    """Return the name that a value is, or has in one or several parts."""
    if not isinstance(value, dict):
        return str(value)
    names = {plain(key): str(each) for key, each in _flat(value).items() if "player" in _told(key) and each}
    members = (each for key, each in value.items() if plain(key) in _PEOPLE and isinstance(each, list))
    full = names.get("name") or " ".join(name for key, name in names.items() if key.endswith("name"))
    return full or " / ".join(map(_name, chain(*members)))


def _joined(found: list[Found]) -> list[Found]:
    """Return objects with names in place of ids of players, and with what other lists say of further ids."""
    known = defaultdict[str, dict[str, Record]](dict)
    for path, _, own, _ in found:
        of_id = own.get("id", own.get("player"))
        if of_id is not None and (one := _one(str(own.get("type") or "".join(path[-1:])))):
            same = _name(known[one].get(str(of_id), own)) == _name(own)
            known[one][str(of_id)] = own if same else {}
    people = ChainMap(*(of_id for one, of_id in known.items() if one in _PERSONS))
    alike = Counter(map(_name, people.values()))

    def named(row: Record) -> Record:
        joined = dict[str, Any]()
        for key, value in row.items():
            one, last = _of(key), _one(_of(key)).rstrip("0123456789")
            of_side = any(one in pair for pair in PAIRS) or one in {"name", "player"}
            other = (known.get(last) or (people if of_side else {})).get(str(value), {})
            if (of_side or last in _PERSONS) and (name := _name(other)) and (one == key or one not in row):
                joined[one] = f"{name} #{value}" if alike[name] > 1 else name
            else:
                joined[key] = value
                joined |= {f"{one} {what}": of for what, of in other.items() if one != plain(key)}
        return joined

    return [(path, at, own, named(row)) for path, at, own, row in found] if known else found


def records_of(found: Sequence[Found], *, parts: bool) -> tuple[list[str], list[Record]]:
    """Return notes on what is not used, and the records of the lists of entrants, which get a number.

    Which of several lists of entrants counts is asked, except for one of those who did not finish. `parts`
    allows several, by `part`.
    """
    own, told = defaultdict[Path, set[str]](set), defaultdict[Path, set[str]](set)
    for path, _, values, row in found:
        own[path] |= _told(*values)
        told[path] |= _told(*row)
    used = _of_entrants(own, told, parts) or [*dict.fromkeys(path for path, _, _, row in found if row)]
    if not used:
        form = "write an object for each entrant, with race, player and place"
        raise PayloadError(f"no races: neither of racetime.gg, nor a list of objects: {form}")
    part = {path: " ".join(path) or "top level" for path in used}
    rows = [(path, at, row) for path, at, _, row in found if row and path in part]
    ranked = sorted((path for path in used if not _out(path)), key=lambda path: (-len(own[path]), path))
    if ranked[1:] and not parts:
        raise _which([part[path] for path in ranked], [row for *_, row in rows])
    around = {path: told[path] - own[path] for path in used}
    inner = {path for path in used if "result" not in own[path] or "place" in around[path]}
    inner = inner if len(ranked) == len(used) else set()  # who did not finish is in the race beside
    races = {at: at[: -2 if path in inner else -1] for path, at, _ in rows}
    number = {race: n for n, race in enumerate(dict.fromkeys(races.values()), start=1)}
    by_list = len(number) > 1 and not any("player" in around[path] for path in used)
    teams = Counter(at[:-1] for path, at, _ in rows if path in inner and around[path] & {"place", "result"})
    records: list[Record] = [
        ({"list": number[races[at]]} if by_list else {})
        | ({"part": part[path]} if ranked[1:] or parts else {})
        | ({"team": f"team {at[-2] + 1}"} if teams[at[:-1]] > 1 < len(at) else {})
        | {**row}
        for path, at, row in rows
    ]
    return [*_unused(own, used, found)], records


def _of_entrants(own: Mapping[Path, set[str]], told: Mapping[Path, set[str]], parts: bool) -> list[Path]:
    """Return the lists of players with results, but not what stands within and beside them.

    Lists that are called players, as the members of teams, may have the results of the objects around them.
    """
    full = [path for path in own if own[path] and "player" in told[path] and told[path] & _RESULT]
    if not parts:
        full = [path for path in full if "result" in told[path] or _out(path)] or full
        people = {path for path in full if "player" in _told(*path[-1:])}
        ranked = [path for path in full if "result" in own[path] or path in people or _out(path)]
        ranked = [path for path in ranked if plain("".join(path[-1:])) not in SIGNS["standings"]] or ranked
        members = [path for path in ranked if path in people and not {"place", "result"} <= own[path]]
        teams = {path[:n] for path in members for n in range(len(path)) if "place" in own.get(path[:n], ())}
        full = [path for path in ranked if path not in teams] or full
    return [] if all(map(_out, full)) else full  # nobody finished only if no other list says so


def _which(parts: Sequence[str], rows: Sequence[Record]) -> PayloadError:
    """Return the question which of several lists of entrants counts."""
    names, common = [*map(cells.quoted, parts)], set(rows[0]).intersection(*rows)
    races = [key for key in rows[0] if key in common and plain(key) in KNOWN["columns"]["race"]]
    race = cells.quoted(f"race={'+'.join([*races[:1], 'part'])}")
    fix = f"choose by --where part={names[0]}, or add --columns {race} if each is a race"
    return PayloadError(f"entrants in {' and in '.join(names[:5])}: {fix}")


def _unused(lists: Iterable[Path], used: Sequence[Path], found: Iterable[Found]) -> Iterator[str]:
    """Yield notes on lists that are not used, and on objects around entrants that have none."""
    outer = {path for path in lists if any(path == of[: len(path)] for of in used)}
    if unused := [" ".join(path) for path in lists if path not in outer]:
        yield f"lists not used: {few(unused)}"
    bare = {at: own for path, at, own, row in found if row and path in outer.difference(used)}
    within = {at[:n] for path, at, *_ in found if bare and path in used for n in range(len(at))}
    if empty := [own for at, own in bare.items() if at not in within]:
        first = ", ".join(f"{key}={value!s:.40}" for key, value in [*empty[0].items()][:2])
        yield f"{counted(len(empty), 'object')} without entrants (the first: {first})"


@lru_cache(maxsize=10_000)
def _told(*keys: str) -> set[str]:
    """Return whether keys seem to name a player, a result, a place or a status."""
    names = {name for key in keys for name in (plain(key), *plain(key).split())}
    return {kind for kind, known in _TELLING.items() if not names.isdisjoint(known)}


@lru_cache(maxsize=10_000)
def _out(path: Path) -> str:
    """Return the word for no finish by which a list is called, or an empty text."""
    name = plain("".join(path[-1:]))
    words = [name, name.removesuffix("s")] if name not in _DETAILS else []
    return next((word for word in words if WORDS.get(word, DONE) is not DONE), "")


@lru_cache(maxsize=10_000)
def _of(key: str) -> str:
    """Return what a key is of: `playerId` and `player` are of a `player`."""
    return " ".join(word for word in plain(key).split() if word not in _OF_ID) or key


@lru_cache(maxsize=10_000)
def _one(name: str) -> str:
    """Return the last word of a name, which may be a plural, in the singular."""
    return re.sub("(?<=ch)es$|s$", "", "".join(plain(name).split()[-1:]))


def _is_flat(value: Any) -> bool:
    """Return whether a value is an object of plain values."""
    return type(value) is dict and _NESTED.isdisjoint(map(type, value.values()))


def _are(value: Any, kind: type) -> bool:
    """Return whether a value is a list of texts or of objects, as `kind` says."""
    return type(value) is list and {*map(type, value)} == {kind}


def _may_be_names(value: Any) -> bool:
    """Return whether a value, or each of a list, may be a player's name."""
    names = value if isinstance(value, list) else [value]
    return all(
        isinstance(each, str) and not (each.lower() in WORDS or cells.is_result(each)) for each in names
    )
