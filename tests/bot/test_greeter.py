import pytest
from builders import entrant, seen
from worker_support import Sandbox, finish, said, settled, until

from racebot.sandbox.room import FakeRoom


@pytest.fixture
def sandbox(sandbox: Sandbox) -> Sandbox:
    sandbox.extra["RACEBOT_GREET"] = "true"
    return sandbox


@pytest.mark.parametrize(
    ("entered", "ready", "status", "greets"),
    [
        (0, 0, "open", False),
        (1, 1, "open", False),
        (1, 1, "pending", False),
        (2, 1, "open", False),
        (2, 2, "open", True),
        (12, 6, "open", False),
        (12, 7, "open", True),
        (12, 7, "invitational", True),
        (12, 0, "pending", True),
        (12, 12, "in_progress", False),
        (12, 12, "hidden", False),
    ],
)
def test_entrants_are_greeted_when_the_start_is_near(
    entered: int, ready: int, status: str, greets: bool
) -> None:
    field = tuple(entrant(f"racer-{n}") for n in range(entered))
    is_hidden = status == "hidden"
    race = seen(status="open" if is_hidden else status, entrants=field, ready=ready, hidden=is_hidden)
    assert race.starts_soon is greets


def gather(sandbox: Sandbox, count: int = 2) -> FakeRoom:
    """Open a room with entrants who are not ready."""
    room = sandbox.site.open_race()
    for user in [user for user in sandbox.site.users.values() if user is not sandbox.site.moderator][:count]:
        room.enter(user)
    return room


async def test_a_room_is_greeted_once_with_odds_and_a_link(sandbox: Sandbox) -> None:
    sandbox.extra["RACEBOT_PAGES_URL"] = "https://example.org"
    async with sandbox.worker():
        first = sandbox.open_race(3)  # all of them new
        await until(lambda: first.listeners)
        finish(first, 80, 85)
        await until(lambda: said(first))
        first.record()
        await until(lambda: settled(sandbox, first))
        room = gather(sandbox, 3)
        await until(lambda: room.listeners)
        await sandbox.look()
        assert said(room) == [], "no entrant is ready"
        for each in room.entrants[:2]:
            room.ready(each.user)
        await until(lambda: said(room))
        (greeting,) = said(room)
        for each in room.entrants:
            assert f"{each.user.name} " in greeting
        assert greeting.endswith("· https://example.org/leaderboards/sandbox/sandbox-100.html")
    async with sandbox.worker():
        await until(lambda: room.listeners)
        room.ready(room.entrants[2].user)
        room.count_down()
        await sandbox.look()
        assert said(room) == [greeting], "a restart repeats nothing"
