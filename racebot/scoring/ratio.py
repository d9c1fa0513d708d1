"""The score of SpeedGaming Live's qualifiers and of SahasrahBot: full · (2 − t/par).

Sources: https://github.com/midoshouse/midos.house, https://github.com/tcprescott/sahasrahbot
"""

from __future__ import annotations

from racebot.scoring.rules import Par, Rules


def score(time: float, par: Par, rules: Rules) -> float:
    """Return the score of a finish time in seconds, before its limits."""
    return rules.full * (2 - time / par.time)
