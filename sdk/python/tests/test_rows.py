"""Statistics in all that they may be kept in, sent to a server in both forms."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import plannerd.rows
from plannerd import Client, Refused, Rows, backtest_frame, wire
from plannerd.rows import ARROW, NDJSON

KEYS = ["user:1", "user:2", "straße", 'a "quoted", one']
COSTS, STATES = [12.5, 9, 3, 5], [2048, 512, 64, 900]
TUPLES = list(zip(KEYS, COSTS, STATES, strict=True))
DICTS = [dict(zip(("key", "cost", "state"), row, strict=True)) for row in TUPLES]
FRAME = pd.DataFrame({"key": KEYS, "cost": COSTS, "state": STATES})

KEPT: dict[str, Callable[[], Any]] = {
    "tuples": lambda: TUPLES,
    "mappings": lambda: DICTS,
    "generator": lambda: (row for row in TUPLES),
    "frame": lambda: FRAME,
    "frame with an index": lambda: FRAME.set_index("key"),
    "frame of narrow types": lambda: FRAME.astype({"key": "category", "cost": "float32", "state": "int32"}),
    "table": lambda: pa.table({"key": KEYS, "cost": COSTS, "state": STATES}),
    "reader": lambda: pa.table({"key": KEYS, "cost": COSTS, "state": STATES}).to_reader(),
    "numbers of numpy": lambda: [(k, np.float64(c), np.int64(s)) for k, c, s in TUPLES],
}


@pytest.fixture(params=["arrow", "ndjson"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Have rows sent as they are with and without pyarrow."""
    if request.param == "ndjson":
        monkeypatch.setattr(plannerd.rows, "pa", None)
    return str(request.param)


@pytest.fixture
def reference(client: Client) -> str:
    """The hash of the statistics, as the server reads them in JSON."""
    return planned(client, {"interval": 1, "keys": cast("list[wire.Row]", DICTS)})["input_hash"]


def test_rows_name_their_instances(client: Client, form: str) -> None:
    client.put_operator("named-rows", {"instances": ["worker-a", "worker-b"], "hash": {"function": "modulo"}})
    rows: list[tuple[str, float, float, int | str]] = [("a", 5, 7, "worker-a"), ("b", 5, 7, 0), ("c", 1, 1, "worker-b")]
    for interval, kept in enumerate([rows, pd.DataFrame(rows[::2], columns=["key", "cost", "state", "instance"])]):
        plan = client.create_plan("named-rows", Rows(cast("Any", kept)), interval=interval)
        assert plan["instances"][0].get("name") == "worker-a"
        assert plan["instances"][0]["keys_before"] == 2 - interval
        if plan["status"] == "approved":
            client.commit_plan(plan["id"], {"stopped": True})


COSTS_OF = [{"network": 3, "disk": 1.5}, {}, {"network": 0.25}, {}]


def test_rows_say_what_keys_take_of_resources(client: Client, form: str) -> None:
    flat = [
        {**row, "cost.network": of.get("network", 0), "cost.disk": of.get("disk", 0)}
        for row, of in zip(DICTS, COSTS_OF, strict=True)
    ]
    nested = [{**row, "costs": of} for row, of in zip(DICTS, COSTS_OF, strict=True)]
    some = [*nested[:1], DICTS[1], nested[2], DICTS[3]]
    name = f"amounts-{form}"
    client.put_operator(name, {"instances": 2})
    reference = client.create_plan(name, {"interval": 1, "keys": cast("list[wire.Row]", nested)})["input_hash"]
    for kept in (flat, nested, some, iter(nested), pd.DataFrame(flat)):
        assert client.create_plan(name, Rows(cast("Any", kept)), interval=1)["input_hash"] == reference
    assert client.create_plan(name, Rows(DICTS), interval=2)["input_hash"] != reference


def planned(client: Client, request: Any, **parameters: Any) -> wire.Plan:
    client.put_operator("rows", {"instances": 2, "theta_max": 0.05})
    return client.create_plan("rows", request, **parameters)


@pytest.mark.parametrize("kept", KEPT)
def test_the_same_statistics_in_every_form(client: Client, form: str, kept: str, reference: str) -> None:
    if form == "ndjson" and kept in ("table", "reader"):
        return  # without pyarrow there are none
    plan = planned(client, Rows(KEPT[kept]()), interval=1)
    assert plan["input_hash"] == reference


def test_form(form: str) -> None:
    for kept in ("tuples", "frame"):
        body = Rows(KEPT[kept]()).body(arrow=True)
        content = b"".join(body.make())
        if form == "arrow":
            assert body.content_type == ARROW
            assert pa.ipc.open_stream(content).read_all().num_rows == 4
        else:
            assert (body.content_type, body.content_encoding) == (NDJSON, "gzip")
            assert [json.loads(line)["key"] for line in gzip.decompress(content).splitlines()] == KEYS
        assert body.count == 4
        assert content == b"".join(body.make())


def test_keys_of_any_bytes(client: Client, form: str) -> None:
    rows = [(bytes([b]), 1 + b % 5, 1) for b in range(256)]
    client.put_operator("bytes", {"instances": 2, "theta_max": 0.001})
    plan = client.create_plan("bytes", Rows(rows), interval=1)
    moved = [cast("wire.Migration", m) for m in client.migrations(plan["id"])]
    assert len(moved) == plan["migration"]["keys"] > 0
    costs = {key: cost for key, cost, _ in rows}
    assert all(costs[m["key"].encode(errors="surrogateescape")] == m["cost"] for m in moved)
    changes = {c["key"].encode(errors="surrogateescape") for c in client.table_changes(plan["id"])}
    assert changes == {m["key"].encode(errors="surrogateescape") for m in moved}


