"""Writes announcements, corrections and withdrawals into the outbox, inside the caller's transaction.

The outbox also says what chat was told: nothing else stores it.
"""

import hashlib
import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from racebot.chat import info_box, rating_message
from racebot.chat.links import race_page, rating_buttons
from racebot.chat.rating_message import race_scores
from racebot.ledger.orders import Order, OrderKind
from racebot.ledger.outbox import Body, ChatBody, Delivery, InfoBody, Message, MetaBody, chat_messages
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import new_places
from racebot.queries.race import edits_between, facts_of
from racebot.queries.scores import league, scored
from racebot.queries.standings import listing_of
from racebot.races.result import RaceResult
from racebot.settings.model import Settings
from racebot.standings.settle import RatedRace
from racebot.text.format import Count, exact_time
from racebot.text.safe import plain

_SENT = {Delivery.SENT, Delivery.DELIVERED}
MARKED_PLACES = 20  # places of a leaderboard within which messages mark a player's move


class Told:
    """What a room's chat was told, from one reading of its outbox.

    `rows` are all of its messages, `sent` those about ratings that were sent, and `announced` those of them
    that announce a result and are not withdrawn. `has_changes` says whether they, or a repetition, show any.
    `queued_key` is the key of the last announcement that was not dropped; None if it is withdrawn.
    `is_withdrawn` says whether a withdrawal is queued after all changes.
    """

    def __init__(self, ledger: Ledger, race: str) -> None:
        self.rows = list(chat_messages(ledger.messages.of(race)))
        self.sent, self.announced = list[ChatBody](), list[ChatBody]()
        self.queued_key: str | None = None
        self.has_changes = self.is_withdrawn = False
        for row, body in self.rows:
            if row.state is Delivery.DROPPED or body.notes:
                continue
            if row.state in _SENT:
                self.sent.append(body)
                self.announced += [body] if body.result is not None else []
                self.has_changes |= body.announces
            if body.withdraws or body.result is not None:
                self.queued_key = body.result
            if body.withdraws or body.announces:
                self.is_withdrawn = body.withdraws
            if body.withdraws and row.state in _SENT:
                self.announced, self.has_changes = [], False


