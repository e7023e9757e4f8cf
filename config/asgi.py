"""Sockets: `uvicorn config.asgi:application`. Agents hold their one connection here."""

import os

import django
from channels.routing import ProtocolTypeRouter, URLRouter

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
django.setup(set_prefix=False)

# Consumers load models, so Django must be up first.
from config.handlers import SocketHandler  # noqa: E402
from config.sockets import lifespan, websocket_urlpatterns  # noqa: E402

application = ProtocolTypeRouter(
    {"http": SocketHandler(), "websocket": URLRouter(websocket_urlpatterns), "lifespan": lifespan}
)
