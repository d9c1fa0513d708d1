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

    async def answer(request: Request) -> Response:
        webhook, number = str(request.path_params["webhook"]), request.path_params.get("message", "")
        body = await request.json() if request.method in {"POST", "PATCH"} else {}
        if webhook in site.deleted_webhooks:
            return JSONResponse({"message": "Unknown Webhook", "code": 10015}, 404)
        if number and site.discord.get(number, {}).get("webhook_id") != webhook:
            return JSONResponse({"message": "Unknown Message", "code": 10008}, 404)
        if request.method == "GET":
            return JSONResponse({"type": 1, "id": webhook, "name": "Results"})
        if request.method == "DELETE":
            del site.discord[number]
        elif problems := list(_problems(body)):
            return JSONResponse({"message": "Invalid Form Body", "code": 50035, "errors": problems}, 400)
        else:
            site.posts += not number
            new = {"id": number or f"{10**17 + site.posts}", "webhook_id": webhook}
            site.discord[new["id"]] = {**site.discord.get(number, {}), **new, **body}
            if number or request.query_params.get("wait") == "true":
                return JSONResponse(site.discord[new["id"]])
        return Response("", 204)

    webhook = "/api/webhooks/{webhook:int}/{token}"
    return [
        Route(webhook, answer, methods=["GET", "POST"]),
        Route(webhook + "/messages/{message}", answer, methods=["PATCH", "DELETE"]),
        Route("/discord", lambda _: HTMLResponse(page.discord(site))),
    ]


def _problems(body: dict[str, Any]) -> Iterator[str]:
    """Yield what is missing or exceeds Discord's limits. Bots here use no fields."""
    embeds = body.get("embeds", [])
    if not 0 < len(body.get("content", "")) + len(embeds) <= 2000 or len(embeds) > 10:
        yield "content"
    lengths = [(len(each.get("title", "")), len(each.get("description", ""))) for each in embeds]
    if any(title > 256 or text > 4096 for title, text in lengths) or sum(map(sum, lengths)) > 6000:
        yield "embeds"
