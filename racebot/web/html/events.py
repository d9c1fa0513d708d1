"""Render the list of events, and the page of an open one. A closed one is at the page of its race."""

from __future__ import annotations

from racebot.queries.race import event_reports
from racebot.web.html import templating
from racebot.web.site import addresses
from racebot.web.site.request import Content, Moved, PageRequest


def events_page(request: PageRequest) -> Content:
    return templating.page(request, "events.html", reports=event_reports(request.view.ledger))


def event_page(request: PageRequest, event: str) -> Content:
    """Render an event, or lead to its race once that is rated. In an export, a link does."""
    found = event_reports(request.view.ledger, event)
    is_rated = request.view.race(event) is not None
    if not found or (is_rated and request.served):
        return Moved(addresses.RACE.path(race=event)) if found else None
    category = request.view.category_face(found[0].event.category)
    return templating.page(request, "event.html", found=found[0], is_rated=is_rated, category=category)
