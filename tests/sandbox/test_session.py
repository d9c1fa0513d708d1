"""The answers of a bot's socket to each action."""

import itertools
import json
from typing import Any

import pytest
from builders import Clock, existing

from racebot.sandbox.room import CHAT_AFTER_END, FakeRoom, Frame
from racebot.sandbox.session import (
    CHAT_CLOSED,
    CORRUPT,
    NO_GUID,
    PERMISSION_DENIED,
    UNKNOWN_ACTION,
    BotSession,
)
from racebot.sandbox.site import CLIENT_ID, CLIENT_SECRET, FakeSite

from .conftest import Make
from .test_render import check

GUIDS = itertools.count()


class Bot:
    """A connected bot, which returns the frames that each of its actions leads to."""

    def __init__(self, site: FakeSite, room: FakeRoom, token: str | None) -> None:
        self.room = room
        self.frames: list[Frame] = []
        self.session = BotSession(site, room, token, self.frames.append)

    def send(self, action: str, data: Any = None) -> list[Frame]:
        request = {"action": action} if data is None else {"action": action, "data": data}
        return self.send_text(json.dumps(request))

    def send_text(self, text: str) -> list[Frame]:
        self.frames.clear()
        self.session.receive(text)
        return list(self.frames)

    def say(self, message: Any, **more: Any) -> list[Frame]:
        return self.send("message", {"message": message, "guid": f"guid-{next(GUIDS)}", **more})


@pytest.fixture
def token(site: FakeSite) -> str:
    return existing(site.issue_token(CLIENT_ID, CLIENT_SECRET))


@pytest.fixture
def bot(site: FakeSite, token: str) -> Bot:
    """A bot in an open room."""
    return Bot(site, site.open_race(), token)


def errors(frames: list[Frame]) -> list[str]:
    (frame,) = frames
    assert list(frame) == ["type", "date", "errors"]
    assert frame["type"] == "error"
    return list(frame["errors"])


def kinds(frames: list[Frame]) -> list[str]:
    return [frame["type"] for frame in frames]


def test_connecting_shows_the_race(bot: Bot) -> None:
    data, renders = bot.frames
    assert (data["type"], data["version"], data["race"]["version"]) == ("race.data", 1, 1)
    assert set(data) == {"type", "date", "race", "version"}
    assert set(renders) == {"type", "date", "renders", "version"}
    assert list(renders["renders"]) == ["entrants", "intro", "status", "streams"]


def test_a_message_comes_back_under_the_name_of_its_bot(bot: Bot, site: FakeSite) -> None:
    (echo,) = bot.say("two\nlines", actions={"Why?": {"message": "!why", "help_text": "explain"}})
    assert list(echo) == ["type", "date", "message"]
    assert echo["type"] == "chat.message"
    check(echo["message"], "MESSAGE")
    assert echo["message"]["bot"] == site.bot.name
    assert echo["message"]["message"] == "two\nlines"
    assert echo["message"]["actions"] == {"Why?": {"message": "!why", "help_text": "explain"}}
    site.add_bot("SeedBot", "seeds", "hush")
    (other,) = Bot(site, bot.room, site.issue_token("seeds", "hush")).say("Seed rolled")
    assert other["message"]["bot"] == "SeedBot"


def test_a_guid_is_good_once_in_five_minutes(bot: Bot, site: FakeSite, clock: Clock) -> None:
    message = {"message": "once", "guid": "a-1"}
    assert kinds(bot.send("message", message)) == ["chat.message"]
    clock.advance(minutes=4, seconds=59)
    assert bot.send("message", message) == []
    clock.advance(seconds=1)
    assert kinds(bot.send("message", message)) == ["chat.message"]
    site.guids.clear()
    assert kinds(bot.send("message", message)) == ["chat.message"]


def test_a_message_has_1_to_1000_characters(bot: Bot) -> None:
    assert kinds(bot.say("x" * 1000)) == ["chat.message"]
    assert errors(bot.say("x" * 1001)) == [
        "message: Ensure this value has at most 1000 characters (it has 1001)."
    ]
    assert errors(bot.send("message", {"message": "  ", "guid": "a-1"})) == [
        "message: This field is required."
    ]
    assert bot.send("message", {"message": "better", "guid": "a-1"}) == [], "the guid is used up"


def test_a_private_note_reaches_one_user_and_not_the_history(bot: Bot, site: FakeSite) -> None:
    ann = site.user("Ann")
    (note,) = bot.say("between us", direct_to=ann.id)
    assert set(note) == {"type", "date", "message", "from_user", "from_bot", "to"}
    assert (note["type"], note["from_user"], note["from_bot"]) == ("chat.dm", None, site.bot.name)
    assert note["to"] == {
        "id": ann.id,
        "full_name": ann.full_name,
        "name": "Ann",
        "discriminator": ann.discriminator,
    }
    assert "between us" not in json.dumps(bot.send("gethistory"))
    assert [message.text for message in bot.room.notes] == ["between us"]
    assert errors(bot.say("to nobody", direct_to="abc")) == ["direct_to: Unrecognised user"]


def test_a_message_has_at_most_four_buttons(bot: Bot) -> None:
    button = {"message": "!x"}
    assert kinds(bot.say("four", actions=dict.fromkeys("abcd", button))) == ["chat.message"]
    assert errors(bot.say("five", actions=dict.fromkeys("abcde", button)))
    assert errors(bot.say("empty", actions={"a": {}}))


