"""Pictures are fetched once, resized, and only from public hosts by https or from the site itself."""

from __future__ import annotations

import io
import os
import ssl
import time
from pathlib import Path

import httpx
import pytest
from PIL import Image

from racebot.bot.picture_fetcher import MOST_BYTES, SIZE, PictureFetcher
from racebot.errors import LedgerUnavailable
from racebot.ledger.pictures import RETRY_AFTER, Pictures, name_of
from racebot.racetime.gate import Gate

SITE = "https://site.example"
AVATAR = "https://cdn.example.org/ann.png"


def picture(width: int = 300, height: int = 200, kind: str = "PNG") -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height), "teal").save(file, kind)
    return file.getvalue()


class Host:
    """Answers requests for pictures, and remembers them."""

    def __init__(self, content: bytes, kind: str = "image/png", status: int = 200) -> None:
        self.content, self.kind, self.status = content, kind, status
        self.asked: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(str(request.url))
        return httpx.Response(self.status, content=self.content, headers={"Content-Type": self.kind})


async def fetched(host: Host, pictures: Pictures, *addresses: str) -> None:
    async def wanted() -> list[str]:
        return list(addresses)

    transport = httpx.MockTransport(host)
    await PictureFetcher(SITE, pictures, wanted, Gate(), transport=transport, pause=0).fetch()


@pytest.fixture
def pictures(tmp_path: Path) -> Pictures:
    return Pictures(tmp_path / "avatars")


@pytest.mark.parametrize("status", [200, 404])
async def test_folder_that_cannot_be_written_is_named(tmp_path: Path, status: int) -> None:
    (tmp_path / "avatars").touch()
    with pytest.raises(LedgerUnavailable, match=r"/avatars: .*: free space, or let racebot write there"):
        await fetched(Host(picture(), status=status), Pictures(tmp_path / "avatars"), AVATAR)


@pytest.mark.parametrize(("shape", "side"), [((300, 200), SIZE), ((100, 100), 100), ((64, 500), 64)])
async def test_picture_is_fetched_once_and_made_square_but_not_larger(
    pictures: Pictures, shape: tuple[int, int], side: int
) -> None:
    host = Host(picture(*shape))
    for _ in range(2):
        await fetched(host, pictures, AVATAR, "/media/bo.png")
    assert host.asked == [AVATAR, f"{SITE}/media/bo.png"]
    content = pictures.read(name_of(AVATAR))
    assert content is not None
    with Image.open(io.BytesIO(content)) as small:
        assert (small.size, small.format) == ((side, side), "WEBP")


@pytest.mark.parametrize(
    "address",
    [
        "http://cdn.example.org/a.png",
        "https://127.0.0.1/a.png",
        "https://[::1]/a.png",
        "https://10.0.0.7/a.png",
        "https://localhost/a.png",
        "https://cdn.example.org:8443/a.png",
        "//10.0.0.7/a.png",
    ],
)
async def test_no_request_to_a_private_or_plain_host(pictures: Pictures, address: str) -> None:
    host = Host(picture())
    await fetched(host, pictures, address)
    assert host.asked == []
    assert pictures.names() == frozenset()


@pytest.mark.parametrize(
    "host",
    [
        Host(b"<html>", "text/html"),
        Host(b"<svg/>", "image/svg+xml"),
        Host(b"no picture"),
        Host(picture(), "image/jpeg"),
        Host(picture(), status=404),
        Host(picture(), status=302),
        Host(b"\x89PNG" + bytes(MOST_BYTES)),
    ],
)
async def test_unusable_picture_is_left_alone_for_a_day(
    pictures: Pictures, tmp_path: Path, host: Host
) -> None:
    host.asked.clear()
    for _ in range(2):
        await fetched(host, pictures, AVATAR)
    assert len(host.asked) == 1
    assert pictures.names() == frozenset()
    (failure,) = (tmp_path / "avatars").iterdir()
    yesterday = time.time() - RETRY_AFTER - 60
    os.utime(failure, (yesterday, yesterday))
    await fetched(host, pictures, AVATAR)
    assert len(host.asked) == 2


async def test_picture_that_nobody_shows_is_deleted(pictures: Pictures, tmp_path: Path) -> None:
    host = Host(picture())
    await fetched(host, pictures, AVATAR)
    os.utime(tmp_path / "avatars", (0, 0))
    before = pictures.version()
    await fetched(host, pictures, "/media/new.png")
    assert pictures.names() == {name_of("/media/new.png")}
    assert pictures.version() != before


async def test_the_certificates_of_authorities_are_loaded_once(
    pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def wanted() -> list[str]:
        return ["http://not-allowed.example/ann.png"]

    gate = Gate()
    assert gate.tls is gate.tls
    monkeypatch.setattr(ssl, "create_default_context", pytest.fail)
    await PictureFetcher(SITE, pictures, wanted, gate, pause=0).fetch()
    assert pictures.missing(await wanted()) == []
