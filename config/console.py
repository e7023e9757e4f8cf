"""The page of the web console: one HTML file that `make ui` built, with a new nonce in each answer.

Its scripts and styles lie under /ui/ and are served by WhiteNoise; every address that no room claims shows this page,
and the console finds the way from there.
"""

from __future__ import annotations

import secrets
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from config.pages import require_safe

PLACEHOLDER = "__CSP_NONCE__"  # as frontend/vite.config.ts writes it


def is_built() -> bool:
    return (settings.VXPU_UI_DIR / "index.html").is_file()


@cache
def _page(file: Path, version: int) -> str:  # noqa: ARG001 - a new build is read anew
    return file.read_text(encoding="utf-8")


def policy(nonce: str) -> str:
    """What the page may load: itself, and the sockets. Nothing inline without the nonce, nothing from elsewhere."""
    sockets = urlsplit(settings.VXPU_PUBLIC_SOCKET_URL)
    rules = {
        "default-src": "'none'",
        "script-src": f"'self' 'nonce-{nonce}'",
        "style-src": f"'self' 'nonce-{nonce}'",
        "img-src": "'self' data:",
        "font-src": "'self'",
        "connect-src": f"'self' {sockets.scheme}://{sockets.netloc}",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
        "form-action": "'self'",
    }
    return "; ".join(f"{name} {sources}" for name, sources in rules.items())


@require_safe
def console(request: HttpRequest) -> HttpResponse:
    """The console; where it was not built, one clear page that says so and how to build it."""
    if not is_built():
        context = {"web_url": settings.VXPU_WEB_URL, "is_missing": True}
        return render(request, "front.html", context, status=200 if request.path == "/" else 404)
    file = settings.VXPU_UI_DIR / "index.html"
    nonce = secrets.token_urlsafe(18)
    answer = HttpResponse(_page(file, file.stat().st_mtime_ns).replace(PLACEHOLDER, nonce))
    answer["Content-Security-Policy"] = policy(nonce)
    answer["Cache-Control"] = "no-store"
    return answer
