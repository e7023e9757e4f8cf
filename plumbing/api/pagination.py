"""Cursor paging: `?limit=` (at most 200), `?cursor=` from the last answer's `next`, `?sort=-created_at`."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError as DjangoValidationError
from django.db.models import Field, Model, Q, QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, inline_serializer
from rest_framework import exceptions, serializers

DEFAULT_LIMIT = 50
MAX_LIMIT = 200

PARAMETERS = [
    OpenApiParameter("limit", OpenApiTypes.INT, description=f"1 to {MAX_LIMIT}; {DEFAULT_LIMIT} if absent."),
    OpenApiParameter("cursor", OpenApiTypes.STR, description="`next` of the page before."),
    OpenApiParameter(
        "sort",
        OpenApiTypes.STR,
        description="A column, `-` for descending; as the list says if absent.",
    ),
]


def page_of(serializer_class: type[serializers.BaseSerializer[Any]]) -> Any:
    """The schema of a page, for `extend_schema(responses=..., parameters=pagination.PARAMETERS)`."""
    name = serializer_class.__name__.removesuffix("Serializer")
    fields: dict[str, Any] = {
        "items": serializer_class(many=True),
        "next": serializers.CharField(allow_null=True, help_text="Cursor of the next page; null on the last."),
    }
    return inline_serializer(name=f"{name}Page", fields=fields)


def _column(model: type[Model], name: str) -> Field[Any, Any]:
    field = model._meta.get_field(name)  # noqa: SLF001 - Django's documented Meta API
    if not isinstance(field, Field):
        raise TypeError(f"{name} is not a column of {model.__name__}")
    return field


_NO_CURSOR = (ValueError, TypeError, AttributeError, RecursionError, binascii.Error, DjangoValidationError)


@dataclass(frozen=True)
class Cursor:
    """Pages by value, never by offset: rows that appear or vanish shift nothing.

    `sorts` are the columns a caller may sort by; the primary key breaks ties.
    """

    sorts: Sequence[str] = ("created_at",)
    default: str = "-created_at"

    def page(self, queryset: QuerySet[Any], query: Mapping[str, str]) -> tuple[list[Any], str | None]:
        """(rows, cursor of the next page or None). Raises DRF's ValidationError for a bad limit, cursor or sort."""
        limit = self._limit(query.get("limit", ""))
        column, descending = self._sort(query.get("sort", ""))
        sign = "-" if descending else ""
        ordered = queryset.order_by(f"{sign}{column}", f"{sign}pk")
        if query.get("cursor"):
            ordered = self._after(ordered, query["cursor"], column=column, descending=descending)
        rows: list[Model] = list(ordered[: limit + 1])
        if len(rows) <= limit:
            return rows, None
        return rows[:limit], self._encode(rows[limit - 1], f"{sign}{column}", column)

    def _limit(self, text: str) -> int:
        if not text:
            return DEFAULT_LIMIT
        short = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_LIMIT))
        if not short or not 1 <= int(text) <= MAX_LIMIT:
            raise exceptions.ValidationError({"limit": [f"Give a whole number from 1 to {MAX_LIMIT}."]})
        return int(text)

    def _sort(self, text: str) -> tuple[str, bool]:
        text = text or self.default
        column = text.removeprefix("-")
        if column not in self.sorts:
            raise exceptions.ValidationError({"sort": [f"Sort by one of: {', '.join(self.sorts)}."]})
        return column, text.startswith("-")

    def _encode(self, row: Model, sort: str, column: str) -> str:
        value = _column(type(row), column).value_to_string(row)
        return base64.urlsafe_b64encode(json.dumps([sort, value, str(row.pk)]).encode()).decode().rstrip("=")

    def _after(self, queryset: QuerySet[Any], cursor: str, *, column: str, descending: bool) -> QuerySet[Any]:
        wrong = exceptions.ValidationError({"cursor": ["Use `next` of the page before, with the same sort."]})
        try:
            sort, text, key = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
            if not isinstance(text, str) or "\0" in text:
                raise wrong
            value = _column(queryset.model, column).to_python(text)
            identity = UUID(key)
            text.encode()  # half of a surrogate pair cannot be
        except _NO_CURSOR as error:
            raise wrong from error
        if sort != f"{'-' if descending else ''}{column}":
            raise wrong
        side = "lt" if descending else "gt"
        return queryset.filter(Q(**{f"{column}__{side}": value}) | Q(**{column: value, f"pk__{side}": identity}))
