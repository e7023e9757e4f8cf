"""REST and pages: `gunicorn config.wsgi:application`."""

import os

import django
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
django.setup(set_prefix=False)

# The handler loads the middleware, so Django must be up first.
from config.handlers import WebHandler  # noqa: E402

application = WebHandler()
get_resolver().check()  # loads every view now, so that the first request does not wait for it