def test_setinfo_is_announced_and_shown_in_the_race(bot: Bot, site: FakeSite) -> None:
    announcement, data, _ = bot.send("setinfo", {"info_bot": "Seed\nhttps://example.org/1"})
    assert announcement["message"]["message"] == f"##bot##{site.bot.name}## updated the race information."
    assert announcement["message"]["message_plain"] == f"{site.bot.name} updated the race information."
    assert announcement["message"]["is_system"]
    assert data["race"]["info_bot"] == "Seed\nhttps://example.org/1"
    assert data["race"]["info"] == data["race"]["info_bot"]
    assert data["version"] == 2
    assert errors(bot.send("setinfo", {"info_bot": "y" * 1001})) == [
        "info_bot: Ensure this value has at most 1000 characters (it has 1001)."
    ]


def test_empty_setinfo_is_ignored(bot: Bot, site: FakeSite) -> None:
    bot.room.set_info(site.bot, "Seed 1")
    assert bot.send("setinfo", {"info_bot": "  "}) == []
    assert bot.room.info_bot == "Seed 1"


def test_setmeta_is_silent_and_missing_from_getrace(bot: Bot, token: str, site: FakeSite) -> None:
    assert bot.send("setmeta", {"k": "v"}) == []
    assert errors(bot.send("setmeta", {"k": "z" * 3000})) == ["Data provided is too large to save."]
    data, _ = bot.send("getrace")
    assert (data["version"], data["race"]["bot_meta"]) == (1, {})
    again = Bot(site, bot.room, token)
    assert again.frames[0]["race"]["bot_meta"] == {"k": "v"}
    assert again.frames[0]["version"] == 2


def test_gethistory_is_the_last_hundred_and_all_pinned_ones_at_the_end(bot: Bot) -> None:
    for number in range(102):
        bot.say(f"line {number}", pinned=number in {0, 100})
    (history,) = bot.send("gethistory")
    assert set(history) == {"type", "date", "messages"}
    texts = [message["message"] for message in history["messages"]]
    assert (len(texts), texts[0], texts[-3:]) == (101, "line 2", ["line 101", "line 0", "line 100"])


def test_a_bot_pins_and_unpins_any_message_while_chat_is_open(bot: Bot, site: FakeSite) -> None:
    line = bot.room.say(site.moderator, "the rules")
    for action, kind in (("pin_message", "chat.pin"), ("unpin_message", "chat.unpin")):
        (frame,) = bot.send(action, {"message": line.id})
        assert (frame["type"], frame["message"]["is_pinned"]) == (kind, kind == "chat.pin")
        assert bot.send(action, {"message": line.id}) == []
    assert errors(bot.send("pin_message", {"message": 3})) == ["Could not find a message with that ID."]
    bot.room.cancel()
    site.skew += 2 * CHAT_AFTER_END
    assert errors(bot.send("pin_message", {"message": line.id})) == ["This race chat is now closed."]


@pytest.mark.parametrize("token", ["wrong", None])
def test_without_a_good_token_every_action_is_refused(site: FakeSite, token: str | None) -> None:
    stranger = Bot(site, site.open_race(), token)
    assert kinds(stranger.frames) == ["race.data", "race.renders"]
    assert kinds(stranger.send("ping")) == ["pong"]
    assert errors(stranger.say("hi")) == [PERMISSION_DENIED]
    for action in ("setinfo", "setmeta", "getrace", "gethistory"):
        assert errors(stranger.send(action, {})) == [PERMISSION_DENIED]


def test_a_token_expires_and_can_be_revoked(bot: Bot, site: FakeSite, clock: Clock) -> None:
    clock.advance(seconds=35_999)
    assert kinds(bot.say("still good")) == ["chat.message"]
    clock.advance(seconds=1)
    assert errors(bot.say("not any more")) == [PERMISSION_DENIED]
    renewed = Bot(site, bot.room, site.issue_token(CLIENT_ID, CLIENT_SECRET))
    assert kinds(renewed.say("renewed")) == ["chat.message"]
    site.revoke_tokens()
    assert errors(renewed.say("revoked")) == [PERMISSION_DENIED]


def test_a_recorded_race_is_silent_but_takes_info_and_meta(
    site: FakeSite, finished: Make, token: str
) -> None:
    room = finished()
    bot = Bot(site, room, token)
    assert kinds(bot.say("before")) == ["chat.message"]
    room.record()
    assert errors(bot.say("after")) == [CHAT_CLOSED]
    assert bot.send("setmeta", {"k": "v"}) == []
    assert room.bot_meta == {"k": "v"}
    _, shown, _ = bot.send("setinfo", {"info_bot": "Ratings"})
    assert (shown["race"]["recorded"], shown["race"]["bot_meta"]) == (True, {"k": "v"})
    bot.session.close()
    bot.frames.clear()
    room.set_info(site.bot, "nobody hears this")
    assert bot.frames == []


REFUSED = {
    **dict.fromkeys(("not json", "[]", "7", ""), CORRUPT),
    **dict.fromkeys(
        ('{"action": "nope", "data": {}}', "{}", '{"data": {}}', '{"action": []}'), UNKNOWN_ACTION
    ),
    **{
        json.dumps({"action": "message", "data": {"message": "hi", "guid": guid}}): NO_GUID
        for guid in ("", None, "ABC", "a_b", 5)
    },
}


@pytest.mark.parametrize(("text", "error"), REFUSED.items())
def test_nonsense_unknown_actions_and_messages_without_a_guid_are_refused(
    bot: Bot, text: str, error: str
) -> None:
    assert errors(bot.send_text(text)) == [error]
