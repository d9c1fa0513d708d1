"""Pictures are fetched once, resized, and only from the site."""

import gzip
import io
import os
import time
from pathlib import Path

import httpx
import pytest
from builders import Streamed, backoff, existing
from PIL import Image

from racebot.bot import picture_fetcher
from racebot.bot.picture_fetcher import MOST_BYTES, SIZE, PictureFetcher
from racebot.errors import LedgerUnavailable
from racebot.ledger.pictures import RETRY_AFTER, Pictures, name_of

SITE = "https://site.example"
AVATAR = f"{SITE}/media/ann.png"


def picture(width: int = 300, height: int = 200, kind: str = "PNG", frames: int = 1) -> bytes:
    """A picture, or an animation whose first frame is teal."""
    file = io.BytesIO()
    first, *others = [Image.new("RGB", (width, height), (0, 128, 128 + 20 * n)) for n in range(frames)]
    first.save(file, kind, **({"save_all": True, "append_images": others} if others else {}))
    return file.getvalue()


class Host:
    """Answers requests for pictures, still encoded, and remembers them."""

    def __init__(
        self, content: bytes, kind: str = "image/png", status: int = 200, encoding: str | None = None
    ) -> None:
        self.content, self.status = content, status
        self.headers = {"Content-Type": kind, **({"Content-Encoding": encoding} if encoding else {})}
        self.asked: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(str(request.url))
        return httpx.Response(self.status, stream=httpx.ByteStream(self.content), headers=self.headers)


async def fetched(host: Host, pictures: Pictures, *addresses: str) -> None:
    async def wanted() -> list[str]:
        return list(addresses)

    await PictureFetcher(SITE, pictures, wanted, backoff(), transport=Streamed(host), pause=0).fetch()


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
    with Image.open(io.BytesIO(existing(pictures.read(name_of(AVATAR))))) as small:
        assert (small.size, small.format) == ((side, side), "WEBP")


OTHER = (
    "https://cdn.example.org/a.png http://site.example/a.png https://site.example:8443/a.png //10.0.0.7/a.png"
)


@pytest.mark.parametrize("address", [*OTHER.split(), "https://site.example@127.0.0.1/a.png"])
async def test_no_request_to_another_host_than_the_site(pictures: Pictures, address: str) -> None:
    host = Host(picture())
    await fetched(host, pictures, address)
    assert host.asked == []
    assert pictures.names() == frozenset()


async def test_malformed_addresses_do_not_stop_the_others(pictures: Pictures) -> None:
    malformed = ["https://a.b:99999/x", "https://a.b:x/y", "https://[/x", "https://a\x00b/x"]
    await fetched(Host(picture()), pictures, *malformed, AVATAR)
    assert pictures.names() == {name_of(AVATAR)}


async def test_only_the_first_frame_of_an_animation_is_kept(pictures: Pictures) -> None:
    await fetched(Host(picture(90, 90, "WEBP", frames=5), "image/webp"), pictures, AVATAR)
    with Image.open(io.BytesIO(pictures.read(name_of(AVATAR)) or b"")) as small:
        assert not getattr(small, "is_animated", False)
        color = small.convert("RGB").tobytes()[:3]
    assert all(abs(one - wanted) < 8 for one, wanted in zip(color, (0, 128, 128), strict=True))


async def test_failure_is_noted_before_a_picture_is_decoded(
    pictures: Pictures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a bot that a picture kills would fetch it again after each restart."""
    noted: list[bool] = []

    def decode(content: bytes, kind: str) -> bytes:
        noted.append(Pictures(tmp_path / "avatars").missing([AVATAR]) == [])
        return content

    monkeypatch.setattr(picture_fetcher, "resized", decode)
    await fetched(Host(picture()), pictures, AVATAR)
    assert noted == [True]
    assert [path.suffix for path in (tmp_path / "avatars").iterdir()] == [".webp"], "it went well"


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
        Host(gzip.compress(picture() + bytes(MOST_BYTES)), encoding="gzip"),
        Host(gzip.compress(gzip.compress(picture())), encoding="gzip, gzip"),
        Host(picture(2100, 2100)),
        Host(picture(2100, 2100, "WEBP", frames=2), "image/webp"),
    ],
)
async def test_unusable_picture_is_left_alone_for_a_day(pictures: Pictures, tmp_path, host: Host) -> None:
    host.asked.clear()
    for _ in range(2):
        await fetched(host, pictures, AVATAR)
    assert len(host.asked) == 1
    assert pictures.names() == frozenset()
    (failure,) = (tmp_path / "avatars").iterdir()
    yesterday = time.time() - RETRY_AFTER - 60
    os.utime(failure, (yesterday, yesterday))
    os.utime(tmp_path / "avatars", (0, 0))
    await fetched(host, pictures, AVATAR)
    assert len(host.asked) == 2
    assert pictures.version() == 0, "no picture was added or removed"


def test_a_picture_that_vanishes_meanwhile_does_not_hide_the_others(pictures: Pictures, tmp_path) -> None:
    pictures.store(AVATAR, b"picture")
    (tmp_path / "avatars" / "gone.webp").symlink_to(tmp_path / "nowhere")  # listed, but `stat` fails
    assert pictures.names() == {name_of(AVATAR)}


async def test_picture_that_nobody_shows_is_deleted(pictures: Pictures, tmp_path: Path) -> None:
    host = Host(picture())
    await fetched(host, pictures, AVATAR)
    os.utime(tmp_path / "avatars", (0, 0))
    before = pictures.version()
    await fetched(host, pictures, "/media/new.png")
    assert pictures.names() == {name_of("/media/new.png")}
    assert pictures.version() != before
