"""Draws the cards of players, pairs of players, races, leaderboards and of the whole site.

https://ogp.me describes how pages name them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from racebot.standings.queries import ListedPlayer, RacedEntrant, RatedEntrant
from racebot.text.format import counted, integer, signed
from racebot.text.safe import printable
from racebot.web.html.compare import pair
from racebot.web.html.formats import day, ordinal, percent, timer
from racebot.web.pictures import fonts
from racebot.web.pictures.canvas import GAIN, LINE, LOSS, MARGIN, SOFT, WIDTH, Canvas
from racebot.web.pictures.fonts import Style
from racebot.web.site import addresses
from racebot.web.site.addresses import Route
from racebot.web.site.document import PNG, Content, Document
from racebot.web.site.ledger_view import Board
from racebot.web.site.look import on_light
from racebot.web.site.request import PageRequest

ROWS = 6
PORTRAIT = 132
"""Side of a player's avatar."""
POINTS_DRAWN = 300
"""Most races in a player's graph; more are thinned out."""
RIGHT = WIDTH - MARGIN
_ROW = Style(34, 600)
_SMALL = Style(28, 500)
_FACING = Style(54, 800)
_SCORE = Style(128, 800)


def player_card(request: PageRequest, board: Board, player: str) -> Content:
    """Draw a player's rating on one leaderboard, with its graph."""
    standing = request.view.standing(board, player)
    if standing is None:
        return None
    history = request.view.history(board, player)
    canvas = _canvas(request)
    face = request.view.face(player, standing.name)
    picture = (
        request.view.picture(face.picture.rpartition("/")[2].partition(".")[0]) if face.picture else None
    )
    drawn = picture is not None and canvas.portrait(RIGHT - PORTRAIT, 56, PORTRAIT, picture)
    canvas.title(132, name(standing.name, player), limit=RIGHT - MARGIN - (PORTRAIT + 30 if drawn else 0))
    about = name(board.name)
    if standing.place is not None:
        about = f"{ordinal(standing.place)} of {standing.listed} on {about}"
    canvas.text(MARGIN, 186, about, _SMALL, SOFT, limit=RIGHT - MARGIN)
    right = canvas.text(MARGIN, 328, integer(standing.points), Style(128, 800), canvas.accent)
    if history:
        change = history[-1].change
        canvas.text(right + 22, 328, signed(change), Style(46, 700), tone(change))
    figures = (
        ("races", standing.races),
        ("won", standing.wins),
        ("finished", standing.finishes),
        ("highest", max((race.after for race in history), default=standing.points)),
    )
    x = float(MARGIN)
    y = 440
    for label, value in figures:
        left = x
        x = canvas.text(x, y, integer(value), Style(46, 700))
        x = max(x, canvas.text(left, y + 42, label, Style(26, 500), SOFT)) + 44
    points = [race.after for race in history]
    if len(points) > 1:
        step = -(-len(points) // POINTS_DRAWN)
        canvas.graph((610, 214, RIGHT + 8, 506), points[::-1][::step][::-1])
    return _card(request, canvas)


def pair_card(request: PageRequest, player: str, other: str) -> Content:
    """Draw the record of two players, and the chance next time."""
    found = pair(request, player, other)
    if found is None:
        return None
    one, two = found.people
    comparison = found.comparison
    canvas = _canvas(request)
    half = (RIGHT - MARGIN) / 2 - 30
    canvas.text(MARGIN, 136, name(one.name, player), _FACING, limit=half)
    canvas.text_to(RIGHT, 136, fonts.shortened(name(two.name, other), _FACING, half), _FACING)
    canvas.text(MARGIN, 186, f"{integer(one.points)} points", _SMALL, SOFT)
    canvas.text_to(RIGHT, 186, f"{integer(two.points)} points", _SMALL, SOFT)
    score = f"{comparison.ahead} – {comparison.behind}"
    canvas.text((WIDTH - fonts.width(score, _SCORE)) / 2, 340, score, _SCORE, canvas.accent)
    about = f"{counted(len(comparison.meetings), 'race')} together on {name(found.board.name)}"
    about = fonts.shortened(about, _SMALL, RIGHT - MARGIN)
    canvas.text((WIDTH - fonts.width(about, _SMALL)) / 2, 396, about, _SMALL, SOFT)
    chance = comparison.chance
    end = canvas.text(MARGIN, 486, percent(chance), _ROW)
    canvas.text(end + 14, 486, "to be ahead next time", _SMALL, SOFT)
    canvas.text_to(RIGHT, 486, percent(1 - chance), _ROW)
    canvas.panel((MARGIN, 504, RIGHT, 524), LINE, radius=10)
    canvas.panel((MARGIN, 504, MARGIN + max(20, chance * (RIGHT - MARGIN)), 524), canvas.accent, radius=10)
    return _card(request, canvas)


def race_card(request: PageRequest, race: str) -> Content:
    """Draw a race's result and its changes on the first of its leaderboards."""
    report = request.view.race(race)
    if report is None:
        return None
    part = report.leaderboards[0]
    canvas = _canvas(request)
    canvas.title(126, name(race.rpartition("/")[2]))
    about = f"{name(report.goal)}, {day(report.ended_at)}, {counted(len(report.result), 'entrant')}"
    canvas.text(MARGIN, 176, about, _SMALL, SOFT, limit=RIGHT - MARGIN)
    if part.note:
        canvas.text(MARGIN, 300, f"No rating changed: {part.note}", _ROW, limit=RIGHT - MARGIN)
    for row, entrant in enumerate(part.placed[:ROWS]):
        _raced(canvas, 236 + 53 * row, entrant)
    return _card(request, canvas)


def board_card(request: PageRequest, board: Board) -> Content:
    """Draw the best players of a leaderboard."""
    report = request.view.report(board)
    canvas = _canvas(request)
    canvas.title(126, name(board.name))
    category = request.view.category_face(board.category).name
    about = f"{name(category)}: {len(report.players):,} players, {report.races:,} races"
    canvas.text(MARGIN, 176, about, _SMALL, SOFT, limit=RIGHT - MARGIN)
    if not report.players:
        canvas.text(MARGIN, 300, "No player is listed yet", _ROW)
    for row, player in enumerate(report.players[:ROWS]):
        _listed(canvas, 236 + 53 * row, player)
    return _card(request, canvas)


def front_card(request: PageRequest) -> Content:
    """Draw the leaderboards with the most races, each with its first player."""
    boards = sorted(request.view.boards, key=lambda board: -request.view.totals(board).races)
    if len(boards) == 1:
        return board_card(request, boards[0])
    canvas = _canvas(request)
    canvas.title(126, "Leaderboards")
    if not boards:
        canvas.text(MARGIN, 210, "No races have been rated yet", _ROW)
    for row, board in enumerate(boards[:ROWS]):
        y = 210 + 53 * row
        report = request.view.report(board)
        end = RIGHT
        if report.players:
            best = report.players[0]
            end = int(canvas.text_to(RIGHT, y, integer(best.points), Style(34, 800)))
            end = int(canvas.text_to(end - 20, y, fonts.shortened(name(best.name), _ROW, 340), _ROW, SOFT))
        canvas.text(MARGIN, y, name(board.name), _ROW, limit=end - 40 - MARGIN)
        canvas.rule(y + 16)
    return _card(request, canvas)


def _raced(canvas: Canvas, y: int, entrant: RatedEntrant | RacedEntrant) -> None:
    if entrant.standing.isdecimal():
        canvas.medal(MARGIN + 22, y - 12, int(entrant.standing))
    else:
        canvas.text(MARGIN - 4, y - 2, entrant.standing, Style(24, 700), SOFT)
    if isinstance(entrant, RatedEntrant):
        end = canvas.text_to(RIGHT, y, signed(entrant.change), Style(34, 800), tone(entrant.change))
        end = min(end, RIGHT - 84)
        canvas.text_to(end - 26, y, integer(entrant.after), Style(34, 700))
        canvas.text_to(end - 26 - 96, y, f"{integer(entrant.before)} →", _SMALL, SOFT)
    else:
        canvas.text_to(RIGHT, y, "not rated", _SMALL, SOFT)
    if entrant.finish_time is not None:
        canvas.text_to(RIGHT - 360, y, timer(entrant.finish_time), _SMALL, SOFT)
    left = MARGIN + 72
    canvas.text(left, y, name(entrant.name, entrant.id or "?"), _ROW, limit=RIGHT - 510 - left)
    canvas.rule(y + 17)


def _listed(canvas: Canvas, y: int, player: ListedPlayer) -> None:
    canvas.medal(MARGIN + 22, y - 12, player.place)
    end = canvas.text_to(RIGHT, y, integer(player.points), Style(36, 800))
    if player.moved is not None and player.moved.points:
        moved = player.moved.points
        canvas.text_to(end - 22, y, signed(moved), _SMALL, tone(moved))
    canvas.text_to(RIGHT - 240, y, f"{player.races} races", _SMALL, SOFT)
    left = MARGIN + 72
    canvas.text(left, y, name(player.name, player.id), _ROW, limit=RIGHT - 420 - left)
    canvas.rule(y + 17)


def _canvas(request: PageRequest) -> Canvas:
    return Canvas(on_light(request.view.publication.look.accent))


def _card(request: PageRequest, canvas: Canvas) -> Document:
    canvas.footer(name(request.view.publication.look.title), request.view.publication.url.partition("://")[2])
    return Document(canvas.png(), PNG)


def name(text: str, otherwise: str = "?") -> str:
    """Return a name from the site in one line, or something else if no font can draw it."""
    return " ".join(fonts.drawable(printable(text)).split()) or otherwise


def tone(change: int) -> str:
    """Return the color of a change."""
    return GAIN if change > 0 else LOSS if change < 0 else SOFT


CARDS: Mapping[Route, Callable[..., Content]] = {
    addresses.FRONT_CARD: front_card,
    addresses.RACE_CARD: race_card,
    addresses.PLAYER_CARD: player_card,
    addresses.PAIR_CARD: pair_card,
    addresses.BOARD_CARD: board_card,
}
"""Every card with its function."""
