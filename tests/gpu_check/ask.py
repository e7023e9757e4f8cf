"""One allocation of so many bytes: prints 1 if the driver gave it, else 0, and stays until it is killed."""

from __future__ import annotations

import signal
import sys

from tests.native.fake.driver import CudaError, Driver


def main(size: int) -> None:
    cuda = Driver().start()
    try:
        cuda.alloc(size)
        print(1, flush=True)
    except CudaError:
        print(0, flush=True)
    signal.pause()


if __name__ == "__main__":
    main(int(sys.argv[1]))
