"""The parts of a league's rules, and the sets of rules that leagues have used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from statistics import fmean, stdev
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, with_config

from racebot.errors import SettingsError
from racebot.text.parse import did_you_mean

_reader: Callable[[], TypeAdapter[Rules]] = cache(lambda: TypeAdapter(Rules))
Count = Annotated[int, Field(ge=1, le=10_000)]
CountOrOff = Annotated[Count | None, BeforeValidator(lambda given: None if given == 0 else given)]
"""A part that 0 switches off, which a set of rules may have switched on."""
Amount = Annotated[float, Field(ge=0, le=100_000)]
Tiers = Annotated[
    tuple[tuple[int, Count], ...],
    BeforeValidator(lambda given: [[0, given]] if isinstance(given, int) else given),
]


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How a league scores its races and orders its racers.

    `docs/leagues.md` explains each part. `fast_seeds` are pars in minutes at which the allowance begins and
    is complete. `races` is the league's number and `cut` how many qualify; None leaves them open.
    """

    par: Tiers = ((0, 4),)
    par_from: Count | None = None
    family: Literal["ratio", "standard-s4", "standard-s9"] = "ratio"
    full: Annotated[float, Field(gt=0, le=100_000)] = 100.0
    lowest: Amount = 0.0
    highest: Amount = 110.0
    fast_seeds: tuple[Amount, Amount] = (150.0, 100.0)
    first: CountOrOff = None
    drop_best_from: CountOrOff = None
    drop_worst_from: CountOrOff = None
    drop_forfeits: bool = False
    best: CountOrOff = None
    mean_over: CountOrOff | Literal["races"] = 1
    needed: Annotated[int, Field(ge=0)] = 0
    needed_are: Literal["entered", "finished"] = "entered"
    races: Count | None = None
    cut: Count | None = None

    def __post_init__(self) -> None:
        if (sizes := [size for size, _ in self.par]) != sorted({0, *sizes}):
            raise ValueError("par must be a number, or pairs such as [[0, 3], [20, 4]] from 0 entrants up")
        if self.lowest > self.highest or self.fast_seeds[0] <= self.fast_seeds[1]:
            raise ValueError("lowest must not be above highest, and fast_seeds must fall, as in [150, 100]")

    @property
    def words(self) -> str:
        """Return the rules in one sentence, without its full stop."""
        pars = (f"{most}{f' from {size} entrants on' if size else ''}" for size, most in self.par)
        formula = f"{self.full:g} · (2 − time/par)"
        if self.family != "ratio":
            formula = f"the Standard tournament's, season {self.family[-1]}"
        drops = (("best", self.drop_best_from), ("worst", self.drop_worst_from))
        over = {None: "added up", 1: "their mean", "races": "their sum divided by the league's races"}
        least = f"their sum divided by how many they are, and by at least {self.mean_over}"
        parts = [
            f"Par: the mean of the fastest {', '.join(pars)}",
            f"score: {formula}, from {self.lowest:g} to {self.highest:g}, 0 without a finish",
            f"the first {self.first} races entered count" if self.first else "all races entered count",
            "forfeits are dropped" if self.drop_forfeits else "",
            *(f"the {which} is dropped from {races} races on" for which, races in drops if races),
            f"the best {self.best} are {over[None]}" if self.best else over.get(self.mean_over, least),
            f"racers with fewer than {self.needed} {self.needed_are} races come last" if self.needed else "",
        ]
        return "; ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class Par:
    """The mean of the fastest finish times and their sample standard deviation (0 for one), in seconds.

    `preliminary_until` is how many must finish, if fewer have; otherwise 0.
    """

    time: float
    spread: float
    preliminary_until: int = 0


def par_of(times: Sequence[float], entrants: int, rules: Rules) -> Par | None:
    """Return the par of a race with these finish times in seconds; None without finishers."""
    most = next(most for size, most in reversed(rules.par) if size <= entrants)
    fastest = sorted(times)[:most]
    if not fastest:
        return None
    spread = stdev(fastest) if len(fastest) > 1 else 0.0
    needed = min(most, rules.par_from or most)
    return Par(fmean(fastest), spread, needed if len(fastest) < needed else 0)


_SGL = {"par": [[0, 3], [20, 4]], "lowest": 10, "mean_over": 3, "needed": 3}
_STANDARD: dict[str, Any] = {
    "par": 7,
    "full": 1000,
    "lowest": 100,
    "highest": 1100,
    "first": 8,
    "drop_forfeits": True,
    "drop_best_from": 2,
    "best": 4,
    "mean_over": None,
    "needed": 5,
    "needed_are": "finished",
}
NAMED: Mapping[str, Mapping[str, Any]] = {
    "sgl-2023": _SGL | {"first": 5, "drop_best_from": 4, "drop_worst_from": 5},
    "sgl-2024": _SGL | {"first": 6, "drop_worst_from": 4},
    "sgl-2025": _SGL | {"first": 6, "drop_worst_from": 4, "needed_are": "finished"},
    "standard-s4": _STANDARD | {"family": "standard-s4"},
    "standard-s9": _STANDARD | {"family": "standard-s9", "fast_seeds": [120, 70]},
    "sahasrahbot": {"par": 5, "par_from": 1, "highest": 105, "mean_over": "races"},
}
"""Sets of rules by name: the parts that differ from the defaults. Sources: https://github.com/tcprescott/sahasrahbot;
for the others, https://github.com/midoshouse/midos.house."""


def rules_of(given: str | Mapping[str, Any], **more: object) -> Rules:
    """Return the rules of a named set, or of a table of parts that may name its set as `rules`.

    `more` are parts that hold unless they are None. A wrong name, part or value is a `SettingsError`.
    """
    parts: dict[str, Any] = {"rules": given} if isinstance(given, str) else dict(given)
    name = parts.pop("rules", "")
    if name and name not in NAMED:
        hint = did_you_mean(str(name), NAMED)
        raise SettingsError(f"scoring: no rules {name!r}{hint}; there are: {', '.join(NAMED)}")
    parts = {**NAMED.get(name, {}), **parts, **{part: own for part, own in more.items() if own is not None}}
    try:
        return _reader().validate_python(parts)
    except ValidationError as error:
        problem, known = error.errors()[0], [each.name for each in fields(Rules)]
        part = str((*problem["loc"], "")[0])
        if part and part not in known:
            hint = did_you_mean(part, known)
            raise SettingsError(f"scoring: no part {part!r}{hint}; there are: {', '.join(known)}") from None
        raise SettingsError(f"scoring: {part}: {problem['msg']}".replace(": : Value error,", ":")) from None
