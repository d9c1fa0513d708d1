"""The models in plain words, for racers."""

from __future__ import annotations

_HURDLE = """
A race is read in two parts. First: did you finish? Better racers finish more often, so that finishing gains
points, many for a newcomer and few for somebody from whom it is expected, and not finishing costs some.

Then, among those who finished: in which order? Your place is held against what the ratings of the others led
one to expect. Beating somebody rated above you gains much, beating somebody far below you next to nothing.
Nobody's place is compared with those who did not finish.
"""
_COUNTED = """
How far a race moves a rating depends on the number of races alone: far at first, then less and less.
"""
_BY_RATING = """
How far a race moves a rating depends on the rating: a low one moves far, a high one little.
"""
_UNFINISHED = """
Who did not finish is placed behind everybody who did, and among those who did not finish nobody is ahead.
"""
_ORDER = f"""
Your place is held against what the ratings of all others led one to expect. {_UNFINISHED.strip()}
"""
_PAIRS = f"""
A race is read as one game against each of the others: those behind you are won, those before you lost. A win
against somebody rated above you gains more than one against somebody below you. {_UNFINISHED.strip()}
"""

_TEXTS = {
    "thurstone-hurdle": _HURDLE + _COUNTED,
    "thurstone-filter": f"""{_HURDLE}
Behind each rating there is an uncertainty, which shrinks as you race and grows while you are away. The
points shown are cautious: they climb as the uncertainty shrinks.
""",
    "plackett-luce-hurdle": _HURDLE + _BY_RATING,
    "plackett-luce": _ORDER + _BY_RATING,
    "thurstone": f"""{_ORDER}
Everybody has good and bad days by chance, seldom far from their strength.
{_BY_RATING}""",
    "trueskill": f"""{_ORDER}
There are two numbers for each player: a skill, and its uncertainty, how little is known of it yet. The points
shown are cautious: from the skill a multiple of the uncertainty is taken off (the parameter conservative
below), so that they climb as the uncertainty shrinks.
""",
    "pairwise-elo": _PAIRS,
    "multielo": _PAIRS,
    "elo-ffa": _PAIRS,
    "glicko-ffa": f"""{_PAIRS}
Behind each rating there is an uncertainty, which shrinks with each race. The less is left of it, the less a
race moves the rating.
""",
    "elo-exponential": _PAIRS,
    "elo-gaussian": _PAIRS,
    "previous-rank": """
A rating is the place in the last race, and nothing else. It is shown with a minus, so that the higher of two
ratings is the better one.
""",
}

WORDS: dict[str, list[str]] = {
    model: [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]
    for model, text in _TEXTS.items()
}
"""Paragraphs about each model, by its key."""
