"""The client: a method for each operation, lists without their pages, and answers as data frames."""

from __future__ import annotations

import base64
import io
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from typing_extensions import Unpack

from plannerd import wire
from plannerd.errors import PlannerdError
from plannerd.operations import Operations
from plannerd.rows import ARROW, NDJSON, Rows
from plannerd.transport import JSON

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Client"]


class Client(Operations):
    """Calls one plannerd.

    Calls are repeated where that is safe and may help: when the connection fails, and when the server says that
    it cannot answer now. What changes something carries an Idempotency-Key, which is the same in all attempts of
    one call, so that it happens once, whatever becomes of the answers.
    """

    def operators(self, **parameters: Unpack[wire.ListOperatorsParameters]) -> Iterator[wire.Operator]:
        """Yield all operators."""
        return _pages(self.list_operators, "operators", parameters)

    def plans(self, operator: str, **parameters: Unpack[wire.ListPlansParameters]) -> Iterator[wire.PlanSummary]:
        """Yield all plans of an operator."""
        return _pages(lambda **p: self.list_plans(operator, **p), "plans", parameters)

    def plans_to_carry_out(self, operator: str) -> Iterator[wire.Plan]:
        """Yield the plans that the engine of an operator is to carry out, one after the other, as they are approved.

        It waits for the next one for ever. A plan that was not started, or not brought to an end, comes again a second
        later.
        """
        before = None
        while True:
            plan = self.next_plan(operator, wait="50s", timeout=60.0)["plan"]
            if plan is None:
                continue
            if plan["id"] == before:
                time.sleep(1)
            before = plan["id"]
            yield plan

    def migrations(
        self, id: str, **parameters: Unpack[wire.ListMigrationsParameters]
    ) -> Iterator[wire.Migration | wire.ArcMigration | wire.RangeMigration]:
        """Yield all that a plan of keys, arcs or ranges moves.

        Bytes of keys that are not UTF-8 are surrogate escapes: ``key.encode(errors="surrogateescape")`` has them.
        """
        parameters["key_encoding"] = "base64"
        return map(_decoded, _pages(lambda **p: self.list_migrations(id, **p), "migrations", parameters))

    def table_changes(
        self, id: str, **parameters: Unpack[wire.ListTableChangesParameters]
    ) -> Iterator[wire.TableChange]:
        """Yield all that a plan changes in the routing table, with keys as :meth:`migrations` has them."""
        parameters["key_encoding"] = "base64"
        return map(_decoded, _pages(lambda **p: self.list_table_changes(id, **p), "changes", parameters))

    def flows(self, id: str, **parameters: Unpack[wire.ListFlowsParameters]) -> Iterator[wire.Flow]:
        """Yield how much a plan moves from which instance to which."""
        return _pages(lambda **p: self.list_flows(id, **p), "flows", parameters)

    def what_if_frame(
        self, request: wire.WhatIfRequest | Rows, **parameters: Unpack[wire.WhatIfParameters]
    ) -> pd.DataFrame:
        """Plan without storing anything, and return a line for each outcome: its parameters and figures."""
        import pandas as pd

        media = [JSON, ARROW, NDJSON]
        text = self._call("POST", ["v1", "what-if"], parameters, request, media, False, "text/csv")
        return pd.read_csv(io.BytesIO(text), keep_default_na=False, na_values=[""])

    def analyse_backtest_frame(
        self, request: wire.BacktestIntervalsRequest | Rows, **parameters: Unpack[wire.AnalyseBacktestParameters]
    ) -> pd.DataFrame:
        """Run policies over intervals of the request, and return a line for each, see :func:`backtest_frame`."""
        return backtest_frame(self.analyse_backtest(request, **parameters))


def backtest_frame(report: wire.BacktestReport) -> pd.DataFrame:
    """Return a line for each policy of a backtest, and one for the baseline: what it was, and what it came to.

    Members of members have names such as "judged.above"; "recommended" and "baseline" mark one line each.
    """
    import pandas as pd

    lines = [*report["results"], report["baseline"]]
    frame = pd.json_normalize([dict(line) for line in lines])
    at = pd.RangeIndex(len(lines))
    return frame.assign(recommended=at == report["recommended"], baseline=at == len(lines) - 1)


def _pages(page: Callable[..., Any], member: str, parameters: Any) -> Iterator[Any]:
    """Yield the items of all pages of a list, from the page of a token on. Only the first page skips items."""
    at = dict(parameters)
    while True:
        answer = page(**at)
        yield from answer[member]
        token = answer.get("next_page_token")
        if not token:
            return
        if token == at.get("page_token"):
            raise PlannerdError("the next page of the list is the same again")
        at["page_token"] = token
        at.pop("skip", None)


def _decoded(item: Any) -> Any:
    """Put the bytes of a key in base64 in its place."""
    if isinstance(item, dict) and "key" in item:
        item["key"] = base64.b64decode(item["key"]).decode(errors="surrogateescape")
    return item
