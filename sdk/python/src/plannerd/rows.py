"""Statistics on their way to the server: rows that are sent while they are made."""

from __future__ import annotations

import base64
import itertools
import json
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

try:
    import pyarrow as pa
except ImportError:  # it is optional
    pa = None

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Rows"]

ARROW = "application/vnd.apache.arrow.stream"
NDJSON = "application/x-ndjson"

#: What the values of a row are called when the row is a tuple, in this order.
NAMES = ("key", "cost", "state", "instance", "hash_instance")
#: The fields that are real numbers.
REALS = ("cost", "frequency", "state", "state_bytes")
#: The fields that are instances: their ids or names.
INSTANCES = ("instance", "hash_instance", "from", "to")
#: The fields that are whole numbers, unless they are names of instances.
INTEGERS = (*INSTANCES, "interval", "count")

#: What the columns of what keys take of resources begin with. A row may as well have an object "costs".
COST = "cost."

#: How many rows are made at once.
CHUNK = 1 << 14


@dataclass(frozen=True)
class Body:
    """What is sent."""

    content_type: str
    #: Each attempt of a call makes the body anew.
    make: Callable[[], Iterator[bytes]]
    content_encoding: str = ""
    #: About how many rows it has, which saves the server memory; 0: unknown.
    count: int = 0
    #: The body cannot be made twice.
    once: bool = False
    #: Keys are written in base64.
    base64: bool = False


class Rows:
    """Rows in whatever they are kept: they are sent as Arrow where pyarrow is installed, else as compressed NDJSON.

    The rows may be a DataFrame of pandas (also of Polars, with pyarrow), a Table of pyarrow, or an iterable of
    mappings or of tuples (key, cost, state, instance, hash_instance), whose later values may be missing in all
    alike. Names of columns are those of docs/statistics.md: what a key takes of a resource is in ``cost.network``, or
    in the object ``costs`` of a mapping. An index named "key" is taken for a column. Keys are
    strings or bytes, all of one type.

    An iterator can be asked for once only, so a call with one is not repeated when it fails.
    """

    def __init__(self, rows: pd.DataFrame | pa.Table | Iterable[Mapping[str, Any]] | Iterable[Sequence[Any]]) -> None:
        self._rows = _columns_of(rows)

    def body(self, *, arrow: bool) -> Body:
        """Return the body of a request.

        :param arrow: The operation takes Arrow.
        """
        rows = self._rows
        if pa is not None and hasattr(rows, "__arrow_c_stream__"):
            once = isinstance(rows, pa.RecordBatchReader)
            count = 0 if once else getattr(rows, "num_rows", 0)
            if arrow:
                return Body(ARROW, lambda: _stream(pa.RecordBatchReader.from_stream(rows)), count=count, once=once)
            return self._ndjson(_Replay(rows) if not once else _mappings(rows), count)
        if hasattr(rows, "to_dict"):  # a DataFrame without pyarrow
            return self._ndjson(_Frame(rows), len(rows))
        count = len(rows) if hasattr(rows, "__len__") else 0
        if arrow and pa is not None:
            once = isinstance(rows, Iterator)
            return Body(ARROW, lambda: _batches(rows), count=count, once=once)
        return self._ndjson(rows, count)

    @staticmethod
    def _ndjson(rows: Iterable[Any], count: int) -> Body:
        once = isinstance(rows, Iterator)
        if once:  # look at the first row and put it back
            first = list(itertools.islice(rows, 1))
            rows = itertools.chain(first, rows)
        else:
            first = list(itertools.islice(rows, 1))
        coded = bool(first) and isinstance(_mapping(first[0]).get("key"), bytes)
        return Body(NDJSON, lambda: _lines(rows, coded), "gzip", count, once, coded)


