"""Results of events, as pages show them."""

from __future__ import annotations

from dataclasses import replace

from racebot.ledger.store import Ledger
from racebot.races.events import Attempt, by_result
from racebot.races.result import HIDDEN_NAME, NO_NAME


def event_results(ledger: Ledger, race: str) -> list[Attempt]:
    """Return all results of a closed event with hidden names masked; empty for other races.

    Those that count come first, the fastest on top.
    """
    hidden, found = ledger.orders.hidden(), []
    for event in ledger.events.all():
        for each in ledger.events.attempts(event) if event.name == race and event.closed_at else ():
            entrant = each.entrant
            if entrant.user_id in hidden:
                name = entrant.name if entrant.name == NO_NAME else HIDDEN_NAME
                masked = replace(entrant, user_id=None, name=name, discriminator=None)
                each = replace(each, entrant=masked, proof="", comment="")  # noqa: PLW2901
            found.append(each)
    return by_result(found)
