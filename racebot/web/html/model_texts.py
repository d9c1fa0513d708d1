"""Explain each model to racers."""

from __future__ import annotations

_HURDLE = """
The model rates a race in two steps. First: did you finish? Better racers finish more often. Finishing gains
points, many for a newcomer and few for a racer who nearly always finishes. Not finishing costs some,
most in a first race.

Then: where did you place among the finishers? Your place is compared with the place that the ratings
predict. Beating a racer rated above you gains a lot, beating one far below you almost nothing. Finishers are
never compared with racers who did not finish.
"""
_BY_RACES = """
Your first races move your rating a lot. The more races you have run, the less each one moves it.
"""
_BY_RATING = """
How much a race moves your rating depends on the rating: a low one moves a lot, a high one a little.
"""
_UNFINISHED = """
Racers who did not finish rank behind all finishers and are not ranked against each other.
"""
_ORDER = f"""
Your place is compared with the place that everyone's ratings predict. {_UNFINISHED.strip()}
"""
_PAIRS = f"""
A race counts as one game against each other racer. You win against those behind you and lose against those
ahead of you. Beating a racer rated above you gains more than beating one below you. {_UNFINISHED.strip()}
"""

_TEXTS = {
    "thurstone-hurdle": _HURDLE + _BY_RACES,
    "thurstone-filter": f"""{_HURDLE}
Behind each rating is an uncertainty, which shrinks as you race and grows while you are away. The points
shown are cautious: they rise as the uncertainty shrinks.
""",
    "plackett-luce-hurdle": _HURDLE + _BY_RATING,
    "plackett-luce": _ORDER + _BY_RATING,
    "thurstone": f"""{_ORDER}
Everyone has good and bad days, which are rarely far from their strength.
{_BY_RATING}""",
    "trueskill": f"""{_ORDER}
Each player has two numbers: a skill, and the uncertainty of that skill. The points shown are cautious: a
multiple of the uncertainty (the parameter conservative below) is subtracted from the skill, so they rise as
the uncertainty shrinks.
""",
    "pairwise-elo": _PAIRS,
    "multielo": _PAIRS,
    "elo-ffa": _PAIRS,
    "glicko-ffa": f"""{_PAIRS}
Behind each rating is an uncertainty, which shrinks with each race. The smaller it is, the less a race moves
the rating.
""",
    "elo-exponential": _PAIRS,
    "elo-gaussian": _PAIRS,
    "previous-rank": """
A rating is simply the place in the last race. It is shown with a minus sign, so that the higher of two
ratings is the better one.
""",
}

WORDS: dict[str, list[str]] = {
    model: [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]
    for model, text in _TEXTS.items()
}
"""Paragraphs that explain each model, by its key."""
