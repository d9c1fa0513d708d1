"""Check answers against the site."""

from __future__ import annotations

import asyncio
import re
from urllib.parse import urlsplit

from pydantic import SecretStr

from racebot.errors import CredentialsError, NotFoundError, RacebotError, SiteError
from racebot.racetime.client import Credentials, Site
from racebot.racetime.payload import Category

ATTEMPTS = 2


def find_category(site_url: str, answer: str) -> Category:
    """Return the category with this slug or address.

    Raises:
        RacebotError: there is no such category, or the site does not answer.
    """
    slug = urlsplit(answer).path.strip("/").partition("/")[0] if "://" in answer else answer.strip("/")
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", slug := slug.lower()):
        raise RacebotError(f"Type the end of the category's address, such as smr for {site_url}/smr.")

    async def fetch() -> Category:
        async with Site(site_url, attempts=ATTEMPTS) as site:
            return await site.category(slug)

    try:
        return asyncio.run(fetch())
    except NotFoundError:
        raise RacebotError(f"{site_url} has no category {slug!r}. Check the spelling.") from None
    except SiteError as error:
        raise _away(error) from None


def check_bot(site_url: str, slug: str, client_id: str, client_secret: SecretStr) -> None:
    """Check that these are the credentials of a bot of this category.

    Raises:
        RacebotError: they are not, or the site does not answer.
    """

    async def fetch() -> None:
        async with Site(site_url, attempts=ATTEMPTS) as site:
            try:
                token, _ = await site.token(Credentials(client_id, client_secret))
            except CredentialsError:
                raise RacebotError(
                    f"The site refuses this secret for client id {client_id!r}. Copy both again."
                ) from None
            try:
                await site.category(slug, token)
            except CredentialsError:
                raise RacebotError(
                    f"This bot belongs to another category. Ask an owner of {slug} to create one."
                ) from None

    try:
        asyncio.run(fetch())
    except SiteError as error:
        raise _away(error) from None


def _away(error: SiteError) -> RacebotError:
    return RacebotError(f"The site does not answer ({error}). Check the network and try again.")
