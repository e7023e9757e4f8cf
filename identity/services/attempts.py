"""How often a log-in may go wrong: counted in Valkey for each account and for each address.

An attempt is counted before it is tried, so that a hundred at once do not pass together, and given back when it
succeeds. Without Valkey nothing is counted: an outage must not lock people out.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import redis
from django.conf import settings

from identity.errors import TooManyAttempts
from plumbing.live.valkey import valkey

log = logging.getLogger(__name__)

# Each counter: no more than its limit; answers the seconds to wait, or 0 after counting one more.
_COUNT = """
for i, key in ipairs(KEYS) do
  if tonumber(redis.call('GET', key) or '0') >= tonumber(ARGV[i + 1]) then
    return math.max(redis.call('TTL', key), 1)
  end
end
for i, key in ipairs(KEYS) do
  if redis.call('INCR', key) == 1 then redis.call('EXPIRE', key, ARGV[1]) end
end
return 0
"""
# The account starts anew; the address gets this one attempt back.
_GIVE_BACK = """
redis.call('DEL', KEYS[1])
if KEYS[2] and tonumber(redis.call('GET', KEYS[2]) or '0') > 0 then redis.call('DECR', KEYS[2]) end
"""


@dataclass
class Attempt:
    """Say `succeeded` when the log-in was right."""

    keys: list[str]

    def succeeded(self) -> None:
        try:
            valkey().eval(_GIVE_BACK, len(self.keys), *self.keys)
        except (redis.RedisError, OSError):
            log.warning("Log-ins are not counted: Valkey is away", exc_info=True)


@contextmanager
def counted(*, account: str, address: str | None) -> Iterator[Attempt]:
    """One attempt for `account` (any text that names it). Raises TooManyAttempts with `retry_after_s`."""
    named = {"account": account.casefold(), **({"address": address} if address else {})}
    limits = {"account": settings.VXPU_LOGIN_TRIES, "address": settings.VXPU_LOGIN_TRIES_PER_ADDRESS}
    # Digests: neither addresses nor mistyped passwords are to be read in Valkey.
    keys = [f"vxpu:login:{kind}:{hashlib.sha256(text.encode()).hexdigest()}" for kind, text in named.items()]
    try:
        wait_s = int(
            valkey().eval(_COUNT, len(keys), *keys, settings.VXPU_LOGIN_WINDOW_S, *[limits[kind] for kind in named])
        )
    except (redis.RedisError, OSError):
        log.warning("Log-ins are not counted: Valkey is away", exc_info=True)
        wait_s = 0
    if wait_s:
        raise TooManyAttempts(
            f"There were too many wrong log-ins; the next is taken in {wait_s} s.",
            suggestion="Wait, or log in with a token.",
            retry_after_s=wait_s,
        )
    yield Attempt(keys)
