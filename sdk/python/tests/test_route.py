"""Functions, rings and tables against sdk/vectors, which the Go package wrote."""

from __future__ import annotations

import contextlib
import json
from typing import Any, cast

import pytest
from conftest import VECTORS

from plannerd import Client, Rows, route, wire


def read(name: str) -> Any:
    return json.loads((VECTORS / name).read_text())


def test_hashes() -> None:
    keys = read("functions.json")["keys"]
    assert len(keys) > 100
    for one in keys:
        key = bytes.fromhex(one["hex"])
        assert f"{route.key_hash(key):016x}" == one["key_hash"], key
        assert route.ring_position(key) == one["ring_position"], key
        assert route.murmur2(key) == one["murmur2"], key


def test_functions() -> None:
    vectors = read("functions.json")
    keys = [bytes.fromhex(one["hex"]) for one in vectors["keys"]]
    refused = 0
    for f in vectors["functions"]:
        place = route.hash_function(f["hash"], f["instances"], f.get("placement"))
        assert place is not None
        for key, expected in zip(keys, f["placed"], strict=True):
            if expected is None:
                refused += 1
                with pytest.raises(route.Unplaceable):
                    place(key)
            else:
                assert place(key) == expected, (f["hash"], key)
    assert refused > 100


def test_candidates() -> None:
    vectors = read("candidates.json")
    assert len(vectors["groups"]) > 3
    for group in vectors["groups"]:
        for key, expected in zip(vectors["keys"], group["candidates"], strict=True):
            assert route.candidates(bytes.fromhex(key), group["instances"], group["choices"]) == expected, key


def test_rings() -> None:
    for r in read("rings.json")["rings"]:
        ring = route.TokenRing({node["id"]: node.get("tokens", 0) for node in r["nodes"]})
        assert len(ring.tokens) == r["count"]
        assert [list(t) for t in ring.tokens[: len(r["first"])]] == r["first"]
        assert [list(t) for t in ring.tokens[-len(r["last"]) :]] == r["last"]
        for position, node in r["at"]:
            assert ring.at(position) == node, position


def looked_up(table: route.Table, key: bytes) -> dict[str, Any]:
    out: dict[str, Any] = {"instance": None, "paused": table.paused(key)}
    try:
        at = table.lookup(key)
        out["instance"] = at.instance
        if at.parts:
            out["parts"] = [{"instance": i, "weight": w} for i, w in at.parts]
    except (route.NoRoute, route.Unplaceable):
        pass
    if table.pending is not None:
        with contextlib.suppress(route.NoRoute, route.Unplaceable):
            out["then"] = table.pending.lookup(key).instance
    return out


@pytest.mark.parametrize("history", read("tables.json")["tables"], ids=lambda h: h["name"])
def test_tables(history: Any) -> None:
    table: route.Table | None = None
    keys = [bytes.fromhex(key) for key in history["keys"]]
    for step in history["steps"]:
        answer = cast("wire.RoutingTable", step["answer"])
        table = route.Table.of(answer, history["router"]) if table is None else table.changed(answer)
        assert [looked_up(table, key) for key in keys] == step["lookups"]
        for i, instance in step["sends"]:
            assert table.lookup(keys[i]).next() == instance


@pytest.mark.parametrize(
    ("hash", "instances"),
    [
        ({"function": "guess"}, 1),
        ({}, 0),
        ({"function": "kafka"}, 2),
        ({"function": "kafka", "partitions": 2, "assignment": [0]}, 2),
        ({"function": "flink"}, 86),
        ({"function": "flink", "max_parallelism": 1}, 2),
        ({"function": "ring"}, 0),
    ],
)
def test_configurations_that_are_refused(hash: wire.Hash, instances: int) -> None:
    with pytest.raises(ValueError, match=r"instance|partitions|max_parallelism|function"):
        route.hash_function(hash, instances)


def test_ring_without_tokens() -> None:
    with pytest.raises(ValueError, match="token"):
        route.TokenRing({1: 0})


def test_tables_of_other_schemes_are_refused() -> None:
    answer = cast("wire.RoutingTable", {"scheme": "ranges", "version": 1})
    with pytest.raises(ValueError, match="ranges"):
        route.Table.of(answer)
    with pytest.raises(ValueError, match="changed since"):
        route.Table.of(cast("wire.RoutingTable", {"scheme": "table", "version": 1}))


def test_instances_by_their_names(client: Client) -> None:
    """Tables tell names, those of a pending plan too; reports and acknowledgements are by name."""
    workers = ["worker-a", "worker-b", "worker <i>c</i>"]
    client.put_operator("route-names", {"instances": [*workers[:2]], "theta_max": 0.05})
    table = route.Table.of(client.get_routing_table("route-names"))
    assert [table.name(i) for i in range(3)] == ["worker-a", "worker-b", None]
    client.put_operator("route-names", {"instances": [*workers], "theta_max": 0.05})
    for worker in workers:
        keys = [(f"{worker}:{i}", 1.0, 1.0) for i in range(20 if worker != workers[2] else 0)]
        report = client.put_report("route-names", 1, worker, Rows(keys) if keys else {"keys": []})
        assert report["instance"] == workers.index(worker)
    plan = client.create_plan("route-names", {"interval": 1})
    client.start_plan(plan["id"], {"executor": "test"})
    table = table.changed(client.get_routing_table("route-names", since=table.version))
    assert [table.name(i) for i in range(3)] == workers
    assert client.ack_plan(plan["id"], {"instances": [*workers]})["status"] == "committed"


@pytest.mark.parametrize("function", ["ring", "modulo", "flink", "kafka"])
def test_like_the_server(client: Client, function: wire.HashFunction) -> None:
    """The server's own route of each key, with a table that has entries, and through its changes."""
    operator = f"route-{function}"
    hash: wire.Hash = {"function": function}
    if function == "kafka":
        hash["partitions"] = 30
    client.put_operator(operator, {"instances": 3, "theta_max": 0.01, "hash": hash})
    table = route.Table.of(client.get_routing_table(operator))
    keys = [f"user:{i}" for i in range(40)]
    plan = client.create_plan(operator, Rows([(key, 1 + i % 7) for i, key in enumerate(keys)]), interval=1)
    client.start_plan(plan["id"], {"executor": "test"})
    table = table.changed(client.get_routing_table(operator, since=0))
    moved = {cast("wire.Migration", m)["key"] for m in client.migrations(plan["id"])}
    assert moved
    assert {key for key in keys if table.paused(key)} == moved
    client.ack_plan(plan["id"], {"instances": [*(plan["awaits"] or [0, 1, 2])]})
    table = table.changed(client.get_routing_table(operator, since=0))
    assert table.version == 1
    for key in keys:
        assert table.lookup(key).instance == client.route(operator, key=key)["instance"]
        assert not table.paused(key)
