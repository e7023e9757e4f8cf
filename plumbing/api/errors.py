"""Every error as one problem document (RFC 9457) with a stable code, a way on, and the request's id."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from psycopg_pool import PoolTimeout
from pydantic import BaseModel
from rest_framework import exceptions as drf
from rest_framework.response import Response
from rest_framework.utils import encoders, json
from rest_framework.views import set_rollback

from plumbing import errors
from plumbing.logs import request_id

log = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
TYPE_BASE = "/api/errors#"
BUSY_STATES = {"40001", "40P01", "55P03"}


class InvalidInput(errors.DomainError):
    """`errors` in the document names each field (a JSON pointer) and what is wrong with it."""

    code = "invalid_input"
    status = 400
    title = "Some of the input is not valid."


class MalformedRequest(errors.DomainError):
    code = "malformed_request"
    status = 400
    title = "The body cannot be read."


class NotAuthenticated(errors.DomainError):
    code = "not_authenticated"
    status = 401
    title = "A log-in or a valid token is needed."


class MethodNotAllowed(errors.DomainError):
    code = "method_not_allowed"
    status = 405
    title = "This address does not take that method."


class NotAcceptable(errors.DomainError):
    code = "not_acceptable"
    status = 406
    title = "The answer comes as JSON only."


class UnsupportedMediaType(errors.DomainError):
    code = "unsupported_media_type"
    status = 415
    title = "The body must be JSON."


class BodyTooLarge(errors.DomainError):
    code = "body_too_large"
    status = 413
    title = "The body is larger than any request needs."


class TooManyRequests(errors.DomainError):
    code = "too_many_requests"
    status = 429
    title = "Too many requests."


class Busy(errors.DomainError):
    """Another transaction was in the way; nothing was stored."""

    code = "busy"
    status = 503
    title = "Someone else changed the same things at the same moment."


class Unavailable(errors.DomainError):
    """The database cannot be reached."""

    code = "unavailable"
    status = 503
    title = "The service cannot reach its database."


_TRANSLATED: list[tuple[type[Exception], type[errors.DomainError], str]] = [
    (drf.NotAuthenticated, NotAuthenticated, "Log in, or send 'Authorization: Bearer vxp_pat_...'."),
    (drf.AuthenticationFailed, NotAuthenticated, "Check that the token is whole, not expired and not revoked."),
    (drf.ParseError, MalformedRequest, "Send one JSON object in UTF-8."),
    (drf.MethodNotAllowed, MethodNotAllowed, "See /api/docs for what this address takes."),
    (drf.NotAcceptable, NotAcceptable, "Send 'Accept: application/json'."),
    (drf.UnsupportedMediaType, UnsupportedMediaType, "Send 'Content-Type: application/json'."),
    (drf.Throttled, TooManyRequests, "Wait as long as Retry-After says."),
    (drf.PermissionDenied, errors.Forbidden, "Use a token with the scope that is named."),
    (PermissionDenied, errors.Forbidden, ""),
    (RequestDataTooBig, BodyTooLarge, "Send less in one request."),
    (SuspiciousOperation, MalformedRequest, "Check the address and the headers."),
    (drf.NotFound, errors.NotFound, "Check the id; ids of other tenants are not shown."),
    (Http404, errors.NotFound, "Check the address."),
]


# Errors whose own words are for the caller.
_SAYS_WHAT = (drf.APIException, RequestDataTooBig)


def _plain(value: object) -> object:
    """Frozen values of the rooms as JSON types."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return value


def document(error: errors.DomainError) -> dict[str, Any]:
    """The problem document; the error's `data` stands beside the standard members and cannot replace them."""
    own = {
        "type": f"{TYPE_BASE}{error.code}",
        "title": error.title,
        "status": error.status,
        "detail": error.detail,
        "code": error.code,
        "suggestion": error.suggestion,
        "request_id": request_id.get(),
    }
    return {**{key: _plain(value) for key, value in error.data.items()}, **own}


