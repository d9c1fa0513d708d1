"""Discord's webhooks as far as bots use them, with its answers, limits and errors.

Source: https://docs.discord.com/developers/resources/webhook
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from racebot.sandbox import page
from racebot.sandbox.site import FakeSite


def routes(site: FakeSite) -> list[Route]:
    """Return the endpoints of webhooks. Every id is one, unless it is among the site's deleted ones."""
    messages = site.discord

    async def answer(request: Request) -> Response:
        webhook, number = str(request.path_params["webhook"]), request.path_params.get("message")
        body = await request.json() if request.method in {"POST", "PATCH"} else None
        if webhook in site.deleted_webhooks:
            return JSONResponse({"message": "Unknown Webhook", "code": 10015}, 404)
        if number is not None and messages.get(number, {}).get("webhook_id") != webhook:
            return JSONResponse({"message": "Unknown Message", "code": 10008}, 404)
        if request.method == "GET":
            return JSONResponse({"type": 1, "id": webhook, "name": "Results"})
        if body is None:
            del messages[str(number)]
            return Response("", 204)
        if problems := list(_problems(body)):
            return JSONResponse({"message": "Invalid Form Body", "code": 50035, "errors": problems}, 400)
        site.posts += number is None
        number = number or f"{10**17 + site.posts}"
        messages[number] = {**messages.get(number, {}), "id": number, "webhook_id": webhook, **body}
        waits = request.method == "PATCH" or request.query_params.get("wait") == "true"
        return JSONResponse(messages[number]) if waits else Response("", 204)

    webhook = "/api/webhooks/{webhook:int}/{token}"
    return [
        Route(webhook, answer, methods=["GET", "POST"]),
        Route(webhook + "/messages/{message}", answer, methods=["PATCH", "DELETE"]),
        Route("/discord", lambda _: HTMLResponse(page.discord(site))),
    ]


def _problems(body: dict[str, Any]) -> Iterator[str]:
    """Yield what is missing or exceeds Discord's limits."""
    embeds, total = body.get("embeds", []), 0
    if not 0 < len(body.get("content", "")) + len(embeds) <= 2000 or len(embeds) > 10:
        yield "content"
    for embed in embeds:
        fields = [len(each["name"] + each["value"]) for each in embed.get("fields", [])]
        title, text = len(embed.get("title", "")), len(embed.get("description", ""))
        total += title + text + sum(fields)
        if title > 256 or text > 4096 or len(fields) > 25 or max(fields, default=0) > 1280:
            yield "embeds"
    if total > 6000:
        yield "the length of all embeds"
