"""The sockets: a node's one outbound connection (heartbeats, pokes, programs), and a tenant's stream of a program."""

from __future__ import annotations

from typing import Any

from django.urls import path

from allocator.live.consumer import NodeConsumer
from allocator.live.exec_consumer import ExecConsumer
from allocator.live.hub import hub
from vxpu.wire.exec import STREAM_PATH
from vxpu.wire.node import SOCKET_PATH

__all__ = ["ExecConsumer", "NodeConsumer", "hub", "websocket_urlpatterns"]

# Django's types know views only; an ASGI route takes an ASGI application.
_nodes: Any = NodeConsumer.as_asgi()
_execs: Any = ExecConsumer.as_asgi()
websocket_urlpatterns = [path(SOCKET_PATH.lstrip("/"), _nodes), path(STREAM_PATH.lstrip("/"), _execs)]
