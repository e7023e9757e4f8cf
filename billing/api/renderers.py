"""CSV on the wire."""

from __future__ import annotations

from rest_framework.renderers import JSONRenderer


class CsvRenderer(JSONRenderer):
    """Lets `Accept: text/csv` in. The view answers with the text itself; only a problem document is rendered here."""

    media_type = "text/csv"
    format = "csv"
