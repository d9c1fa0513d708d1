"""Judge rating systems on races in which people fail to finish: docs/benchmark.md says how.

    pip install elo-mmr-py
    python benchmarks/systems.py FILE... --json docs/benchmark.json [--limit 300] [--cache FOLDER]
    python benchmarks/systems.py --page docs/benchmark.md docs/benchmark.json

The first command measures; with a cache, one that was interrupted goes on. The second writes the tables of
the page and its pictures. A new system is one function beside `SYSTEMS`; CONTRIBUTING.md says how.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import joblib
import numpy as np
import openskill.models
import trueskill
from scipy.optimize import brentq, minimize
from scipy.special import ndtr

from racebot.files.read import read_races
from racebot.races.outcome import Outcome
from racebot.ratings.forecast import win_chances
from racebot.ratings.kernel import PastRace
from racebot.ratings.model import FloatArray, PredictsFinish, PredictsPerformance
from racebot.ratings.models.trueskill import evidence
from racebot.ratings.registry import create
from racebot.study.fit import fit
from racebot.study.history import History, Step, replay
from racebot.study.metrics import (
    ERRORS_REQUIRED,
    Tally,
    log_loss,
    misordered,
    observed_pairs,
    reliability,
    standard_error,
)

OURS = (
    *("thurstone-hurdle", "thurstone-filter", "plackett-luce-hurdle"),
    *("plackett-luce", "thurstone", "trueskill", "pairwise-elo"),
)
DOUBTS = (0.0, 1.0, 2.0, 3.0)
"""Deviations to take from the mean for the order: what is best on the first half counts."""
EVALUATIONS = 60
"""Most replays of a search."""
DIVERGED = 1e5
"""Ratings so far apart have diverged, and forecast no winner."""
Values = Sequence[float] | FloatArray


class System(NamedTuple):
    """A rating system of others.

    `rate` yields, for each race of a history, the entrants' means and deviations before and after it, both of
    shape [n, 2]. Its second argument are the values to tune, all above zero, and `start` those it has by
    itself. `noise` is the deviation of one performance, by the values.
    """

    rate: Callable[[History, Values], Iterator[tuple[FloatArray, FloatArray]]]
    start: tuple[float, ...]
    noise: Callable[[Values], float] = lambda values: 1.0


Update = Callable[[PastRace, FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
"""Returns means and variances after a race, given those before it."""


def drifting(update: Update, history: History, values: Values) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Rate with skills that drift with races and days: `values` are deviations, a newcomer's first."""
    newcomer, per_race, per_day = values
    mean, variance = np.zeros(len(history.players)), np.full(len(history.players), newcomer**2)
    last = np.full(len(history.players), np.nan)
    for race in history.races:
        who, today = race.players, race.ended_at.timestamp() / 86400
        away = np.nan_to_num(today - last[who])
        drifted = variance[who] + per_race**2 * ~np.isnan(last[who]) + per_day**2 * away
        before = np.stack([mean[who], np.sqrt(drifted)], 1)
        mean[who], variance[who] = update(race, mean[who], drifted)
        last[who] = today
        yield before, np.stack([mean[who], np.sqrt(variance[who])], 1)


