"""Draw cards: pictures that chat programs show with a link to a page (https://ogp.me).

Every card has a title, a line about it, and the rows of a list.
"""

import io
from collections.abc import Iterable
from itertools import islice, product
from math import inf
from typing import NamedTuple
from unicodedata import normalize

from PIL import Image, ImageDraw

from racebot.live_file import LiveEntrant, LiveRoom
from racebot.queries.leaderboard import ListedPlayer
from racebot.queries.player import PlayedRace
from racebot.queries.race import RatedEntrant
from racebot.queries.scores import ComingScore
from racebot.races.result import EntrantStatus, result_label
from racebot.scoring.table import LeagueStanding
from racebot.text.format import counted, integer, ordinal, signed, timer
from racebot.text.safe import printable
from racebot.web.html.fragments import Linkable
from racebot.web.pictures import fonts
from racebot.web.pictures.fonts import Style
from racebot.web.site.formats import day, host, percent, slug
from racebot.web.site.ledger_view import PNG, Board, Content, Document, PageRequest, RaceScore

WIDTH, HEIGHT = 1200, 630
MARGIN = 64
ACCENT = "#2c4bb8"
INK, SOFT, LINE, PAPER, CARD = "#1a1e24", "#5a626c", "#e5e1d8", "#faf9f6", "#ffffff"
GAIN, LOSS = "#0d6b3a", "#a8271e"
MEDALS = {"1": "#f3c443", "2": "#ccd3da", "3": "#dfa578"}
COLORS = 128  # colors of the stored picture, which keep it at about 30 kB
_SMOOTH = 3  # shapes are drawn this much larger and reduced, since Pillow draws hard edges
_STRIP = 12  # side of a square of the finish line

ROWS = 6
FIRST_ROW, ROW_HEIGHT = 236, 53  # baseline of the first row of a list, and the distance to the next one
PORTRAIT = 132  # side of a player's avatar
SMALL = 64  # side of an avatar in a list: twice its size on the page, for fine screens
RIGHT = WIDTH - MARGIN
NUMBER, DETAIL = RIGHT - 150, RIGHT - 290  # the right ends of two columns of a list
_ROW = Style(34, 600)
_SMALL = Style(28, 500)

Box = tuple[int, int, int, int]  # the left, top, right and bottom end of a shape, in pixels


class Row(NamedTuple):
    """A row of a card: a place and a name, and from left to right a detail, a number and a change."""

    place: str
    name: str
    detail: str
    number: str
    change: int | None


def player_card(request: PageRequest, board: Board, player: str) -> Content:
    record = request.view.player(board, player)
    if record is None:
        return None
    view, standing, racer = request.view, record.standing, request.view.racer(board, player)
    place = "" if standing.place is None else f"{ordinal(standing.place)} of {standing.listed} "
    about = f"{integer(standing.points)} points, {place}on {name(board.name)}"
    if racer:
        about = f"score {racer.total.score:.1f}, {ordinal(racer.place)} on {name(board.name)}"

    def row(each: PlayedRace) -> Row:
        time, number = _time(each.finish_time), integer(each.after)
        shown = Row(each.standing, name(slug(each.race)), time, number, each.change)
        return _scored(shown, view.race_scores(board, each.race).get(player))

    rows = map(row, reversed(record.history))
    return _card(request, player_name(request, standing), about, rows, player=player)


def race_card(request: PageRequest, race: str) -> Content:
    report = request.view.race(race)
    if report is None:
        return _live_card(request, request.view.live_room(race, listed=True))
    part = report.leaderboards[0]
    about = f"{name(report.goal)}, {day(report.ended_at)}, {counted(len(report.result), 'entrant')}"
    if part.note:
        about = f"{about}: no rating changed: {part.note}"
    rows, scores = [], request.view.race_scores(request.view.boards_of(report)[0], race)
    for each in part.placed[:ROWS]:
        number, change = (integer(each.after), each.change) if isinstance(each, RatedEntrant) else ("–", None)
        row = Row(each.standing, player_name(request, each), _time(each.finish_time), number, change)
        rows.append(_scored(row, scores.get(each.id or "")))
    return _card(request, slug(race), about, rows)


