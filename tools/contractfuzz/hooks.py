"""Hooks of Schemathesis that lead requests far into the service.

The contract tells what a request looks like, not what there is to ask about. So some
operators and plans are made here, and asked about in place of random ones; versions and
ETags that answers told are used again; statistics are such that one can plan on them. Some
bodies are packed or broken, and some requests come from callers with another role.
"""

import atexit
import collections
import copy
import gzip
import json
import os
import pathlib
import random

import requests
import schemathesis
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.core.parameters import ParameterLocation

try:
    from compression import zstd
except ImportError:  # Python before 3.14
    from backports import zstd

JSON, NDJSON, CSV = "application/json", "application/x-ndjson", "text/csv"
ARROW = "application/vnd.apache.arrow.stream"

# By role of a caller, the x-role of the operations that it must not ask for.
DENIED = {"viewer": ["engine", "approver", "admin"], "engine": ["approver", "admin"], "approver": ["engine", "admin"]}

url, folder = os.environ["FUZZ_URL"], pathlib.Path(os.environ["FUZZ_FOLDER"])
tokens = {path.suffix[1:]: path.read_text().split()[-1] for path in folder.glob("token.*")}  # by role
arrows = [path.read_bytes() for path in folder.glob("*.arrow")]

dice = random.Random(int(os.environ["FUZZ_SEED"]))
told = collections.defaultdict(lambda: collections.deque(maxlen=24))  # by answers, the latest last
interval = 0  # the greatest that was sent on purpose
session = requests.Session()
session.headers["Authorization"] = "Bearer " + os.environ["PLANNERD_TOKEN"]


def chance(percent):
    return dice.randrange(100) < percent


def recall(name, otherwise=None):
    """Something that answers told under a name, more likely something late."""
    known = told[name]
    return known[max(dice.randrange(len(known)), dice.randrange(len(known)))] if known else otherwise


def learn(answer):
    if "base_version" in answer and "id" in answer:  # what an undo would move has no id
        told["id"].append(answer["id"])
        if answer["migrates"] == "classes" and answer.get("migrations"):
            told["classes"].append(answer)
    elif "config_version" in answer and "name" in answer:
        told["operator"].append(answer["name"])
    for name in ("version", "next_page_token", "key"):
        if answer.get(name) is not None:
            told[name].append(answer[name])


def ask(method, path, body):
    answer = session.request(method, url + path, json=body)
    assert answer.status_code < 500, f"{method} {path} answered {answer.status_code}: {answer.text}"
    return answer.json() if answer.ok else {}


def next_interval():
    """An interval that is mostly new."""
    global interval
    interval += chance(70)
    return interval


def operator(label):
    """The name of an operator: mostly of one that there is, seldom when it is to be deleted."""
    if chance({"PUT /v1/operators/{operator}": 20, "DELETE /v1/operators/{operator}": 50}.get(label, 95)):
        return recall("operator", "fuzz-0")
    return f"fuzz-{dice.randrange(8)}"


def plan():
    """The id of a plan: of one that answers told, or of a new one that is somewhere in its life."""
    if told["id"] and chance(70):
        return recall("id")
    name = f"fuzz-{dice.randrange(8)}"
    learn(ask("PUT", f"/v1/operators/{name}", {
        "instances": dice.randrange(2, 5), "theta_max": 0.01, "require_approval": chance(50),
        "approval": {"on_pending": dice.choice(["keep", "replace"])},
    }))
    statistics = {"keys": rows()}
    if chance(20):
        records = [[dice.randrange(2), dice.randrange(2), *(dice.randrange(9) for _ in range(3))] for _ in range(5)]
        statistics = {"compact": {"degree": 4, "cost_scale": 0.5, "state_scale": 100, "records": records}}
    made = ask("POST", f"/v1/operators/{name}/plans", {"interval": next_interval(), **statistics})
    learn(made)
    for step in ("approve", "start"):
        if "id" in made and chance(50):
            ask("POST", f"/v1/plans/{made['id']}/{step}", {})
    return recall("id", "0")


