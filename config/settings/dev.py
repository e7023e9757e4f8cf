"""One machine: the launcher (`make run`, `make demo`) gives the addresses."""

from __future__ import annotations

from config.settings import _env
from config.settings.base import *  # noqa: F403 - Django's settings modules are layered this way
from config.settings.base import databases

DEBUG = _env.flag("DJANGO_DEBUG", default=False)
SECRET_KEY = _env.text("DJANGO_SECRET_KEY")
DATABASES = databases(
    _env.text("DATABASE_URL"), _env.text("DATABASE_OWNER_URL", ""), pooled=_env.flag("VXPU_DB_POOL", default=True)
)
