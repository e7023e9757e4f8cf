"""CSV on the wire."""

from __future__ import annotations

import json
from typing import Any

from rest_framework.renderers import BaseRenderer


class CsvRenderer(BaseRenderer):
    """Text as it is; a problem document, which may come instead, as JSON."""

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"

    def render(self, data: Any, *_: Any, **__: Any) -> bytes:
        return (data if isinstance(data, str) else json.dumps(data)).encode()
