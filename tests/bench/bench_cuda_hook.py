"""What a hooked CUDA call costs over the bare one: `python -m tests.bench.bench_cuda_hook [--quick]`.

The product's code over a driver that does nothing at once (native/tests/cuda_null.c), hooked and bare in turns in one
run, so that both see the same machine; every 40th launch takes the long way (two events, one settlement), as 5 us
kernels do on a card. An allocation is a pair with its free. Instructions by callgrind where valgrind is installed.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from tests.native.cards import null_card_region
from tests.native.guests import BUILD, run
from tests.native.region import Region

LIMITER = BUILD / "libvxpu-bench.so"
BOUNDS_NS = {"launch": 25, "alloc": 250}


def environment(region: Region | None) -> dict[str, str]:
    env = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(BUILD / "tests/null")}
    if region is not None:
        env |= {"LD_PRELOAD": str(LIMITER), "VXPU_REGION_DIR": str(region.path)}
    return env


def call_ns(region: Region | None, kind: str, count: int) -> float:
    """Best of ten turns in one process."""
    done = run([str(BUILD / "tests/cuda_hook"), kind, str(count)], environment(region))
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split("=")[1]) / 1000


def instructions(region: Region | None, kind: str) -> float | None:
    """Per call; what start and end take is subtracted."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return None
    seen = []
    for count in (10_000, 40_000):
        command = [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", str(BUILD / "tests/cuda_hook")]
        done = subprocess.run(
            [*command, kind, str(count)], env=environment(region), capture_output=True, text=True, check=True
        )
        found = re.search(r"Collected : (\d+)", done.stderr)
        assert found is not None, done.stderr
        seen.append(int(found[1]))
    return (seen[1] - seen[0]) / 30_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer calls")
    quick: bool = parser.parse_args().quick
    counts = {"launch": 500_000, "alloc": 100_000, "copy": 100_000} if quick else dict.fromkeys(BOUNDS_NS, 2_000_000)
    counts.setdefault("copy", 2_000_000)
    with tempfile.TemporaryDirectory(prefix="vxpu-bench-") as name:
        region = null_card_region(Path(name))
        print("| call | bare ns | hooked ns | over bare ns (bound) | instructions over bare |")
        print("|---|---|---|---|---|")
        for kind, count in counts.items():
            pairs = [(call_ns(None, kind, count), call_ns(region, kind, count)) for _ in range(3 if quick else 7)]
            bare, hooked = (statistics.median(side) for side in zip(*pairs, strict=True))
            over = statistics.median(more - less for less, more in pairs)
            with_hook, without = instructions(region, kind), instructions(None, kind)
            more = "no valgrind here" if with_hook is None or without is None else f"{with_hook - without:.0f}"
            print(f"| {kind} | {bare:.1f} | {hooked:.1f} | {over:.1f} ({BOUNDS_NS.get(kind, '-')}) | {more} |")


if __name__ == "__main__":
    main()
