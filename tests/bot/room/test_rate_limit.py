from racebot.bot.room.answers import ORDERS_PER_PERSON, WINDOW, Limiter


def test_answers_per_minute_are_limited_per_person_and_per_room() -> None:
    limiter = Limiter(per_person=2, per_room=3)
    assert [limiter.allows("r", "ann", now) for now in (0, 1, 2)] == [True, True, False]
    assert [limiter.allows("r", "bo", now) for now in (3, 4)] == [True, False], "the room has had three"
    assert limiter.allows("other", "bo", 4), "each room counts alone"
    assert not limiter.allows("r", "ann", WINDOW - 0.1)
    assert limiter.allows("r", "ann", WINDOW), "a minute after the first"


def test_the_limiter_forgets_what_is_older_than_its_window() -> None:
    limiter = Limiter(per_person=1, per_room=10**6)
    assert all(limiter.allows("r", str(person), person) for person in range(500))
    assert len(limiter.recent) <= 2 * WINDOW, "a person and the room, each second"


def test_orders_have_a_limit_of_their_own() -> None:
    limiter = Limiter(per_person=1, per_room=1)
    assert limiter.allows("r", "ann", 0)
    assert [limiter.allows_order("r", "ann", 0) for _ in range(100)].count(True) == ORDERS_PER_PERSON
    assert limiter.allows_order("r", "bo", 0), "each moderator counts alone"
    assert limiter.allows_order("r", "ann", WINDOW)


def test_a_player_is_told_once_in_a_window_that_answers_pause() -> None:
    limiter = Limiter(per_person=1, per_room=1)
    told = [limiter.tells("r", "ann", now) for now in (0, 1, WINDOW - 1, WINDOW)]
    assert told == [True, False, False, True]
    assert limiter.tells("r", "bo", 1)
