"""Work that goes on elsewhere: counts, saves its count over the network when its slice is moved, begins where it was.

`--store URL` keeps the count (GET and PUT). The program puts a hook into its slice (docs/moves.md): a script that runs
this file with `--save`. Started again in the lease that the reservation has then, it fetches what the hook saved.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
import urllib.request
from pathlib import Path
from types import FrameType

TICK_S = 0.02
COUNT = Path.home() / "count"
HOOK = Path.home() / ".vxpu/hook"


def send(url: str, method: str, data: bytes | None = None) -> bytes:
    """Raises OSError, urllib's errors among them."""
    request = urllib.request.Request(url, data=data, method=method)  # noqa: S310 - the address that we were started with
    with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310
        return bytes(answer.read())


def write_hook(url: str) -> None:
    """A slice's home is mounted noexec: the hook is read by sh."""
    HOOK.parent.mkdir(exist_ok=True)
    root = os.environ["PYTHONPATH"]
    HOOK.write_text(f"PYTHONPATH={root} exec {sys.executable} -m {__spec__.name} --store {url} --save\n")


def count_on(url: str) -> dict[str, int]:
    """Until SIGTERM; where it began and where it ended."""
    stopped = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True

    signal.signal(signal.SIGTERM, stop)
    count = first = int(send(url, "GET"))
    write_hook(url)
    print("steady", file=sys.stderr, flush=True)
    while not stopped:
        count += 1
        fresh = COUNT.with_name("count.new")
        fresh.write_text(str(count))
        fresh.replace(COUNT)
        time.sleep(TICK_S)
    return {"first": first, "last": count}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", required=True)
    parser.add_argument("--save", action="store_true", help="what the hook does")
    args = parser.parse_args()
    if args.save:
        send(args.store, "PUT", COUNT.read_bytes())
        return 0
    print(json.dumps(count_on(args.store)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
