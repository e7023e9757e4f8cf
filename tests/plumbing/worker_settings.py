"""The test settings for a worker process: its subscriptions are those of tests/plumbing/chores.py."""

from __future__ import annotations

from config.settings.test import *  # noqa: F403 - Django's settings modules are layered this way

VXPU_SUBSCRIPTIONS = "tests.plumbing.chores.SUBSCRIPTIONS"
CELERY_IMPORTS = ["tests.plumbing.chores"]
