"""Draw cards: pictures that chat programs show with a link to a page (https://ogp.me)."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from itertools import product
from math import inf
from unicodedata import normalize

from PIL import Image, ImageDraw

from racebot.live_file import LiveRoom
from racebot.queries.race import RatedEntrant
from racebot.text.format import counted, integer, signed, timer
from racebot.text.safe import printable
from racebot.web.html import charts
from racebot.web.html.fragments import Linkable
from racebot.web.pictures import fonts
from racebot.web.pictures.fonts import Style
from racebot.web.site.formats import day, host, ordinal, percent
from racebot.web.site.ledger_view import PNG, Board, Content, Document, PageRequest

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
_ROW = Style(34, 600)
_PLACE = Style(23, 700)
_SMALL = Style(28, 500)
_FACING = Style(54, 800)
_SCORE = Style(128, 800)


Box = tuple[float, float, float, float]  # the left, top, right and bottom end of a shape, in pixels


def player_card(request: PageRequest, board: Board, player: str) -> Content:
    record = request.view.player(board, player)
    if record is None:
        return None
    standing, history = record.standing, record.history
    place = "" if standing.place is None else f"{ordinal(standing.place)} of {standing.listed} on "
    canvas = _card_of(request, player_name(request, standing), place + name(board.name), player)
    right = canvas.text(MARGIN, 328, integer(standing.points), _SCORE, ACCENT)
    if history:
        change = history[-1].change
        canvas.text(right + 22, 328, signed(change), Style(46, 700), tone(change))
    figures = {
        "races": standing.races,
        "won": standing.wins,
        "finished": standing.finishes,
        "highest": max((race.after for race in history), default=standing.points),
    }
    canvas.figures(440, figures)
    if len(history) > 1:
        points = charts.thinned([(race.ended_at, race.after) for race in history])
        canvas.graph((610, 214, RIGHT + 8, 506), [after for _, after in points])
    return _card(request, canvas)


def racer_card(request: PageRequest, player: str, race: str) -> Content:
    report = request.view.race(race)
    placed = [each for part in report.leaderboards for each in part.placed] if report else []
    entrant = next((each for each in placed if each.id == player), None)
    if report is None or entrant is None:
        return None
    about = f"{name(race.rpartition('/')[2])}, {name(report.goal)}, {day(report.ended_at)}"
    canvas = _card_of(request, player_name(request, entrant), about, player)
    shown = ordinal(int(entrant.standing)) if entrant.standing.isdecimal() else entrant.standing
    end = canvas.text(MARGIN, 338, shown, _SCORE, ACCENT)
    canvas.text(end + 18, 338, f"of {len(report.result)}", _ROW, SOFT)
    if entrant.finish_time is not None:
        canvas.text(RIGHT, 338, timer(entrant.finish_time), Style(46, 700), align=1)
    if isinstance(entrant, RatedEntrant):
        end = canvas.text(MARGIN, 428, signed(entrant.change), _FACING, tone(entrant.change))
        end = canvas.text(end + 24, 428, f"{integer(entrant.before)} → {integer(entrant.after)}", _ROW)
        odds = f"{percent(entrant.win_chance)} to win, expected place {entrant.expected:.1f}"
        canvas.text(RIGHT, 428, odds, _SMALL, SOFT, align=1)
        canvas.text(MARGIN, 500, name("; ".join(entrant.reasons)), _SMALL, limit=RIGHT - MARGIN)
    else:
        canvas.text(MARGIN, 428, "not rated", _ROW, SOFT)
    return _card(request, canvas)


def pair_card(request: PageRequest, player: str, other: str) -> Content:
    found = request.view.pair(player, other, request.query.get("on", ""))
    if found is None:
        return None
    board, (one, two), comparison = found
    canvas = Canvas()
    half = (RIGHT - MARGIN) / 2 - 30
    canvas.text(MARGIN, 136, player_name(request, one), _FACING, limit=half)
    canvas.text(RIGHT, 136, player_name(request, two), _FACING, limit=half, align=1)
    canvas.text(MARGIN, 186, f"{integer(one.points)} points", _SMALL, SOFT)
    canvas.text(RIGHT, 186, f"{integer(two.points)} points", _SMALL, SOFT, align=1)
    score = f"{comparison.ahead} – {comparison.behind}"
    canvas.text(WIDTH / 2, 340, score, _SCORE, ACCENT, align=0.5)
    about = f"{counted(comparison.met, 'race')} together on {name(board.name)}"
    canvas.text(WIDTH / 2, 396, about, _SMALL, SOFT, limit=RIGHT - MARGIN, align=0.5)
    chance = comparison.chance
    end = canvas.text(MARGIN, 486, percent(chance), _ROW)
    canvas.text(end + 14, 486, "to be ahead next time", _SMALL, SOFT)
    canvas.text(RIGHT, 486, percent(1 - chance), _ROW, align=1)
    canvas.panel((MARGIN, 504, RIGHT, 524), LINE, radius=10)
    canvas.panel((MARGIN, 504, MARGIN + max(20, chance * (RIGHT - MARGIN)), 524), ACCENT, radius=10)
    return _card(request, canvas)


def race_card(request: PageRequest, race: str) -> Content:
    report = request.view.race(race)
    if report is None:
        return _live_card(request, request.view.live_room(race, listed=True))
    part = report.leaderboards[0]
    about = f"{name(report.goal)}, {day(report.ended_at)}, {counted(len(report.result), 'entrant')}"
    canvas = _card_of(request, race.rpartition("/")[2], about)
    if part.note:
        canvas.text(MARGIN, 300, f"No rating changed: {part.note}", _ROW, limit=RIGHT - MARGIN)
    for row, entrant in enumerate(part.placed[:ROWS]):
        y = canvas.row(row, entrant.standing, player_name(request, entrant), limit=RIGHT - 510)
        if isinstance(entrant, RatedEntrant):
            end = min(canvas.change(y, entrant.change, 800), RIGHT - 84)
            canvas.text(end - 26, y, integer(entrant.after), Style(34, 700), align=1)
            canvas.text(end - 26 - 96, y, f"{integer(entrant.before)} →", _SMALL, SOFT, align=1)
        else:
            canvas.text(RIGHT, y, "not rated", _SMALL, SOFT, align=1)
        canvas.time(RIGHT - 360, y, entrant.finish_time)
    return _card(request, canvas)


def _live_card(request: PageRequest, room: LiveRoom | None) -> Content:
    """Draw a race before its record: its racers with their times, or else their chances to win."""
    if room is None or not room.leaderboards:
        return None
    board = room.leaderboards[0]
    stage = "open" if room.before_start else "in progress" if room.ended_at is None else board.condition
    about = f"{name(room.goal)}, {room.refused or stage}, {counted(len(board.entrants), 'entrant')}"
    canvas = _card_of(request, room.race.rpartition("/")[2], about)
    for row, each in enumerate(board.entrants[:ROWS]):
        y = canvas.row(row, str(each.place or ""), player_name(request, each), limit=RIGHT - 510)
        if each.change is not None:
            canvas.change(y, each.change)
            canvas.time(RIGHT - 160, y, each.finish_time)
        elif each.finish_time is not None:
            canvas.time(RIGHT, y, each.finish_time)
        elif each.win_chance is not None:
            canvas.text(RIGHT, y, f"{percent(each.win_chance)} to win", Style(34, 700), align=1)
    return _card(request, canvas)


def board_card(request: PageRequest, board: Board) -> Content:
    report, league = request.view.report(board), request.view.ordering_league(board)
    category = name(request.view.category_face(board.category).name)
    listed = counted(len(league.standings), "racer") if league else counted(len(report.players), "player")
    cut = f", {league.rules.cut} qualify" if league and league.rules.cut else ""
    about = f"{category}: {listed}, {counted(report.races, 'race')}{cut}"
    canvas = _card_of(request, board.name, about)
    if not (league.standings if league else report.players):
        canvas.text(MARGIN, 300, "No race has been scored yet" if league else "No player is listed yet", _ROW)
    for row, racer in enumerate(league.standings[:ROWS] if league else ()):
        scored = sum(score is not None for score in racer.scores)
        canvas.total(row, racer.place, player_name(request, racer), scored, f"{racer.total.score:.1f}")
    for row, player in enumerate(() if league else report.players[:ROWS]):
        end = canvas.total(
            row, player.place, player_name(request, player), player.races, integer(player.points)
        )
        if player.moved is not None and player.moved.points:
            y, moved = FIRST_ROW + ROW_HEIGHT * row, player.moved.points
            canvas.text(end - 22, y, signed(moved), _SMALL, tone(moved), align=1)
    return _card(request, canvas)


def front_card(request: PageRequest) -> Content:
    boards = sorted(request.view.boards, key=lambda board: -request.view.totals(board).races)
    if boards:
        return board_card(request, boards[0])
    return _card(request, _card_of(request, "Leaderboards", "No races have been rated yet"))


def _card_of(request: PageRequest, title: str, about: str, player: str = "") -> Canvas:
    """Return a card with a title and a line about it, and if it is that of a player, with the picture."""
    canvas, found = Canvas(), request.view.pictures.get(player)
    picture = found and request.view.picture(found)
    drawn = _resized(picture, PORTRAIT) if picture else None
    if drawn is not None:
        canvas.panel((RIGHT - PORTRAIT, 56, RIGHT, 56 + PORTRAIT), drawn.convert("RGB"), PORTRAIT / 2)
    canvas.title(name(title), limit=RIGHT - MARGIN - (PORTRAIT + 30 if drawn else 0))
    y, most = (186, RIGHT - MARGIN - PORTRAIT) if player else (176, RIGHT - MARGIN)
    canvas.text(MARGIN, y, about, _SMALL, SOFT, limit=most)
    return canvas


def _card(request: PageRequest, canvas: Canvas) -> Document:
    publication = request.view.publication
    canvas.footer(name(publication.title), host(publication.url))
    return Document(canvas.png(), PNG)


def name(text: str, otherwise: str = "") -> str:
    """Return a name from the site in one line, or something else if no font can draw it."""
    return " ".join(fonts.drawable(normalize("NFKC", printable(text))).split()) or otherwise or "?"


def player_name(request: PageRequest, player: Linkable) -> str:
    """Return a player's name, or that of the stream if no font can draw it."""
    return name(player.name, request.view.ledger.profiles.get(player.id).twitch if player.id else "")


