"""The base of every REST door: it parses, makes one domain call and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from django.db.models import QuerySet
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from plumbing.api.pagination import Cursor
from plumbing.errors import NotFound
from plumbing.principal import Principal

_shapes: dict[str, BaseSerializer[Any]] = {}


def _shape_of(serializer_class: type[BaseSerializer[Any]]) -> BaseSerializer[Any]:
    """DRF copies every field of a serializer anew for each request; without data and context they keep no state."""
    name = f"{serializer_class.__module__}.{serializer_class.__qualname__}"
    found = _shapes.get(name)
    if type(found) is not serializer_class:  # also for a class that was made anew under the same name
        found = _shapes[name] = serializer_class()
    return found


def document_of(serializer_class: type[BaseSerializer[Any]], value: object) -> dict[str, Any]:
    """As `serializer_class(value).data`, for serializers that ask for no context."""
    return cast("dict[str, Any]", _shape_of(serializer_class).to_representation(value))


class DomainView(APIView):
    """Adds typed access to the caller, parsed input, and pages. Errors become problem documents by themselves."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """After who asks is known and may: a name that no column can hold is nobody's. Raises NotFound."""
        super().initial(request, *args, **kwargs)
        if any("\0" in str(part) for part in kwargs.values()):
            raise NotFound("There is no such name.")

    def principal(self, request: Request) -> Principal:
        """Who asks (`request.user`, typed)."""
        return cast("Principal", request.user)

    def parsed(self, request: Request, serializer_class: type[BaseSerializer[Any]]) -> dict[str, Any]:
        """The validated body; raises DRF's ValidationError (400 `invalid_input` with a pointer for each field)."""
        try:
            return cast("dict[str, Any]", _shape_of(serializer_class).run_validation(request.data))
        except ValidationError:  # once more, for the words that a caller gets
            serializer = serializer_class(data=request.data)
            serializer.is_valid(raise_exception=True)
            return cast("dict[str, Any]", serializer.validated_data)

    def parsed_query(self, request: Request, serializer_class: type[BaseSerializer[Any]]) -> dict[str, Any]:
        """The validated query string; raises as `parsed`."""
        serializer = serializer_class(data=request.query_params)
        serializer.is_valid(raise_exception=True)
        return cast("dict[str, Any]", serializer.validated_data)

    def page(
        self,
        request: Request,
        queryset: QuerySet[Any],
        serializer_class: type[BaseSerializer[Any]],
        *sorts: str,
        context: Mapping[str, Any] | None = None,
    ) -> Response:
        """One page of `queryset`, newest first unless `?sort=` names one of `sorts` (columns without NULLs).

        `context` is for the serializer.
        """
        rows, following = Cursor(sorts=("created_at", *sorts)).page(queryset, request.query_params)
        return Response(
            {"items": serializer_class(rows, many=True, context=dict(context or {})).data, "next": following}
        )
