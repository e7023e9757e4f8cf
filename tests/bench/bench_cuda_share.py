"""Share of a card, asked and got, in virtual time: `python -m tests.bench.bench_cuda_share [--quick]`.

The scenarios of docs/native.md with the agent's gain loop. p99 is of the waits at a launch in all programs of a
tenant; jitter is the deviation of a tenant's shares of each second against their mean.
"""

import argparse
import statistics
import tempfile
from pathlib import Path

from tests.native.cuda_stage import Stage
from tests.native.test_cuda_share import MS, SCENARIOS

SECONDS = 30


def show(name: str, tenants: list[tuple[int, dict[str, int]]], seconds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="vxpu-bench-") as folder, Stage(Path(folder)) as stage:
        there = [stage.steady(share, ms=1000 * (seconds + 12), **options) for share, options in tenants]
        stage.watch(seconds, warm=8)
        got = [stage.got(tenant) for tenant in there]
        jitter = [stage.jitter(tenant) for tenant in there]
        outs = [stage.finish(tenant.guests[0]) for tenant in there]
    waits = [out["p99_ns"] / MS for out in outs]
    if len(there) > 4:
        spread = 100 * statistics.pstdev(got) / statistics.mean(got)
        words = (f"{tenants[0][0] / 10:g} each", f"{min(got):.2f}-{max(got):.2f} (spread {spread:.1f} %)")
        print(f"| {name} | {words[0]} | {words[1]} | {max(waits):.1f} | {statistics.median(jitter):.1f} |", flush=True)
        return
    asked = " / ".join(f"{share / 10:g}" for share, _ in tenants)
    columns = [
        " / ".join(f"{value:.{digits}f}" for value in values) for values, digits in ((got, 2), (waits, 1), (jitter, 1))
    ]
    print(f"| {name} | {asked} | {' | '.join(columns)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="ten seconds of the card's time for each")
    quick: bool = parser.parse_args().quick
    print("| scenario | asked % | got % | p99 launch wait ms | jitter % |")
    print("|---|---|---|---|---|")
    for name, tenants in SCENARIOS.items():
        show(name.replace("_", " "), tenants, 10 if quick else SECONDS)
    show("alone 10 sync 300ms", [(100, {"ns": 300 * MS, "sync": 1})], 30 if quick else 180)
    show("32 tenants async 200us", [(31, {"ns": MS // 5})] * 32, 10 if quick else SECONDS)


if __name__ == "__main__":
    main()
