"""Where keys go: the hash functions of the server, the token ring, and routing tables.

These are the functions of the Go package ``route``; ``sdk/vectors`` proves them equal. In pure Python they place
some hundred thousand keys a second: enough to look at streams, too slow for a busy router.
"""

from __future__ import annotations

import base64
import bisect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

from plannerd import wire

__all__ = [
    "Destination",
    "NoRoute",
    "Table",
    "Token",
    "TokenRing",
    "Unplaceable",
    "candidates",
    "hash_function",
    "key_hash",
    "murmur2",
    "ring_position",
    "routed_key",
]

M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF

#: A function places the keys that have no entry in a routing table: it returns the id of the key's instance.
Function = Callable[[bytes], int]


class Unplaceable(ValueError):
    """The hash function cannot place the key."""


class NoRoute(LookupError):
    """The key has no entry, and there is no hash function: under "reported" only the engine knows where it goes."""


def _bytes(key: str | bytes) -> bytes:
    return key.encode() if isinstance(key, str) else key


def routed_key(affinity: wire.Affinity | None, key: str | bytes) -> bytes:
    """Return the part of the key that is hashed and looked up under an affinity; None: all of it."""
    key = _bytes(key)
    if affinity and affinity.get("tag"):
        tag, closed, _ = key.partition(b"{")[2].partition(b"}")
        return tag if tag and closed else key
    until = (affinity or {}).get("until", "").encode()
    if until:
        count = (affinity or {}).get("count") or 1
        parts = key.split(until, count)
        return (until.join(parts[:count]) if len(parts) > count else b"") or key
    return key


def _rotate32(x: int, by: int) -> int:
    return (x << by | x >> (32 - by)) & M32


def _rotate64(x: int, by: int) -> int:
    return (x << by | x >> (64 - by)) & M64


def _mix32(h: int) -> int:
    h = (h ^ h >> 16) * 0x85EBCA6B & M32
    h = (h ^ h >> 13) * 0xC2B2AE35 & M32
    return h ^ h >> 16


def _mix64(x: int) -> int:
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & M64
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & M64
    return x ^ x >> 33


def ring_position(key: str | bytes) -> int:
    """Where a key, or the name of a token, lies on a token ring: murmur3_x86_32 of its bytes, with seed 0."""
    key = _bytes(key)
    h = 0
    whole = len(key) & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(key[at : at + 4], "little") * 0xCC9E2D51 & M32
        h ^= _rotate32(k, 15) * 0x1B873593 & M32
        h = (_rotate32(h, 13) * 5 + 0xE6546B64) & M32
    if whole < len(key):
        k = int.from_bytes(key[whole:], "little") * 0xCC9E2D51 & M32
        h ^= _rotate32(k, 15) * 0x1B873593 & M32
    return _mix32(h ^ len(key))


def key_hash(key: str | bytes) -> int:
    """The first half of murmur3_x64_128 with seed 0 of the key, which places keys under "modulo"."""
    return _seeded_hash(_bytes(key), 0)


def candidates(key: str | bytes, instances: Sequence[int], choices: int) -> list[int]:
    """The ids of the instances to which partial key grouping may send the key, the first candidate first.

    Instances are ids in ascending order. There are as many candidates as choices, at most all instances; keys of the
    head have choices of their own.
    """
    key, out = _bytes(key), list[int]()
    for seed in range(min(choices, len(instances))):
        at = _seeded_hash(key, seed) % len(instances)
        while instances[at] in out:
            at = (at + 1) % len(instances)
        out.append(instances[at])
    return out


