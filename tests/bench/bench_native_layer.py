"""What the layer costs: `python -m tests.bench.bench_native_layer [--quick]`.

Throughput of empty kernels with the layer against without, interleaved in one run so that both see the same machine,
and the price of one reserve and refund. The product build's code, full share: nothing waits.
"""

import argparse
import os
import statistics
import tempfile
from pathlib import Path

from tests.native.cpu_group import CpuGroup
from tests.native.guests import BUILD, guest_env, run, run_tool
from tests.native.region import MIB, Region


def empty_kernel_ns(folder: Path, region: Region | None, mode: str, launches: int) -> int:
    env = guest_env(region, folder, mode=mode)
    command = [str(BUILD / "tests/guest"), "empty", str(launches)]
    if os.getuid() == 0:  # ahead of whatever else the machine does
        with CpuGroup("empty") as group:
            return int(run(group.wrap(command), env).stdout.split("=")[1])
    return int(run(command, env).stdout.split("=")[1])


def reserve_refund_ns(folder: Path, rounds: int) -> int:
    region = Region(folder / "ledger", limit=64 * MIB)
    env = {"PATH": os.environ["PATH"], "VXPU_REGION_DIR": str(region.path)}
    return int(run_tool("ledger", "bench", str(rounds), env=env).split("=")[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer launches")
    quick: bool = parser.parse_args().quick
    launches, turns = (5_000, 3) if quick else (30_000, 7)
    modes = {"none": "no layer", "preload": "preload", "layer": "OPENCL_LAYERS"}
    found: dict[str, list[int]] = {mode: [] for mode in modes}
    with tempfile.TemporaryDirectory(prefix="vxpu-bench-") as name:
        folder = Path(name)
        region = Region(folder / "region")
        for _ in range(turns):
            for mode, times in found.items():
                times.append(empty_kernel_ns(folder, None if mode == "none" else region, mode, launches))
        print("| how | ns per empty launch: best | median | throughput against no layer: best | median |")
        print("|---|---|---|---|---|")
        for mode, label in modes.items():
            best, median = min(found[mode]), statistics.median(found[mode])
            ratios = (min(found["none"]) / best, statistics.median(found["none"]) / median)
            print(f"| {label} | {best} | {median:.0f} | {ratios[0]:.3f} | {ratios[1]:.3f} |")
        print(f"\nreserve + refund: {reserve_refund_ns(folder, 20_000 if quick else 500_000)} ns")


if __name__ == "__main__":
    main()
