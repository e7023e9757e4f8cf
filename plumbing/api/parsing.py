"""JSON as the house takes it: UTF-8 whatever the header says, and nothing that a column or a log could not hold."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import IO, Any, NoReturn

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

MAX_DEPTH = 32
_MAY_BE_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text[:20]} is not a number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _check_depth(value: object) -> None:
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        inside = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [item for items in inside for item in items]
        if not level:
            return
    raise ValueError(f"it is nested deeper than {MAX_DEPTH}")


def loads(body: bytes) -> Any:
    """Raises ValueError, also for NaN, 1e309, half of a surrogate pair and what is nested too deep."""
    try:
        value = json.loads(body.decode(), parse_float=_finite, parse_constant=_no_number)
    except RecursionError as error:
        raise ValueError(f"it is nested deeper than {MAX_DEPTH}") from error
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH:
        _check_depth(value)
    if _MAY_BE_SURROGATE.search(body):
        json.dumps(value, ensure_ascii=False).encode()
    return value


class StrictJSONParser(BaseParser):
    """The parser of every door."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,  # noqa: ARG002 - DRF's signature
        parser_context: Mapping[str, Any] | None = None,  # noqa: ARG002
    ) -> Any:
        """Raises ParseError (400), RequestDataTooBig (413)."""
        try:
            body = stream.read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
            if len(body) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
                raise RequestDataTooBig(f"A body has at most {settings.DATA_UPLOAD_MAX_MEMORY_SIZE} bytes.")
            return loads(body)
        except ValueError as error:
            raise ParseError(f"This is not JSON: {error}.") from error
