"""A usage batch, from the raw body to events. Bounded: a small body may not become a large one."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from allocator.errors import BadBatch, BatchTooLarge
from vxpu.wire.usage import MAX_BATCH, UsageEvent

MAX_BODY = 4 * 2**20
_EVENTS: TypeAdapter[list[UsageEvent]] = TypeAdapter(list[UsageEvent])


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One element of the batch: an event, or the `raw` element with the `reason` why it is none."""

    id: str
    event: UsageEvent | None
    raw: Any = None
    reason: str = ""


def inflate(body: bytes, encoding: str) -> bytes:
    """At most 4 MiB come out. Raises BatchTooLarge, BadBatch."""
    if encoding not in ("", "identity", "gzip"):
        raise BadBatch(f"Content-Encoding {encoding!r} is not known.", suggestion="Use gzip or none.")
    if len(body) > MAX_BODY:
        raise BatchTooLarge(f"At most {MAX_BODY} bytes.", suggestion="Send fewer events at once.")
    if encoding != "gzip":
        return body
    gunzip = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        plain = gunzip.decompress(body, MAX_BODY + 1)
    except zlib.error as error:
        raise BadBatch("The body is not gzip.") from error
    if len(plain) > MAX_BODY:
        raise BatchTooLarge(f"At most {MAX_BODY} bytes after decompression.", suggestion="Send fewer events at once.")
    if not gunzip.eof or gunzip.unused_data:
        raise BadBatch("The gzip stream is cut short or followed by something else.")
    return plain


def parse(body: bytes) -> list[Item]:
    """Events in order; an element that is no event becomes an Item with a reason. Raises BadBatch, BatchTooLarge."""
    try:
        events = _EVENTS.validate_json(body)
    except ValidationError:
        return _parse_one_by_one(body)
    _bounded(len(events))
    return [Item(id=event.id, event=event) for event in events]


def _bounded(number: int) -> None:
    if number > MAX_BATCH:
        raise BatchTooLarge(f"{number} events; at most {MAX_BATCH} a batch.", suggestion="Send fewer events at once.")


def _parse_one_by_one(body: bytes) -> list[Item]:
    try:
        elements = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadBatch("The body is not JSON.") from error
    if not isinstance(elements, list):
        raise BadBatch("The body is not a JSON array of events.")
    _bounded(len(elements))
    return [_item(index, element) for index, element in enumerate(elements)]


def _whole(text: str) -> str:
    """NUL and half of a surrogate pair cannot be stored; their escapes can."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()


def _storable(element: Any) -> Any:
    """The element, or its text where it holds what JSON has no word for (1e309, half a character)."""
    try:
        json.dumps(element, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        return ascii(element)[:4000]
    return element


def _item(index: int, element: Any) -> Item:
    identity = _whole(str(element.get("id", ""))[:128]) if isinstance(element, dict) else ""
    try:
        event = UsageEvent.model_validate_json(json.dumps(element))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        reason = _whole(f"{where}: {first['msg']}"[:180])[:200]
        return Item(id=identity or f"#{index}", event=None, raw=_storable(element), reason=reason)
    return Item(id=event.id, event=event)
