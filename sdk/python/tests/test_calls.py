"""Attempts, errors, conditions and pages, against answers that are made up."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import httpx
import pytest

from plannerd import Answer, Client, NotModified, PlannerdError, Refused, Retry, Rows, wire

Handler = Callable[[httpx.Request], httpx.Response]
QUICK = Retry(base=0.001, cap=0.002)


def client_of(handler: Handler, **more: Any) -> Client:
    return Client("http://test/base/", http=httpx.Client(transport=httpx.MockTransport(handler)), **more)


def problem(status: int, code: str, **members: Any) -> httpx.Response:
    headers = {"Content-Type": "application/problem+json; charset=utf-8"}
    if "retry_after" in members:
        headers["Retry-After"] = str(members.pop("retry_after"))
    return httpx.Response(status, headers=headers, content=json.dumps({"code": code, **members}))


class Script:
    """Answers one after the other; an exception is raised."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.bodies: list[bytes] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        self.bodies.append(request.read())
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.parametrize(
    "failure",
    [
        httpx.ConnectError("refused"),
        httpx.ReadError("reset"),
        httpx.RemoteProtocolError("cut"),
        problem(503, "overloaded", retry_after=0),
        problem(429, "over_budget"),
        problem(409, "idempotency_key_running"),
        httpx.Response(502, text="bad gateway"),
        httpx.Response(504),
    ],
)
def test_repeated(failure: httpx.Response | Exception) -> None:
    script = Script(failure, failure, httpx.Response(200, json={"id": "p1"}))
    plan = client_of(script, retry=QUICK).create_plan("o/1", {"interval": 3, "keys": []})
    assert plan["id"] == "p1"
    assert len({r.headers["Idempotency-Key"] for r in script.requests}) == 1
    assert len(set(script.bodies)) == 1
    assert {r.url.raw_path for r in script.requests} == {b"/base/v1/operators/o%2F1/plans"}


def test_each_call_has_another_idempotency_key() -> None:
    script = Script(*(httpx.Response(200, json={}) for _ in range(3)))
    client = client_of(script)
    client.commit_plan("p")
    client.commit_plan("p")
    client.commit_plan("p", idempotency_key="mine")
    keys = [r.headers["Idempotency-Key"] for r in script.requests]
    assert len(set(keys)) == 3
    assert keys[2] == "mine"


@pytest.mark.parametrize(
    ("failure", "attempts"),
    [
        (problem(409, "plan_in_flight"), 1),
        (problem(422, "invalid"), 1),
        (problem(500, "internal"), 1),
        (problem(503, "overloaded", retry_after=31), 1),
        (problem(503, "overloaded"), 5),
        (httpx.ConnectTimeout("late"), 5),
        (httpx.UnsupportedProtocol("no"), 1),
    ],
)
def test_how_often(failure: httpx.Response | Exception, attempts: int) -> None:
    script = Script(*[failure] * 9)
    with pytest.raises((Refused, httpx.TransportError)) as raised:
        client_of(script, retry=QUICK).get_plan("p")
    assert len(script.requests) == attempts
    if isinstance(raised.value, Refused):
        assert raised.value.attempts == attempts


def test_retry_after_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    script = Script(problem(503, "overloaded", retry_after=7), httpx.Response(200, json={}))
    client_of(script, retry=Retry(base=1)).get_plan("p")
    assert 7 <= waits[0] <= 8


def test_waits_are_drawn_up_to_a_bound_that_doubles() -> None:
    retry = Retry(attempts=100, base=1, cap=6)
    for attempt, bound in enumerate([1, 2, 4, 6, 6], start=1):
        drawn = [retry.wait(httpx.ReadError(""), attempt) or 0 for _ in range(400)]
        assert 0 <= min(drawn) < bound / 4
        assert bound * 3 / 4 < max(drawn) <= bound
    assert retry.wait(httpx.ReadError(""), 100) is None


def test_time_of_day_as_retry_after() -> None:
    date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 3600))
    script = Script(problem(503, "overloaded", retry_after=date))
    with pytest.raises(Refused) as raised:
        client_of(script).get_plan("p")
    assert 3500 < raised.value.retry_after <= 3600


def test_problem() -> None:
    script = Script(
        problem(
            422,
            "invalid",
            detail="2 errors",
            request_id="r-1",
            errors=[{"pointer": "/interval", "detail": "must be ≥ 0"}, {"line": 7, "parameter": "x", "detail": "odd"}],
            later=True,
        )
    )
    with pytest.raises(Refused) as raised:
        client_of(script).create_plan("o", {"interval": -1})
    error = raised.value
    assert (error.status, error.code, error.members["later"]) == (422, "invalid", True)
    assert str(error) == (
        "POST /v1/operators/o/plans: 422 invalid: 2 errors; /interval must be ≥ 0; line 7 x odd (request r-1)"
    )


def test_answer_of_something_between() -> None:
    with pytest.raises(Refused) as raised:
        client_of(Script(httpx.Response(403, text="<html>" + "x" * 1000))).get_plan("p")
    assert raised.value.code == ""
    assert len(raised.value.detail) == 200


