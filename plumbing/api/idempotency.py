"""Idempotency-Key: the effect and the stored answer commit together, so a repeat never does the work twice.

Three committed steps: (1) the key is claimed (a row of its own transaction, leased for a time longer than any request);
(2) one transaction holds the use case and the answer; (3) nothing else. A process killed in between leaves either a
claim, which the next try takes over once the lease is out, or the whole answer. An error gives the claim back:
nothing was stored, so the same key may try again.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import wraps
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.db.models import Q
from django.utils import timezone
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from plumbing import db
from plumbing.errors import DomainError
from plumbing.models import IdempotencyKey
from plumbing.principal import Principal
from vxpu.ids import new_uuid

log = logging.getLogger(__name__)

_CLAIM = """
INSERT INTO plumbing_idempotencykey
       (id, tenant_id, created_at, key, request_digest, attempt, leased_until, expires_at)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (tenant_id, key) DO NOTHING
"""
_KEEP = """
UPDATE plumbing_idempotencykey SET status = %s, body = %s WHERE id = %s AND attempt = %s AND status IS NULL
"""
HEADER = "Idempotency-Key"
MAX_KEY = 255


class KeyMissing(DomainError):
    code = "idempotency_key_missing"
    status = 400
    title = "This request needs an Idempotency-Key header."


class KeyReused(DomainError):
    code = "idempotency_key_reused"
    status = 422
    title = "The key was used for another request."


class InFlight(DomainError):
    code = "idempotency_in_flight"
    status = 409
    title = "The first request with this key is still running."


def idempotent(post: Callable[..., Response]) -> Callable[..., Response]:
    """Decorates a view's method. Inside, use cases join one transaction, which commits with the stored answer.

    Raises KeyMissing (400), KeyReused (422), InFlight (409 with Retry-After). A replay carries `Idempotency-Replayed`.
    Not for answers with a secret in them: they are stored for a day.
    """

    @wraps(post)
    def run(view: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        claim = _claim(request, now=timezone.now())
        if isinstance(claim, Response):
            return claim
        try:
            with db.door():
                response = post(view, request, *args, **kwargs)
                _store(claim, response)
        except BaseException:
            _give_back(claim)
            raise
        return response

    run.is_idempotent = True  # type: ignore[attr-defined]
    return run


def _read_key(request: Request) -> str:
    key = request.headers.get(HEADER, "")
    if not key or len(key) > MAX_KEY or not key.isascii() or not key.isprintable():
        raise KeyMissing(
            f"Send 1 to {MAX_KEY} printable ASCII characters in {HEADER}.",
            suggestion="Make a random key for each new request and repeat it when you repeat the request.",
        )
    return key


def _digest(request: Request, principal: Principal) -> bytes:
    """Who, method, address and body; key order and white space in the JSON do not matter."""
    body = json.dumps(request.data, sort_keys=True, separators=(",", ":"), default=str)
    line = f"{principal.user_id} {request.method} {request.get_full_path()}"
    return hashlib.sha256(f"{line}\n{body}".encode()).digest()


def _claim(request: Request, *, now: datetime) -> IdempotencyKey | Response:
    """A claim that is ours, or the stored answer."""
    principal = request.user
    if not isinstance(principal, Principal):
        raise TypeError("an idempotent door needs an authenticated caller")
    fresh = IdempotencyKey(
        tenant_id=principal.tenant_id,
        key=_read_key(request),
        request_digest=_digest(request, principal),
        attempt=new_uuid(),
        created_at=now,
        leased_until=now + timedelta(seconds=settings.VXPU_IDEMPOTENCY_LEASE_S),
        expires_at=now + settings.VXPU_IDEMPOTENCY_TTL,
    )
    if _insert(fresh):
        return fresh
    found = IdempotencyKey.objects.filter(tenant_id=fresh.tenant_id, key=fresh.key).first()
    if found is None:  # its owner gave it back between our two statements
        raise InFlight("It has just ended without an effect.", suggestion="Send it again.", retry_after_s=1)
    return _answer_or_take_over(found, fresh, now=now)


def _insert(fresh: IdempotencyKey) -> bool:
    """Whether nobody has the key."""
    values: list[Any] = [
        fresh.pk, fresh.tenant_id, fresh.created_at, fresh.key, fresh.request_digest, fresh.attempt,
        fresh.leased_until, fresh.expires_at,
    ]  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, values)
        return bool(cursor.rowcount)


def _answer_or_take_over(found: IdempotencyKey, fresh: IdempotencyKey, *, now: datetime) -> IdempotencyKey | Response:
    if found.expires_at > now:
        if bytes(found.request_digest) != fresh.request_digest:
            raise KeyReused(
                "The caller, the address or the body differs.", suggestion="Use a new key for a new request."
            )
        if found.body is not None:
            answer = Response(json.loads(found.body), status=found.status)
            answer["Idempotency-Replayed"] = "true"
            return answer
        if found.leased_until > now:
            raise InFlight("Its answer will be here soon.", suggestion="Send it again in a second.", retry_after_s=1)
    # The process behind the claim is dead, or the answer has expired: one of those who see it so gets the claim.
    won = IdempotencyKey.objects.filter(pk=found.pk, attempt=found.attempt).filter(
        Q(status__isnull=True) | Q(expires_at__lte=now)
    )
    taken = won.update(
        attempt=fresh.attempt, request_digest=fresh.request_digest, created_at=now, status=None, body=None,
        leased_until=fresh.leased_until, expires_at=fresh.expires_at,
    )  # fmt: skip
    if not taken:
        raise InFlight("Another repeat took it over.", suggestion="Send it again in a second.", retry_after_s=1)
    fresh.pk = found.pk
    return fresh


def _store(claim: IdempotencyKey, response: Response) -> None:
    """In the use case's transaction; if the claim was taken over meanwhile, everything rolls back."""
    body = JSONRenderer().render(response.data).decode() or "null"
    with connection.cursor() as cursor:
        cursor.execute(_KEEP, [response.status_code, body, claim.pk, claim.attempt])
        kept = cursor.rowcount
    if not kept:
        raise InFlight("A repeat overtook this request.", suggestion="Send it again in a second.", retry_after_s=1)


def _give_back(claim: IdempotencyKey) -> None:
    try:
        IdempotencyKey.objects.filter(pk=claim.pk, attempt=claim.attempt, status__isnull=True).delete()
    except (OperationalError, InterfaceError):  # the lease will run out instead
        log.warning("Could not give the key %s back", claim.pk, exc_info=True)


def purge(*, now: datetime) -> int:
    """Forget keys whose day is over; returns how many. For a periodic task."""
    return IdempotencyKey.objects.filter(expires_at__lte=now).delete()[0]
