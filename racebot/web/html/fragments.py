"""What templates ask for: pieces of HTML that rows repeat and templates make slowly, and facts of races."""

from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from markupsafe import Markup, escape

from racebot import addresses
from racebot.addresses import link
from racebot.live_file import LiveEntrant
from racebot.queries.explain import RULES, ReasonKind
from racebot.queries.leaderboard import new_places
from racebot.queries.player import Rival, ShortResult
from racebot.queries.race import RacedEntrant, RaceOnBoard, RaceReport, RatedEntrant
from racebot.queries.races import RaceRow, races_numbered
from racebot.queries.standings import listed_now
from racebot.races.outcome import TeamPolicy
from racebot.races.result import EntrantStatus, result_label
from racebot.scoring.table import LeagueStanding
from racebot.text.format import integer, ordinal, signed
from racebot.web.html import charts
from racebot.web.site.formats import day, iso, minute, percent, shown_name, sign, slug
from racebot.web.site.ledger_view import Board, LedgerView, PageRequest


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
    """Return a date in UTC, which a script turns into the reader's own."""
    return Markup(f'<time datetime="{iso(moment)}" data-day>{day(moment)}</time>')  # noqa: S704 - numbers


def hour(moment: datetime) -> Markup:
    """Return a date with its time in UTC, which a script turns into the reader's own."""
    shown = minute(moment).removesuffix(" UTC")
    return Markup(f'<time datetime="{iso(moment)}" data-hour>{shown}</time>')  # noqa: S704 - as `date`


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
    shown = f'<b class="gain">{ahead}</b><span class="of"> – </span><b class="loss">{behind}</b>'
    return Markup(shown)  # noqa: S704 - numbers


def bar(share: float) -> Markup:
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
        picture = f'<img src="{address}" alt="" decoding="async"{lazy}>'
    opening = f'<span class="face c{found.color} {kind}" aria-hidden="true">'
    return Markup(f"{opening}{escape(found.initials)}{picture}</span>")  # noqa: S704 - escaped


def player_link(request: PageRequest, player: Linkable, stem: str | None = None, limit: int = 60) -> Markup:
    """Return a link to a player's page, on one leaderboard or on all; only a name if there is no page."""
    if player.id is None:
        return Markup('<span class="player"><bdi>%s</bdi></span>') % shown_name(player.name)
    route = addresses.PLAYER if stem is None else addresses.PLAYER_ON_BOARD
    address = link(request.path, route.path(player=player.id, board=stem))
    name = escape(shown_name(player.name, limit))
    return Markup(f'<a class="player" href="{address}"><bdi>{name}</bdi></a>')  # noqa: S704 - encoded and escaped


def race_link(request: PageRequest, race: str, racer: str | None = None) -> Markup:
    """Return a link to a race, perhaps to the row of a racer."""
    anchor = "" if racer is None else f"#racer-{addresses.segment(racer)}"
    address = link(request.path, addresses.RACE.path(race=race)) + anchor
    return Markup(f'<a href="{address}">{escape(slug(race))}</a>')  # noqa: S704 - encoded and escaped


def who(request: PageRequest, player: Linkable, stem: str | None = None, extra: Markup | str = "") -> Markup:
    shown = f"{player_link(request, player, stem)}{escape(extra)}"
    return Markup(f'<span class="who">{face(request, player)}<span>{shown}</span></span>')  # noqa: S704 - escaped


def opponent_row(request: PageRequest, board: Board, rival: Rival) -> Markup:
    """Return a row of a table of opponents. A template is too slow for the million rows of a large export."""
    anchor, record, chance = "", str(score(rival.ahead, rival.behind)), escape(percent(rival.chance))
    if rival.id is not None:
        anchor = "" if request.served else f' id="vs-{addresses.segment(rival.id)}"'
        record = f'<a class="button" href="{addresses.versus(rival.id)}" title="Compare">{record}</a>'
    return Markup(  # noqa: S704 - numbers, and what is encoded or escaped
        f'<tr role="row"{anchor}>\n'
        f'<th scope="row" role="rowheader" class="b">{who(request, rival, board.address.stem)}</th>\n'
        f'<td role="cell" class="wide">{integer(rival.points)}</td>\n'
        f'<td role="cell" class="d">{rival.met}<span class="narrow"> met</span></td>\n'
        f'<td role="cell" class="c">{record}</td>\n'
        f'<td role="cell" class="e">{chance}<span class="of narrow"> chance</span></td>\n</tr>'
    )


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


# Of races

PARTS = {"finish", "place"}
"""The parts of a change that are shown with their points; a limit is shown with its rule."""
MOST_LINES = 60  # races with more entrants are not drawn