def through_time(race: PastRace, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """TrueSkill Through Time without its smoothing, https://doi.org/10.18637/jss.v112.i06."""
    order = race.outcome.group.argsort(kind="stable")
    spread, group = variance[order] + 1.0, race.outcome.group[order].tolist()
    given = mean[order].tolist(), spread.tolist(), [1] * len(group), group, 0.0
    precision, pull = np.array(evidence(*given, tie=False))
    new_mean, new_variance = mean.copy(), variance.copy()
    gain = variance[order] / (1.0 + precision * spread)
    new_mean[order] += gain * pull
    new_variance[order] *= 1.0 - gain * precision
    return new_mean, new_variance


def ordered_logit(
    sign: float, race: PastRace, mean: FloatArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Rank-ordered logit in state-space form, https://doi.org/10.1515/jqas-2014-0076.

    With sign -1 it is reversed: the worst is eliminated first. The last group says nothing.
    """
    order = sign * race.outcome.group
    theta, chosen = mean.copy(), np.unique(order)[:-1]
    for _ in range(20):
        gradient, curvature = -(theta - mean) / variance, np.diag(1 / variance)
        for group in chosen:
            of_group = order == group
            weight = np.where(order >= group, np.exp(np.clip(sign * theta, -300, 300)), 0.0)
            weight /= weight.sum()
            gradient += sign * (of_group - of_group.sum() * weight)
            curvature += of_group.sum() * (np.diag(weight) - np.outer(weight, weight))
        step = np.linalg.solve(curvature, gradient)
        theta += np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-6:
            break
    return theta, np.diag(np.linalg.inv(curvature)).copy()


def after_glicko_2(
    outcome: Outcome, mu: FloatArray, phi: FloatArray, sigma: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return ratings, deviations and volatilities after one rating period, https://www.glicko.net/glicko/glicko2.pdf.

    τ is .5. Players who did not finish have not met each other.
    """

    def slope(x: float, variance: float, surprise: float, at: float) -> float:  # f(x) of step 5
        total = variance + np.exp(x)
        return float(np.exp(x) * (surprise - total) / (2 * total**2) - (x - at) / 0.25)

    weight = 1 / np.sqrt(1 + 3 * phi**2 / np.pi**2)
    expected = 1 / (1 + np.exp(-weight * (mu[:, None] - mu)))
    won = 0.5 + 0.5 * np.sign(outcome.group - outcome.group[:, None])
    out = outcome.unfinished
    met = ~(np.eye(len(mu), dtype=bool) | (out[:, None] & out))
    information = (met * weight**2 * expected * (1 - expected)).sum(1)
    moved, changed = (met * weight * (won - expected)).sum(1), sigma.copy()
    for i, at in enumerate(2 * np.log(sigma)):
        given = phi[i] ** 2 + 1 / information[i], (moved[i] / information[i]) ** 2, at
        with suppress(ValueError):  # not finite, for values that a search tries
            changed[i] = np.exp(brentq(slope, at - 30, at + 30, given) / 2)
    spread = 1 / np.sqrt(1 / (phi**2 + changed**2) + information)
    return mu + spread**2 * moved, spread, changed


def glicko_2(history: History, values: Values) -> Iterator[tuple[FloatArray, FloatArray]]:
    mean, deviation = np.zeros(len(history.players)), np.full(len(history.players), values[0])
    volatility = np.full(len(history.players), values[1])
    for race in history.races:
        who, state = race.players, (mean, deviation, volatility)
        before = [each[who] for each in state]
        after = after_glicko_2(race.outcome, *before)
        for each, new in zip(state, after, strict=True):
            each[who] = new
        yield np.stack(before[:2], 1), np.stack(after[:2], 1)


def one_by_one(
    newcomer: Any, team: Callable[..., Any], rate: Callable[..., Any], history: History
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Rate with a package that takes a race of teams at a time, of objects with `mu` and `sigma`."""
    ratings = [newcomer for _ in history.players]
    for race in history.races:
        entrants = [ratings[player] for player in race.players]
        after = rate([team((each,)) for each in entrants], ranks=race.outcome.group.tolist())
        for player, (rating,) in zip(race.players, after, strict=True):
            ratings[player] = rating
        changed = [ratings[player] for player in race.players]
        before, now = ([(each.mu, each.sigma) for each in both] for both in (entrants, changed))
        yield np.array(before), np.array(now)


def by_trueskill(history: History, values: Values) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Rate with the package. A race that it cannot compute with these values changes nothing."""
    sigma, beta, tau = values
    environment = trueskill.TrueSkill(sigma=sigma, beta=beta, tau=tau)

    def rate(teams: list[Any], ranks: list[int]) -> Any:
        try:
            return environment.rate(teams, ranks=ranks)
        except (FloatingPointError, ValueError):
            return teams

    return one_by_one(environment.create_rating(), tuple, rate, history)


def by_openskill(
    kind: Callable[..., Any], history: History, values: Values
) -> Iterator[tuple[FloatArray, FloatArray]]:
    sigma, beta, tau = values
    model = kind(sigma=sigma, beta=beta, tau=tau)
    return one_by_one(model.rating(), list, model.rate, history)


def by_elo_mmr(system: Any, history: History, values: Values) -> Iterator[tuple[FloatArray, FloatArray]]:
    import elo_mmr_py  # noqa: PLC0415 - an optional peer

    def standings(race: PastRace) -> list[tuple[str, int, int]]:
        group = race.outcome.group
        places = [(int((group < mine).sum()), int((group <= mine).sum()) - 1) for mine in group]
        rows = ((str(p), *place) for p, place in zip(race.players.tolist(), places, strict=True))
        return sorted(rows, key=lambda row: row[1])

    contests = [
        elo_mmr_py.Contest(standings=standings(race), time_seconds=number)
        for number, race in enumerate(history.races)
    ]
    rated: Any = elo_mmr_py.rate(contests, system=system, sig_noob=values[0])
    events = {int(name): player.events for name, player in rated.items()}
    known = dict.fromkeys(events, (1500.0, values[0]))
    found = {(e.contest_index, n): (e.rating_mu, e.rating_sig) for n, each in events.items() for e in each}
    for number, race in enumerate(history.races):
        before = [known[player] for player in race.players.tolist()]
        known |= {player: found[number, player] for player in race.players.tolist()}
        yield np.array(before), np.array([known[player] for player in race.players.tolist()])


_SKILLS, _MU_SIGMA = (1.5, 0.05, 0.02), (25 / 3, 25 / 6, 25 / 300)
_ELO_MMR_PY = {"Elo-MMR": "mmr", "Elo-MMX": "mmx", "Codeforces": "cfsys", "TopCoder": "tcsys"}
_ELO_MMR_PY |= {"Glicko": "glicko", "TrueSkill": "trueskill", "BAR": "bar"}
SYSTEMS: dict[str, System] = {
    "TrueSkill Through Time, filter": System(partial(drifting, through_time), _SKILLS),
    "Rank-ordered logit": System(partial(drifting, partial(ordered_logit, 1.0)), _SKILLS),
    "Rank-ordered logit, reversed": System(partial(drifting, partial(ordered_logit, -1.0)), _SKILLS),
    "Glicko-2": System(glicko_2, (350 / 173.7178, 0.06), lambda values: 1.702 / 2**0.5),
    "trueskill (package)": System(by_trueskill, _MU_SIGMA, lambda values: values[1]),
    **{
        f"openskill {kind.__name__}": System(partial(by_openskill, kind), _MU_SIGMA, lambda values: values[1])
        for kind in openskill.models.MODELS
    },
    **{
        f"elo-mmr-py {label}": System(partial(by_elo_mmr, system), (350.0,), lambda values: 200.0)
        for label, system in _ELO_MMR_PY.items()
    },
}


@dataclass(frozen=True)
class Believed(PredictsPerformance):
    """Orders players by mean less doubtful deviations, and gives Gaussian odds."""

    noise: float
    doubt: float = 0.0
    scale: float = 1.0

    def rating(self, states: FloatArray) -> FloatArray:
        return states[..., 0] - self.doubt * states[..., 1]

    def performance(self, states: FloatArray) -> tuple[FloatArray, FloatArray]:
        return states[..., 0], np.sqrt(self.noise**2 + states[..., 1] ** 2) / self.scale

    def win_probability(self, a: FloatArray, b: FloatArray) -> FloatArray:
        (first, spread), (second, other) = self.performance(a), self.performance(b)
        chance: FloatArray = ndtr((first - second) / np.hypot(spread, other))
        return chance


class Costs(NamedTuple):
    """What a system's forecasts of some races cost, per race, and the chances of the results of pairs."""

    order: Tally
    odds: Tally
    finish: Tally
    winner: Tally
    chance: FloatArray
    unfair: tuple[int, int]


def costs(model: Any, steps: Sequence[Step], *, winners: bool = True) -> Costs:
    """Judge a system by states and a model, or what stands in for one, which tells what they mean."""
    rows, chances, unfair = [], [np.empty(0)], np.zeros(2, dtype=int)
    for race, before, after in steps:
        better, worse = observed_pairs(race.outcome)
        done, rating = ~race.outcome.unfinished, model.rating(before)
        first = race.outcome.group == race.outcome.group.min()
        chances.append(model.win_probability(before[better], before[worse]))
        knows = isinstance(model, PredictsFinish)
        finishes = model.finish_probability(before) if knows else np.full(len(done), np.nan)
        rose = np.sign(np.round(model.rating(after) - rating, 9))
        unfair += ((~done & (rose > 0)).sum(), (first & done & (rose < 0)).sum())
        said = winners and done.any()
        won = first & done if said and np.ptp(rating) < DIVERGED else np.zeros(0, dtype=int)
        winner = -np.log(max(win_chances(model, before)[won].sum() if won.size else 0.0, 1e-9)) * said
        wrong = misordered(rating[better], rating[worse]).sum()
        surprise = log_loss(np.where(done, finishes, 1 - finishes)).sum()
        rows.append((wrong, log_loss(chances[-1]).sum(), surprise, winner, better.size, done.size, said))
    wrong, loss, finish, winner, pairs, starts, won = np.array(rows, dtype=float).T
    counts = [each.astype(np.intp) for each in (pairs, pairs, starts, won)]
    tallies: Any = map(Tally, (wrong, loss, finish, winner), counts)
    return Costs._make([*tallies, np.concatenate(chances), (int(unfair[0]), int(unfair[1]))])


Found = tuple[Costs, float, str]
"""The costs of a system, races a second, and what was tuned."""


def in_time(limit: float, path: Path, name: str, tuned: bool) -> Found | str:
    """Return what `measured` does, or that it takes more processor time than the limit, in seconds."""

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        return measured(path, name, tuned)
    except TimeoutError:
        return f"over {limit:.0f} s"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def measured(path: Path, name: str, tuned: bool) -> Found:
    """Judge one system on the second half of a file."""
    history = History.of(read_races(path, category="", goal=None).results)
    half = len(history) // 2
    first, said = history.split(half / len(history))[0], ""
    model: Any
    if name in OURS:
        key, parameters = name, {}
        if tuned:
            found = fit(first, name)
            key, parameters = found.model, dict(found.parameters)
            said = f"{key}, all" if found.kept else "odds"
        model, start = create(key, parameters), time.process_time()
        steps = list(replay(model, history))
        return costs(model, steps[half:]), len(history) / (time.process_time() - start), said
    system = SYSTEMS[name]

    def run(values: Values, races: History) -> list[Step]:
        rated = system.rate(races, values)
        return [Step(race, *states) for race, states in zip(races.races, rated, strict=True)]

    def judged(values: Values, scale: float, steps: Sequence[Step]) -> tuple[float, Believed]:
        noise, best = system.noise(values), []
        for doubt in DOUBTS:
            model = Believed(noise, doubt, scale)
            found = costs(model, steps, winners=False)
            best.append((float(found.order.mean() + found.odds.mean()), model))
        return min(best, key=lambda each: each[0])

    values, scale = np.array(system.start), 1.0
    if tuned:

        def cost(at: FloatArray) -> float:
            tried = np.exp(at)
            with np.errstate(all="ignore"):
                total = judged(tried[:-1], tried[-1], run(tried[:-1], first))[0]
            return total if np.isfinite(total) else 1e9

        options = {"maxfev": EVALUATIONS, "xatol": 0.05, "fatol": 1e-4}
        best = cast(Any, minimize)(cost, np.log([*values, scale]), method="Nelder-Mead", options=options)
        *values, scale = np.exp(best.x)
        said = "values and odds"
    model = judged(values, scale, run(values, first))[1]
    start = time.process_time()
    steps = run(values, history)
    return costs(model, steps[half:]), len(history) / (time.process_time() - start), said


FIGURES = ("order", "odds", "finish", "winner")


def compared(path: Path, found: dict[str, Found | str]) -> dict[str, Any]:
    """Return the figures of all systems on a file, with the difference from the best and its error."""
    rows: dict[str, Any] = {
        label: {"tuned": "yes" * label.endswith("tuned"), "missing": each} for label, each in found.items()
    }
    judged = {label: each for label, each in found.items() if not isinstance(each, str)}
    for label, (costs, speed, said) in judged.items():
        row = rows[label] = {"tuned": said, "races_per_second": round(speed), "unfair": costs.unfair}
        row["off_by"] = round(reliability(costs.chance).error, 4)
    for figure in FIGURES:
        tallies = {label: getattr(costs, figure) for label, (costs, _, _) in judged.items()}
        best = min(tallies.values(), key=lambda tally: np.nan_to_num(tally.mean(), nan=9.0))
        for label, tally in tallies.items():
            if np.isfinite(tally.mean()):
                numbers = tally.mean(), tally.mean() - best.mean(), standard_error(best, tally)
                rows[label][figure] = [round(float(n), 4) for n in numbers]
    history = History.of(read_races(path, category="", goal=None).results)
    return {"races": len(history), "players": len(history.players), "systems": rows}


def ranked(found: dict[str, Any], figure: str) -> list[tuple[str, Any]]:
    """Return the rows of a file by a figure. Those without it come last."""
    return sorted(found["systems"].items(), key=lambda item: item[1].get(figure, [np.inf])[0])


def table(found: dict[str, Any]) -> str:
    """Return a file's figures as a table in Markdown. Bold: the best, and all that are level with it."""
    heads = "System | Tuned | Misordered | Log loss | Off by | Finish | Winner"
    lines = [f"| {heads} | DNF gains, winner loses | Races/s |", "|---|---|" + "---:|" * 7]

    def cell(row: dict[str, Any], figure: str) -> str:
        if figure not in row:
            return "–"
        value, behind, error = row[figure]
        text = f"{value:.4f}".removeprefix("0")
        level = not behind or behind <= ERRORS_REQUIRED * error
        return f"**{text}**" if level else f"{text} ({1e4 * error:.0f})"

    for label, row in ranked(found, "odds"):
        order, odds, finish, winner = (cell(row, figure) for figure in FIGURES)
        off, unfair, speed = "–", "–", row.get("missing")
        if speed is None:
            off, unfair = f"{100 * row['off_by']:.1f}", ", ".join(map(str, row["unfair"]))
            speed = format(row["races_per_second"], ",")
        cells = (label.removesuffix(", tuned"), row["tuned"] or "–", order, odds, off, finish, winner, unfair)
        lines.append(f"| {' | '.join((*cells, speed))} |")
    return "\n".join(lines)


def picture(results: dict[str, Any], figure: str, rows: int = 15) -> str:
    """Return a picture of how far systems are behind the best, with two standard errors, by file."""
    parts, most = [], 0
    for column, (name, found) in enumerate(results.items()):
        best = [each for each in ranked(found, figure)[:rows] if figure in each[1]]
        reach, left = max(row[figure][1] + 2 * row[figure][2] for _, row in best), 330 * column
        parts.append(f'<text x="{left + 8}" y="18" font-weight="bold">{name}</text>')
        most = max(most, len(best))
        for number, (label, row) in enumerate(best, start=1):
            y, (_, behind, error) = 18 + 20 * number, row[figure]
            x, span = left + 190 + 120 * behind / reach, 240 * error / reach
            color = "#0550ae" if label.partition(",")[0] in OURS else "#777"
            parts.append(f'<text x="{left + 8}" y="{y + 4}">{label.removesuffix(", tuned")}</text>')
            parts.append(f'<path d="M{x - span:.0f} {y}H{x + span:.0f}" stroke="{color}" stroke-width="2"/>')
            fill = color if row["tuned"] else "#fff"
            parts.append(f'<circle cx="{x:.0f}" cy="{y}" r="4" fill="{fill}" stroke="{color}"/>')
    size = f'width="{330 * len(results)}" height="{20 * most + 40}"'
    style = 'font-family="sans-serif" font-size="11" fill="#555"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{"".join(parts)}</svg>\n'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--json", type=Path, help="the file for the results")
    parser.add_argument("--page", type=Path, help="write the tables of this page from results")
    parser.add_argument("--limit", type=float, default=0.0, help="most seconds of processor time for a row")
    parser.add_argument("--cache", type=Path, help="a folder, to go on after an interruption")
    parser.add_argument("--only", default="", help="only systems with this in their names")
    given = parser.parse_args()
    if given.page:
        results = json.loads(given.files[0].read_text())
        text = given.page.read_text()
        for name, found in results.items():
            rows = f"(?s)(?<=<!-- {re.escape(name)} -->\n).*?(?=\n<!-- end -->)"
            text = re.sub(rows, table(found), text, count=1)
        given.page.write_text(text)
        for figure in FIGURES:
            (given.page.parent / "images" / f"benchmark-{figure}.svg").write_text(picture(results, figure))
        return
    run = joblib.Memory(given.cache, verbose=0).cache(in_time) if given.cache else in_time
    results = {}
    for path in given.files:
        done: dict[str, Found | str] = {}
        for name, tuned in itertools.product((*OURS, *SYSTEMS), (False, True)):
            if given.only in name:
                print(f"{path.stem}: {name}{', tuned' * tuned}", file=sys.stderr, flush=True)
                done[name + ", tuned" * tuned] = run(given.limit, path, name, tuned)
        results[path.stem] = compared(path, done)
        print(f"\n{path.stem}\n\n{table(results[path.stem])}", flush=True)
        if given.json:
            given.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