def test_many_rows(client: Client, form: str) -> None:
    client.put_operator("many", {"instances": 8, "table_limit": None})
    rows = ((f"key-{i}", 1 + i % 13, 1) for i in range(50_000))
    plan = client.create_plan("many", Rows(rows), interval=1)
    assert sum(load["keys_before"] for load in plan["instances"]) == 50_000


def test_no_rows(client: Client, form: str) -> None:
    client.put_operator("nothing", {"instances": 2})
    assert client.create_plan("nothing", Rows([]), interval=1)["status"] == "no_action"


@pytest.mark.parametrize("rows", [[("a", 1), (b"b", 2)], [(b"a", 1), ("b", 2)]])
def test_keys_are_of_one_type(form: str, rows: Any) -> None:
    with pytest.raises(TypeError, match="all strings or all bytes"):
        list(Rows(rows).body(arrow=True).make())


def test_rows_have_the_same_fields(client: Client, form: str) -> None:
    with pytest.raises((ValueError, Refused), match="state"):
        planned(client, Rows([("a", 1, 2), ("b", 1)]), interval=3)


def test_columns_that_are_not_known_are_refused(client: Client, form: str) -> None:
    with pytest.raises(Refused, match="weight"):
        planned(client, Rows(FRAME.assign(weight=1)), interval=3)


def test_interval_as_a_column(client: Client, form: str) -> None:
    assert planned(client, Rows(FRAME.assign(interval=4)))["interval"] == 4


def test_report(client: Client, form: str) -> None:
    operator = f"reported-{form}"
    client.put_operator(operator, {"instances": 2})
    rows = Rows([("a", 3), ("b", 4)])
    report = client.put_report(operator, 1, 0, rows, coverage="partial", residual=["0:5:0:9"])
    assert (report["rows"], report["missing"]) == (2, [1])
    client.put_report(operator, 1, 1, {"keys": [{"key": "c", "cost": 1}]})
    assert [one["instance"] for one in client.list_reports(operator, 1)["received"]] == [0, 1]
    loads = client.create_plan(operator, {"interval": 1})["instances"]
    assert [load["load_before"] for load in loads] == [12, 1]


def test_resolution(client: Client, form: str) -> None:
    """A plan of classes is told which keys they are."""
    operator = f"classes-{form}"
    client.put_operator(operator, {"instances": 2, "theta_max": 0.05, "hash": {"function": "reported"}})
    # Instance, hash instance, cost, state, and how many keys.
    records: list[list[float]] = [[0, 0, 8, 1, 4], [1, 1, 1, 1, 4]]
    plan = client.create_plan(
        operator,
        {"interval": 1, "compact": {"degree": 1, "cost_scale": 1, "state_scale": 1, "records": records}},
    )
    assert plan["migrates"] == "classes"
    rows = []
    for at, move in enumerate(cast("list[wire.ClassMove]", plan["migrations"])):
        to, from_, home, count = int(move[0]), int(move[1]), int(move[2]), int(move[5])
        rows += [{"key": f"k{at}-{i}", "from": from_, "to": to, "hash_instance": home} for i in range(count)]
    assert rows
    assert client.resolve_plan(plan["id"], Rows(rows))["resolved_keys"] == len(rows)


def test_analysis_of_rows(client: Client, form: str) -> None:
    result = client.analyse_schemes(Rows(FRAME[["key", "cost"]]), instances=2)
    assert result["schemes"]


def test_what_if_frame(client: Client, form: str) -> None:
    thetas = [0.02, 0.1, 0.5]
    rows = Rows([(f"k{i}", 100 / (i + 1), 1) for i in range(200)])
    frame = client.what_if_frame(rows, instances=4, strategies=["mixed", "optimal"], theta_max=thetas)
    assert len(frame) == 6
    results = client.what_if(rows, instances=4, strategies=["mixed", "optimal"], theta_max=thetas)["results"]
    assert list(frame["strategy"]) == [r["strategy"] for r in results]
    assert list(frame["theta_max"]) == thetas * 2
    assert np.allclose(frame["theta_after"], [r["theta"]["after"] for r in results])
    assert np.allclose(frame["migrated_state"], [r["migration"]["state"] for r in results])
    both = client.what_if_frame({"operator": {"instances": 2}, "keys": cast("list[wire.Row]", DICTS)})
    assert len(both) == 1


def intervals() -> pd.DataFrame:
    draw = np.random.default_rng(5)
    keys = [f"k{i}" for i in range(100)]
    return pd.concat(
        [pd.DataFrame({"interval": t, "key": keys, "cost": draw.poisson(300 / np.arange(1, 101))}) for t in range(14)]
    )


def test_backtest_frame(client: Client, form: str) -> None:
    frame = client.analyse_backtest_frame(Rows(intervals()), instances=3, theta_max=0.1)
    report = client.analyse_backtest(Rows(intervals()), instances=3, theta_max=0.1)
    assert frame.equals(backtest_frame(report))
    assert len(frame) == len(report["results"]) + 1
    assert frame["recommended"].sum() == 1
    assert report["recommended"] is not None
    recommended = frame[frame["recommended"]].iloc[0]
    assert recommended["judged.above"] == report["results"][report["recommended"]]["judged"]["above"]
    assert frame["baseline"].sum() == 1
