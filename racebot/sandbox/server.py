"""Serve the sandbox: inside a running program, or until a signal."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from racebot.sandbox import scenario
from racebot.sandbox.endpoints import LIST_CACHE_SECONDS, RACE_CACHE_SECONDS, SandboxServer
from racebot.sandbox.misbehaviour import CutShort, Misbehaviour
from racebot.sandbox.site import CATEGORY, CLIENT_ID, CLIENT_SECRET, FakeSite

HOST = "127.0.0.1"


class _Socket(WebSocketsSansIOProtocol):
    """uvicorn's protocol, which can also break the connection in the middle of a frame."""

    async def send(self, message: Any) -> None:
        text = message.get("text")
        if isinstance(text, CutShort):
            self.conn.send_text(text.encode())
            data = b"".join(self.conn.data_to_send())
            self.transport.write(data[: len(data) // 2])
            self.transport.close()
        elif not self.transport.is_closing():
            await super().send(message)


class _Server(uvicorn.Server):
    """A uvicorn server that does not handle signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.asynccontextmanager
async def serve(
    site: FakeSite,
    *,
    port: int = 0,
    misbehaviour: Misbehaviour | None = None,
    list_cache: float = LIST_CACHE_SECONDS,
    race_cache: float = RACE_CACHE_SECONDS,
    certificate: Path | None = None,
) -> AsyncIterator[str]:
    """Serve a site inside a running program, and yield its address, such as `http://127.0.0.1:41234`.

    Port 0 takes any free port. `certificate` is a PEM file with certificate and key, and turns on TLS.

    Raises:
        OSError: the address is not available.
    """
    # Bind here, because uvicorn exits the program when it cannot bind.
    listener = socket.create_server((HOST, port))
    config = uvicorn.Config(
        SandboxServer(site, misbehaviour or Misbehaviour(), list_cache=list_cache, race_cache=race_cache),
        ws=_Socket,
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=2,
        ssl_certfile=certificate,
    )
    server = _Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        while not server.started and not running.done():  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.002)
        if running.done():
            running.result()
        yield f"{'https' if certificate else 'http'}://{HOST}:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running
        listener.close()


def run(
    port: int = 8000,
    *,
    category: str = CATEGORY,
    play: bool = False,
    custom_goal: str = "",
    tell: Callable[[str], None] = print,
) -> None:
    """Serve a sandbox until SIGINT or SIGTERM. Raise an `OSError` if the port is taken."""
    site = FakeSite(category=category)
    if not play:
        scenario.recruit(site, scenario.PLAYERS, site.rng)

    async def until_stopped() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):  # Windows, where Ctrl-C cancels this task
                asyncio.get_running_loop().add_signal_handler(number, stop.set)
        async with serve(site, port=port) as address:
            about = f"category {category}, client id {CLIENT_ID}, secret {CLIENT_SECRET}"
            tell(f"{address}/{category} - {about}")
            option = f' --league "{custom_goal}" --category {category}' if custom_goal else ""
            tell(f"in another terminal and folder: racebot setup --site {address}{option}")
            if play:
                playing = asyncio.create_task(scenario.play(site, site.rng, custom_goal=custom_goal))
            await stop.wait()
            if play:
                playing.cancel()

    asyncio.run(until_stopped())
