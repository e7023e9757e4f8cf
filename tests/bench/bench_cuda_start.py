"""300 processes that start at once under the limiter: `python -m tests.bench.bench_cuda_start [--quick]`.

Each opens the driver, registers in the slice's region, makes a context and launches once. The table says how long the
registration took (the first CUDA call, `cuInit`), at most 200 alive at a time.
"""

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

from tests.native.cards import Cards
from tests.native.guests import BUILD, figures
from tests.native.region import Region

PROCESSES = 300
BATCH = 200  # alive at one time: a card and a region have 256 places


def start_all(cards: Cards, region: Region, count: int) -> list[int]:
    """Nanoseconds that each process's registration took."""
    env = cards.env(region)
    taken: list[int] = []
    while len(taken) < count:
        some = min(BATCH, count - len(taken))
        guests = [
            subprocess.Popen([str(BUILD / "tests/cuda_work"), "start"], env=env, stdout=subprocess.PIPE, text=True)
            for _ in range(some)
        ]
        taken += [figures(guest.communicate(timeout=120)[0])["init_ns"] for guest in guests]
    return sorted(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="60 processes")
    count = 60 if parser.parse_args().quick else PROCESSES
    with tempfile.TemporaryDirectory(prefix="vxpu-bench-") as name:
        folder = Path(name)
        cards = Cards(folder / "cards", memory_mib=1 << 20)
        region = cards.grant(Region(folder / "region", limit=1 << 40, share=1000), 0)
        taken = start_all(cards, region, count)
    marks = {"median": taken[len(taken) // 2], "p99": taken[len(taken) * 99 // 100], "max": taken[-1]}
    print(f"{count} processes on {os.cpu_count()} cores; registration of one:")
    print(", ".join(f"{mark} {ns / 1e6:.2f} ms" for mark, ns in marks.items()), "(bound: p99 50 ms)")


if __name__ == "__main__":
    main()
