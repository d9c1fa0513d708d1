"""Races in JSON: of the site, of well-known programs and archives, or records in any nesting."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, groupby
from json import JSONDecoder
from operator import itemgetter
from typing import Any

from racebot.errors import PayloadError
from racebot.files import cells
from racebot.files.cells import KNOWN, SIGNS
from racebot.files.nested import Found, Path, Record, objects_of, records_of
from racebot.files.options import few
from racebot.races.result import HIDDEN_ID, RaceResult
from racebot.racetime.payload import parse_race
from racebot.text.format import counted, without_apostrophe
from racebot.text.parse import parse_duration, read_json

MOST_VALUES = 1_000_000
"""Most commas and opening brackets in a JSON document."""
_SPACES = re.compile(r"\s*")
EXPORTED = {"race": "race.name", "goal": "race.goal.name", "custom_goal": "race.goal.custom"}
_OF_RACE = ("ended_at", "started_at", "recorded", "recordable", "leaderboard", "info", "opened_by_bot")
EXPORTED |= {column: f"race.{column}" for column in _OF_RACE} | {"opened_by": "race.opened_by.name"}
EXPORTED |= {"player": "user.id", "name": "user.name", "discriminator": "user.discriminator"}
EXPORTED |= {"status": "status.value", "finish_time": "finish_time", "place": "place", "team": "team.slug"}
EXPORTED |= {"team_name": "team.name", "penalty": "penalty", "penalty_reason": "penalty_reason"}
EXPORTED |= {"twitch_name": "user.twitch_name", "numbered": "user.numbered"}
"""The columns of the table that racebot exports, and where its JSON says the same."""


@dataclass(frozen=True, slots=True)
class _Program:
    """Where the results of a program or site are in its JSON; `known.toml` explains it."""

    path: str
    columns: Mapping[str, str]
    session: str = ""
    finish: str = ""
    highest: str = ""
    base: int = 1

    def records(self, found: Iterable[Found], paths: set[Path]) -> tuple[list[Record], Counter[str]] | None:
        """Return the records of a document, and its other sessions, or None if it has another form."""
        lists = {path for path in paths if re.fullmatch(self.path, " ".join(path))}
        entrants = [row for path, _, _, row in found if path in lists] if lists else []
        if not any(_value(each, self.columns["player"]) and self._session(each) for each in entrants):
            return None
        records, others, in_order = list[Record](), Counter[str](), "#" in self.columns.values()
        for entrant in entrants:
            if (session := self._session(entrant)).rstrip("0123456789") not in SIGNS["races"]:
                others[session] += 1
                continue
            values = {ours: _value(entrant, form) for ours, form in self.columns.items()}
            record = {ours: value for ours, value in values.items() if value is not None}
            shares = in_order and records and records[-1].get("player") == record.get("player")
            if not any(record.values()) or shares:  # an empty slot, or another driver of a car
                continue
            if in_order:
                record["place"] = len(records) + 1
            elif isinstance(record.get("place"), int):
                record["place"] += 1 - self.base
            if self.finish and _value(entrant, self.finish) in NO_FINISH:
                record["place"] = "DNF"
            if self.highest and entrant.get(self.highest) is False and record.get("score"):
                record["score"] = -cells.number(str(record["score"]))
            records.append(record)
        return records, others

    def _session(self, entrant: Record) -> str:
        return str(_value(entrant, self.session) or "").lower() if self.session else "race"


NO_FINISH = {None, 0, 9998, 9999, 2**31 - 1}
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
    found = objects_of(document)
    paths = {path for path, *_ in found}
    for name, program in PROGRAMS.items():
        if (of_program := program.records(found, paths)) is not None:
            records, others = of_program
            unused = f", without {few([*others])}: {counted(others.total(), 'entrant')}" if others else ""
            if records:
                return [f"results of {name}{unused}"], records
            wanted = "export those of a race, or a table with race, player and place"
            raise PayloadError(f"{name}, results without a race, as of practice or records: {wanted}")
    return records_of(found, parts=parts)


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


def _once(pairs: list[tuple[str, Any]]) -> None:
    """Refuse an object with a key that is given twice, of which one value would be lost."""
    if len(dict(pairs)) < len(pairs):
        (key, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise PayloadError(f"not usable JSON: {key[:50]!r} is given twice in an object")


def _document(text: str) -> Any:
    if sum(map(text.count, ",[{")) > MOST_VALUES:
        raise PayloadError(f"more than {MOST_VALUES:,} values: split it into several files")
    text = re.sub(r"(?m)^[ \t]*(?:#|//).*", "", text).strip()
    parts, end = list[Any](), 0
    try:
        while not parts or end < len(text):  # lines of JSON, or objects one after the other
            start, end = next(_SPACES.finditer(text, end)).end(), len(text)
            with suppress(ValueError, RecursionError):
                _, end = JSONDecoder(object_pairs_hook=_once).raw_decode(text, start)
            above = "\n" * text.count("\n", 0, start) if end == len(text) else ""  # for the line of an error
            parts.append(read_json(above + text[start:end]))
    except PayloadError as error:
        raise PayloadError(f"{error}: correct it, or save a table as CSV") from None
    return parts if parts[1:] else parts[0]


def _site_races(document: Any) -> Iterator[Any]:
    """Yield the races in JSON saved from the site: a list page, several pages, one race, or a list."""
    for page in document if isinstance(document, list) else [document]:
        races = page.get("races") if isinstance(page, dict) else None
        yield from races if isinstance(races, list) else [page]


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


def _value(values: Record, form: str) -> Any:
    if (value := values.get(form)) not in {None, ""}:
        return value
    for choice in form.split("|"):
        parts = [each for name in choice.split("+") if (each := values.get(name)) not in {None, ""}]
        if parts:
            return " ".join(map(str, parts)) if "+" in choice else parts[0]
    return None
