"""A deployment behind TLS. Secrets come from the environment; the owner's URL is given to the migration job only."""

from __future__ import annotations

from config.settings import _env
from config.settings.base import *  # noqa: F403 - Django's settings modules are layered this way
from config.settings.base import databases

SECRET_KEY = _env.text("DJANGO_SECRET_KEY")
ALLOWED_HOSTS = _env.words("DJANGO_ALLOWED_HOSTS", "")
DATABASES = databases(
    _env.text("DATABASE_URL"), _env.text("DATABASE_OWNER_URL", ""), pooled=_env.flag("VXPU_DB_POOL", default=True)
)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_SSL_REDIRECT = _env.flag("VXPU_SSL_REDIRECT", default=True)
SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
SECURE_HSTS_SECONDS = 31_536_000
