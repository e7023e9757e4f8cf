"""REST and pages: `gunicorn config.wsgi:application`."""

import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
application = get_wsgi_application()
get_resolver().check()  # loads every view now, so that the first request does not wait for it
