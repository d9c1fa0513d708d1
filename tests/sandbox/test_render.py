"""The shapes of the site's JSON: keys, types and the values that a bot depends on. The sandbox's pages."""

import re
from types import NoneType
from typing import Any

from builders import Clock

from racebot.sandbox import render, server
from racebot.sandbox.site import FakeSite

from .conftest import Make

KINDS = {"str": str, "int": int, "bool": bool, "dict": dict, "null": NoneType}
SHAPES = {
    "NAMED_STATUS": "value:str verbose_value:str help_text:str",
    "GOAL": "name:str custom:bool",
    "USER": """
        id:str full_name:str name:str discriminator:str url:str avatar:str? pronouns:str? flair:str
        twitch_name:str? twitch_display_name:str? twitch_channel:str? can_moderate:bool
    """,
    "TEAM": "name:str slug:str formal:bool",
    "ENTRANT": """
        user:USER? team:TEAM? status:NAMED_STATUS finish_time:str? finished_at:str? place:int?
        place_ordinal:str? score:null score_change:null comment:null has_comment:bool stream_live:bool
        stream_override:bool actions:[str]
    """,
    "CATEGORY_OF_A_RACE": "name:str short_name:str slug:str url:str data_url:str image:str?",
    "RACE": """
        version:int name:str slug:str status:NAMED_STATUS url:str data_url:str websocket_url:str
        websocket_bot_url:str websocket_oauth_url:str category:CATEGORY_OF_A_RACE goal:GOAL info:str
        info_bot:str? info_user:str? team_race:bool entrants_count:int entrants_count_finished:int
        entrants_count_inactive:int entrants:[ENTRANT] opened_at:str start_delay:str started_at:str?
        ended_at:str? cancelled_at:str? ranked:bool unlisted:bool time_limit:str
        time_limit_auto_complete:bool require_even_teams:bool streaming_required:bool auto_start:bool
        opened_by:USER? opened_by_bot:null monitors:[USER] recordable:bool recorded:bool recorded_by:USER?
        disqualify_unready:bool allow_comments:bool hide_comments:bool hide_entrants:bool
        chat_restricted:bool allow_prerace_chat:bool allow_midrace_chat:bool allow_non_entrant_chat:bool
        chat_message_delay:str bot_meta:dict
    """,
    "CURRENT_RACE": """
        name:str status:NAMED_STATUS url:str data_url:str goal:GOAL info:str entrants_count:int
        entrants_count_finished:int entrants_count_inactive:int opened_at:str started_at:str? time_limit:str
        opened_by_bot:null
    """,
    "CATEGORY": """
        name:str short_name:str slug:str url:str data_url:str image:str? info:null streaming_required:bool
        owners:[USER] moderators:[USER] goals:[str] current_races:[CURRENT_RACE] emotes:dict
    """,
    "MESSAGE": """
        id:str user:USER? bot:str? direct_to:null posted_at:str message:str message_plain:str highlight:bool
        is_dm:bool is_bot:bool is_monitor:bool? is_system:bool is_pinned:bool delay:int actions:dict
    """,
}
"""Keys of the site's objects with their types: `type?` may be null, and `[type]` is a list."""
SHAPES["PAST_RACE"] = SHAPES["CURRENT_RACE"] + "ended_at:str cancelled_at:null recordable:bool recorded:bool"
SHAPES["HIDDEN_USER"] = SHAPES["USER"].replace("discriminator:str url:str", "discriminator:null url:null")


def check(value: Any, kind: str, where: str = "") -> None:
    """Assert that a value has exactly the keys and types of its kind."""
    if kind.endswith("?"):
        if value is not None:
            check(value, kind[:-1], where)
    elif kind.startswith("["):
        assert isinstance(value, list), where
        for index, item in enumerate(value):
            check(item, kind[1:-1], f"{where}[{index}]")
    elif kind in KINDS:
        assert type(value) is KINDS[kind], f"{where}: {value!r}"
    else:
        shape = dict(part.split(":") for part in SHAPES[kind].split())
        assert value.keys() == shape.keys(), where
        for key, inner in shape.items():
            check(value[key], inner, f"{where}.{key}")


def test_a_race_has_the_same_fields_at_every_stage(site: FakeSite, clock: Clock) -> None:
    room = site.open_race()
    check(render.race(room), "RACE")
    for name in ("Ann", "Bo", "Cy"):
        room.enter(name)
    check(render.race(room), "RACE")
    room.start()
    clock.advance(hours=1)
    room.finish("Ann")
    room.forfeit("Bo")
    check(render.race(room), "RACE")
    room.finish("Cy")
    room.disqualify("Cy")
    room.record()
    site.delete_user("Bo")
    check(render.race(room), "RACE")


def test_moments_and_durations_have_the_sites_format(started: Make, clock: Clock) -> None:
    room = started()
    clock.advance(seconds=3, microseconds=47_053)
    room.finish("Ann")
    race = render.race(room)
    assert race["opened_at"] == "2026-03-01T12:00:00.250Z"
    assert race["entrants"][0]["finish_time"] == "P0DT01H00M03.047053S"
    assert race["time_limit"] == "P1DT00H00M00S"
    assert race["start_delay"] == "P0DT00H00M15S"
    assert render.frame("pong", clock())["date"] == "2026-03-01T13:00:03.297053+00:00"