def tone(change: int) -> str:
    return GAIN if change > 0 else LOSS if change < 0 else SOFT


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
        """Write a text in one line, and return the end of it that is further from `x`.

        `y` is its baseline, and `x` is at the share `align` of its width, 1 for the right end. If it is wider
        than `limit` pixels, it is cut.
        """
        shown = fonts.shortened(text, style, limit)
        left = x - align * fonts.width(shown, style) if align else x
        right = left + fonts.draw_text(self._image, (left, y), shown, style, color)
        return left if align else right

    def title(self, text: str, limit: float = WIDTH - 2 * MARGIN) -> None:
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

    def panel(self, box: Box, fill: str | Image.Image, radius: float) -> None:
        """Fill a box with round corners with a color, or with a picture of its size."""
        mask = self._mask(box)
        edge = (mask.width - 1, mask.height - 1)
        ImageDraw.Draw(mask).rounded_rectangle((0, 0, *edge), radius * _SMOOTH, 255)
        self._paste(mask, box, fill)

    def figures(self, y: int, figures: Mapping[str, int]) -> None:
        x = float(MARGIN)
        for label, value in figures.items():
            left = x
            x = self.text(x, y, integer(value), Style(46, 700))
            x = max(x, self.text(left, y + 42, label, Style(26, 500), SOFT)) + 44

    def disc(self, x: float, y: float, radius: int, color: str) -> None:
        self.panel((x - radius, y - radius, x + radius, y + radius), color, radius)

    def row(self, number: int, standing: str, name: str, limit: float) -> int:
        """Write a row of a list: a place with its medal and a name, up to `limit`. Return its baseline."""
        y = FIRST_ROW + ROW_HEIGHT * number
        center, medal = MARGIN + 22, MEDALS.get(standing)
        if medal:
            self.disc(center, y - 12, 22, medal)
        style = _PLACE if standing.isdecimal() else Style(24, 700)
        left = center - fonts.width(standing, style) / 2
        self.text(max(left, MARGIN - 4), y - 4, standing, style, INK if medal else SOFT)
        self.text(MARGIN + 72, y, name, _ROW, limit=limit - MARGIN - 72)
        self._draw.line((MARGIN, y + 17, RIGHT, y + 17), LINE, 2)
        return y

    def change(self, y: int, points: int, weight: int = 700) -> float:
        return self.text(RIGHT, y, signed(points), Style(34, weight), tone(points), align=1)

    def time(self, x: float, y: int, seconds: float | None) -> None:
        if seconds is not None:
            self.text(x, y, timer(seconds), _SMALL, SOFT, align=1)

    def total(self, number: int, place: int, name: str, races: int, total: str) -> float:
        """Write a row of a leaderboard, and return the left end of the total."""
        y = self.row(number, str(place), name, limit=RIGHT - 420)
        self.text(RIGHT - 240, y, counted(races, "race"), _SMALL, SOFT, align=1)
        return self.text(RIGHT, y, total, Style(36, 800), align=1)

    def graph(self, box: Box, values: Sequence[float]) -> None:
        """Draw a line through two values or more, with the highest and the last one marked."""
        left, top, right, bottom = box
        low, high = min(values), max(values)
        step, scale = (right - left - 16) / (len(values) - 1), (bottom - top - 16) / max(high - low, 1)
        points = [(8 + step * at, 8 + scale * (high - value)) for at, value in enumerate(values)]
        smooth = [(x * _SMOOTH, y * _SMOOTH) for x, y in points]
        ends = [(smooth[at][0], (bottom - top) * _SMOOTH) for at in (-1, 0)]
        area, line = self._mask(box), self._mask(box)
        ImageDraw.Draw(area).polygon([*smooth, *ends], 24)
        ImageDraw.Draw(line).line(smooth, 255, 4 * _SMOOTH, joint="curve")
        for mask in (area, line):
            self._paste(mask, box, ACCENT)
        for x, y in {points[values.index(high)], points[-1]}:
            self.disc(left + x, top + y, 8, ACCENT)
            self.disc(left + x, top + y, 4, CARD)

    def png(self) -> bytes:
        file = io.BytesIO()
        self._image.quantize(COLORS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
            file, "PNG", compress_level=6
        )
        return file.getvalue()

    def _mask(self, box: Box) -> Image.Image:
        left, top, right, bottom = box
        return Image.new("L", (round(right - left) * _SMOOTH, round(bottom - top) * _SMOOTH))

    def _paste(self, mask: Image.Image, box: Box, fill: str | Image.Image) -> None:
        smooth = mask.resize((mask.width // _SMOOTH, mask.height // _SMOOTH), Image.Resampling.BOX)
        self._image.paste(fill, (round(box[0]), round(box[1])), smooth)


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
