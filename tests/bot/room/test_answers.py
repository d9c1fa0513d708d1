from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from builders import CATEGORY, GOAL, NOON, Clock, entrant, existing, result, seen
from room_support import NAME, Follower
from worker_support import spaced

from racebot.bot.room import answers, events as cases
from racebot.bot.room.answers import ORDERS_PER_PERSON, WINDOW, CommandHandler, Limiter
from racebot.ledger.outbox import chat_messages
from racebot.ledger.store import Ledger
from racebot.races.events import Event
from racebot.races.result import EntrantStatus
from racebot.races.rooms import RoomRule
from racebot.racetime.frames import ChatHistory, ChatMessage
from racebot.racetime.payload import Race
from racebot.settings.texts import Texts
from racebot.standings import orders
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.events import EventSteps
from racebot.standings.settle import Settler
from racebot.text.format import Count

OFF, ON = (Texts().quiet.format(quiet=Count(is_quiet), command="!ratings") for is_quiet in (1, 0))
TAKEN, UNKNOWN = (Texts().event_refused.format(taken=Count(is_taken)) for is_taken in (1, 0))
HIDDEN, SHOWN = (Texts().hidden.format(hidden=Count(is_hidden), command="!ratings") for is_hidden in (1, 0))
RESULT = result("r", "ann bo", recorded=False)
FINISHED = seen(RESULT)
BO: dict[str, Any] = {"user_id": "id-bo", "user_name": "Bo"}
CY: dict[str, Any] = {"user_id": "id-cy", "user_name": "Cy"}


def entries(text: str) -> list[str]:
    return text.partition(": ")[2].split(Texts().separator)


def open_room(names: str) -> Race:
    return seen(status="open", entrants=tuple(entrant(name) for name in names.split()))


class Talk:
    """A command handler, and users who write in a room."""

    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        *,
        named: tuple[LeaderboardConfig, ...] = (),
        **given: Any,
    ) -> None:
        settler = Settler(ledger, RatingRules(LeaderboardConfig("thurstone-hurdle"), named))
        self.ledger = ledger
        self.follower = Follower(settler, clock, **given)
        self.now = 0.0
        self.count = 0
        self.commands = CommandHandler(self.follower.work, self.follower.settings, clock=lambda: self.now)

    def line(self, text: str, *, moderator: bool = False, **facts: object) -> ChatMessage:
        self.count += 1
        message = ChatMessage(
            f"m{self.count}", text, 0.0, "id-ann", "Ann", moderator, bot=None, is_system=False
        )
        return replace(message, **facts)  # type: ignore[arg-type]

    def say(
        self, text: str, race: Race = FINISHED, *, moderator: bool = False, **facts: object
    ) -> str | None:
        message = self.line(text, moderator=moderator, **facts)
        question = self.commands.parse(message, race)
        if question is None:
            return None
        event = question.order and question.order.for_case
        if isinstance(event, cases.QuietOrder):
            if race.name not in self.follower.watched:
                self.follower.frame(race)
            self.follower.on(race.name, event)
        if question.order:
            reply = self.commands.orders.carry_out(question.order, race)
        elif self.is_quiet(race.name):
            return None
        else:
            reply = self.commands.reply(question, race)
        return reply or None

    def answer(self, text: str, race: Race = FINISHED, **facts: Any) -> str:
        """Return the answer that a command must have."""
        return existing(self.say(text, race, **facts))

    def is_quiet(self, race: str = NAME) -> bool:
        row = self.ledger.cases.get(race)
        return row is not None and row.quiet


@pytest.fixture(autouse=True)
def _room_for_many_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "ANSWERS_PER_PERSON", 100)
    monkeypatch.setattr(answers, "ANSWERS_PER_ROOM", 100)


@pytest.fixture
def talk(ledger: Ledger, clock: Clock) -> Talk:
    return Talk(ledger, clock)


@pytest.mark.parametrize(
    "facts",
    [
        {"bot": "Seedbot", "user_id": None},
        {"is_system": True, "user_id": None},
        {"user_id": None},
        {"text": "what is my !rating"},
    ],
)
def test_bots_the_site_and_ordinary_lines_get_no_answer(talk: Talk, facts: dict[str, object]) -> None:
    assert talk.commands.parse(talk.line(**{"text": "!rating", **facts}), FINISHED) is None  # type: ignore[arg-type]


