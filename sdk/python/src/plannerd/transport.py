"""Requests: their attempts, what they send, and what answers say besides their bodies."""

from __future__ import annotations

import contextlib
import json
import random
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, cast
from urllib.parse import quote

import httpx
from typing_extensions import Self, TypedDict

from plannerd.errors import NotModified, Refused
from plannerd.rows import ARROW, NDJSON, Rows

__all__ = ["Answer", "Call", "Retry", "Transport"]

JSON = "application/json"


@dataclass(frozen=True)
class Retry:
    """How calls are repeated.

    The time before the next attempt is drawn evenly from zero to a bound that doubles each time ("full
    jitter"), so that many clients whose server was away do not come back at once. Where the answer has
    Retry-After, that is waited for first. All times are in seconds.
    """

    #: How often a call is tried at most; 1: there are no retries.
    attempts: int = 5
    #: The bound of the first wait.
    base: float = 0.1
    #: What the bound grows to.
    cap: float = 5.0
    #: The longest Retry-After that is waited for; a call that is told to wait longer fails.
    patience: float = 30.0

    def wait(self, error: Exception, attempt: int) -> float | None:
        """How long to wait after an attempt, counted from 1, that failed; None: it is the last."""
        if attempt >= self.attempts:
            return None
        drawn = random.uniform(0, min(self.cap, self.base * 2.0 ** min(attempt - 1, 60)))
        if not isinstance(error, Refused):
            return drawn  # nobody knows whether the request came through
        if not error.temporary or error.retry_after > self.patience:
            return None
        return drawn + error.retry_after


@dataclass
class Answer:
    """What an answer says besides its body; a call that is given one as ``answer`` fills it in."""

    status: int = 0
    #: The validator of the representation, for ``if_match`` and ``if_none_match``.
    etag: str | None = None
    #: The name of the request in the server's log.
    request_id: str | None = None
    #: A request with the same Idempotency-Key has done this before.
    replayed: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)

    def _read(self, response: httpx.Response) -> None:
        self.status, self.headers = response.status_code, response.headers
        self.etag = response.headers.get("ETag")
        self.request_id = response.headers.get("X-Request-Id")
        self.replayed = response.headers.get("Idempotent-Replayed") == "true"


class Call(TypedDict, total=False):
    """What every call may be told."""

    answer: Answer
    #: For how many seconds the server may be silent. Defaults to the client's.
    timeout: float


@dataclass
class _Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    send: Callable[[], bytes | Iterator[bytes]]
    once: bool = False
    timeout: httpx.Timeout | None = None
    answer: Answer | None = None


#: Parameters of operations that are headers.
HEADERS = {"if_match": "If-Match", "if_none_match": "If-None-Match", "idempotency_key": "Idempotency-Key"}


