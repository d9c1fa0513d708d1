"""A racetime.gg bot that rates races and explains what each race did to a rating.

From Python, `read`, `rate`, `evaluate` and `odds` rate any game: see docs/python.md.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from racebot.analysis import evaluate, odds, rate, read

__version__ = "0.1.0"
__all__ = ["evaluate", "odds", "rate", "read"]


def __dir__() -> list[str]:
    return [*globals(), *__all__]


def __getattr__(name: str) -> Any:
    """Import what analysts use when they use it: the worker and the sandbox never do."""
    if name in __all__:
        from racebot import analysis  # noqa: PLC0415

        return getattr(analysis, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