def test_a_closed_chat_gets_no_answer_and_a_repeated_frame_one(talk: Talk) -> None:
    message = talk.line("!rating")
    assert talk.commands.parse(message, replace(FINISHED, recorded=True)) is None
    assert [talk.commands.parse(message, FINISHED) is None for _ in range(2)] == [False, True]


def test_answers_per_minute_are_limited_per_person_and_per_room(talk: Talk, monkeypatch) -> None:
    monkeypatch.setattr(answers, "ANSWERS_PER_PERSON", 2)
    monkeypatch.setattr(answers, "ANSWERS_PER_ROOM", 3)

    def asks(now: float, race: Race = FINISHED, **facts: Any) -> bool:
        talk.now = now
        return talk.commands.parse(talk.line("!why", **facts), race) is not None

    assert [asks(now) for now in (0, 1, 2)] == [True, True, False]
    assert [asks(now, **BO) for now in (3, 4)] == [True, False], "the room has had three"
    assert asks(4, replace(FINISHED, name="orb/other"), **BO), "each room counts alone"
    assert not asks(WINDOW - 0.1)
    assert asks(WINDOW), "a minute after the first"


def test_the_limiter_forgets_what_is_older_than_its_window() -> None:
    limiter = Limiter()
    assert all(limiter.allows({("r", str(person)): 1}, person) for person in range(500))
    assert len(limiter.recent) <= WINDOW


def test_orders_of_a_monitor_are_limited_too(ledger: Ledger, clock: Clock) -> None:
    talk = Talk(ledger, clock)
    monitor = [talk.say(f"!ratings {order}", is_monitor=True) for order in ("on", "off") * 50]
    assert sum(said is not None for said in monitor) == ORDERS_PER_PERSON
    assert talk.is_quiet(), "the tenth was the last one carried out"


def test_the_limit_of_answers_does_not_apply_to_moderators_orders(talk: Talk, monkeypatch) -> None:
    monkeypatch.setattr(answers, "ANSWERS_PER_PERSON", 1)
    assert talk.say("!rating", moderator=True) is not None
    assert talk.say("!rating", moderator=True) is None
    for order in ("off", "on"):
        assert talk.say(f"!ratings {order}", moderator=True) is not None
    assert talk.say("!ratings redo", moderator=True) is None
    assert talk.follower.waiting(), "a redo is never refused"


# Moderators


def test_moderator_switches_the_bot_off_and_on(talk: Talk, clock: Clock) -> None:
    assert talk.say("!ratings off", moderator=True) == OFF
    assert talk.say("!rating") is None
    assert talk.say("!ratings off") is None, "unauthorised users get no answer"
    talk.follower.show_final(RESULT)
    assert talk.follower.waiting() == []
    assert talk.say("!ratings ON.", moderator=True) == ON
    (said,) = talk.follower.waiting()
    assert said.startswith("Ratings if recorded (Any Orb): 1 Ann")
    assert talk.say("!rating") is not None


def test_off_drops_unsent_messages_and_survives_a_restart(talk: Talk, ledger: Ledger, clock: Clock) -> None:
    talk.follower.show_final(RESULT)
    assert len(talk.follower.waiting()) == 1
    talk.say("!ratings off", moderator=True)
    assert talk.follower.waiting() == []
    again, elsewhere = Talk(ledger, clock), replace(FINISHED, name=f"{CATEGORY}/other")
    assert again.say("!rating") is None
    assert talk.say("!rating", elsewhere) is not None, "only this room is quiet"


def test_a_quiet_room_is_settled_and_forgotten(talk: Talk, ledger: Ledger) -> None:
    talk.say("!ratings off", moderator=True)
    talk.follower.frame(seen(result("r", "ann bo")))
    assert ledger.ratings.count(existing(ledger.leaderboards.get(CATEGORY, GOAL))) == 1
    assert not talk.is_quiet()


def test_nothing_is_withdrawn_in_a_quiet_room(talk: Talk) -> None:
    talk.follower.announce(RESULT)
    talk.say("!ratings off", moderator=True)
    talk.follower.frame(replace(FINISHED, recordable=False))
    assert talk.follower.waiting() == []


def test_redo_repeats_the_changes(talk: Talk) -> None:
    assert talk.say("!ratings redo", moderator=True) is None
    assert talk.say("!ratings redo", moderator=True) is None
    once, twice = talk.follower.waiting()
    assert once == twice
    assert once.startswith("Ratings if recorded (Any Orb): 1 Ann")


