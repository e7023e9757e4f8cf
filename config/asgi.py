"""Sockets: `uvicorn config.asgi:application`. Agents hold their one connection here."""

import os

from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
http = get_asgi_application()

# Consumers load models, so Django must be up first.
from allocator.live import lifespan  # noqa: E402
from config.sockets import websocket_urlpatterns  # noqa: E402

application = ProtocolTypeRouter({"http": http, "websocket": URLRouter(websocket_urlpatterns), "lifespan": lifespan})
