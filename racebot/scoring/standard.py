"""The Standard tournament's scores, which allow time for fast seeds and for seeds with spread times.

With d the time over par, s the spread of the par times and r = s/par, in minutes:

- fast seeds allow J = min(8, h · max(0, .35 · d/8)), where h grows from 0 to 8 as par falls;
- spread seeds allow G = min(5, .3 · max(0, d) · max(0, r/.035 − 1));
- season 4 scores 1000 · (1 − (d − min(10, J + G))/par), season 9 scores 1000 · (1 − d/(par + J + G)).

If the par times spread by more than a tenth of par, J + G can grow faster than d: in season 4, a slower time
then scores more. Source: the tournament's rules as in https://github.com/midoshouse/midos.house.
"""

from __future__ import annotations

from racebot.scoring.rules import Par, Rules

MINUTE = 60.0


def allowances(time: float, par: Par, rules: Rules) -> tuple[float, float]:
    """Return the seconds that fast seeds and spread seeds allow for a finish time in seconds."""
    most_fast, most_spread, _ = rules.most_allowed
    slow, fast = rules.fast_seeds
    over = max(0.0, (time - par.time) / MINUTE)
    height = most_fast * min(1.0, max(0.0, (slow - par.time / MINUTE) / (slow - fast)))
    for_spread = 0.3 * over * max(0.0, par.spread / par.time / 0.035 - 1)
    return min(most_fast, height * 0.35 * over / 8) * MINUTE, min(most_spread, for_spread) * MINUTE


def score(time: float, par: Par, rules: Rules) -> float:
    """Return the score of a finish time in seconds, before its limits."""
    allowed, over = sum(allowances(time, par, rules)), time - par.time
    if rules.family == "standard-s4":
        return rules.full * (1 - (over - min(rules.most_allowed[2] * MINUTE, allowed)) / par.time)
    return rules.full * (1 - over / (par.time + allowed))
