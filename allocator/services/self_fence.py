"""The agent closes its gates before we give its leases away: by which figures, and whether they hold.

The agent counts its authority from when it *asked* for the last answer that it got; we heard that question later. So
its gates are closed by `last heard + authority + margin`, whatever its clock says; the margin is for a late cycle and
for clocks that do not run at one rate. A verdict comes at `last heard + failure timeout` at the soonest.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core import checks

log = logging.getLogger(__name__)


def margin() -> timedelta:
    return timedelta(seconds=settings.VXPU_FENCE_MARGIN_S)


def comes_first() -> bool:
    """Whether authority + margin < failure timeout. If not, nothing is given up by itself: an operator may."""
    return bool(settings.VXPU_AUTHORITY_S + settings.VXPU_FENCE_MARGIN_S < settings.VXPU_FAILURE_TIMEOUT_S)


def check_settings(app_configs: Sequence[Any] | None, **unused: Any) -> list[checks.CheckMessage]:  # noqa: ARG001
    """At every start of `manage.py` and of a server."""
    if comes_first():
        return []
    return [
        checks.Warning(
            "An agent may keep its gates open until after its node is given up: nothing fails over by itself.",
            hint="Keep VXPU_AUTHORITY_S + VXPU_FENCE_MARGIN_S below VXPU_FAILURE_TIMEOUT_S.",
            id="allocator.W001",
        )
    ]