def _seeded_hash(key: bytes, seed: int) -> int:
    """The first half of murmur3_x64_128."""
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
    h1 = h2 = seed
    whole = len(key) & ~15
    for at in range(0, whole, 16):
        k1 = int.from_bytes(key[at : at + 8], "little") * c1 & M64
        k2 = int.from_bytes(key[at + 8 : at + 16], "little") * c2 & M64
        h1 ^= _rotate64(k1, 31) * c2 & M64
        h1 = ((_rotate64(h1, 27) + h2) * 5 + 0x52DCE729) & M64
        h2 ^= _rotate64(k2, 33) * c1 & M64
        h2 = ((_rotate64(h2, 31) + h1) * 5 + 0x38495AB5) & M64
    k1 = int.from_bytes(key[whole : whole + 8], "little") * c1 & M64
    k2 = int.from_bytes(key[whole + 8 :], "little") * c2 & M64
    h1 ^= (_rotate64(k1, 31) * c2 & M64) ^ len(key)
    h2 ^= (_rotate64(k2, 33) * c1 & M64) ^ len(key)
    h1 = (h1 + h2) & M64
    h2 = (h2 + h1) & M64
    return (_mix64(h1) + _mix64(h2)) & M64


def murmur2(key: str | bytes) -> int:
    """The 32-bit MurmurHash2 with the seed that Apache Kafka gives it, without sign."""
    key = _bytes(key)
    m = 0x5BD1E995
    h = 0x9747B28C ^ len(key)
    whole = len(key) & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(key[at : at + 4], "little") * m & M32
        h = (h * m ^ (k ^ k >> 24) * m) & M32
    if whole < len(key):
        h = (h ^ int.from_bytes(key[whole:], "little")) * m & M32
    h = (h ^ h >> 13) * m & M32
    return h ^ h >> 15


def _flink_murmur(code: int) -> int:
    """MathUtils.murmurHash of Apache Flink: murmur3_x86_32 of one word, and of that the absolute value."""
    h = _rotate32(code * 0xCC9E2D51 & M32, 15) * 0x1B873593 & M32
    h = _mix32((_rotate32(h, 13) * 5 + 0xE6546B64 & M32) ^ 4)
    return (M32 + 1 - h if h >> 31 else h) & 0x7FFFFFFF  # the one number without an absolute value becomes 0


def _string_hash_code(key: bytes) -> int:
    """String.hashCode of Java: a polynomial in 31 over the UTF-16 code units, modulo 2³²."""
    try:
        units = key.decode().encode("utf-16-be")
    except UnicodeDecodeError as error:
        raise Unplaceable("must be valid UTF-8 under the key type string") from error
    h = 0
    for at in range(0, len(units), 2):
        h = (h * 31 + int.from_bytes(units[at : at + 2], "big")) & M32
    return h


#: A decimal integer in the form that Java prints. Others are refused, because two spellings of one number would be
#: two keys here and one in the engine.
_CANONICAL = re.compile(rb"0|-?[1-9][0-9]*")


def _parse(key: bytes, bits: int) -> int:
    n = int(key) if len(key) <= 20 and _CANONICAL.fullmatch(key) else None
    if n is None or not -(1 << bits - 1) <= n < 1 << bits - 1:
        raise Unplaceable(f"must be a decimal integer of {bits} bits, without plus sign or leading zeros")
    return n


def _long_hash_code(key: bytes) -> int:
    n = _parse(key, 64)
    return (n ^ n >> 32) & M32


_HASH_CODES: dict[str, Callable[[bytes], int]] = {
    "string": _string_hash_code,
    "int": lambda key: _parse(key, 32) & M32,
    "long": _long_hash_code,
}


class Token(NamedTuple):
    """A token of a node and where it lies."""

    position: int
    #: Id of its node.
    node: int
    #: Its number among the tokens of the node, from 0.
    number: int


class TokenRing:
    """The token ring of consistent hashing, as in "DPA Load Balancer" §4.2.

    Every node holds tokens 0, 1, …, T−1. Token j of node i lies at :func:`ring_position` of "token-{i}-{j}" on a
    circle of 2³² positions, a key at that of its bytes. A key belongs to the node of the first token at or after
    its position, wrapping round. Of tokens at the same position the one of the lower node counts, then the lower
    token.
    """

    def __init__(self, nodes: Mapping[int, int]) -> None:
        """Build the ring of nodes, which are ids and how many tokens each has."""
        tokens = (Token(ring_position(f"token-{i}-{j}"), i, j) for i, n in nodes.items() for j in range(n))
        #: All tokens in ring order.
        self.tokens = sorted(tokens)
        if not self.tokens:
            raise ValueError("no node has a token")
        self._positions = [t.position for t in self.tokens]

    def at(self, position: int) -> int:
        """Return the id of the node that a position belongs to."""
        found = bisect.bisect_left(self._positions, position)
        return self.tokens[found % len(self.tokens)].node

    def __call__(self, key: str | bytes) -> int:
        """Return the id of the node that a key belongs to."""
        return self.at(ring_position(key))


