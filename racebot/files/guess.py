"""Names the columns that a table lacks, and guesses by what cells hold which of its own these are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import accumulate, combinations, groupby

from racebot.errors import PayloadError
from racebot.files import cells
from racebot.files.cells import KNOWN
from racebot.files.evidence import are_places
from racebot.files.header import Header
from racebot.files.options import OF_ONE, RESULTS, TOTAL, by_columns, few, plain, words_of
from racebot.text.parse import did_you_mean

_RACES = ("race", "ended_at")
_TWICE = "--twice first, or --twice best"
Races = Sequence[tuple[str, ...]]
"""The race of each row, told by the texts of one column or several."""


def refusal(number: int, header: Header) -> PayloadError:
    """Return an error that names all columns that a table lacks, and which of its own these may be."""
    wanted, known = dict(header.missing), header.options.known
    results = [ours for ours in RESULTS if ours in known]
    if "player" not in header.at:
        wanted.setdefault("player", "player")
    if not header.results() and not set(RESULTS) & wanted.keys():
        wanted["place"] = " or ".join(known[ours][0] for ours in results)
    names = [name for name in header.names if name]
    free = [name for at, name in enumerate(header.names) if name and at not in header.used]
    lacks = [f"no column {each}{did_you_mean(each.split(' or ')[0], free)}" for each in wanted.values()]
    guess = {} if header.missing else _guessed(header)
    if guess and (header.results() or not guess.keys().isdisjoint(RESULTS)):
        less = ", with --lowest-wins if less is better" if "score" in guess else ""
        fix = f"name yours, perhaps by {by_columns(**guess)}{less}"
    else:
        named = f"name yours by {by_columns(**dict.fromkeys(wanted, 'NAME') | guess)}" if wanted else ""
        if " or " in wanted.get("place", ""):
            named += f" (or {' or '.join(f'{ours}=' for ours in results[1:])})"
        fix = f"{named}, or " if named else ""
        fix += "write a line for each entrant, with race, player and place"
        if "race" in known and header.options.layout is None:
            fix += "; a column for each race or player needs --layout players or races, and a game of two"
            fix += " --columns player1=NAME,player2=NAME,result=NAME"
    if len(names) == 1 and " " in names[0]:
        fix = "separate columns by commas, semicolons or tabs, not spaces, below race,player,place"
    has = few(names, 20) or "nothing"
    return PayloadError(f"{' and '.join(lacks) or 'no results'}; line {number} has {has}: {fix}")


def fix_for_two(header: Header) -> str:
    """Return what to do about two results of a player in one race."""
    if "race" in (guess := _guessed(header)):
        return f"add {by_columns(**guess)}, or {_TWICE}"
    player, free = header.titles("player").get("player", "player"), _Columns(header).texts
    shared = [{"player": name, "name": player} for name in free if OF_ONE.search(plain(name))]
    shared += [{"player": f"{player}+{name}"} for name in free if plain(name) in KNOWN["names"]["teams"]]
    namesakes = [f", or {by_columns(**each)} if two share a name" for each in shared[:1]]
    return f"remove one, or add {_TWICE}" + "".join(namesakes)


def fix_for_shared_places(header: Header) -> str:
    """Return what to do about a race with two first places, by the columns of its races."""
    own = _Columns(header, header.at.get("time", ()))
    race, _ = own.apart(own.players) or ("", ())
    fix = f"add {by_columns(race=race)}" if race else "add a column that tells these apart"
    return f"if of several races or classes, {fix}; if of teams, name theirs by --columns team=NAME"


def _guessed(header: Header) -> dict[str, str]:
    """Return the columns that may be the player, the race, its date and the result, if rows are entrants."""
    own, found = _Columns(header), dict[str, str]()
    players, races = own.players, own.races
    if "player" not in header.at:
        names = [name for name in own.of_kind["name"] if {*words_of(name)}.isdisjoint(KNOWN["notes"])]
        if len(names) != 1:  # two columns of players are games
            return found
        found["player"], players = names[0], own.texts[names[0]]
    if not _are_apart(races, players):
        if (apart := own.apart(players)) is None:
            return found if header.results() else {}
        found["race"], races = apart
    for name in own.of_kind["date"] if "ended_at" not in header.at else ():
        if _runs([*zip(races, own.texts[name], strict=True)]) == _runs(races):
            found.setdefault("ended_at", name)
    times, numbers = own.of_kind["time"], own.of_kind["number"]
    numbers = [name for name in numbers if not TOTAL.fullmatch(plain(name))]
    if not header.results() and len(times + numbers) == 1:
        (name,) = times + numbers
        is_time = times and {"left", "remaining"}.isdisjoint(words_of(name))
        placed = numbers and _places_of(races, own.texts[name])
        found["time" if is_time else "place" if placed else "score"] = name
    return found


class _Columns:
    """Texts of columns that stand for nothing yet, or of `more`, and their names by kind, of unlike lines."""

    def __init__(self, header: Header, more: Collection[int] = ()) -> None:
        # Merged cells have a text in their first row only.
        columns = (accumulate(header.column(at), _or_above) for at in range(len(header.names)))
        rows = dict(zip(zip(*columns, strict=True), header.below, strict=True))
        free = [at for at, name in enumerate(header.names) if name and at not in header.used - {*more}]
        self.texts = {header.names[at]: [row[at] for row in rows.values()] for at in free}
        self._filled = {header.names[at]: [row[at] for row in rows] for at in free}
        self.of_kind = defaultdict[str, list[str]](list)
        for name, column in self.texts.items():
            self.of_kind["" if cells.is_date(name) else _kind(column)].append(name)
        lines = [header.texts(row) for row in rows.values()]
        self._own = {name: [line[ours] for line in lines] for ours, name in header.titles(*_RACES).items()}
        self.players, self.places = ([line.get(ours, "") for line in lines] for ours in ("player", "place"))
        self.races: Races = [*zip(*[*self._own.values()][:1] or [[""] * len(rows)], strict=True)]

    def apart(self, players: Sequence[str]) -> tuple[str, Races] | None:
        """Return columns, up to two more, by which nobody is twice in a race, and the race of each row."""
        texts = self._own | self._filled
        # The numbers and times of races stand together, those of laps do not.
        numbers = self.of_kind["number"] + self.of_kind["time"]
        stand = {name: [*zip(*self._own.values(), texts[name], strict=True)] for name in numbers}
        blocks = [name for name, each in stand.items() if _runs(each) == len({*each})]
        free = [*self.of_kind["name"], *blocks, *self.of_kind["date"], *[*self._own][1:]]
        free = [name for name in free if texts[name] != players]
        keys = [*((name,) for name in free), *combinations(free[-9:], 2)]
        for names in (*((*[*self._own][:1], *more) for more in keys), *keys):
            races = [*zip(*(texts[name] for name in names), strict=True)]
            if _are_apart(races, players) and _places_of(races, self.places):
                return "+".join(names), races
        return None


def _or_above(above: str, text: str) -> str:
    return text or above


def _runs(texts: Sequence[object]) -> int:
    """Count the runs of equal texts."""
    return len([*groupby(texts)])


def _kind(column: Sequence[str]) -> str:
    """Return `date`, `time`, `number` or `name`, or nothing if the cells are of several kinds."""
    texts = {cells.told(text) for text in column}
    texts = {text for text in texts if text.lower() not in cells.NO_RESULT}
    if not texts or all(map(cells.is_date, texts)):
        return "date" if texts else ""
    results = sum(map(cells.is_result, texts))
    kind = "time" if any(":" in text.partition("(")[0] for text in texts) else "number"
    return kind if results == len(texts) else "" if results else "name"


def _are_apart(races: Races, players: Sequence[str]) -> bool:
    """Return whether nobody is twice in a race, and races have two players or more in the mean."""
    return len({*zip(races, players, strict=True)}) == len(players) >= 2 * len({*races})


def _places_of(races: Races, texts: Sequence[str]) -> bool:
    """Return whether the texts are places from 1 in each race."""
    by_race = defaultdict[tuple[str, ...], list[str]](list)
    for race, text in zip(races, map(cells.told, texts), strict=True):
        by_race[race] += [text] if any(map(str.isdigit, text)) else []
    return all(map(are_places, by_race.values()))