def _columns_of(rows: Any) -> Any:
    """Make a table of what pandas has, without its index unless that holds the keys."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(rows, (pandas.DataFrame, pandas.Series)):
        return rows
    frame = rows.to_frame() if isinstance(rows, pandas.Series) else rows
    if "key" in frame.index.names and "key" not in frame.columns:
        frame = frame.reset_index()
    return frame if pa is None else pa.Table.from_pandas(frame, preserve_index=False)


@dataclass
class _Frame:
    """The rows of a DataFrame as mappings, any number of times."""

    frame: Any

    def __iter__(self) -> Iterator[dict[str, Any]]:
        names = [str(name) for name in self.frame.columns]
        for values in zip(*(self.frame[name].tolist() for name in self.frame.columns), strict=True):
            yield dict(zip(names, values, strict=True))


@dataclass
class _Replay:
    """The rows of a table of Arrow as mappings, any number of times."""

    table: Any

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return _mappings(self.table)


def _mappings(table: Any) -> Iterator[dict[str, Any]]:
    for batch in pa.RecordBatchReader.from_stream(table):
        yield from batch.to_pylist()


def _mapping(row: Any) -> Mapping[str, Any]:
    if isinstance(row, Mapping):
        return row
    return dict(zip(NAMES, row, strict=False))


def _lines(rows: Iterable[Any], coded: bool) -> Iterator[bytes]:
    """Write compressed NDJSON."""
    compress = zlib.compressobj(1, wbits=31)
    rows = iter(rows)
    while chunk := list(itertools.islice(rows, CHUNK)):
        yield compress.compress("".join(_line(_mapping(row), coded) for row in chunk).encode())
    yield compress.flush()


def _line(row: Mapping[str, Any], coded: bool) -> str:
    _check_keys([row.get("key")], coded)
    if any(name.startswith(COST) for name in row):
        row = _nested(row)
    if coded:
        row = {**row, "key": base64.b64encode(row["key"]).decode()}
    return json.dumps(row, allow_nan=False, ensure_ascii=False, default=_scalar) + "\n"


def _nested(row: Mapping[str, Any]) -> dict[str, Any]:
    """Have what a row takes of resources be an object, as JSON has it."""
    out = {name: value for name, value in row.items() if not name.startswith(COST)}
    costs = {n.removeprefix(COST): x for n, x in row.items() if n.startswith(COST) and x is not None}
    return {**out, "costs": {**(out.get("costs") or {}), **costs}}


def _flat(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Have what a row takes of resources be fields of their own, as Arrow has it."""
    if "costs" not in row:
        return row
    out = {name: value for name, value in row.items() if name != "costs"}
    return {**out, **{COST + name: x for name, x in (row["costs"] or {}).items()}}


def _check_keys(keys: Iterable[Any], coded: bool) -> None:
    if any(isinstance(key, bytes) != coded for key in keys):
        raise TypeError("keys must be all strings or all bytes")


def _scalar(value: Any) -> Any:
    """Return a number of numpy as one of Python."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a row must have strings, bytes and numbers, not {type(value).__name__}")


class _Sink:
    """Keeps what is written until it is taken."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        pass

    def take(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _stream(batches: Any) -> Iterator[bytes]:
    """Write batches that have a schema as a stream of Arrow IPC."""
    sink = _Sink()
    with pa.ipc.new_stream(sink, batches.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            yield sink.take()
    yield sink.take()


@dataclass
class _Batches:
    schema: Any
    batches: Iterator[Any]

    def __iter__(self) -> Iterator[Any]:
        return self.batches


def _batches(rows: Iterable[Any]) -> Iterator[bytes]:
    """Write rows as a stream of Arrow IPC; the first of them decides which columns there are."""
    rows = map(_flat, map(_mapping, rows))
    first = list(itertools.islice(rows, CHUNK))
    fields = list(first[0]) if first else list(NAMES[:2])
    # Of resources there may be any in a row.
    costs = dict.fromkeys(name for row in first for name in row if name.startswith(COST))
    names = list(dict.fromkeys([*fields, *costs]))
    fields = [name for name in fields if name not in costs]
    coded = bool(first) and isinstance(first[0].get("key"), bytes)
    key = pa.binary() if coded else pa.string()
    named = [name for name in INSTANCES if any(isinstance(row.get(name), str) for row in first)]
    schema = pa.schema([(name, pa.string() if name in named else _type_of(name, key)) for name in names])

    def batches() -> Iterator[Any]:
        chunk = first
        while chunk:
            columns: dict[str, list[Any]] = {name: [] for name in names}
            for row in chunk:
                if row.keys() != columns.keys() and not (row.keys() <= columns.keys() and row.keys() >= set(fields)):
                    raise ValueError(f"all rows must have the fields {', '.join(names)}: {dict(row)}")
                for name in names:
                    columns[name].append(row.get(name))
            _check_keys(columns.get("key", []), coded)
            for name in named:
                columns[name] = [None if value is None else str(value) for value in columns[name]]
            yield pa.RecordBatch.from_pydict(columns, schema=schema)
            chunk = list(itertools.islice(rows, CHUNK))

    return _stream(_Batches(schema, batches()))


def _type_of(name: str, key: Any) -> Any:
    if name in REALS or name.startswith(COST):
        return pa.float64()
    if name in INTEGERS:
        return pa.int64()
    return key if name == "key" else pa.string()
