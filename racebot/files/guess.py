"""Names the columns that a table lacks, and guesses by what cells hold which of its own these are."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate, chain, combinations, groupby
from operator import itemgetter
from pathlib import Path

from racebot.errors import PayloadError
from racebot.files import cells
from racebot.files.cells import KNOWN
from racebot.files.evidence import are_places
from racebot.files.games import Grid, are_scores
from racebot.files.options import (
    COLUMNS,
    OF_ONE,
    OF_TWO,
    RESULTS,
    TOTAL,
    Header,
    ReadOptions,
    few,
    plain,
    words_of,
)
from racebot.text.parse import did_you_mean

_RACES = ("race", "ended_at")
Races = Sequence[tuple[str, ...]]
"""The race of each row, told by the texts of one column or several."""


def ask_about_repeated_players(path: Path, header: Header, below: Sequence[list[str]]) -> None:
    """Refuse a table with a player in several lines of a race if more columns tell its races apart."""
    own = _Columns(header, below)
    pairs = (each for each in zip(own.players, own.races, strict=True) if each[0])
    lines = Counter(pair for pair in pairs if not cells.is_nobody(pair[0], cells.NOBODY))
    (player, _), count = lines.most_common(1)[0] if lines else (("", ()), 0)
    # In a table of one race, a few may share a name.
    several = "race" in header.at or 4 * len(lines) < 3 * lines.total()
    if count > 1 and several and "race" in _guessed(header, below):
        fix = fix_for_two(header, below)
        raise PayloadError(f"{path}: {player!r} is in {count} lines of one race: {fix}")


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
    free = [*_Columns(header, below).free]
    lacks = [f"no column {each}{did_you_mean(each.split(' or ')[0], free)}" for each in wanted.values()]
    guess = {} if header.missing else _guessed(header, below)
    if guess and (header.results() or not guess.keys().isdisjoint(RESULTS)):
        less = ", with --lowest-wins if less is better" if "score" in guess else ""
        fix = f"name yours, perhaps by --columns {_as_option(guess)}{less}"
    elif games := _as_games(header, below):
        fix = f"if each line is a game of two, add --columns {_as_option(games)}"
        fix += "" if "result" in games else " and result=, with a column or with two of scores as ONE+TWO"
        fix += "; if not, write a line for each entrant, with race, player and place"
    else:
        named = _as_option(dict.fromkeys(wanted, "NAME") | guess) if wanted else ""
        if " or " in wanted.get("place", ""):
            named += f" (or {' or '.join(f'{ours}=' for ours in RESULTS[1:] if ours in options.known)})"
        fix = f"name yours by --columns {named}, or " if named else ""
        fix += "write a line for each entrant, with race, player and place"
        if "race" in options.known and options.layout is None:
            fix += "; a column for each race or player needs --layout players or races"
    if len(names) == 1 and " " in names[0]:
        fix = "separate columns by commas, semicolons or tabs, not spaces, below race,player,place"
    has = few(names, 20) or "nothing"
    return PayloadError(f"{path}: {' and '.join(lacks) or 'no results'}; line {number} has {has}: {fix}")


def _as_option(columns: Mapping[str, str]) -> str:
    return cells.quoted(",".join(f"{ours}={name}" for ours, name in columns.items()))


def fix_for_two(header: Header, below: Sequence[list[str]]) -> str:
    """Return what to do about two results of a player in one race."""
    if "race" in (guess := _guessed(header, below)):
        return f"add --columns {_as_option(guess)}, or --twice first, or --twice best"
    player, free = header.titles("player").get("player", "player"), _Columns(header, below).free
    shared = [f"player={name},name={player}" for name in free if OF_ONE.search(plain(name))]
    shared += [f"player={player}+{name}" for name in free if plain(name) in KNOWN["names"]["teams"]]
    namesakes = [f", or --columns {cells.quoted(each)} if two share a name" for each in shared[:1]]
    return "remove one, or add --twice first, or --twice best" + "".join(namesakes)


def _as_games(header: Header, below: Sequence[list[str]]) -> dict[str, str]:
    """Return the columns of two players, and of their result: a score, or the name of one."""
    own = _Columns(header, below)
    named = [name for name in own.of_kind["name"] if len({*own.free[name]}) > 1]
    named = [name for name in named if plain(name) not in KNOWN["winner"]]
    pairs = [pair for pair in combinations(named, 2) if _share(*map(own.free.__getitem__, pair))]
    if len(pairs) != 1 or {"player", "place", "time"} & header.at.keys():
        return {}
    people, free = {"", *chain(*map(own.free.__getitem__, pairs[0]))}, own.free.keys() - {*pairs[0]}
    told = [name for name in own.free if name in free and any(own.free[name])]
    told = [name for name in told if are_scores(own.free[name]) or people >= {*own.free[name]}]
    return dict(zip(OF_TWO, (*pairs[0], *told[:1]), strict=False))


def fix_for_shared_places(table: Grid) -> str:
    """Return what to do about a race with two first places, by columns of its races, classes or teams."""
    own = _Columns(table.known, table.sample, table.known.at.get("time", ()))
    race, _ = own.apart(own.players) or ("", ())
    fix = f"add --columns {_as_option({'race': race})}" if race else "add a column that tells these apart"
    placed = [*zip(own.races, own.places, strict=True)]
    count, teams = len({*placed}), []
    for name, each in ((name, each) for name, each in own.free.items() if all(each)):
        if len({*zip(own.races, each, strict=True)}) == count == len({*zip(placed, each, strict=True)}):
            teams.append(name)
    teams.sort(key=lambda name: {*words_of(name)}.isdisjoint(KNOWN["names"]["teams"]))
    team = [f"; if of teams, add --columns {_as_option({'team': name})}" for name in teams[:1]]
    return f"if of several races or classes, {fix}{''.join(team)}"


def _guessed(header: Header, below: Sequence[list[str]]) -> dict[str, str]:
    """Return the columns that may be the race, its date, the player and the result, if rows are entrants."""
    own, found = _Columns(header, below), dict[str, str]()
    texts, names, players = own.free, own.of_kind["name"], own.players
    most = max((len({*texts[name]}) for name in names), default=0)
    many = [name for name in names if 2 * len({*texts[name]}) >= most]
    if "player" not in header.at:
        if any(_share(texts[one], texts[two]) for one, two in combinations(many, 2)):
            return found
        names = [name for name in names if {*words_of(name)}.isdisjoint(KNOWN["notes"])]
        people = names or [name for name in own.of_kind["number"] if OF_ONE.search(plain(name))]
        if not people:
            return found
        # Names of players have no digits, and are many that change often.
        marks = {
            name: (not any(map(_has_digit, column)), len({*column}), _runs(column))
            for name, column in texts.items()
        }
        found["player"] = max(people, key=marks.__getitem__)
        players = texts[found["player"]]
    races = own.races
    if not _are_apart(races, players):
        if (apart := own.apart(players)) is None:
            return found if header.results() else {}
        found["race"], races = apart
    for name in own.of_kind["date"] if "ended_at" not in header.at else ():
        if _runs([*zip(races, texts[name], strict=True)]) == _runs(races):
            found.setdefault("ended_at", name)
    # Nobody has the same result in each race: such numbers are those of a license or a start.
    pairs = {name: {*zip(players, column, strict=True)} for name, column in texts.items()}
    of_one = [name for name, each in pairs.items() if len(each) == len({*players}) < len(players)]
    of_kind = {kind: [name for name in names if name not in of_one] for kind, names in own.of_kind.items()}
    result = {} if header.results() else _result(texts, defaultdict(list, of_kind), races)
    return found | result if any(players) else {}


class _Columns:
    """Texts of columns that stand for nothing yet, or of `more`, and their names by kind, of unlike lines."""

    def __init__(self, header: Header, below: Sequence[list[str]], more: Collection[int] = ()) -> None:
        # Merged cells have a text in their first row only.
        columns = [[row[at] for row in below] for at in range(len(header.names))]
        filled = [[*accumulate(each, _or_above)] for each in columns]
        rows = dict(zip(zip(*filled, strict=True), below, strict=True))
        free = [at for at, name in enumerate(header.names) if name and at not in header.used - {*more}]
        self.free = {header.names[at]: [row[at] for row in rows.values()] for at in free}
        self._filled = {header.names[at]: [row[at] for row in rows] for at in free}
        self.of_kind = defaultdict[str, list[str]](list)
        for name, column in self.free.items():
            self.of_kind["" if cells.is_date(name) else _kind(column)].append(name)
        lines = [header.texts(row) for row in rows.values()]
        self._own = {name: [line[ours] for line in lines] for ours, name in header.titles(*_RACES).items()}
        self.players, self.places = ([line.get(ours, "") for line in lines] for ours in ("player", "place"))
        self.races: Races = [*zip(*[*self._own.values()][:1] or [[""] * len(rows)], strict=True)]

    def apart(self, players: Sequence[str]) -> tuple[str, Races] | None:
        """Return columns, up to two more, by which nobody is twice in a race, and the race of each row.

        If there are none, it is one by which places begin at 1 in each of several races.
        """
        texts = self._own | self._filled
        # The numbers and times of races stand together, those of laps do not.
        numbers = self.of_kind["number"] + self.of_kind["time"]
        stand = {name: [*zip(*self._own.values(), texts[name], strict=True)] for name in numbers}
        blocks = [name for name, each in stand.items() if _runs(each) == len({*each})]
        free = [*self.of_kind["name"], *blocks, *self.of_kind["date"], *[*self._own][1:]]
        one = [(name,) for name in free if texts[name] != players]
        keys = [*one, *(first + second for first, second in combinations(one[-9:], 2))]
        for names in (*((*[*self._own][:1], *more) for more in keys), *keys):
            races = [*zip(*(texts[name] for name in names), strict=True)]
            if _are_apart(races, players) and _places_of(races, self.places):
                return "+".join(names), races
        for (name,) in one if any(self.places) and not self._own else ():
            races = [(text,) for text in texts[name]]
            if 1 < len({*races}) <= len(races) / 2 and _places_of(races, self.places):
                return name, races
        return None


def _result(
    texts: Mapping[str, Sequence[str]], of_kind: Mapping[str, list[str]], races: Races
) -> dict[str, str]:
    """Return the only column that may be a place, a time or a score, and that of laps beside a time."""
    times, numbers = of_kind["time"], of_kind["number"]
    kinds = [(ours, [name for name in (*numbers, *times) if _ends_in(name, ours)]) for ours in RESULTS]
    scores = [name for name in numbers if not TOTAL.fullmatch(plain(name))]
    placed = [name for name in scores if _places_of(races, texts[name])]
    left = [name for name in times if not {"left", "remaining"}.isdisjoint(words_of(name))]
    kinds = [("score", left), *kinds, ("place", placed), ("place", of_kind["won"])]
    kinds += [("time", times), ("score", scores)]
    ours, names = next(filter(itemgetter(1), kinds), ("", []))
    if len(names) != 1:  # several may be races
        return {}
    laps = next((name for name in numbers if ours == "time" and _ends_in(name, "laps")), None)
    return {ours: names[0]} | ({"laps": laps} if laps else {})


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _ends_in(name: str, ours: str) -> bool:
    """Return whether the last words of a name are a known one, as in `timing totalTime`."""
    words = " ".join(words_of(name))
    return any(words.endswith(f" {known}") for known in COLUMNS[ours])


def _or_above(above: str, text: str) -> str:
    return text or above


def _runs(texts: Sequence[object]) -> int:
    """Count the runs of equal texts."""
    return len([*groupby(texts)])


def _kind(column: Sequence[str]) -> str:
    """Return `date`, `time`, `number`, `won` or `name`, or nothing if the cells are of several kinds."""
    texts = {cells.told(text) for text in column}
    texts = {text for text in texts if text.lower() not in cells.NO_RESULT}
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


def _are_apart(races: Races, players: Sequence[str]) -> bool:
    """Return whether nobody is twice in a race, and races have two players or more in the mean."""
    return len({*zip(races, players, strict=True)}) == len(players) >= 2 * len({*races})


def _places_of(races: Races, texts: Sequence[str]) -> bool:
    """Return whether the texts are places from 1 in each race."""
    by_race = defaultdict[tuple[str, ...], list[str]](list)
    for race, text in zip(races, map(cells.told, texts), strict=True):
        by_race[race] += [text] if _has_digit(text) else []
    return all(map(are_places, by_race.values()))