def _live_card(request: PageRequest, room: LiveRoom | None) -> Content:
    """Draw a race before its record: its racers with their times, or else their chances to win."""
    if room is None or not room.leaderboards:
        return None
    board, scores = room.leaderboards[0], request.view.coming_scores(room.leaderboards[0])
    stage = "open" if room.before_start else "in progress" if room.ended_at is None else board.condition
    about = f"{name(room.goal)}, {room.refused or stage}, {counted(len(board.entrants), 'entrant')}"

    def row(each: LiveEntrant) -> Row:
        who, races = player_name(request, each), each.status is EntrantStatus.RACING
        if races and each.change is None and each.win_chance is not None:
            return Row("", who, "to win", percent(each.win_chance), None)
        place = "" if races else result_label(each.status, each.place)
        time = _time(each.finish_time if each.status is EntrantStatus.DONE else None)
        points = integer(each.points if each.after is None else each.after)
        return _scored(Row(place, who, time, points, each.change), scores.get(each.id))

    return _card(request, slug(room.race), about, map(row, board.entrants))


def board_card(request: PageRequest, board: Board) -> Content:
    report, league = request.view.report(board), request.view.ordering_league(board)
    category = name(request.view.category_face(board.category).name)
    listed = counted(len(league.standings), "racer") if league else counted(len(report.players), "player")
    cut = f", {league.rules.cut} qualify" if league and league.rules.cut else ""
    about = f"{category}: {listed}, {counted(report.races, 'race')}{cut}"

    def row(each: LeagueStanding | ListedPlayer, races: int, number: str, change: int = 0) -> Row:
        raced = counted(races, "race")
        return Row(str(each.place), player_name(request, each), raced, number, change or None)

    if league:
        scored = ((each, sum(score is not None for score in each.scores)) for each in league.standings)
        rows = (row(each, races, f"{each.total.score:.1f}") for each, races in scored)
    else:
        moved = ((each, each.moved.points if each.moved else 0) for each in report.players[:ROWS])
        rows = (row(each, each.races, integer(each.points), points) for each, points in moved)
    return _card(request, board.name, about, rows)


def front_card(request: PageRequest) -> Content:
    busiest = max(request.view.boards, key=lambda board: request.view.totals(board).races, default=None)
    empty = "Leaderboards", "No races have been rated yet", ()
    return board_card(request, busiest) if busiest else _card(request, *empty)


def name(text: str, otherwise: str = "") -> str:
    """Return a name from the site in one line, or something else if no font can draw it."""
    return " ".join(fonts.drawable(normalize("NFKC", printable(text))).split()) or otherwise or "?"


def player_name(request: PageRequest, player: Linkable) -> str:
    """Return a player's name, or that of the stream if no font can draw it."""
    return name(player.name, request.view.ledger.profiles.get(player.id).twitch if player.id else "")


def _scored(row: Row, scored: RaceScore | ComingScore | None) -> Row:
    """Return a row of a race with the score in place of points and their change, if there is one."""
    return row if scored is None else row._replace(number=f"{scored.score:.1f}", change=None)


def _time(seconds: float | None) -> str:
    return "" if seconds is None else timer(seconds)


