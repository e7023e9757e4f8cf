"""Input that is strict about what it takes."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


class WholeNumber(serializers.IntegerField):
    """A JSON integer: no text, no fraction, no true. Its range is the domain's matter."""

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, int) or isinstance(data, bool):
            self.fail("invalid")
        return data


def nullable(field: type[serializers.Field[Any, Any, Any, Any]], *args: Any, **kwargs: Any) -> Any:
    """An optional input whose absence and whose null mean the same."""
    return field(*args, required=False, allow_null=True, default=None, **kwargs)
