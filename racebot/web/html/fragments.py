"""Pieces of HTML that rows repeat. They are functions: in a template they take ten times as long."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from markupsafe import Markup, escape

from racebot import addresses
from racebot.addresses import link
from racebot.live_file import LiveEntrant
from racebot.queries.history import ShortResult
from racebot.queries.race import RacedEntrant, RatedEntrant
from racebot.races.result import EntrantStatus, result_label
from racebot.scoring.table import LeagueStanding
from racebot.text.format import signed
from racebot.web.site.formats import day, iso, minute, ordinal, shown_name, sign, slug
from racebot.web.site.ledger_view import PageRequest


def change(points: int) -> Markup:
    """Return a change of points, with an arrow that screen readers read as a sign."""
    if not points:
        return Markup('<span class="pill same">±0</span>')
    arrow, spoken = ("▲", "+") if points > 0 else ("▼", "−")
    return Markup(  # noqa: S704 - a number and our own words
        f'<span class="pill {sign(points)}"><span aria-hidden="true">{arrow}</span>'
        f'<span class="hidden">{spoken}</span>{abs(points)}</span>'
    )


def new_place(places: tuple[int | None, int]) -> Markup:
    """Return the place after a race, with an arrow if it was another one before."""
    after = places[1]
    before = places[0] or after
    shown, spoken = ("▲ ", "up to ") if after < before else ("▼ ", "down to ")
    arrow = f'<span role="img" aria-label="{spoken}">{shown}</span>' if after != before else ""
    text = f'<span class="new-place {sign(before - after)}">{arrow}{ordinal(after)}</span>'
    return Markup(text)  # noqa: S704 - a number and our own words


MEDALS = {"1": "gold", "2": "silver", "3": "bronze"}


def medal(standing: int | str, final: object = None) -> Markup:
    """Return a place on a disc. The first three of a `final` season have medals."""
    text = str(standing)
    kind = f"m{text}" if text in MEDALS else "" if text[:1].isdecimal() else "out"
    won = f'<span class="hidden">, {MEDALS[text]} medal</span>' if final and text in MEDALS else ""
    place = f'<span class="medal {f"{kind} final" if won else kind}">{text}</span>{won}'
    return Markup(place)  # noqa: S704 - a number or our own words


def shown_standing(entrant: LiveEntrant | RatedEntrant | RacedEntrant) -> str:
    """Return a place, or what took it; an empty text for a racer without either."""
    if not isinstance(entrant, LiveEntrant):
        return entrant.standing
    racing = entrant.status is EntrantStatus.RACING and not entrant.place
    return "" if racing else result_label(entrant.status, entrant.place)


def date(moment: datetime) -> Markup:
    return Markup('<time datetime="%s">%s</time>') % (iso(moment), day(moment))


def hour(moment: datetime) -> Markup:
    """Return a date with its time in UTC, which a script turns into the reader's own."""
    return Markup('<time datetime="%s" data-hour>%s</time>') % (
        iso(moment),
        minute(moment).removesuffix(" UTC"),
    )


def dots(results: Sequence[ShortResult]) -> Markup:
    """Return a row of dots, one for each result."""
    words = ", ".join(f"{each.place or 'DNF'} {signed(each.change)}" for each in results)
    kinds = (
        "won" if each.place == 1 else "out" if each.place is None else sign(each.change) for each in results
    )
    shown = "".join(f'<i class="{kind}"></i>' for kind in kinds)
    return Markup(  # noqa: S704 - numbers and our own words
        f'<span class="dots" role="img" aria-label="Last results: {words}">{shown}</span>'
    )


def score(ahead: int, behind: int) -> Markup:
    """Return how often a player finished ahead of an opponent and behind."""
    return Markup('<b class="gain">%s</b><span class="of"> – </span><b class="loss">%s</b>') % (ahead, behind)


def bar(share: float) -> Markup:
    """Return a bar whose filled part is a share from 0 to 1."""
    return Markup(
        '<svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="rest" width="100" height="8"/><rect width="%.1f" height="8"/></svg>'
    ) % (100 * share)


class Linkable(Protocol):
    """Anything with a player's id and name. A deleted account has no id."""

    @property
    def id(self) -> str | None: ...
    @property
    def name(self) -> str: ...


def face(request: PageRequest, player: Linkable, kind: str = "") -> Markup:
    """Return a player's initials, below their picture if they have one."""
    found, picture = request.view.face(player.id, player.name), ""
    if found.picture is not None:
        lazy = "" if kind == "large" else ' loading="lazy"'
        address = link(request.path, found.picture if kind == "large" else str(found.small))
        picture = f'<img src="{escape(address)}" alt="" decoding="async"{lazy}>'
    opening = f'<span class="face c{found.color} {kind}" aria-hidden="true">'
    return Markup(f"{opening}{escape(found.initials)}{picture}</span>")  # noqa: S704 - escaped


def player_link(request: PageRequest, player: Linkable, stem: str | None = None, limit: int = 60) -> Markup:
    """Return a link to a player's page, on one leaderboard or on all; only a name if there is no page."""
    if player.id is None:
        return Markup('<span class="player"><bdi>%s</bdi></span>') % shown_name(player.name)
    to = (
        addresses.PLAYER.path(player=player.id)
        if stem is None
        else addresses.PLAYER_ON_BOARD.path(player=player.id, board=stem)
    )
    address, name = escape(link(request.path, to)), escape(shown_name(player.name, limit))
    return Markup(f'<a class="player" href="{address}"><bdi>{name}</bdi></a>')  # noqa: S704 - escaped; often


def race_link(request: PageRequest, race: str, racer: str | None = None) -> Markup:
    """Return a link to a race, perhaps to the row of a racer."""
    anchor = "" if racer is None else f"#racer-{addresses.segment(racer)}"
    address = link(request.path, addresses.RACE.path(race=race)) + anchor
    return Markup('<a href="%s">%s</a>') % (address, slug(race))


def who(request: PageRequest, player: Linkable, stem: str | None = None, extra: Markup | str = "") -> Markup:
    shown = f"{player_link(request, player, stem)}{escape(extra)}"
    return Markup(f'<span class="who">{face(request, player)}<span>{shown}</span></span>')  # noqa: S704 - escaped


def score_cells(racer: LeagueStanding) -> Markup:
    """Return the cells of a racer's scores. A template is too slow for the 6,000 of a large league."""
    cells = (
        "<td></td>"
        if each is None
        else f"<td data-race={at + 1}>"
        + (f"{each.score:.1f}</td>" if at in racer.counted else f"<s>{each.score:.1f}</s></td>")
        for at, each in enumerate(racer.scores)
    )
    return Markup("".join(cells))  # noqa: S704 - numbers alone
