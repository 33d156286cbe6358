"""From a recorded stream to a policy: how uneven it is, which tolerance can be held, and what that moves.

Start a server, record a stream or make one, and run this beside it:

    plannerd serve
    plannerd generate --keys 500 --intervals 24 --instances 4 --fluctuation 0.05 --seed 2 > stream.csv
    python tour.py stream.csv --instances 4

The stream is CSV as plannerd reads it, with the columns interval, key, cost and, where it is known, state. Nothing
is stored on the server. The plots are written to --output, as SVG or, with --format png, as PNG.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from plannerd import Client, Rows, route, wire

THETA_MAX = [0.01, 0.02, 0.05, 0.1, 0.2]
COLORS: dict[wire.Strategy, str] = {"mixed": "tab:blue", "optimal": "tab:orange"}


def main(arguments: list[str] | None = None) -> None:
    """Read a stream, ask the server, print what it answers, and draw it."""
    options = parse(arguments)
    stream = pd.read_csv(options.stream, dtype={"key": str}, keep_default_na=False)
    options.output.mkdir(parents=True, exist_ok=True)

    theta = unbalanced(stream, options.instances)
    print(f"{stream['key'].nunique()} keys in {len(theta)} intervals on {options.instances} instances")
    print(f"by hash alone, some instance is {theta.median():.1%} above its fair share in the median interval")

    with Client(options.url) as client:
        last = stream[stream["interval"] == stream["interval"].max()].drop(columns="interval")
        outcomes = client.what_if_frame(
            Rows(last), instances=options.instances, strategies=list(COLORS), theta_max=THETA_MAX
        )
        shown = ["strategy", "theta_max", "theta_after", "migrated_keys", "migrated_fraction", "lower_bound", "gap"]
        print("\nThe last interval, planned\n", outcomes[shown].to_string(index=False), sep="")

        policies = client.analyse_backtest_frame(Rows(stream), instances=options.instances, theta_max=options.theta_max)
    policies.insert(0, "name", [name(line) for _, line in policies.iterrows()])
    shown = ["name", "judged.above", "judged.theta_median", "judged.theta_p95", "judged.moved", "recommended"]
    print(f"\nPolicies under θ_max {options.theta_max}\n", policies[shown].to_string(index=False), sep="")

    figure, axes = plt.subplots(1, 3, figsize=(15, 4.5), layout="constrained")
    draw_theta(axes[0], theta, options.theta_max)
    draw_outcomes(axes[1], outcomes)
    draw_policies(axes[2], policies, options.theta_max)
    path = options.output / f"tour.{options.format}"
    figure.savefig(path, dpi=120)
    print(f"\n{path}")


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stream", type=Path, help="CSV with the columns interval, key, cost and perhaps state")
    parser.add_argument("--url", default="http://127.0.0.1:8080", help="of the server")
    parser.add_argument("--instances", type=int, default=4)
    parser.add_argument("--theta-max", type=float, default=0.1, help="that the backtest is to keep")
    parser.add_argument("--output", type=Path, default=Path(), help="the folder of the plots")
    parser.add_argument("--format", choices=["svg", "png"], default="svg")
    return parser.parse_args(arguments)


def unbalanced(stream: pd.DataFrame, instances: int) -> pd.Series[float]:
    """Return θ, the largest overload, of each interval where keys go by their hash alone."""
    place = route.hash_function({"function": "ring"}, instances)
    assert place is not None
    home = {key: place(key.encode()) for key in stream["key"].unique()}
    loads = stream.assign(instance=stream["key"].map(home)).pivot_table(
        index="interval", columns="instance", values="cost", aggfunc="sum", fill_value=0
    )
    return loads.max(axis="columns") / (loads.sum(axis="columns") / instances) - 1


def name(line: pd.Series[Any]) -> str:
    """Name a policy: its forecast and its target, or that it is the baseline."""
    if line["baseline"]:
        return "mixed, last"
    method, alpha = line["policy.forecast.method"], line.get("policy.forecast.alpha")
    forecast = f"{method} {alpha:g}" if isinstance(alpha, float) and alpha == alpha else str(method)
    return f"{forecast} → {line['policy.target_theta']:g}"


def draw_theta(axes: Axes, theta: pd.Series[float], theta_max: float) -> None:
    """Draw how uneven the stream is."""
    axes.plot(theta.index, theta, color="tab:gray", label="by hash alone")
    axes.axhline(theta_max, color="tab:red", linestyle="--", label="θ_max")
    axes.set(title="How uneven the stream is", xlabel="interval", ylabel="θ, largest overload", ylim=(0, None))
    axes.legend()


def draw_outcomes(axes: Axes, outcomes: pd.DataFrame) -> None:
    """Draw what each tolerance moves in the last interval, beside the least that any plan must move."""
    for strategy, color in COLORS.items():
        lines = outcomes[outcomes["strategy"] == strategy]
        axes.plot(lines["theta_max"], lines["migrated_state"], marker="o", color=color, label=strategy)
    bound = outcomes.groupby("theta_max")["lower_bound"].max()
    axes.fill_between(bound.index, 0, bound, color="tab:gray", alpha=0.3, label="proven minimum")
    axes.set(title="What a tolerance moves", xlabel="θ_max", ylabel="state moved", xscale="log", ylim=(0, None))
    axes.set_xticks(THETA_MAX, [f"{theta:g}" for theta in THETA_MAX])
    axes.minorticks_off()
    axes.legend()


def draw_policies(axes: Axes, policies: pd.DataFrame, theta_max: float) -> None:
    """Draw what policies came to: down and left is better."""
    others = ~policies["baseline"] & ~policies["recommended"]
    for chosen, color, label in [
        (others, "tab:gray", "other policies"),
        (policies["baseline"], COLORS["mixed"], "mixed on the last interval"),
        (policies["recommended"], COLORS["optimal"], "recommended"),
    ]:
        lines = policies[chosen]
        axes.scatter(lines["judged.moved"], lines["judged.theta_p95"], color=color, s=60, label=label)
    axes.axhline(theta_max, color="tab:red", linestyle="--", label="θ_max")
    axes.set(title="Policies, judged", xlabel="state moved, in all state", ylabel="95th percentile of θ")
    axes.set(xlim=(0, None), ylim=(0, None))
    axes.legend()


if __name__ == "__main__":
    main()
