"""Names the columns that a table lacks, and guesses by what cells hold which of its own these are."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations, groupby
from operator import itemgetter
from pathlib import Path

from racebot.errors import PayloadError
from racebot.files import cells
from racebot.files.cells import ABSENT, KNOWN
from racebot.files.evidence import are_places
from racebot.files.games import Grid
from racebot.files.options import COLUMNS, OF_ONE, RESULTS, TOTAL, Header, ReadOptions, few, plain, words_of
from racebot.text.parse import did_you_mean

_NO_RESULT = {*cells.WORDS, *ABSENT}


def ask_about_repeated_players(path: Path, header: Header, below: Sequence[list[str]]) -> None:
    """Refuse a table with a player in several lines of a race if one more column tells its races apart."""
    texts = {tuple(row): header.texts(row, "race", "ended_at", "player") for row in below}
    lines = {row: tuple(each.items()) for row, each in texts.items() if each["player"]}
    name, count = Counter(lines.values()).most_common(1)[0] if lines else ((), 0)
    # In a table of one race, a few may share a name.
    several = "race" in header.at or 4 * len({*lines.values()}) < 3 * len(lines)
    if count > 1 and several and (guess := _guessed(header, [*map(list, lines)])).keys() & {"race"}:
        fix = f"add --columns {_as_option(guess)}, or --twice first, or --twice best"
        raise PayloadError(f"{path}: {dict(name)['player']!r} is in {count} lines of one race: {fix}")


def refusal(
    path: Path, number: int, header: Header, below: Sequence[list[str]], options: ReadOptions
) -> PayloadError:
    """Return an error that names all columns that a table lacks, and which of its own these may be."""
    wanted = dict(header.missing)
    if "player" not in header.at:
        wanted.setdefault("player", "player")
    if not header.results() and not set(RESULTS) & wanted.keys():
        wanted["place"] = " or ".join(options.known[name][0] for name in RESULTS if name in options.known)
    names = [name for name in header.names if name]
    free = [name for at, name in enumerate(header.names) if name and at not in header.used]
    lacks = [f"no column {each}{did_you_mean(each.split(' or ')[0], free)}" for each in wanted.values()]
    if guess := {} if header.missing else _guessed(header, below):
        less = ", with --lowest-wins if less is better" if "score" in guess else ""
        fix = f"name yours, perhaps by --columns {_as_option(guess)}{less}"
    else:
        named = ",".join(f"{ours}=NAME" for ours in wanted)
        fix = f"name yours by --columns {named}, or " if named else ""
        fix += "write a line for each entrant, with race, player and place"
        if "race" in options.known and options.layout is None:
            fix += "; a column for each race or player needs --layout players or races"
    if len(names) == 1 and " " in names[0]:
        fix = "separate columns by commas, semicolons or tabs, not spaces"
    has = few(names, 20) or "nothing"
    return PayloadError(f"{path}: {' and '.join(lacks) or 'no results'}; line {number} has {has}: {fix}")


def _as_option(columns: Mapping[str, str]) -> str:
    return cells.quoted(",".join(f"{ours}={name}" for ours, name in columns.items()))


def fix_for_two(table: Grid) -> str:
    """Return what to do about two results of a player in one race."""
    titles = table.lines.columns
    both = [titles[each] for each in ("race", "ended_at") if each in titles]
    race = cells.quoted(f"race={'+'.join(both)}") if len({*both}) == 2 else "race=NAME"
    fix = f"remove one, or add --twice first, --twice best, or --columns {race}"
    player, used = titles.get("player", "NAME"), "+".join(titles.values()).split("+")
    free = [name for name in table.header if name not in used]
    number = [f"player={name},name={player}" for name in free if OF_ONE.search(plain(name))]
    club = [f"player={player}+{name}" for name in free if plain(name) in KNOWN["names"]["teams"]]
    return fix + (f", or {cells.quoted((number + club)[0])} if two share a name" if number + club else "")


def _guessed(header: Header, below: Sequence[list[str]]) -> dict[str, str]:
    """Return the names of columns that may be the race, its date, the player and the result, by ours.

    There are none where the rows are no entrants: without a player or a result, with players in several
    columns, or with one twice in a race.
    """
    free = [at for at, name in enumerate(header.names) if name and at not in header.used]
    texts = {header.names[at]: [row[at] for row in below] for at in free}
    of_kind = defaultdict[str, list[str]](list)
    for name, column in texts.items():
        of_kind["" if cells.is_date(name) else _kind(column)].append(name)
    found = dict[str, str]()
    most = max((len({*texts[name]}) for name in of_kind["name"]), default=0)
    many = [name for name in of_kind["name"] if 2 * len({*texts[name]}) >= most]
    if any(_share(texts[one], texts[two]) for one, two in combinations(many, 2)):
        return found
    players = [header.texts(row).get("player", "") for row in below]
    if "player" not in header.at:
        people = of_kind["name"] or [name for name in of_kind["number"] if OF_ONE.search(plain(name))]
        if not people:
            return found
        found["player"] = max(people, key=lambda name: _like_names(texts[name]))
        players = texts[found["player"]]
    races = [(*header.texts(row, "race", "ended_at").values(),) for row in below]
    if not _are_apart(races, players):
        # The numbers of races stand together, those of laps do not.
        blocks = [name for name in of_kind["number"] if _runs(texts[name]) == len({*texts[name]})]
        keys = [name for name in (*of_kind["name"], *of_kind["date"], *blocks) if name not in found.values()]
        apart = _told_apart(header, below, {name: texts[name] for name in keys}, races, players)
        if apart is None:
            return {}
        found["race"], races = apart
    for name in of_kind["date"] if "ended_at" not in header.at else ():
        if _runs([*zip(races, texts[name], strict=True)]) == _runs(races):
            found.setdefault("ended_at", name)
    result = {} if header.results() else _result(texts, of_kind, races)
    return found | result if (header.results() or result) and any(players) else {}


def _told_apart(
    header: Header,
    below: Sequence[list[str]],
    keys: Mapping[str, Sequence[str]],
    races: Sequence[tuple[str, ...]],
    players: Sequence[str],
) -> tuple[str, list[tuple[str, ...]]] | None:
    """Return the names of columns by which nobody is twice in a race, and the race of each row; None without.

    One more column tells races apart, or one in place of those known. Places begin at 1 in each race.
    """
    own = header.titles("race").values()
    told = {
        (*own, name): [(*race, text) for race, text in zip(races, keys[name], strict=True)] for name in keys
    }
    told |= {(name,): [(text,) for text in texts] for name, texts in keys.items()}
    places = [header.texts(row).get("place", "") for row in below]
    for names, each in told.items():
        if _are_apart(each, players) and ("place" not in header.at or _places_of(each, places)):
            return "+".join(names), each
    return None


def _result(
    texts: Mapping[str, Sequence[str]], of_kind: Mapping[str, list[str]], races: Sequence[tuple[str, ...]]
) -> dict[str, str]:
    """Return the only column that may be a place, a time or a score, and that of laps beside a time."""
    numbers, times = of_kind["number"], of_kind["time"]
    kinds = [(ours, [name for name in (*numbers, *times) if _ends_in(name, ours)]) for ours in RESULTS]
    placed = [name for name in numbers if _places_of(races, texts[name])]
    scores = [name for name in numbers if not TOTAL.fullmatch(plain(name))]
    left = [name for name in times if not {"left", "remaining"}.isdisjoint(words_of(name))]
    kinds = [("score", left), *kinds, ("place", placed), ("place", of_kind["won"])]
    kinds += [("time", times), ("score", scores)]
    ours, names = next(filter(itemgetter(1), kinds), ("", []))
    if len(names) != 1:  # several may be races
        return {}
    laps = next((name for name in numbers if ours == "time" and _ends_in(name, "laps")), None)
    return {ours: names[0]} | ({"laps": laps} if laps else {})


def _like_names(texts: Sequence[str]) -> tuple[bool, int, int]:
    """Return a key by which names of players come last: without digits, many, and changing often."""
    return not any(map(_has_digit, texts)), len({*texts}), _runs(texts)


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _ends_in(name: str, ours: str) -> bool:
    """Return whether the last words of a name are a known one, as in `timing totalTime`."""
    words = " ".join(words_of(name))
    return any(words.endswith(f" {known}") for known in COLUMNS[ours])


def _runs(texts: Sequence[object]) -> int:
    """Count the runs of equal texts."""
    return len([*groupby(texts)])


def _kind(column: Sequence[str]) -> str:
    """Return `date`, `time`, `number`, `won` or `name`, or nothing if the cells are of several kinds."""
    texts = {cells.told(text) for text in column}
    texts = {text for text in texts if text.lower() not in _NO_RESULT}
    if not texts or all(map(cells.is_date, texts)):
        return "date" if texts else ""
    results = sum(map(cells.is_result, texts))
    kind = "number" if any(map(_has_digit, texts)) else "won"
    kind = "time" if any(":" in text.partition("(")[0] for text in texts) else kind
    return kind if results == len(texts) else "" if results else "name"


def _share(one: Sequence[str], two: Sequence[str]) -> bool:
    """Return whether most of the texts of a column are in another, as names of players are."""
    few, many = sorted(({*one} - {""}, {*two} - {""}), key=len)
    return 2 * len(few & many) >= max(len(few), 1)


def _are_apart(races: Sequence[tuple[str, ...]], players: Sequence[str]) -> bool:
    """Return whether nobody is twice in a race, and races have two players or more in the mean."""
    return len({*zip(races, players, strict=True)}) == len(players) >= 2 * len({*races})


def _places_of(races: Sequence[tuple[str, ...]], texts: Sequence[str]) -> bool:
    """Return whether the texts are places from 1 in each race."""
    by_race = defaultdict[tuple[str, ...], list[str]](list)
    for race, text in zip(races, map(cells.told, texts), strict=True):
        by_race[race] += [text] if text.lower() not in _NO_RESULT else []
    return all(map(are_places, by_race.values()))