class Transport:
    """Makes requests of one server. It may be used by several threads."""

    def __init__(
        self,
        address: str,
        *,
        token: str | Callable[[], str] | None = None,
        retry: Retry | None = None,
        timeout: float | None = None,
        http: httpx.Client | None = None,
        user_agent: str = "plannerd-python",
    ) -> None:
        """Return a client of the server at an address such as "https://plannerd:8443".

        :param address: It may have a path, below which the server is.
        :param token: The bearer token. A function is asked before each attempt, so that tokens can be exchanged.
        :param timeout: For how many seconds the server may be silent. By default it may think as long as it likes.
        :param http: Makes the requests, and is closed by its owner.
        :param user_agent: Names the program in the server's log.
        """
        url = httpx.URL(address)
        if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
            raise ValueError("the address must begin with http:// or https://, name a host and have no query")
        self._base = str(url).rstrip("/")
        self._token = token
        self._retry = retry or Retry()
        self._timeout = httpx.Timeout(timeout, connect=10.0)
        self._owned = http is None
        self._http = http or httpx.Client()
        self._user_agent = user_agent

    def close(self) -> None:
        """Close connections that are kept."""
        if self._owned:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _json(
        self,
        method: str,
        path: Sequence[object],
        parameters: Mapping[str, Any],
        request: object = None,
        media: Sequence[str] = (JSON,),
        keyed: bool = False,
    ) -> Any:
        return json.loads(self._call(method, path, parameters, request, media, keyed, JSON))

    def _bytes(
        self,
        method: str,
        path: Sequence[object],
        parameters: Mapping[str, Any],
        request: object = None,
        media: Sequence[str] = (JSON,),
        keyed: bool = False,
    ) -> bytes:
        return self._call(method, path, parameters, request, media, keyed, "*/*")

    def _call(
        self,
        method: str,
        path: Sequence[object],
        parameters: Mapping[str, Any],
        request: object,
        media: Sequence[str],
        keyed: bool,
        accept: str,
    ) -> bytes:
        """Make a call, again and again where that is safe and may help, and return the body of its answer."""
        made = self._made(method, path, parameters, keyed, accept)
        self._fill(made, request, media)
        attempt = 1
        while True:
            try:
                return self._attempt(made)
            except (httpx.UnsupportedProtocol, httpx.LocalProtocolError):
                raise
            except (Refused, httpx.TransportError) as error:
                if isinstance(error, Refused):
                    error.attempts = attempt
                wait = None if made.once else self._retry.wait(error, attempt)
                if wait is None:
                    raise
            time.sleep(wait)
            attempt += 1

    def _made(
        self, method: str, path: Sequence[object], parameters: Mapping[str, Any], keyed: bool, accept: str
    ) -> _Request:
        query, headers = {}, {"Accept": accept, "User-Agent": self._user_agent}
        if keyed:
            headers["Idempotency-Key"] = uuid.uuid4().hex
        for name, value in parameters.items():
            if name in HEADERS:
                headers[HEADERS[name]] = value
            elif name not in Call.__annotations__ and value is not None:
                query[name.rstrip("_")] = _text(value)
        made = _Request(method, "/" + "/".join(quote(str(s), safe="") for s in path), query, headers, bytes)
        made.answer = parameters.get("answer")
        if "timeout" in parameters:
            made.timeout = httpx.Timeout(parameters["timeout"])
        return made

    @staticmethod
    def _fill(made: _Request, request: object, media: Sequence[str]) -> None:
        """Add the body."""
        if request is None:
            return
        if not isinstance(request, Rows):
            made.headers["Content-Type"] = next(m for m in media if m.endswith("json") and m != NDJSON)
            content = json.dumps(request, allow_nan=False, ensure_ascii=False).encode()
            made.send = lambda: content
            return
        body = request.body(arrow=ARROW in media)
        made.send, made.once = body.make, body.once
        made.headers["Content-Type"] = body.content_type
        if body.content_encoding:
            made.headers["Content-Encoding"] = body.content_encoding
        if body.count:
            made.headers["Plannerd-Row-Count"] = str(body.count)
        if body.base64:
            made.query["key_encoding"] = "base64"

    def _attempt(self, made: _Request) -> bytes:
        headers = dict(made.headers)
        if self._token is not None:
            headers["Authorization"] = "Bearer " + (self._token if isinstance(self._token, str) else self._token())
        response = self._http.request(
            made.method,
            self._base + made.path,
            params=made.query,
            headers=headers,
            content=cast("bytes | Iterable[bytes]", made.send()),
            timeout=made.timeout or self._timeout,
        )
        if made.answer is not None:
            made.answer._read(response)
        if response.status_code == 304:
            raise NotModified(f"{made.method} {made.path}: not modified")
        if not response.is_success:
            raise refusal(made.method, made.path, response)
        return response.content


def _text(value: object) -> str:
    """Write a value as queries do."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join("null" if one is None else _text(one) for one in value)
    return str(value)


#: How much is shown of an answer that is none of the server's.
LONGEST_DETAIL = 200


def refusal(method: str, path: str, response: httpx.Response) -> Refused:
    """Read an answer that is an error."""
    members: dict[str, Any] = {}
    if response.headers.get("Content-Type", "").split(";")[0] == "application/problem+json":
        with contextlib.suppress(ValueError):
            members = response.json()
    return Refused(
        method=method,
        path=path,
        status=response.status_code,
        code=members.get("code", ""),
        detail=members.get("detail", "") if members else response.text.strip()[:LONGEST_DETAIL],
        errors=members.get("errors") or [],
        members=members,
        headers=response.headers,
        retry_after=_seconds(response.headers.get("Retry-After", "")),
    )


def _seconds(text: str) -> float:
    """Read a number of seconds, or a time of day."""
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0)
    except ValueError:
        return 0
