"""What the server refused, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["NotModified", "PlannerdError", "Refused"]


class PlannerdError(Exception):
    """All that this package raises itself. Failures of the network are httpx.TransportError."""


class NotModified(PlannerdError):
    """The representation is still the one that the caller has, by ``if_none_match``."""


@dataclass(eq=False)
class Refused(PlannerdError):
    """The server's answer is a problem (RFC 9457)."""

    method: str
    path: str
    status: int
    #: What was refused, a :data:`plannerd.wire.Code`; empty where something between server and client answered.
    code: str = ""
    detail: str = ""
    #: What of the request was wrong: each has a ``detail``, and a ``pointer``, ``parameter`` or ``line``.
    errors: list[dict[str, Any]] = field(default_factory=list)
    #: All members of the problem as they came.
    members: dict[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Seconds after which the server says to come again; 0: it does not.
    retry_after: float = 0
    #: How often the call was tried.
    attempts: int = 1

    @property
    def temporary(self) -> bool:
        """Whether the same request may succeed later, without anybody doing anything about it."""
        return self.status in (429, 502, 503, 504) or self.code == "idempotency_key_running"

    def __str__(self) -> str:
        text = f"{self.method} {self.path}: {self.status} {self.code}".rstrip()
        if self.detail:
            text += f": {self.detail}"
        for one in self.errors:
            line = f"line {one['line']}" if "line" in one else None
            where = [str(part) for part in (line, one.get("parameter"), one.get("pointer")) if part]
            text += "; " + " ".join([*where, str(one.get("detail", ""))])
        if "request_id" in self.members:
            text += f" (request {self.members['request_id']})"
        return text