class ReasonLine(NamedTuple):
    """A reason for a change, perhaps with points and short words for phones, or a verb with an opponent."""

    words: str
    points: int | None = None
    short: str = ""
    opponent: str = ""
    chance: float = 0.0


def why(entrant: RatedEntrant, part: RaceOnBoard) -> tuple[list[ReasonLine], list[ReasonLine], list[int]]:
    """Return the reasons that phones show, the others, and the points of all."""
    items = parts_of(entrant)
    brief = len(items) or 1
    is_part = entrant.why and entrant.why[-1].kind in {ReasonKind.FINISH, ReasonKind.PLACE, ReasonKind.LIMIT}
    met = [reason.opponents for reason in entrant.why if reason.opponents]
    if entrant.why and not met and not (is_part and entrant.change):
        items.append(ReasonLine(entrant.reasons[-1]))
        if entrant.place is None:  # on phones, no time takes up room
            brief = len(items)
    for but, opponents in zip(("", "but "), met, strict=False):
        for each in opponents:
            words = f"{but}{'beat' if each.beaten else 'behind'}"
            name = each.team or next(other.name for other in part.entrants if other.id == each.player)
            items.append(ReasonLine(words, opponent=name, chance=each.chance))
    return items[:brief], items[brief:], [each.points for each in items if each.points is not None]


def parts_of(entrant: RatedEntrant) -> list[ReasonLine]:
    """Return the parts that a change adds up from, the largest first, then a limit with its rule."""
    if not entrant.change:
        return []
    largest = sorted(entrant.parts.items(), key=lambda part: abs(part[1]), reverse=True)
    found = [
        ReasonLine(entrant.standing if name == "finish" and entrant.place is None else name, points)
        for name, points in largest
        if points and name in PARTS
    ]
    limits = [reason for reason in entrant.why if found and reason.kind is ReasonKind.LIMIT]
    return found + [ReasonLine(RULES[str(each.rule)], each.points, "limit") for each in limits]


def drawn_story(board: Board, part: RaceOnBoard, report: RaceReport) -> charts.Story | None:
    """Draw a recorded race from expected to actual places; None for a single entrant and a race of teams."""
    by_team = board.stored.teams != TeamPolicy.INDIVIDUAL and any(each.team for each in report.result)
    drawn = not by_team and 2 <= len(part.entrants) <= MOST_LINES
    return charts.Story(part.entrants) if drawn else None


def targets(view: LedgerView, stem: str | None, part: RaceOnBoard) -> dict[str, tuple[int, int]]:
    """Return how many points each listed racer is behind which place, by player; empty after a later race."""
    board = None if stem is None else view.board(stem)
    if board is None or part.sequence not in {0, view.ledger.ratings.count(board.stored)}:
        return {}
    points = {each.player: each.points for each in listed_now(view.ledger, board.stored, board.listing)}
    points |= {each.id: each.after for each in part.entrants if each.id is not None and each.id in points}
    levels = sorted(points.values())
    found = {}
    for each in part.entrants:
        above = bisect_right(levels, each.after)
        if each.id is not None and each.id in points and above < len(levels):
            place = 1 + len(levels) - bisect_right(levels, levels[above])
            found[each.id] = levels[above] - each.after, place
    return found


def around(view: LedgerView, board: Board, part: RaceOnBoard) -> list[tuple[str, str]]:
    found = races_numbered(view.ledger, board.key, [part.sequence - 1, part.sequence + 1])
    words = {part.sequence - 1: "Previous race", part.sequence + 1: "Next race"}
    return [(words[number], found[number].race) for number in sorted(found)]


def places(view: LedgerView, board: Board, report: RaceReport | RaceRow) -> dict[str, tuple[int | None, int]]:
    """Return the places before and after a recorded race of its players whom the leaderboard then listed."""
    row = view.ledger.ratings.get(board.stored, report.race)
    if row is None:
        return {}
    at, changes = report.ended_at, row.changes
    return new_places(view.ledger, board.stored, board.listing, at, changes, row.sequence)


# Of leaderboards


def tabs_of(board: Board) -> dict[str, str]:
    address = board.address
    more = {"Ratings": address.of(addresses.RATINGS)} if board.listing.ordering else {}
    more |= {"Recap": address.of(addresses.RECAP)} if board.final_since else {}
    return {
        "Leaderboard": address.page(),
        **more,
        "Races": address.of(addresses.RACES),
        "Records": address.of(addresses.FAME),
        "How it works": address.of(addresses.EXPLAINED),
    }