def rows():
    """Statistics that most operators of two or more instances can be planned on."""
    most = {"state": 100, "instance": 2, "hash_instance": 2}
    fields = [name for name in most if chance(10 if name == "hash_instance" else 50)]
    return [
        {"key": f"user:{i}", "cost": dice.randrange(400) / 4} | {name: dice.randrange(most[name]) for name in fields}
        for i in range(dice.randrange(12))
    ]


def resolution(of):
    """The keys of a plan that moves classes."""
    return [
        {"key": f"class:{i}:{j}", "to": to, "from": source, "hash_instance": hashed}
        for i, (to, source, hashed, _, _, count) in enumerate(of["migrations"])
        for j in range(int(min(count, 200)))
    ]


def written(of, media_type):
    """Rows in a format of rows."""
    if media_type == NDJSON:
        return "".join(json.dumps(row) + "\n" for row in of)
    names = list(of[0]) if of else ["key", "cost"]
    return "\n".join([",".join(names), *(",".join(str(row[name]) for name in names) for row in of)]) + "\n"


def plain(case):
    """Takes a body from an example of the contract, and leaves out what is optional."""
    case.query.clear()
    for name in [name for name in case.headers if name != "Authorization"]:
        del case.headers[name]
    examples = case.operation.definition.raw["requestBody"]["content"][case.media_type].get("examples")
    if examples:
        case.body = copy.deepcopy(dice.choice(list(examples.values()))["value"])
    if case.media_type != JSON and case.path.endswith("/plans"):
        case.query["interval"] = next_interval()


def statistics(case):
    """Fills in what can be planned on where the body has a place for it."""
    classes = recall("classes")
    if case.media_type == ARROW:
        case.body = dice.choice(arrows)
    elif case.media_type in (NDJSON, CSV):
        of = rows()
        if case.path.endswith("/resolution") and classes:
            case.path_parameters["id"], of = classes["id"], resolution(classes)
        case.body = written(of, case.media_type)
    elif isinstance(case.body, dict):
        if "interval" in case.body:
            case.body["interval"] = next_interval()
        if "keys" in case.body and chance(60):
            case.body["keys"] = rows()


def broken(body):
    """A body that differs in a few bytes."""
    at = dice.randrange(len(body) + 1)
    insert = dice.choice([b"\x00", b"\xff", b"\xc3", b"\n", b'"', b"{", b"[" * 9000])
    return dice.choice([
        body[:at],
        body[:at] + insert + body[at:],
        body[:at] + body[at + 1 + dice.randrange(8):],
        body[:at] + body[max(0, at - dice.randrange(64)):],
        b"\xef\xbb\xbf" + body,
        body + dice.choice([b" ", b"{}", b"]", b"x"]),
    ])


def packed(case):
    """Breaks the body, packs it, or says that it is packed."""
    body = case.body
    if not isinstance(body, bytes):
        body = (body if isinstance(body, str) else json.dumps(body)).encode(errors="surrogatepass")
    if chance(50):
        body = broken(body)
    if chance(50):
        encoding = dice.choice(["gzip", "gzip", "zstd", "zstd", "br", "identity", "gzip, zstd", ""])
        case.headers["Content-Encoding"] = encoding
        body = {"gzip": gzip.compress, "zstd": zstd.compress}.get(encoding, bytes)(body)
        body = broken(body) if chance(20) else body
    case.body = body


def about_what_there_is(case):
    path = case.path_parameters
    for name, make in {
        "operator": lambda: operator(case.operation.label), "id": plan,
        "interval": next_interval, "instance": lambda: dice.randrange(3),
        "asset": lambda: dice.choice(["index.html", "swagger-ui.css", "missing.js"]),
    }.items():
        if name in path and chance(90):
            path[name] = make()


def of_what_there_is(case):
    for name, source in {
        "version": "version", "since": "version", "table_version": "version", "page_token": "next_page_token",
        "key": "key",
    }.items():
        if name in case.query and chance(90):
            case.query[name] = recall(source, case.query[name])
    if "wait" in case.query:  # for a table that nobody is going to change meanwhile
        case.query["wait"] = "200ms"


