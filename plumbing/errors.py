"""One base for every error that a caller may see. Rooms subclass it with facts as names: DoesNotFit, LeaseLost."""

from __future__ import annotations

from typing import ClassVar


class DomainError(Exception):
    """A fact with a stable `code` and an HTTP `status`; `data` goes into the problem document beside them.

    `title` is one short sentence for people, the same for each error of the code; `detail` says what happened here;
    `suggestion` says what to do next.
    """

    code: ClassVar[str] = "unexpected"
    status: ClassVar[int] = 500
    title: ClassVar[str] = "Something went wrong."

    def __init__(self, detail: str = "", *, suggestion: str = "", **data: object) -> None:
        super().__init__(detail or self.title)
        self.detail = detail or self.title
        self.suggestion = suggestion
        self.data = data


class NotFound(DomainError):
    """Also the answer to another tenant's id."""

    code = "not_found"
    status = 404
    title = "There is no such object."


class Conflict(DomainError):
    """The object changed since it was read, or its state does not allow this."""

    code = "conflict"
    status = 409
    title = "The object is in another state."


class Invalid(DomainError):
    code = "invalid"
    status = 422
    title = "The request is well-formed but not possible."


class Forbidden(DomainError):
    code = "forbidden"
    status = 403
    title = "You may not do this."