def _card(request: PageRequest, title: str, about: str, rows: Iterable[Row], *, player: str = "") -> Document:
    """Return a card with the first rows, and if it is that of a player, with the picture."""
    canvas, found = Canvas(), request.view.pictures.get(player)
    picture = found and request.view.picture(found)
    drawn = _resized(picture, PORTRAIT) if picture else None
    if drawn is not None:
        canvas.panel((RIGHT - PORTRAIT, 46, RIGHT, 46 + PORTRAIT), drawn.convert("RGB"), PORTRAIT // 2)
    limit = RIGHT - MARGIN - (PORTRAIT + 30 if drawn else 0)
    canvas.title(name(title), limit=limit)
    canvas.text(MARGIN, 176, about, _SMALL, SOFT, limit=limit)
    for at, row in enumerate(islice(rows, ROWS)):
        canvas.row(FIRST_ROW + ROW_HEIGHT * at, row)
    canvas.footer(name(request.view.publication.title), host(request.view.publication.url))
    return Document(canvas.png(), PNG)


class Canvas:
    """A card to draw on."""

    def __init__(self) -> None:
        self._image = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
        self._draw = ImageDraw.Draw(self._image)
        for row, column in product(range(2), range(WIDTH // _STRIP)):
            if row == column % 2:
                left, top = column * _STRIP, row * _STRIP
                self._draw.rectangle((left, top, left + _STRIP - 1, top + _STRIP - 1), INK)

    def text(
        self,
        x: float,
        y: int,
        text: str,
        style: Style,
        color: str = INK,
        limit: float = inf,
        align: float = 0,
    ) -> float:
        """Write a text in one line, and return its right end.

        `y` is its baseline, and `x` is at the share `align` of its width, 1 for the right end. If it is wider
        than `limit` pixels, it is cut.
        """
        shown = fonts.shortened(text, style, limit)
        left = x - align * fonts.width(shown, style) if align else x
        return left + fonts.draw_text(self._image, (left, y), shown, style, color)

    def title(self, text: str, limit: float) -> None:
        sizes = (Style(size, 800) for size in (84, 76, 68, 60, 54))
        style = next((each for each in sizes if fonts.width(text, each) <= limit), Style(54, 800))
        self.text(MARGIN, 130, text, style, limit=limit)

    def footer(self, title: str, address: str) -> None:
        """Write the pages' title with its sign, and their address."""
        y, side, cell = HEIGHT - 44, 34, 34 / 6.4
        self.panel((MARGIN, y - 27, MARGIN + side, y - 27 + side), ACCENT, radius=side // 5)
        for row, column in product(range(4), range(4)):
            if row % 2 == column % 2:
                left, top = MARGIN + (1.2 + column) * cell, y - 27 + (1.2 + row) * cell
                self._draw.rectangle((left, top, left + cell - 0.6, top + cell - 0.6), CARD)
        end = self.text(MARGIN + 48, y, title, Style(27, 700), limit=600)
        if address:
            self.text(RIGHT, y, address, Style(25, 500), SOFT, limit=RIGHT - end - 40, align=1)

    def row(self, y: int, row: Row) -> None:
        """Write a row of a list, with a medal behind the first places, on a baseline."""
        center, medal = MARGIN + 22, MEDALS.get(row.place)
        if medal:
            self.panel((center - 22, y - 34, center + 22, y + 10), medal, radius=22)
        self.text(center, y - 4, row.place, Style(23, 700), INK if medal else SOFT, align=0.5)
        self.text(MARGIN + 72, y, row.name, _ROW, limit=DETAIL - 150 - MARGIN - 72)
        self.text(DETAIL, y, row.detail, _SMALL, SOFT, align=1)
        self.text(NUMBER, y, row.number, Style(34, 700), align=1)
        if row.change is not None:
            color = GAIN if row.change > 0 else LOSS if row.change < 0 else SOFT
            self.text(RIGHT, y, signed(row.change), Style(34, 700), color, align=1)
        self._draw.line((MARGIN, y + 17, RIGHT, y + 17), LINE, 2)

    def panel(self, box: Box, fill: str | Image.Image, radius: int) -> None:
        """Fill a box with round corners with a color, or with a picture of its size."""
        size = (box[2] - box[0], box[3] - box[1])
        mask = Image.new("L", (size[0] * _SMOOTH, size[1] * _SMOOTH))
        corner = (mask.width - 1, mask.height - 1)
        ImageDraw.Draw(mask).rounded_rectangle((0, 0, *corner), radius * _SMOOTH, 255)
        self._image.paste(fill, box[:2], mask.resize(size, Image.Resampling.BOX))

    def png(self) -> bytes:
        file = io.BytesIO()
        reduced = self._image.quantize(COLORS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        reduced.save(file, "PNG", compress_level=6)
        return file.getvalue()


def _resized(picture: bytes, side: int) -> Image.Image | None:
    """Return a square picture with sides of this length, None if it cannot be read."""
    try:
        with Image.open(io.BytesIO(picture)) as opened:
            return opened.resize((side, side), Image.Resampling.LANCZOS)
    except (OSError, ValueError):
        return None


def small_avatar(picture: bytes) -> bytes:
    """Return an avatar in the size of lists, as WebP; unchanged if it cannot be read."""
    shown, file = _resized(picture, SMALL), io.BytesIO()
    if shown is None:
        return picture
    shown.save(file, "WEBP", quality=45)
    return file.getvalue()
