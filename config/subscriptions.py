"""Which tasks hear of which event. An event that nobody wants is listed with an empty list, so that it is no accident."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SUBSCRIPTIONS: dict[type[Any], Sequence[Any]] = {}
