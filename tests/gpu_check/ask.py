"""One allocation of so many bytes: prints 1 if the driver gave it, else 0, and holds it for so many seconds."""

from __future__ import annotations

import sys
import time

from tests.native.fake.driver import CudaError, Driver


def main(size: int, seconds: float) -> None:
    cuda = Driver().start()
    try:
        cuda.alloc(size)
        print(1, flush=True)
    except CudaError:
        print(0, flush=True)
    time.sleep(seconds)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