class Placement:
    """Rules of which the first that matches a key says which instances may have it, as a table tells them.

    Not for "kafka", "flink" and "reported", which place keys without.
    """

    def __init__(self, placement: wire.Placement, ids: Iterable[int]) -> None:
        """Compile the rules over the ids of all instances."""
        rules = placement["rules"]
        own = {id for rule in rules if rule.get("exclusive") for id in _on(rule)}
        rest = sorted(set(ids) - own)
        #: The ascending ids of the instances that keys of each rule may have, and last of keys that match none.
        self.eligible = [
            _on(r) if r.get("exclusive") else sorted({*_on(r)} - own) if "on" in r else rest for r in rules
        ]
        self.eligible.append(rest)
        self._equals: dict[bytes, int] = {}
        self._prefixes: dict[bytes, int] = {}
        for i, rule in enumerate(rules):
            if "equals" in rule["keys"]:
                for key in rule["keys"]["equals"]:
                    self._equals.setdefault(key.encode(), i)
            else:
                self._prefixes.setdefault(rule["keys"].get("prefix", "").encode(), i)
        self._lengths = sorted({len(prefix) for prefix in self._prefixes})

    def rule(self, key: str | bytes) -> int:
        """Return the index of the first rule that matches a key, from 0; -1: none does."""
        key, none = _bytes(key), len(self.eligible)
        found = self._equals.get(key, none)
        for n in self._lengths:
            if n > len(key):
                break
            found = min(found, self._prefixes.get(key[:n], none))
        return found if found < none else -1


def _on(rule: wire.PlacementRule) -> list[int]:
    return sorted(int(id) for id in rule.get("on", {}).get("instances", []))


def hash_function(
    hash: wire.Hash, instances: int | Iterable[Mapping[str, Any]], placement: wire.Placement | None = None
) -> Function | None:
    """Return the hash function of a configuration over instances, as the API writes both; None for "reported".

    Under an affinity it places keys by their routed keys.

    :param instances: Their number, or instances with an ``id`` and, on a ring, ``tokens``.
    :param placement: Rules as a table tells them, by the ids of instances.
    :raises ValueError: The configuration is none that the server would take.
    """
    if affinity := hash.get("affinity"):
        whole = hash_function(cast("wire.Hash", {**hash, "affinity": None}), instances, placement)
        return whole and (lambda key: whole(routed_key(affinity, key)))
    listed = [{"id": i} for i in range(instances)] if isinstance(instances, int) else list(instances)
    listed.sort(key=lambda one: one["id"])
    ids = [int(one["id"]) for one in listed]
    if not ids:
        raise ValueError("there must be an instance")
    if placement and (hash.get("function") or "ring") in ("ring", "modulo"):
        rules = Placement(placement, ids)
        by = [
            hash_function(hash, [one for one in listed if one["id"] in eligible]) if eligible else None
            for eligible in map(set, rules.eligible)
        ]
        return lambda key: cast("Function", by[rules.rule(key)])(key)
    match hash.get("function") or "ring":
        case "ring":
            default = hash.get("tokens_per_instance") or 128
            return TokenRing({int(one["id"]): one.get("tokens") or default for one in listed})
        case "modulo":
            return lambda key: ids[key_hash(key) % len(ids)]
        case "flink":
            return _flink(hash, ids)
        case "kafka":
            return _kafka(hash, ids)
        case "reported":
            return None
        case unknown:
            raise ValueError(f"the hash function {unknown} is not known")