@dataclass(frozen=True, slots=True)
class Announcements:
    """The announcements of all races, as the outbox holds them.

    `bot` is the bot's client id: two bots in one room must not send equal guids. None says nothing.
    """

    ledger: Ledger
    clock: Callable[[], datetime]
    settings: Settings
    bot: str | None

    def announce(self, rated: Sequence[RatedRace], *, settled: bool = False) -> str | None:
        """Queue the changes of a finished race, or a correction of those that chat was told.

        `settled`: they count already, without a record. Waiting messages that this one replaces are dropped.
        Returns `announcement` or `correction` if one is needed, otherwise None.
        """
        result, key = rated[0].result, self.key(rated)
        told = Told(self.ledger, result.name)
        if told.queued_key == key:
            return None
        self.drop_waiting(result.name, "the result changed")
        if told.announced and told.announced[-1].result == key:
            if [row.state for row, body in told.rows if body.result == key][-1] in _SENT:
                return None
            told.announced = []  # a part of it was dropped
        return self._put_announcement(rated, told, key, settled=settled)

    def announce_again(self, rated: Sequence[RatedRace]) -> None:
        """Queue a correction if points in an announcement were wrong from the start."""
        key = self.key(rated)
        if rated and (told := Told(self.ledger, rated[0].result.name)).queued_key == key:
            self.drop_waiting(rated[0].result.name, "the ratings were corrected")
            self._put_announcement(rated, told, key)

    def _put_announcement(
        self, rated: Sequence[RatedRace], told: Told, key: str, *, settled: bool = False
    ) -> str | None:
        """Queue a correction of the last announcement, or the first one."""
        result = rated[0].result
        if not told.announced:
            body = ChatBody("", result=key)
            return "announcement" if self._put_changes(rated, body, settled=settled) else None
        last = told.announced[-1]
        edits = edits_between(last.told, facts_of(result))
        named = [self._shown(each, settled=settled) for each in rated if each.changes]
        entries = rating_message.entries(named, self.settings.texts)
        if not edits and list(entries.values()) == list(last.entries.values()):
            return None
        number = 1 + max(body.correction for _, body in told.rows)
        body = ChatBody("", result=key, correction=number, edits=tuple(edits))
        return "correction" if self._put_changes(rated, body, last.entries, settled=settled) else None

    def key(self, rated: Sequence[RatedRace]) -> str:
        """Return a key that changes if the result behind an announcement changes.

        Points are left out: another race settled in the meantime changes them, which needs no correction. So
        are the names and order of leaderboards, which the site can change. Times count where they are scored.
        """
        facts: list[object] = [(r.note, [(c.player, c.place) for c in r.changes]) for r in rated]
        facts += [
            sorted(facts_of(r.result).items())
            for r in rated
            if listing_of(self.settings, r.leaderboard).scoring
        ]
        return hashlib.sha256("\n".join(sorted(map(json.dumps, facts))).encode()).hexdigest()[:16]

    def post(
        self, result: RaceResult, rated: Sequence[RatedRace], *, settled: bool = False, is_new: bool = True
    ) -> None:
        """Queue a race's message on Discord, if it has changes and `is_new`, or an edit of a queued one."""
        changed = [each for each in rated if each.changes]
        moves = None if settled else {each.leaderboard.name: self._shown(each).moves for each in changed}
        webhooks = [self.settings.webhook_of(each.leaderboard) for each in changed if is_new]
        self.ledger.posts.put(result, filter(None, webhooks), moves)

    def repeat(self, rated: Sequence[RatedRace], ordered_in: str) -> bool:
        """Queue the changes of a finished race once more. Return False if there are none.

        `ordered_in` is the id of the chat message that ordered it. The same order queues nothing twice.
        """
        return self._put_changes(rated, ChatBody(""), seed=f"order:{ordered_in}")

    def tell_of_event(self, room: str, step: Order) -> None:
        """Queue, once each, what a step of an event means for a room."""
        texts, seed = self.settings.texts, f"{step.subject}:{room}:{step.kind}:{exact_time(step.given_at)}"
        event, told, text = self.ledger.events.get(step.subject), Told(self.ledger, room), ""
        if step.kind is OrderKind.EVENT_REMOVE:
            text = texts.event_left if any(body.notes or body.withdraws for _, body in told.rows) else ""
        elif event is not None:
            is_closed = step.kind is OrderKind.EVENT_CLOSE
            was_closed = is_closed or step.kind is OrderKind.EVENT_REOPEN
            template = texts.event_closed if was_closed else texts.in_event
            text = template.format(event=plain(event.title), open=Count(not is_closed))
            if not is_closed:
                seed += str(sum(body.result is not None for body in told.sent) or "")  # new changes
            elif page := race_page(self.settings, event.name):
                text = texts.separator.join(filter(None, [text, texts.link.format(url=page)]))
        if text:
            self._put(room, ChatBody(text, withdraws=told.has_changes, notes=not told.has_changes), seed)

    def withdraw(self, race: str, reason: str | None = None) -> bool:
        """Queue the withdrawal of changes that chat was told. Return False if there are none.

        `reason` replaces the text for a race that is not recorded; nothing is said if it is empty.
        """
        reason = self.settings.texts.withdrawn if reason is None else reason
        told = Told(self.ledger, race)
        if not (reason and told.has_changes) or told.is_withdrawn:
            return False
        self._put(race, ChatBody(reason, withdraws=True))
        return True

    def drop_waiting(self, race: str, reason: str) -> None:
        """Drop a room's unsent chat messages."""
        self.ledger.messages.drop_waiting(race, "chat", self.clock(), reason)

    def drop_unbegun(self, race: str, reason: str) -> None:
        """Drop a room's unsent chat messages, except the rest of a half-sent announcement."""
        told = Told(self.ledger, race)
        begun = {body.correction for body in told.announced}
        for row, body in told.rows:
            is_rest = body.result is not None and body.correction in begun
            if row.state is Delivery.WAITING and not is_rest:
                self.ledger.messages.mark(row, Delivery.DROPPED, self.clock(), reason)

    def publish(self, race: str, rated: Sequence[RatedRace]) -> None:
        """Queue the messages that publish a settled race: its `bot_meta`, and its info box if wanted.

        A race that counted and does not any more replaces them.
        """
        texts = self.settings.texts
        boards = [self._shown(each, settled=True) for each in rated if each.changes]
        kinds = {each.message.kind for each in self.ledger.messages.of(race)}
        if self.bot is None or not (boards or "meta" in kinds):
            return
        self._put(race, MetaBody(tuple(map(info_box.meta_entry, boards))))
        if texts.info and (boards or "info" in kinds):
            page = race_page(self.settings, race)
            blocks = [info_box.info_block(each, texts, page) for each in boards]
            self._put(race, InfoBody(tuple(blocks or [texts.not_counted])))

    def _shown(self, rated: RatedRace, *, settled: bool = False) -> RatedRace:
        return shown_race(self.ledger, self.settings, rated, settled=settled)

    def _put_changes(
        self,
        rated: Sequence[RatedRace],
        body: ChatBody,
        announced: rating_message.Entries | None = None,
        *,
        seed: str | None = None,
        settled: bool = False,
    ) -> bool:
        """Queue the changes as messages like `body`, and return whether there are any.

        A correction lists the entries that differ from `announced`.
        """
        result, texts = rated[0].result, self.settings.texts
        rated = [self._shown(each, settled=settled) for each in rated]
        if body.correction:
            parts = rating_message.correction(rated, announced or {}, body.edits, texts)
        else:
            parts = rating_message.announcement(rated, texts, settled=settled)
        for each in rated:
            parts += self._race_scores(each)
        changed = [each for each in rated if each.changes]
        for number, text in enumerate(parts, start=1):
            part, is_last = replace(body, text=text, announces=bool(changed)), number == len(parts)
            if is_last and body.result is not None:
                part = replace(part, told=facts_of(result))
            if is_last and changed:
                entries = rating_message.entries(changed, texts)
                buttons = rating_buttons(self.settings, self.ledger, changed[0].leaderboard, result.name)
                part = replace(part, entries=entries, buttons=buttons)
            self._put(result.name, part, seed and f"{seed}:{number}")
        return bool(parts)

    def _race_scores(self, rated: RatedRace) -> list[str]:
        board, rules = rated.leaderboard, listing_of(self.settings, rated.leaderboard).scoring
        race = scored(board, rated.result, rules, rated.note)
        if rules is None or race is None:
            return []
        number = len(league(self.ledger, board, rules, rated.result, before=rated.result.name).races)
        return race_scores(race, board.name, number, self.settings.texts, self.ledger.people.hidden())

    def _put(self, race: str, body: Body, seed: str | None = None) -> None:
        """Queue a message with a guid made from a seed; None for a new guid, even for a repeated text."""
        if self.bot is None:
            return
        if seed is None:
            seed = f"{race}:{len(self.ledger.messages.of(race))}:{self.clock().isoformat()}"
        guid = uuid.uuid5(uuid.NAMESPACE_URL, f"racebot:{self.bot}:{seed}")
        self.ledger.messages.put(Message(race, race.partition("/")[0], str(guid), body), self.clock())


def shown_race(ledger: Ledger, settings: Settings, rated: RatedRace, *, settled: bool) -> RatedRace:
    """Return what messages show of a race: no hidden players, and new places.

    If it is settled, the standings include the race already, and new places are not known.
    """
    board, hidden = rated.leaderboard, ledger.people.hidden()
    listing = listing_of(settings, board)
    places = {} if settled else new_places(ledger, board, listing, rated.result.ended_at, rated.changes)
    moves = {
        player: new if new < old else -new
        for player, (old, new) in places.items()
        if old is not None and new != old and new <= MARKED_PLACES
    }
    return replace(
        rated,
        result=ledger.people.masked(rated.result, settings.texts.hidden_name),
        changes=tuple(each for each in rated.changes if each.player not in hidden),
        moves=moves,
    )
