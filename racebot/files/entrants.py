"""Reads the line of an entrant: the player, and how they ended, by places, times, scores, words and flags."""

from __future__ import annotations

import reprlib
import sys
from collections import Counter, defaultdict
from collections.abc import Callable

from racebot.files import cells
from racebot.files.cells import DNF, DONE, DQ, NOBODY, NOTHING, SIGNS, BadCellError, Meaning, PlayerNames
from racebot.files.games import Line
from racebot.files.layout import Grid
from racebot.files.options import FLAGS, RESULTS, ReadOptions, few
from racebot.files.ranking import Result
from racebot.races.result import NO_NAME, UNKNOWN, Entrant

LONGEST_TEXT = 200
"""Most characters in the name of a race, player, team or factor."""
BLANK = "of entrants without a result, who count as not finished"
_DITTO = SIGNS["ditto"] - SIGNS["same_time"]
Find = Callable[[str], Entrant]


class LineReader:
    """Reads lines, and remembers what was said in them.

    `unused` are the numbers of lines that do not count, by reason, `said` words in place of results,
    `numbers` the first line of 980, of 1.250, and of others, and `remarks` proofs and comments of an event.

    Args:
        people: the people of all files that are read together.
        find: for the attempts of an event, as in `read_attempts`.
    """

    def __init__(self, table: Grid, options: ReadOptions, people: PlayerNames, find: Find | None) -> None:
        self._options, self._people, self._find, self._notes = options, people, find, table.notes
        self.remarks: list[tuple[str, str]] = []
        self.unused: defaultdict[str, list[int]] = defaultdict(list)
        self.said: Counter[tuple[str, Meaning]] = Counter()
        self.numbers: dict[str | None, int] = {}
        self.status_numbers = 0
        self._unsure: list[tuple[Result, str]] = []  # results with a status that is not known
        self._says_done = False  # whether the column of statuses has a word for finishing
        self._time = ""
        self._words = cells.WORDS | dict(options.words)
        columns = table.lines.columns
        self._flags = [flag for flag in (*FLAGS, "finished") if flag in columns]
        letters = columns.get("status", "").lower() == "positiontext"
        self._statuses = self._words | (cells.LETTERS if letters else {})

    def read(self, number: int, line: Line, row: int) -> Result | None:
        """Return the result of a line of a `row`, told by its hash, or None without one or an entrant."""
        if ditto := _DITTO.intersection(line.values()):
            raise BadCellError("player", f"a sign for the text above, {min(ditto)}: write that text")
        for column, text in line.items() if max(map(len, line.values())) > LONGEST_TEXT else ():
            if len(text) > LONGEST_TEXT and column not in {"proof", "comment"}:
                raise BadCellError(column, f"longer than {LONGEST_TEXT} characters: shorten it")
        if not (self._find or any(map(line.get, ("player", "name", *RESULTS)))):
            self.unused["without a result"].append(number)
            return None
        player, name = self._player(line)
        place, time, score = (self._cell(line, column) for column in RESULTS)
        leads = place.strip(".") == "1" and not time.strip("-–—")  # with a gap of nothing
        if time.lower() in SIGNS["same_time"]:
            time = "" if place else self._time
        self._time, time = time or self._time, "" if place and leads else time
        status, word = self._status(line, place, time, score)
        if word:
            self.said[word, status] += 1
        elif status is DNF:
            self.unused[BLANK].append(number)
        if status is None:
            return None
        entrant = Entrant(player, name, status, team=sys.intern(line.get("team", "")) or None)
        result = Result(number, entrant, row)
        if status is DONE:
            time = "" if time.lower() in self._words else time  # such as --words done=late
            entrant.place = cells.place(place) if place else None
            result.behind = cells.gap(time) if time else None
            if time and not result.behind:
                try:
                    entrant.finish_time = cells.microseconds(time)
                except BadCellError:
                    if self._options.by_time or not place or time[0].isalpha():
                        raise
                    self.unused["with a time that is not understood beside its place"].append(number)
            if entrant.finish_time and (laps := line.get("laps", "")).isdecimal():
                result.behind = -int(laps), 0
            result.score = cells.number(score) if score else None
            self.numbers.setdefault(cells.kind_of_number(time or score), number)
            if word is None:
                self._unsure.append((result, line["status"]))
        elif status is DNF and place.isdecimal() and time.lower() in self._words:
            entrant.place = int(place) or None
        if self._find is not None:
            self._read_attempt(entrant, line, self._find)
        return result

    def _player(self, line: Line) -> tuple[str | None, str]:
        player, name = line["player"], line.get("name", "")
        if self._find is not None:
            if not player:
                raise BadCellError("player", "empty: fill it in")
            return player, player
        if not player or ("name" not in line and cells.is_nobody(player, NOBODY)):
            return None, NO_NAME
        known = sys.intern(player) if "name" in line else self._people.person(player)
        return known, sys.intern(name or known)

    def _status(self, line: Line, place: str, time: str, score: str) -> tuple[Meaning, str | None]:
        """Return how the entrant ended, and the word that says so, None for a finisher of unknown status."""
        for flag in filter(line.get, self._flags):
            text, means = line[flag].lower(), cells.WORDS[flag]
            if not SIGNS["false"].isdisjoint({text, text.partition(" ")[0]}):
                means = DNF if means is DONE else DONE
            elif SIGNS["true"].isdisjoint({text, text.partition(" ")[0]}) and text != flag:
                if text not in self._words:
                    fix = f"write yes or no, or add --columns {flag}= if it says something else"
                    raise BadCellError(flag, f"{reprlib.repr(text)} is neither yes nor no: {fix}")
                means = self._words[text]
            if means is not DONE:
                return means, "not finished" if flag == "finished" else flag
        unsure, text = False, self._cell(line, "status")
        lower = text.lower()
        if lower and (lower in self._statuses or not cells.is_result(lower)):
            word = lower if lower in self._statuses else cells.outcome_of_title(lower)
            if self._statuses.get(word, DONE) is not DONE:
                return self._statuses[word], text
            unsure = word not in self._statuses
            self._says_done |= not unsure
        self.status_numbers += lower.isdecimal() and lower not in self._statuses
        told = [] if lower.isdecimal() and lower in self._statuses else (place, score, time)
        words = [text for text in told if text.lower() in self._words]
        if words:
            if place and place not in words and set("".join(words)) <= {*"-–—"}:
                cells.place(place)  # a word that is not known, and no result beside it
            text = min(words, key=lambda each: (None, DQ, DNF, DONE).index(self._words[each.lower()]))
            return self._words[text.lower()], text
        if place or time or score:
            return DONE, None if unsure else ""
        if {"place", "score"} & line.keys():
            return DNF, line.get("place") or line.get("score") or text
        if given := line.get("time"):
            cells.microseconds(given)  # such as NA
        raise BadCellError("time", "empty: write a time such as 1:02:03.4, or DNF")

    def settle_statuses(self) -> tuple[int, str] | None:
        """Read unknown statuses as not finished if others say finished, or return a line and what to ask."""
        for result, word in self._unsure:
            if self._says_done:
                result.entrant.status, result.entrant.place, result.entrant.finish_time = DNF, None, None
                self.said[word, DNF] += 1
        words = list(dict.fromkeys(word for _, word in self._unsure))
        if self._says_done or not words:
            return None
        ways = " or ".join(cells.quoted(f"{means}={'|'.join(words)}") for means in ("done", "dnf"))
        fix = f"say what each means, as in --words {ways}, or add --columns status="
        return self._unsure[0][0].number, f"{few(words, 5)} not understood: {fix}"

    def _read_attempt(self, entrant: Entrant, line: Line, find: Find) -> None:
        proof, comment = line.get("proof", ""), line.get("comment", "")
        if proof and not proof.lower().startswith(("https://", "http://")):
            raise BadCellError("proof", f"{reprlib.repr(proof)} is no web address: begin it with https://")
        self.remarks.append((proof, comment))
        try:
            found = find(entrant.name)
        except BadCellError:
            if entrant.finished:
                raise
            missing = f"{entrant.name!r}, no known player, did not finish"
            self._notes.append(f"{missing}: counts without a name, unless --guest gives one")
            entrant.user_id, entrant.name = None, UNKNOWN
            return
        entrant.user_id, entrant.name, entrant.discriminator = found.user_id, found.name, found.discriminator

    def _cell(self, line: Line, column: str) -> str:
        if not (text := line.get(column, "")):
            return ""
        number = text[0].isdecimal() and text[-1].isdecimal()  # for these, `told` takes long
        known = text if number or text.lower() in self._words else cells.told(text)
        return known if known.lower() in self._words or known.lower() not in NOTHING else ""