def _flink(hash: wire.Hash, ids: Sequence[int]) -> Function:
    groups = hash.get("max_parallelism") or 128
    if groups < len(ids) or (not hash.get("max_parallelism") and len(ids) > 85):
        raise ValueError("max_parallelism is required for more than 85 instances, and must not be less than these")
    owners = [ids[group * len(ids) // groups] for group in range(groups)]
    code = _HASH_CODES[hash.get("key_type") or "string"]
    return lambda key: owners[_flink_murmur(code(key)) % groups]


def _kafka(hash: wire.Hash, ids: Sequence[int]) -> Function:
    partitions = hash.get("partitions") or 0
    owners = [int(of) for of in hash.get("assignment") or (ids[p % len(ids)] for p in range(partitions))]
    if partitions < 1 or len(owners) != partitions:
        raise ValueError("partitions is required, and assignment must be as long")
    return lambda key: owners[(murmur2(key) & 0x7FFFFFFF) % partitions]


#: The weight of a whole key.
PART_UNITS = 1 << 16
#: PART_UNITS divided by the golden ratio: of any number of steps in a row the visited numbers are spread evenly.
_STEP = 40503


@dataclass
class _Turn:
    """Counts the messages of a split key, and goes on when weights change."""

    at: int


@dataclass(frozen=True)
class _Entry:
    instance: int
    parts: tuple[tuple[int, int], ...] = ()
    turn: _Turn | None = None


@dataclass(frozen=True)
class Destination:
    """Where a table sends a key."""

    #: Where the key goes; of a split key that of its heaviest part.
    instance: int
    #: Where the messages of a split key go: instances and their weights, in 1/65536. Empty: the key is whole.
    parts: tuple[tuple[int, int], ...] = ()
    _turn: _Turn | None = None
    _sent: Counter[int] | None = None

    def next(self) -> int:
        """Return the instance of the next message of the key.

        Those of a split key go to all of its parts: by weighted round-robin, or under "least_loaded" each to the
        part whose instance has got the fewest messages through this table, of all keys. Then whole keys have to be
        asked for, too.
        """
        instance = self.instance
        if self._turn is not None:
            self._turn.at = (self._turn.at + 1) & M32
            instance = self._weighted(self._turn.at) if self._sent is None else self._least(self._turn.at, self._sent)
        if self._sent is not None:
            self._sent[instance] += 1
        return instance

    def _weighted(self, turn: int) -> int:
        at = turn * _STEP % PART_UNITS
        for instance, weight in self.parts:
            at -= weight
            if at < 0:
                return instance
        return self.parts[-1][0]

    def _least(self, turn: int, sent: Counter[int]) -> int:
        """Choose the part with the fewest messages. Among equals they take turns."""
        first = turn % len(self.parts)
        return min((instance for instance, _ in self.parts[first:] + self.parts[:first]), key=sent.__getitem__)


@dataclass
class Table:
    """A version of a routing table, made of what ``Client.get_routing_table`` answers.

    Not for several threads at once.
    """

    version: int
    hash: wire.Hash
    instances: list[wire.Instance]
    routing: str
    #: Decides with which part of a split key this router begins.
    router: str = ""
    pending: Table | None = None
    #: Rules of which instances may have which keys; None: there are none.
    placement: wire.Placement | None = None
    _entries: dict[bytes, _Entry] = field(default_factory=dict, repr=False)
    _function: Function | None = field(default=None, repr=False)
    _named: frozenset[bytes] = field(default=frozenset(), repr=False)
    _sent: Counter[int] | None = field(default=None, repr=False)
    _names: dict[int, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, answer: wire.RoutingTable, router: str = "") -> Table:
        """Return the table of an answer that has the whole of it."""
        if answer.get("scheme", "table") != "table":
            raise ValueError(f"the operator's scheme is {answer['scheme']}, which has no routing table")
        if "hash" not in answer or "instances" not in answer:
            raise ValueError("the answer has only what changed since a version")
        table = cls(answer["version"], answer["hash"], answer["instances"], answer.get("routing", "weighted"), router)
        table.placement = answer.get("placement")
        table._function = hash_function(table.hash, cast("list[Mapping[str, Any]]", table.instances), table.placement)
        table._sent = Counter() if table.routing == "least_loaded" else None
        table._names = _names_of(table.instances)
        coded = answer.get("key_encoding") == "base64"
        table._set([*answer.get("entries", []), *answer.get("set", [])], coded)
        table._pend(answer.get("pending"), coded)
        return table

    def changed(self, answer: wire.RoutingTable) -> Table:
        """Return the table of an answer to a request with ``since`` the version of this one."""
        if "from_version" not in answer or answer.get("full"):
            return Table.of(answer, self.router)
        coded = answer.get("key_encoding") == "base64"
        table = replace(self, version=answer["version"], pending=None, _named=frozenset(), _entries=dict(self._entries))
        table.routing = answer.get("routing", "weighted")
        if table.routing != self.routing or table.version != self.version:
            table._sent = Counter() if table.routing == "least_loaded" else None
        table._set(answer.get("set", []), coded)
        table._unset(answer.get("unset", []), coded)
        table._pend(answer.get("pending"), coded)
        return table

    def lookup(self, key: str | bytes) -> Destination:
        """Return where a key goes.

        :raises NoRoute: It has no entry, and there is no hash function.
        :raises Unplaceable: The hash function cannot place it.
        """
        key = routed_key(self.hash.get("affinity"), key)
        entry = self._entries.get(key)
        if entry is not None:
            return Destination(entry.instance, entry.parts, entry.turn, self._sent)
        if self._function is None:
            raise NoRoute("the key has no entry, and there is no hash function")
        return Destination(self._function(key), _sent=self._sent)

    def name(self, instance: int) -> str | None:
        """Return the name of an instance; None: it has none. Those that a pending plan adds have theirs."""
        return self._names.get(instance) or (self.pending.name(instance) if self.pending else None)

    def paused(self, key: str | bytes) -> bool:
        """Whether the state of the key is moving, so that its messages have to wait."""
        then = self.pending
        if then is None or routed_key(then.hash.get("affinity"), key) in self._named:
            return then is not None
        if (self.hash, self.instances, self.placement) == (then.hash, then.instances, then.placement):
            return False
        try:
            at = then.lookup(key).instance
        except (NoRoute, Unplaceable):
            return True
        try:
            return at != self.lookup(key).instance
        except (NoRoute, Unplaceable):
            return True

    def _set(self, entries: Iterable[wire.RoutingTableEntry], coded: bool) -> None:
        for e in entries:
            key = _decode(e["key"], coded)
            parts = tuple((p["instance"], p["weight"]) for p in e.get("parts", []))
            turn = None
            if parts:
                old = self._entries.get(key)
                turn = (old.turn if old else None) or _Turn(_mix64(key_hash(key) ^ _mix64(key_hash(self.router))) >> 32)
            self._entries[key] = _Entry(e["instance"], parts, turn)

    def _unset(self, keys: Iterable[str], coded: bool) -> None:
        for key in keys:
            self._entries.pop(_decode(key, coded), None)

    def _pend(self, pending: wire.PendingTable | None, coded: bool) -> None:
        if pending is None:
            return
        then = replace(self, version=pending["version"], pending=None, _named=frozenset(), _entries=dict(self._entries))
        then.hash, then.instances = pending["hash"], pending["instances"]
        then.routing = pending.get("routing", "weighted")
        then.placement = pending.get("placement")
        then._function = hash_function(then.hash, cast("list[Mapping[str, Any]]", then.instances), then.placement)
        then._sent = Counter() if then.routing == "least_loaded" else None
        then._names = _names_of(then.instances)
        then._set(pending["set"], coded)
        then._unset(pending["unset"], coded)
        named = [*(e["key"] for e in pending["set"]), *pending["unset"]]
        self.pending, self._named = then, frozenset(_decode(key, coded) for key in named)


def _names_of(instances: Iterable[wire.Instance]) -> dict[int, str]:
    return {one["id"]: one["name"] for one in instances if "name" in one}


def _decode(key: str, coded: bool) -> bytes:
    return base64.b64decode(key) if coded else key.encode()
