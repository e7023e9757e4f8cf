"""Which tasks hear of which event. One that nobody wants is listed with an empty list: no accident."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SUBSCRIPTIONS: dict[type[Any], Sequence[Any]] = {}