def test_conditions() -> None:
    script = Script(
        httpx.Response(200, json={}, headers={"ETag": '"1"', "X-Request-Id": "r", "Idempotent-Replayed": "true"}),
        httpx.Response(304, headers={"ETag": '"1"'}),
        problem(412, "precondition_failed"),
    )
    client = client_of(script)
    answer = Answer()
    client.get_operator("o", answer=answer)
    assert (answer.status, answer.etag, answer.request_id, answer.replayed) == (200, '"1"', "r", True)
    assert answer.etag is not None
    with pytest.raises(NotModified):
        client.get_operator("o", if_none_match=answer.etag, answer=answer)
    assert answer.status == 304
    with pytest.raises(Refused, match="precondition_failed"):
        client.patch_operator("o", {"theta_max": None}, if_match='"1"')
    assert script.requests[1].headers["If-None-Match"] == '"1"'
    assert script.requests[2].headers["If-Match"] == '"1"'
    assert script.requests[2].headers["Content-Type"] == "application/merge-patch+json"
    assert script.bodies[2] == b'{"theta_max": null}'


def test_token_is_asked_before_each_attempt() -> None:
    tokens = iter(["a", "b"])
    script = Script(httpx.ReadError(""), httpx.Response(200, json={}))
    client_of(script, token=lambda: next(tokens), retry=QUICK).get_caller()
    assert [r.headers["Authorization"] for r in script.requests] == ["Bearer a", "Bearer b"]


@pytest.mark.parametrize("address", ["plannerd:8080", "ftp://x", "http://", "http://x/?a=b", "http://x/#a"])
def test_address(address: str) -> None:
    with pytest.raises(ValueError, match="address"):
        Client(address)


def test_parameters() -> None:
    script = Script(httpx.Response(200, json={}), httpx.Response(200, json={}))
    client = client_of(script)
    client.what_if(Rows([]), theta_max=[0.05, 1e-07], plans=True, theta_min=[None, "0.1"], instances=8, timeout=3)
    query = dict(script.requests[0].url.params)
    assert query == {
        "theta_max": "0.05,1e-07",
        "plans": "true",
        "theta_min": "null,0.1",
        "instances": "8",
    }
    client.list_migrations("p", from_=3, min_cost=0.5)
    assert dict(script.requests[1].url.params) == {"from": "3", "min_cost": "0.5"}


def pages(request: httpx.Request) -> httpx.Response:
    query = request.url.params
    start = int(query.get("page_token", "0")) + int(query.get("skip", "0"))
    items = [{"key": "Lw==", "from": i} for i in range(start, min(start + 2, 7))]
    token = str(start + 2) if start + 2 < 7 else None
    return httpx.Response(200, json={"migrations": items, "next_page_token": token})


def test_pages() -> None:
    client = client_of(pages)
    moves = [cast("wire.Migration", m) for m in client.migrations("p", skip=1)]
    assert [m["from"] for m in moves] == [1, 2, 3, 4, 5, 6]
    assert {m["key"] for m in moves} == {"/"}
    assert [cast("wire.Migration", m)["from"] for m in client.migrations("p", page_token="4")] == [4, 5, 6]


def test_pages_that_never_end() -> None:
    client = client_of(lambda _: httpx.Response(200, json={"flows": [], "next_page_token": "1"}))
    with pytest.raises(PlannerdError, match="same again"):
        list(client.flows("p"))


def test_plans_to_carry_out_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    plans: list[dict[str, Any] | None] = [None, {"id": "p"}, {"id": "p"}, None, {"id": "q"}]
    script = Script(*(httpx.Response(200, json={"plan": plan}) for plan in plans))
    yielded = client_of(script).plans_to_carry_out("clicks")
    assert [next(yielded)["id"] for _ in range(3)] == ["p", "p", "q"]
    assert waited == [1]
    assert str(script.requests[0].url) == "http://test/base/v1/operators/clicks/next-plan?wait=50s"


def test_rows_that_can_be_asked_for_once_are_not_sent_again() -> None:
    script = Script(*[httpx.ReadError("")] * 5)
    with pytest.raises(httpx.ReadError):
        client_of(script, retry=QUICK).create_plan("o", Rows(iter([("a", 1)])), interval=1)
    assert len(script.requests) == 1


def test_rows_are_sent_again_from_the_first() -> None:
    class Asked:
        times = 0

        def __iter__(self) -> Iterator[tuple[str, float]]:
            self.times += 1
            return iter([("a", 1.0), ("b", 2.0)])

    rows = Asked()
    script = Script(httpx.ReadError(""), httpx.Response(200, json={}))
    client_of(script, retry=QUICK).create_plan("o", Rows(rows), interval=1)
    assert script.bodies[0] == script.bodies[1]
    assert rows.times == 2


def test_rows_that_fail_end_the_call() -> None:
    def rows() -> Iterator[tuple[str, float]]:
        yield "a", 1
        raise RuntimeError("the disk is gone")

    script = Script(httpx.Response(200, json={}))
    with pytest.raises(RuntimeError, match="disk"):
        client_of(script, retry=QUICK).create_plan("o", Rows(rows()), interval=1)
    assert script.answers, "nothing was answered"