def under_conditions(case):
    headers = case.headers
    for name in ("If-Match", "If-None-Match"):
        if headers.pop(name, None) is not None and chance(40):
            headers[name] = recall("ETag", "*")
    if chance(5):
        headers["Accept"] = dice.choice(["*/*", CSV, NDJSON, "image/png", "*/*;q=0", ";;q=x,/"])
    if chance(10):
        headers["Accept-Encoding"] = dice.choice(["gzip", "zstd", "gzip;q=0, zstd", "identity;q=0", "br, ;;"])
    if chance(2):
        case.query["unknown"] = "1"
    if "Authorization" in headers and chance(5):
        headers["Authorization"] = "Bearer " + dice.choice(list(tokens.values()))


@schemathesis.hook
def before_call(context, case, kwargs):
    # What is wrong on purpose stays so.
    right = {at: case.meta is None or not case.meta.is_negative_at(at) for at in ParameterLocation}
    if right[ParameterLocation.BODY] and case.media_type and chance(80):
        if all(right.values()) and chance(60):
            plain(case)
        statistics(case)
    if right[ParameterLocation.PATH] and case.path_parameters:
        about_what_there_is(case)
    if right[ParameterLocation.QUERY] and case.query:
        of_what_there_is(case)
    if right[ParameterLocation.HEADER]:
        under_conditions(case)
    if all(right.values()) and isinstance(case.body, (dict, str, bytes)) and chance(10):
        packed(case)


@schemathesis.hook
def after_call(context, case, response):
    seen[case.operation.label].add(response.status_code)
    if response.status_code < 300:
        told["ETag"].extend(response.headers.get("etag", []))
        if response.headers.get("content-type") == [JSON] and isinstance(response.json(), dict):
            learn(response.json())


@schemathesis.serializer(NDJSON, CSV, ARROW)
def as_it_is(context, value):
    return value if isinstance(value, bytes) else str(value).encode(errors="surrogatepass")


@schemathesis.deserializer(NDJSON)
def lines(context, response):
    for line in response.content.splitlines():
        json.loads(line)
    return response.content.decode()


@schemathesis.deserializer(CSV)
def text(context, response):
    return response.content.decode()


@schemathesis.check
def problem_fits_its_answer(context, response, case):
    if response.status_code < 400 or not response.content:
        return
    problem = response.json()
    assert problem["status"] == response.status_code and problem["detail"], "the problem does not fit its status"
    assert problem["code"] != "internal", "the code is internal"
    assert [problem["request_id"]] == response.headers["x-request-id"], "the problem has not the id of its request"


@schemathesis.check
def role_is_asked_for(context, response, case):
    if case.method != case.operation.method.upper():
        return
    needed = case.operation.definition.raw.get("x-role")
    for role, denied in DENIED.items():
        if needed in denied and case.headers.get("Authorization") == "Bearer " + tokens[role]:
            assert response.status_code == 403, f"a caller with the role {role} was let in"


@schemathesis.hook
def filter_failure(context, failure, case, response):
    # Bytes are not held against the schema of what they hold, and a page of any size may be asked for.
    taken = isinstance(case.body, bytes) or "page_size" in case.query
    return not (isinstance(failure, AcceptedNegativeData) and taken)


seen = collections.defaultdict(set)  # the statuses of each operation
documented = {}


@schemathesis.hook
def after_load_schema(context, schema):
    for path, item in schema.raw_schema["paths"].items():
        for method, operation in item.items():
            if method != "parameters":
                statuses = {int(status) for status in operation["responses"] if status != "default"}
                documented[f"{method.upper()} {path}"] = statuses


@atexit.register
def report():
    reached = {label: seen[label] & statuses for label, statuses in documented.items()}
    for label, statuses in documented.items():
        print(label, *sorted(reached[label]), "not seen:", *sorted(statuses - reached[label]))
    count = [sum(len(statuses) for statuses in of.values()) for of in (reached, documented)]
    print(f"{count[0]} of {count[1]} documented statuses seen.")