def test_redo_is_carried_out_once_even_after_a_restart(talk: Talk, ledger: Ledger, clock: Clock) -> None:
    for handler in (talk, Talk(ledger, clock)):
        handler.say("!ratings redo", moderator=True, id="the order")
    assert len(talk.follower.waiting()) == 1


def test_redo_without_changes_says_so(talk: Talk) -> None:
    open_room = replace(FINISHED, status="open", result=None)
    nothing = Texts().nothing_to_repeat
    assert talk.say("!ratings redo", open_room, moderator=True) == nothing
    talk.follower.read(seen(result("r", "ann bo")))
    assert talk.say("!ratings redo", moderator=True) == nothing


@pytest.mark.parametrize("order", ["off", "on", "redo", "event X"])
def test_only_moderators_and_monitors_may_give_orders(talk: Talk, order: str) -> None:
    refused = Texts().moderators_only
    assert talk.say(f"!ratings {order}") == refused
    assert talk.follower.waiting() == []
    assert (talk.say(f"!ratings {order}", is_monitor=True) != refused) is (order in {"off", "on"})


DOES_NOT_COUNT = {
    "custom goal": seen(status="open", goal="Casual fun", recordable=False, custom_goal=True),
    "unranked": seen(status="open", recordable=False),
    "cancelled": seen(status="cancelled", recordable=False),
    "do not record": replace(FINISHED, recordable=False),
}


@pytest.mark.parametrize("race", DOES_NOT_COUNT.values(), ids=DOES_NOT_COUNT)
def test_a_race_that_does_not_count_has_no_odds(talk: Talk, race: Race) -> None:
    assert talk.say("!odds", race) == Texts().odds_none.format(counts=Count(False))


IN_EVENT = Texts().in_event.format(event="Week 1")


def week_one(talk: Talk) -> tuple[EventSteps, Event]:
    """Create an event that ends an hour from now, on a leaderboard with a race."""
    talk.follower.frame(seen(result("earlier", "ann bo")))
    steps = EventSteps(talk.follower.settler, NOON)
    board = talk.ledger.leaderboards.all()[0]
    return steps, steps.create("Week 1", board, NOON + timedelta(hours=1))


def test_a_room_is_told_once_of_each_step_of_its_event_and_of_its_ratings_after_it_left(talk: Talk) -> None:
    def told() -> list[str]:
        for _ in range(2):
            for room in (NAME, "orb/other"):
                talk.follower.work.tell_of_event(room)
        return talk.follower.deliver()

    steps, event = week_one(talk)
    steps.add_room(event, NAME, None)
    assert told() == [IN_EVENT]
    assert talk.follower.announce(RESULT) == [], "it hands its result to the event"
    assert talk.answer("!rating").startswith("Ann: "), "a player who asks gets no note"
    assert talk.say("!odds") == Texts().odds_none.format(counts=Count(False))
    replace(steps, now=event.until).close(event)
    assert told() == [Texts().event_closed.format(event="Week 1", open=Count(False))]
    steps.reopen(talk.ledger.events.find("Week 1"))
    assert told() == [Texts().event_closed.format(event="Week 1", open=Count(True))]
    steps.remove(event)
    assert told() == [Texts().event_left]
    assert len(talk.follower.announce(RESULT)) == 1


def test_a_moderator_adds_the_room_to_an_event(talk: Talk) -> None:
    _, event = week_one(talk)
    talk.follower.announce(RESULT)
    assert talk.say("!ratings event week 1!", moderator=True, posted_at=NOON.timestamp()) is None
    assert talk.follower.deliver() == [IN_EVENT], "which withdraws the changes"
    assert withdrawals(talk) == [IN_EVENT]
    talk.follower.work.tell_of_event(NAME)
    assert talk.follower.waiting() == []
    (source,) = talk.ledger.events.sources(event.name)
    assert (source.name, source.result) == (NAME, RESULT)
    assert [(e.kind, e.target, e.author) for e in talk.ledger.orders.all()][1:] == [
        ("event add", NAME, "id-ann")
    ]
    talk.follower.show_final(result("r", "bo ann", recorded=False))
    assert talk.ledger.events.attempts(event)[0].entrant.name == "Bo"
    talk.follower.show_final(result("r", "bo ann"))
    assert not talk.ledger.races.has(NAME), "it does not count by itself"


