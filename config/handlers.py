"""Django's two handlers, with requests that are UTF-8 whatever their Content-Type says.

A charset may name any codec of Python's, `zip` too, and Django reads the query with it before any of our code runs.
"""

from __future__ import annotations

from typing import Any

from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest

_UTF_8: Any = property(lambda _: "utf-8", lambda _, given: None)  # noqa: ARG005 - a setter's signature


class WebRequest(WSGIRequest):
    encoding = _UTF_8


class WebHandler(WSGIHandler):
    request_class = WebRequest


class SocketRequest(ASGIRequest):
    encoding = _UTF_8


class SocketHandler(ASGIHandler):
    request_class = SocketRequest