def _pointers(detail: Any, pointer: str = "") -> Iterator[dict[str, str]]:
    """DRF's nested details as a flat list of {pointer, code, detail}."""
    if isinstance(detail, Mapping):
        for key, value in detail.items():
            yield from _pointers(value, pointer if key == "non_field_errors" else f"{pointer}/{key}")
    elif isinstance(detail, list):
        for index, value in enumerate(detail):
            yield from _pointers(value, f"{pointer}/{index}" if isinstance(value, Mapping) and value else pointer)
    else:
        yield {"pointer": pointer, "code": getattr(detail, "code", "invalid"), "detail": str(detail)}


def _validation(error: drf.ValidationError) -> errors.DomainError:
    found = list(_pointers(error.detail))
    first = f"{found[0]['pointer'] or 'The body'}: {found[0]['detail']}" if found else ""
    return InvalidInput(first, suggestion="Correct the fields that `errors` names and send it again.", errors=found)


def _database(error: Exception) -> errors.DomainError:
    state = getattr(error.__cause__, "sqlstate", None)
    if state in BUSY_STATES:
        return Busy("Nothing was stored.", suggestion="Send the same request again.")
    log.error("Database unavailable: %s", error)
    return Unavailable("Nothing was stored.", suggestion="Send the same request again in a few seconds.")


def translate(error: Exception) -> errors.DomainError | None:
    """The domain's word for an error of the framework; None for one that is a fault of ours."""
    if isinstance(error, errors.DomainError):
        return error
    if isinstance(error, drf.ValidationError):
        return _validation(error)
    if isinstance(error, OperationalError | InterfaceError | PoolTimeout):
        return _database(error)
    for source, target, suggestion in _TRANSLATED:
        if isinstance(error, source):
            return target(str(error) if isinstance(error, _SAYS_WHAT) else "", suggestion=suggestion)
    return None


def handler(error: Exception, context: dict[str, Any]) -> Response | None:  # noqa: ARG001 - DRF's signature
    """DRF's exception handler. A fault of ours goes on to Django, which logs it; `server_error` below answers."""
    found = translate(error)
    if found is None:
        return None
    set_rollback()
    response = Response(document(found), status=found.status, content_type=CONTENT_TYPE)
    if found.status == 401:
        response["WWW-Authenticate"] = "Bearer"
    wait = found.data.get("retry_after_s", getattr(error, "wait", None))
    if wait is None and found.status == 503:
        wait = 1 if found.code == Busy.code else 5
    if wait is not None:
        response["Retry-After"] = str(max(1, round(float(str(wait)))))
    return response


def _plain_response(error: errors.DomainError) -> HttpResponse:
    body = json.dumps(document(error), cls=encoders.JSONEncoder)
    return HttpResponse(body, status=error.status, content_type=CONTENT_TYPE)


def _no_such_address() -> errors.DomainError:
    return errors.NotFound("No such address.", suggestion="See /api/docs.")


def no_such_address() -> bytes:
    """The document alone, for a server that is not Django's."""
    return json.dumps(document(_no_such_address()), cls=encoders.JSONEncoder).encode()


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001 - Django's signature
    """handler404 of the URL configuration."""
    return _plain_response(_no_such_address())


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001 - Django's signature
    """handler400 of the URL configuration: a host that is not ours, a body that is too large."""
    return _plain_response(translate(exception) or MalformedRequest(suggestion="Check the address and the headers."))


def wrong_method(allowed: str) -> HttpResponse:
    """For pages that are no REST doors."""
    answer = _plain_response(MethodNotAllowed(suggestion=f"It takes {allowed}."))
    answer["Allow"] = allowed
    return answer


def server_error(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - Django's signature
    """handler500 of the URL configuration: the detail is in the log, under the request's id."""
    return _plain_response(errors.DomainError("The fault is ours and is logged.", suggestion="Report the request id."))


def known_errors() -> list[type[errors.DomainError]]:
    """Every error class that is loaded, by code: the list at /api/errors is made from it."""

    def below(root: type[errors.DomainError]) -> Iterator[type[errors.DomainError]]:
        for child in root.__subclasses__():
            yield child
            yield from below(child)

    by_code: dict[str, type[errors.DomainError]] = {errors.DomainError.code: errors.DomainError}
    by_code.update((error.code, error) for error in below(errors.DomainError))
    return [by_code[code] for code in sorted(by_code)]
