"""Greets the entrants of a room before the start, with the odds and a link to the leaderboard's page."""

from __future__ import annotations

from racebot.bot.race_lifecycle import Lifecycle
from racebot.chat.answers.answers import Answers
from racebot.racetime.payload import Race


class Greeter:
    """Greets each room once, restarts included.

    Args:
        lifecycle: queues the greeting.
        answers: composes it.
    """

    def __init__(self, lifecycle: Lifecycle, answers: Answers) -> None:
        self._lifecycle = lifecycle
        self._answers = answers

    def greet(self, race: Race) -> bool:
        """Queue the greeting, unless the room has had it. Ledger work.

        Returns:
            Whether the room needs no other attempt.

        Raises:
            LedgerError: the ledger cannot be read or written.
        """
        return self._lifecycle.greet(race, self._answers.greeting)


def is_time_to_greet(race: Race) -> bool:
    """Return whether the start is near: most of at least two entrants are ready, or the countdown runs.

    A room opens empty and fills up over half an hour or more. The odds of the first two entrants say little,
    and racers don't read chat once the race has begun.
    """
    entered = sum(entrant.user_id is not None for entrant in race.entrants)
    if entered < 2 or race.hidden:
        return False
    return race.before_start and (race.status == "pending" or 2 * race.ready > entered)
