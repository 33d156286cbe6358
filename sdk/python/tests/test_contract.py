"""Every operation of the contract is a method that makes its request."""

from __future__ import annotations

import inspect
import re
from typing import Any

import httpx
import pytest
import yaml
from conftest import ROOT

from plannerd import Client, Rows
from plannerd.rows import NDJSON

DOCUMENT = yaml.safe_load((ROOT / "openapi.yaml").read_text())
METHODS = ("get", "put", "post", "patch", "delete")
OPERATIONS = [
    pytest.param(path, method, item[method], id=item[method]["operationId"])
    for path, item in DOCUMENT["paths"].items()
    for method in METHODS
    if method in item
]


def test_there_are_operations() -> None:
    assert len(OPERATIONS) > 40


def named(operation_id: str) -> str:
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", operation_id).lower()


def resolved(part: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in part:
        return part
    at: Any = DOCUMENT
    for name in part["$ref"].removeprefix("#/").split("/"):
        at = at[name]
    return resolved(at)


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_operation(path: str, method: str, operation: dict[str, Any]) -> None:
    made: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        made.append(request)
        return httpx.Response(200, json={})

    call = getattr(Client, named(operation["operationId"]), None)
    assert call is not None, f"the client has no method for {method.upper()} {path}"
    parameters = [resolved(p) for p in DOCUMENT["paths"][path].get("parameters", []) + operation.get("parameters", [])]
    arguments: dict[str, Any] = {p["name"]: "7" for p in parameters if p["in"] == "path"}
    expected = re.sub(r"{(\w+)}", "7", path)
    if "request" in inspect.signature(call).parameters:
        arguments["request"] = {}
    content = resolved(operation["requestBody"])["content"] if "requestBody" in operation else {}
    if content and all(media == NDJSON or media.startswith("text/") for media in content):
        arguments["request"] = Rows([])
    with Client("http://test", http=httpx.Client(transport=httpx.MockTransport(answer))) as client:
        call(client, **arguments)
    assert (made[0].method, made[0].url.path) == (method.upper(), expected)
    assert ("Idempotency-Key" in made[0].headers) == any(p["name"] == "Idempotency-Key" for p in parameters)
    if content:
        assert made[0].headers["Content-Type"] in content
    annotations = parameters_of(call)
    for p in parameters:
        if p["in"] != "path" and p["name"] not in ("Plannerd-Row-Count",):
            name = p["name"].lower().replace("-", "_")
            assert name in annotations or name + "_" in annotations, f"there is no keyword for {p['name']}"


def parameters_of(call: Any) -> set[str]:
    from plannerd import wire

    kind = inspect.signature(call).parameters["parameters"].annotation
    return set(getattr(wire, kind.removeprefix("Unpack[wire.").removesuffix("]")).__annotations__)
