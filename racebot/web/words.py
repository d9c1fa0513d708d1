"""The models in plain words, for racers."""

from __future__ import annotations

_HURDLE = """
A race is read in two parts. First: did you finish? Better racers finish more often, so that finishing is
worth a little, more for a newcomer than for somebody from whom it is expected, and not finishing costs a
little.

Then, among those who finished: in which order? Your place is held against what the ratings of the others led
one to expect. Beating somebody rated above you gains much, beating somebody far below you next to nothing.
Nobody's place is compared with those who did not finish.
"""
_COUNTED = """
How far a race moves a rating depends on the number of races alone: far at first, then less and less.
"""
_ORDER = """
Your place is held against what the ratings of all others led one to expect. Who did not finish is placed
behind everybody who did, and among those who did not finish nobody is ahead.
"""
_PAIRS = """
A race is read as one game against each of the others: those behind you are won, those before you lost. A win
against somebody rated above you gains more than one against somebody below you.
"""

_TEXTS = {
    "thurstone-hurdle": _HURDLE + _COUNTED,
    "thurstone-filter": f"""{_HURDLE}
Behind each rating there is an uncertainty, which shrinks with each race and grows while you are away. The
points shown are cautious: they climb as the uncertainty shrinks.
""",
    "plackett-luce-hurdle": _HURDLE + _COUNTED,
    "plackett-luce": f"""{_ORDER}
Ratings near the start move fast and high ones slowly.
""",
    "thurstone": f"""{_ORDER}
Everybody has good and bad days by chance, seldom far from their strength.
""",
    "trueskill": f"""{_ORDER}
There are two numbers for each player: a skill, and how uncertain it still is. The points shown are cautious,
the skill less twice the uncertainty, so that they climb as the uncertainty shrinks.
""",
    "pairwise-elo": _PAIRS,
    "multielo": _PAIRS,
    "elo-ffa": _PAIRS,
    "glicko-ffa": _PAIRS,
    "elo-exponential": _PAIRS,
    "elo-gaussian": _PAIRS,
    "previous-rank": "A rating is the place in the last race, and nothing else.",
}

WORDS: dict[str, list[str]] = {
    model: [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]
    for model, text in _TEXTS.items()
}
"""Paragraphs about each model, by its key."""
