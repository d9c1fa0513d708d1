"""The room's socket over a real connection on this machine, and what the sockets of a site share."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from http import HTTPStatus

import pytest
from builders import race_document
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response
from worker_support import PATIENCE

from racebot.errors import ConnectionLost
from racebot.racetime.client import Gate
from racebot.racetime.frames import (
    GET_HISTORY,
    GET_RACE,
    PING,
    PONG,
    Other,
    RaceUpdate,
    RoomSocket,
    Unreadable,
    join,
    message_action,
)

TOKEN = "token-of-the-bot-1"
Handler = Callable[[ServerConnection], Awaitable[None]]


@asynccontextmanager
async def room(handler: Handler) -> AsyncIterator[RoomSocket]:
    """Connect to a server that handles each connection with this function."""
    async with serve(handler, "127.0.0.1", 0, close_timeout=0.1) as server:
        port = server.sockets[0].getsockname()[1]
        async with asyncio.timeout(PATIENCE):
            async with join(f"http://127.0.0.1:{port}", "orb/r", TOKEN) as socket:
                yield socket


async def stay(connection: ServerConnection) -> None:
    await connection.wait_closed()


async def test_the_handshake_sends_the_token_and_names_the_bot() -> None:
    seen: list[tuple[str, str | None, str | None]] = []

    async def note(connection: ServerConnection) -> None:
        assert connection.request is not None
        headers = connection.request.headers
        seen.append((connection.request.path, headers.get("Authorization"), headers.get("User-Agent")))

    with pytest.raises(ConnectionLost):
        async with room(note) as socket:
            await socket.receive()
    ((path, authorization, agent),) = seen
    assert (path, authorization) == ("/ws/o/bot/r", f"Bearer {TOKEN}")
    assert str(agent).startswith("racebot/")


async def test_events_arrive_in_order() -> None:
    async def send(connection: ServerConnection) -> None:
        await connection.send(json.dumps({"type": "race.data", "race": race_document("r")}))
        await connection.send(json.dumps({"type": "race.renders", "renders": "x" * 3_000_000}))
        await connection.send(json.dumps({"type": "pong"}).encode())
        await stay(connection)

    async with room(send) as socket:
        event = await socket.receive()
        assert isinstance(event, RaceUpdate)
        assert event.race.name == "orb/r"
        assert await socket.receive() == Other("race.renders")
        assert await socket.receive() == PONG


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "{",
        '{"type": "race.data"}',
        "[]",
        "\x00",
        b"\xff\xfe",
        "[" * 100_000,
        '{"type": "race.data", "race": 5}',
        json.dumps({"type": "race.data", "race": race_document("other")}),
        '{"type": "pong", "values": [' + "{}," * 1_300_000 + "{}]}",
    ],
    ids=range(10),
)
async def test_unreadable_frame_is_reported_and_the_next_one_follows(frame: str | bytes) -> None:
    async def send(connection: ServerConnection) -> None:
        await connection.send(frame)
        await connection.send('{"type": "pong"}')
        await stay(connection)

    async with room(send) as socket:
        assert isinstance(await socket.receive(), Unreadable)
        assert await socket.receive() == PONG


async def test_receive_returns_none_after_its_timeout() -> None:
    waited = asyncio.Event()

    async def late(connection: ServerConnection) -> None:
        await waited.wait()
        await connection.send('{"type": "pong"}')
        await stay(connection)

    async with room(late) as socket:
        assert await socket.receive(0.01) is None
        assert await socket.receive(0) is None
        waited.set()
        assert await socket.receive(PATIENCE) == PONG, "and nothing was lost by it"


async def test_actions_have_the_sites_format() -> None:
    heard: asyncio.Queue[object] = asyncio.Queue()

    async def listen(connection: ServerConnection) -> None:
        async for frame in connection:
            heard.put_nowait(json.loads(frame))

    async with room(listen) as socket:
        buttons = {"Why?": {"message": "!why"}}
        await socket.send(message_action("gg · 漢字", "guid-1"))
        await socket.send(message_action("gg", "guid-2", buttons=buttons))
        await socket.send(GET_RACE)
        await socket.send(GET_HISTORY)
        await socket.send(PING)
        sent = [await heard.get() for _ in range(5)]
    full = {"message": "gg", "guid": "guid-2", "actions": buttons}
    assert sent == [
        {"action": "message", "data": {"message": "gg · 漢字", "guid": "guid-1"}},
        {"action": "message", "data": full},
        {"action": "getrace", "data": {}},
        {"action": "gethistory", "data": {}},
        {"action": "ping", "data": {}},
    ]


async def test_a_socket_that_closes_is_lost() -> None:
    async def leave(connection: ServerConnection) -> None:
        await connection.close(1001, "restart")

    async with room(leave) as socket:
        with pytest.raises(ConnectionLost, match=r"the socket closed .*restart"):
            await socket.receive(PATIENCE)
        with pytest.raises(ConnectionLost, match="the socket closed"):
            await socket.send(message_action("hi", "guid-1"))


async def test_a_socket_that_is_cut_off_is_lost() -> None:
    async def cut(connection: ServerConnection) -> None:
        connection.transport.abort()

    async with room(cut) as socket:
        with pytest.raises(ConnectionLost, match="no reason given"):
            await socket.receive(PATIENCE)


@asynccontextmanager
async def unknown_room() -> AsyncIterator[int]:
    async with serve(stay, "127.0.0.1", 0, process_request=lambda c, _: c.respond(404, "no")) as server:
        yield _port(server)


@asynccontextmanager
async def nobody() -> AsyncIterator[int]:
    async with serve(stay, "127.0.0.1", 0) as server:
        port = _port(server)
    yield port


@asynccontextmanager
async def mail_server() -> AsyncIterator[int]:
    async def hello(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(hello, "127.0.0.1", 0) as server:
        yield int(server.sockets[0].getsockname()[1])


@pytest.mark.parametrize("listener", [unknown_room, nobody, mail_server])
async def test_a_room_that_cannot_be_joined_is_a_lost_connection(
    listener: Callable[[], AbstractAsyncContextManager[int]],
) -> None:
    async with listener() as port:
        with pytest.raises(ConnectionLost, match="the room's socket cannot be opened") as lost:
            async with join(f"http://127.0.0.1:{port}", "orb/r", TOKEN):
                pass
    assert TOKEN not in f"{lost.value} {lost.value.__cause__}"


# What sockets share


class Rooms:
    """A server that counts how many handshakes run at once, and holds them until so many do."""

    def __init__(self, at_once: int = 1, *, refuses: bool = False) -> None:
        self.most = 0
        self._now = 0
        self._at_once = at_once
        self._enough = asyncio.Event()
        self._refuses = refuses

    async def _open(self, connection: ServerConnection, _: Request) -> Response | None:
        self._now += 1
        self.most = max(self.most, self._now)
        if self._now == self._at_once:
            self._enough.set()
        await self._enough.wait()
        await asyncio.sleep(0.02)  # in which others could begin
        self._now -= 1
        return connection.respond(HTTPStatus.BAD_GATEWAY, "") if self._refuses else None

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        async with serve(stay, "127.0.0.1", 0, process_request=self._open, close_timeout=0.1) as server:
            yield f"http://127.0.0.1:{_port(server)}"


def _port(server: Server) -> int:
    return int(server.sockets[0].getsockname()[1])


async def enter(stack: AsyncExitStack, url: str, gate: Gate) -> None:
    await stack.enter_async_context(join(url, "orb/r", TOKEN, gate))


@pytest.mark.parametrize("turns", [1, 3])
async def test_handshakes_are_limited_and_all_succeed(turns: int) -> None:
    rooms = Rooms(turns)
    async with rooms.serving() as url, AsyncExitStack() as stack:
        gate = Gate(turns)
        await asyncio.gather(*(enter(stack, url, gate) for _ in range(8)))
        assert rooms.most == turns


async def test_a_refused_handshake_frees_its_slot() -> None:
    rooms = Rooms(refuses=True)
    async with rooms.serving() as url, AsyncExitStack() as stack:
        gate = Gate(1)
        for _ in range(3):
            with pytest.raises(ConnectionLost):
                await enter(stack, url, gate)
        assert not gate.handshakes.locked()