def withdrawals(talk: Talk) -> list[str]:
    rows = chat_messages(talk.ledger.messages.of(NAME))
    return [body.text for _, body in rows if body.withdraws]


@pytest.mark.parametrize("is_told", [True, False])
def test_a_skipped_race_hears_so_once(ledger: Ledger, clock: Clock, *, is_told: bool) -> None:
    talk = Talk(
        ledger,
        clock,
        named=(LeaderboardConfig("elo-ffa", name="Cup", rule=RoomRule(rooms=(NAME,), finished=True)),),
    )
    if is_told:
        talk.follower.announce(RESULT)
    said = talk.say("!ratings skip", moderator=True, posted_at=NOON.timestamp())
    text = Texts().skipped.format(command="!ratings")
    assert said == (None if is_told else text)
    assert withdrawals(talk) == [text] * is_told


@pytest.mark.parametrize("order", ["skip", "count"])
def test_an_order_about_a_race_that_others_decide_says_what_holds(talk: Talk, order: str) -> None:
    def said(race: Race = FINISHED) -> str:
        talk.now += 1
        return talk.answer(f"!ratings {order}", race, moderator=True, posted_at=NOON.timestamp())

    assert said(replace(FINISHED, custom_goal=True)) == Texts().not_counted
    steps, event = week_one(talk)
    steps.add_room(event, NAME, RESULT)
    talk.follower.settler.boards.refresh()
    assert said() == IN_EVENT
    steps.close(event)
    assert said() == Texts().event_closed.format(event="Week 1", open=Count(False))
    assert not orders.is_skipped(talk.ledger, NAME)


def test_a_room_that_the_operator_adds_after_its_announcement_is_told_what_that_means(talk: Talk) -> None:
    steps, event = week_one(talk)
    talk.follower.announce(RESULT)
    steps.add_room(event, NAME, RESULT)
    talk.follower.work.tell_of_event(NAME)
    assert talk.follower.deliver() == withdrawals(talk) == [IN_EVENT]


def test_an_order_about_an_event_that_was_carried_out_is_not_repeated(talk: Talk) -> None:
    steps, event = week_one(talk)
    line = talk.line("!ratings event Week 1", moderator=True, posted_at=NOON.timestamp())
    history = ChatHistory((line,), NOON.timestamp() + 600)
    assert talk.commands.of_history(history, None, is_first=True) == [line]
    order = existing(existing(talk.commands.parse(line, FINISHED)).order)
    talk.commands.orders.carry_out(order, FINISHED)
    replace(steps, now=NOON + timedelta(minutes=5)).remove(event, [NAME])
    talk.commands.orders.carry_out(order, FINISHED)
    assert talk.ledger.events.rooms() == {}


@pytest.mark.parametrize(
    ("text", "race", "seconds"),
    [
        ("Week 2", FINISHED, 0),
        ("Week 1", replace(FINISHED, started_at=NOON + timedelta(hours=2)), 0),
        ("Week 1", replace(FINISHED, category="other"), 0),
        ("Week 1", FINISHED, -1),  # refused then, and read again after a restart
    ],
)
def test_a_room_can_only_join_an_open_event_that_takes_it(
    talk: Talk, text: str, race: Race, seconds: int
) -> None:
    week_one(talk)
    at = {"moderator": True, "posted_at": NOON.timestamp() + seconds}
    assert talk.say(f"!ratings event {text}", race, **at) == UNKNOWN  # type: ignore[arg-type]
    assert talk.ledger.events.rooms() == {}


def test_a_room_belongs_to_one_event(talk: Talk) -> None:
    steps, event = week_one(talk)
    other = steps.create("Other", talk.ledger.leaderboards.all()[0], event.until)
    steps.add_room(other, NAME, None)
    at = {"moderator": True, "posted_at": NOON.timestamp() + 1}
    talk.follower.work.tell_of_event(NAME)
    assert talk.follower.deliver() == [Texts().in_event.format(event="Other")]
    assert talk.say("!ratings event Week 1", **at) == TAKEN  # type: ignore[arg-type]
    assert talk.say("!ratings event Other", **at) is None, "it knows already"  # type: ignore[arg-type]
    assert talk.follower.waiting() == []


