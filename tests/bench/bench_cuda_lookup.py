"""What look-ups of driver calls cost: `python -m tests.bench.bench_cuda_lookup [--quick]`.

Each kind of look-up on the simulated driver, plain, preloaded and through the shim, in turns so that all see the same
machine; nanoseconds of the best of many rounds. A program makes about 450 look-ups, once.
"""

import argparse
import tempfile
from pathlib import Path

from tests.native.cards import FAKE, Cards
from tests.native.guests import BUILD, LIBRARY, run_tool
from tests.native.region import Region


def ways(folder: Path) -> dict[str, dict[str, str]]:
    cards = Cards(folder / "cards")
    region = cards.grant(Region(folder / "region", limit=1 << 30), 0)
    shim = {"LD_LIBRARY_PATH": str(BUILD / "shim-test"), "VXPU_REAL_CUDA": str(FAKE / "libcuda.so.1")}
    limited = cards.env(region)
    bare = {name: value for name, value in limited.items() if name != "LD_PRELOAD"}
    return {"plain": cards.env(None), "preload": limited, "shim": bare | shim, "both": limited | shim}


def measure(env: dict[str, str]) -> dict[str, float]:
    lines = run_tool("cuda_lookup", "bench", env=env).splitlines()
    return {what: float(value) for what, value in (line.split("=") for line in lines)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    turns = 3 if parser.parse_args().quick else 15
    with tempfile.TemporaryDirectory(prefix="vxpu-bench-") as name:
        envs = ways(Path(name))
        found: dict[str, list[dict[str, float]]] = {way: [] for way in envs}
        for _ in range(turns):
            for way, env in envs.items():
                found[way].append(measure(env))
    print(f"| ns (library {LIBRARY.name}) | {' | '.join(envs)} |")
    print("|---" * (len(envs) + 1) + "|")
    for what in found["plain"][0]:
        row = [min(turn[what] for turn in found[way]) for way in envs]
        print(f"| {what} | {' | '.join(f'{value:.0f}' for value in row)} |")


if __name__ == "__main__":
    main()