def test_hidden_entrants_have_invented_names_and_no_ids(started: Make) -> None:
    room = started(hide_entrants=True)
    ann = room.entrant("Ann")
    race = render.race(room)
    assert (race["hide_entrants"], race["chat_restricted"]) == (True, True)
    for entrant in race["entrants"]:
        check(entrant["user"], "HIDDEN_USER")
        assert entrant["user"]["id"] == ""
        assert entrant["user"]["name"] not in ("Ann", "Bo", "Cy")
    room.finish("Ann")
    assert room.chat[-1].text.startswith(ann.alias)
    assert render.message(room, room.say("Ann", "guess who"))["user"]["name"] == ann.alias
    for name in ("Bo", "Cy"):
        room.forfeit(name)
    race = render.race(room)
    assert (race["hide_entrants"], race["chat_restricted"]) == (False, False)
    assert race["entrants"][0]["user"]["id"] == ann.user.id


def test_the_category_lists_unfinished_races(site: FakeSite, started: Make, finished: Make) -> None:
    finished()
    running = started()
    unlisted = site.open_race(unlisted=True)
    public, private = (
        render.category(site.category, site.rooms.values(), unlisted=also) for also in (False, True)
    )
    check(public, "CATEGORY")
    check(private, "CATEGORY")
    assert [race["name"] for race in public["current_races"]] == [running.name]
    assert [race["name"] for race in private["current_races"]] == [running.name, unlisted.name]


def test_an_unlisted_race_is_listed_where_it_ended_once_it_is_recorded_or_has_a_custom_goal(
    site: FakeSite, finished: Make
) -> None:
    hidden = finished(unlisted=True)
    later = finished()
    assert [
        race["name"]
        for race in render.race_list(site.past_races(), page=1, per_page=10, show_entrants=False)["races"]
    ] == [later.name]
    hidden.record()
    site.open_race().cancel()
    custom = finished(unlisted=True, custom_goal=True)
    races = render.race_list(site.past_races(), page=1, per_page=10, show_entrants=False)["races"]
    assert [race["name"] for race in races] == [custom.name, later.name, hidden.name]
    for race in races:
        check(race, "PAST_RACE")


def test_messages_show_who_wrote_them(site: FakeSite, started: Make) -> None:
    room = started()
    user = render.message(room, room.say("Ann", "!rating"))
    moderator = render.message(room, room.say("Referee", "hello"))
    bot = render.message(room, room.say_as_bot(site.bot, "a\nb", actions={"Go": {"url": "x"}}))
    system = render.message(room, room.chat[0])
    for message in (user, moderator, bot, system):
        check(message, "MESSAGE")
    assert (user["user"]["name"], user["is_monitor"], user["is_bot"]) == ("Ann", False, False)
    assert (moderator["is_monitor"], moderator["user"]["can_moderate"]) == (True, True)
    assert (bot["user"], bot["bot"], bot["is_bot"]) == (None, site.bot.name, True)
    assert (system["user"], system["is_system"], system["is_monitor"]) == (None, True, None)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", user["posted_at"])


# Pages, and the escaping of user text in them

HOSTILE = '<script>alert("1")</script>&\'"'


def test_a_room_shows_results_info_and_chat(site: FakeSite, finished: Make) -> None:
    room = finished()
    room.set_info(site.bot, "Seed https://example.org/a?b=1&c=2")
    room.say("Ann", "well played")
    room.say_as_bot(
        site.bot,
        "Ratings",
        actions={
            "Why?": {"message": "!why", "help_text": "explain"},
            "Board": {"url": "https://example.org/b"},
        },
    )
    room.say_as_bot(site.bot, "psst", direct_to=site.user("Bo"))
    text = server.room_page(site, room)
    assert "<td>1st</td><td>Ann</td><td>1:00:00</td>" in text
    assert '<a href="https://example.org/a?b=1&amp;c=2"' in text
    assert "<b>Ann</b>: well played" in text
    assert 'title="explain" data-say="!why">Why?</button>' in text
    assert '<a href="https://example.org/b" title="">Board</a>' in text
    assert f"{site.bot.name} → Bo alone" in text
    room.record()
    site.delete_user("Bo")
    text = server.room_page(site, room)
    assert "finished, recorded" in text
    assert "Chat is closed." in text
    assert "(deleted account)" in text


def test_everything_is_escaped(site: FakeSite) -> None:
    site.rename_user("Ann", HOSTILE)
    room = site.open_race(HOSTILE)
    room.enter(HOSTILE)
    room.say(HOSTILE, HOSTILE)
    room.set_info(site.bot, HOSTILE)
    room.say_as_bot(site.bot, HOSTILE, actions={HOSTILE: {"message": HOSTILE, "help_text": HOSTILE}})
    room.say_as_bot(site.bot, "x", actions={HOSTILE: {"url": f"javascript:{HOSTILE}"}})
    room.say_as_bot(site.bot, "https://example.org/" + HOSTILE)
    for text in (server.room_page(site, room), server.index(site)):
        assert HOSTILE not in text
        assert "<script>alert" not in text
        assert 'href="javascript' not in text
