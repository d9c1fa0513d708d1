"""The German and French texts that ship as examples."""

import re
import tomllib
from pathlib import Path

import pytest
from builders import GOAL, result

from racebot.chat.rating_message import MESSAGE_LIMIT, announcement
from racebot.ledger.rows import Change, Leaderboard
from racebot.settings.texts import Texts
from racebot.standings.settle import RatedRace

EXAMPLES = [Path(__file__).parents[2] / "examples" / name for name in ("texts.de.toml", "texts.fr.toml")]
LANGUAGE_NEUTRAL = {
    "player", "team_member", "dnf", "dq", "separator", "board", "continued", "move", "correction",
    "link", "rating", "leaderboard_player", "why_limit", "why_opponent",
    "odds_player", "discord_player",
}  # fmt: skip
"""Texts without words, or with words that may be the same."""

in_each_language = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)


def table(path: Path) -> dict[str, str]:
    texts: dict[str, str] = tomllib.loads(path.read_text(encoding="utf-8"))["texts"]
    return texts


def fields_in(text: str) -> set[str]:
    """Return the fields of a template. A place and an ordinal are the same to a reader."""
    return {"place" if field == "ordinal" else field for field in re.findall(r"\{(\w+)\}", text)}


@in_each_language
def test_every_translated_text_exists_and_differs(path: Path) -> None:
    """A text that is not translated yet stays English; `docs/make_reference.py` lists such texts."""
    translated = table(path)
    assert set(translated) <= set(Texts.model_fields)
    same = {name for name, text in translated.items() if text == Texts.model_fields[name].default}
    assert same <= LANGUAGE_NEUTRAL


@in_each_language
def test_no_translation_loses_a_field(path: Path) -> None:
    for name, text in table(path).items():
        expected = fields_in(str(Texts.model_fields[name].default)) - {"ending"}
        assert fields_in(text) == expected, name


@in_each_language
@pytest.mark.parametrize(("entrants", "most"), [(12, 1), (25, 2), (60, 4)])
def test_translated_rating_messages_are_as_few(path: Path, entrants: int, most: int) -> None:
    texts = Texts(**table(path))
    names = [f"racer-{n:02}-of-the-longest-name"[:25] for n in range(entrants)]
    changes = tuple(Change(f"id-{who}", n + 1, (1.5,), (1.4,), 1500, 1400, 9) for n, who in enumerate(names))
    board = Leaderboard("orb", GOAL, (GOAL,), "thurstone-hurdle", {}, "ignore")
    rated = RatedRace(board, result("r", " ".join(names)), changes, moves={changes[0].player: 5})
    messages = announcement([rated], texts)
    assert len(messages) <= most
    assert all(len(message) <= MESSAGE_LIMIT for message in messages)