def test_questions_in_a_room_of_an_event_are_about_its_leaderboard(ledger: Ledger, clock: Clock) -> None:
    league = LeaderboardConfig("elo-ffa", name="Cup", rule=RoomRule(custom_goals=("Cup*",), finished=True))
    talk = Talk(ledger, clock, named=(league,))
    talk.follower.frame(seen(result("earlier", "ann bo")))
    steps = EventSteps(talk.follower.settler, NOON)
    event = steps.create("Week 1", league.leaderboard(CATEGORY, ""), NOON)
    steps.add_room(event, NAME, RESULT)
    talk.follower.work.tell_of_event(NAME)
    assert talk.answer("!rating").startswith("Ann is new"), "before the first race of the cup"
    steps.close(event)
    for n in range(2):
        talk.follower.frame(seen(result(f"r{n}", "ann bo", after=n)))
    assert "1 race" in talk.answer("!rating"), "although the other leaderboard was raced last"


def test_a_quiet_room_hears_of_its_event_only_if_asked(talk: Talk) -> None:
    steps, event = week_one(talk)
    talk.say("!ratings off", moderator=True)
    steps.add_room(event, NAME, None)
    talk.follower.work.tell_of_event(NAME)
    assert talk.follower.waiting() == []


@pytest.mark.parametrize("has_raced", [True, False])
def test_players_can_take_their_name_off_the_lists_and_messages(talk: Talk, *, has_raced: bool) -> None:
    talk.follower.read(seen(result("earlier", "bo ann" if has_raced else "bo cy")))
    assert talk.say("!ratings hide me!") == HIDDEN
    talk.follower.show_final(RESULT)
    (text,) = talk.follower.waiting()
    assert "Bo" in text
    assert "Ann" not in text
    assert "Ann" not in talk.answer("!leaderboard")
    assert talk.say("!ratings show me") == SHOWN
    assert not talk.ledger.people.is_hidden("id-ann")
    assert ("Ann" in talk.answer("!leaderboard")) is has_raced


def test_a_correction_does_not_name_a_hidden_player(talk: Talk) -> None:
    talk.follower.read(seen(result("earlier", "bo ann")))
    talk.say("!ratings hide me")
    ann, bo = RESULT.entrants
    edited = replace(RESULT, entrants=(replace(ann, status=EntrantStatus.DQ), bo))
    texts = talk.follower.announce(RESULT) + talk.follower.announce(edited)
    assert len(texts) == 2
    assert not any("Ann" in text for text in texts)


@pytest.mark.parametrize("command", ["!rating ann", "!why ann", "!vs ann"])
def test_only_hidden_players_themselves_get_answers_about_them(talk: Talk, command: str) -> None:
    talk.follower.read(seen(result("earlier", "bo ann cy")))
    talk.say("!ratings hide me")
    assert talk.say(command, **CY) == Texts().player_hidden
    assert talk.answer(command) != Texts().player_hidden


@pytest.mark.parametrize("command", ["!why", "!rating anne"])
def test_a_hidden_player_is_no_named_opponent_and_not_suggested_for_a_typo(talk: Talk, command: str) -> None:
    talk.follower.read(seen(result("earlier", "bo ann")))
    assert "Ann" in talk.answer(command, **BO)
    talk.say("!ratings hide me")
    answer = spaced(talk.answer(command, **BO))
    assert ("Ann" in answer, Texts().hidden_name in answer) == (False, command == "!why")


def test_odds_leave_hidden_players_out(talk: Talk) -> None:
    talk.follower.read(seen(result("earlier", "ann bo cy")))
    three = open_room("ann bo cy")
    before = entries(talk.answer("!odds", three))
    talk.say("!ratings hide me")
    others = [entry for entry in before if not entry.startswith("Ann")]
    assert entries(talk.answer("!odds", three)) == others
    assert talk.say("!odds", open_room("ann bo")) == Texts().odds_none.format(counts=Count(True))


def test_players_cannot_show_a_name_that_the_operator_hid_but_may_wish_for_it(talk: Talk) -> None:
    talk.follower.read(seen(result("earlier", "bo ann")))
    settler, ann = talk.follower.settler, talk.ledger.players.find("Ann")
    refused = Texts().hidden_by_operator
    orders.hide(settler, ann, "offensive", NOON)
    assert [talk.say(f"!ratings {order} me") for order in ("show", "hide")] == [refused, refused]
    assert talk.ledger.people.is_hidden("id-ann")
    orders.unhide(settler, ann, "", NOON)
    assert talk.ledger.people.is_hidden("id-ann"), "as the player wishes"
    assert talk.say("!ratings show me") == SHOWN
    assert not talk.ledger.people.is_hidden("id-ann")
