"""Frames of a room's socket."""

import math
from datetime import UTC, datetime
from typing import Any

import pytest
from builders import entrant_document, race_document, user_document

from racebot.errors import PayloadError
from racebot.racetime.frames import ChatHistory, ChatMessage, Other, RaceUpdate, Refusal, parse_event
from racebot.racetime.payload import parse_race


def chat_document(**facts: Any) -> dict[str, Any]:
    return {
        "id": "m1",
        "user": None,
        "bot": None,
        "direct_to": None,
        "posted_at": "2026-03-01T12:00:00.250000+00:00",
        "message": "gg",
        "message_plain": "gg",
        "highlight": False,
        "is_dm": False,
        "is_bot": False,
        "is_monitor": None,
        "is_system": False,
        "is_pinned": False,
        "delay": 0,
        "actions": {},
        **facts,
    }


def test_a_race_frame_holds_the_race() -> None:
    document = race_document("r", [entrant_document("ann", "done", "PT1H", 1)])
    event = parse_event({"type": "race.data", "race": document, "version": 21, "date": "x"})
    assert isinstance(event, RaceUpdate)
    assert event.race == parse_race(document)


def test_a_chat_message_has_its_author() -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()
    user = {**user_document("ann"), "can_moderate": True}
    assert parse_event({"type": "chat.message", "message": chat_document(user=user)}) == ChatMessage(
        "m1", "gg", noon + 0.25, "id-ann", "Ann", True, None, False
    )
    assert parse_event({"type": "chat.message", "message": chat_document(bot="OrbBot", is_bot=True)}) == (
        ChatMessage("m1", "gg", noon + 0.25, None, "", False, "OrbBot", False)
    )
    assert parse_event({"type": "chat.message", "message": chat_document(is_system=True)}) == (
        ChatMessage("m1", "gg", noon + 0.25, None, "", False, None, True)
    )


def test_the_chat_history_is_in_the_order_of_time() -> None:
    """The site lists pinned messages last. One that cannot be read is left out."""
    messages: list[Any] = [
        5,
        chat_document(id="a"),
        chat_document(id="c", message="wp", posted_at="2026-03-01T12:00:01+00:00"),
        chat_document(id="b", is_pinned=True, posted_at="2026-03-01T12:00:00.5+00:00"),
    ]
    event = parse_event({"type": "chat.history", "date": "2026-03-01T12:00:02+00:00", "messages": messages})
    assert isinstance(event, ChatHistory)
    assert [(m.id, m.text) for m in event.messages] == [("a", "gg"), ("b", "gg"), ("c", "wp")]
    assert event.sent_at - event.messages[0].posted_at == 1.75


@pytest.mark.parametrize("date", [None, "yesterday", 5])
def test_a_chat_history_of_unknown_time_is_as_old_as_can_be(date: object) -> None:
    event = parse_event({"type": "chat.history", "date": date, "messages": [chat_document()]})
    assert isinstance(event, ChatHistory)
    assert event.sent_at == math.inf


@pytest.mark.parametrize(
    ("errors", "token", "closed"),
    [
        ("no", False, False),
        (["Permission denied. Check your authorization token."], True, False),
        (["This race chat is now closed. No new messages may be added."], False, True),
        (["message: Ensure this value has at most 1000 characters (it has 1001)."], False, False),
    ],
)
def test_a_refusal_tells_its_kind(errors: list[str] | str, token: bool, closed: bool) -> None:
    event = parse_event({"type": "error", "errors": errors, "date": "x"})
    assert event == Refusal((errors,) if isinstance(errors, str) else tuple(errors))
    assert isinstance(event, Refusal)
    assert (event.token_refused, event.chat_closed) == (token, closed)


@pytest.mark.parametrize("kind", ["pong", "race.renders", "race.confetti"])
def test_other_events_are_not_logged(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    assert parse_event({"type": kind, "date": "x"}) == Other(kind)
    assert not caplog.records


@pytest.mark.parametrize(
    ("frame", "named"),
    [
        (None, "frame"),
        ([], "frame"),
        ("race.data", "frame"),
        ({"type": "race.data"}, "race is not an object"),
        ({"type": "race.data", "race": {"name": "orb/r"}}, "orb/r: status"),
        ({"type": "chat.message", "message": "gg"}, "chat message"),
        ({"type": "chat.message", "message": chat_document(posted_at=None)}, "posted_at"),
        ({"type": "chat.history", "messages": None}, "messages"),
    ],
)
def test_a_malformed_frame_is_refused_naming_the_place(frame: object, named: str) -> None:
    with pytest.raises(PayloadError, match=named):
        parse_event(frame)
