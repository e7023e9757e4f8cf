"""A small CUDA program in Python, on the driver API alone; works on a simulated and on a real card.

    python -m tests.native.cuda_client --each [--mib 64]      every class of memory: taken, returned
    python -m tests.native.cuda_client --fill plain           one class until the driver says no
    python -m tests.native.cuda_client --launch 100           kernels one by one, then as a captured graph
    python -m tests.native.cuda_client --fork                 a child with a driver of its own

One JSON object a line. What a class answers when the driver refuses is in "code" (0: it worked).
"""

import argparse
import contextlib
import ctypes
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from tests.native.cuda_classes import CLASSES
from tests.native.fake.driver import MIB, CudaError, Driver

KERNELS = Path(__file__).resolve().parents[2] / "native/tests/kernels.h"


def say(**fields: object) -> None:
    print(json.dumps(fields), flush=True)


def kernels() -> bytes:
    """The PTX that native/tests/kernels.h holds as C strings."""
    text = KERNELS.read_text().split("vx_test_kernels[]", 1)[1]
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', code)).encode().decode("unicode_escape").encode() + b"\0"


def try_class(cuda: Driver, name: str, size: int) -> dict[str, object]:
    """Hold one class for a moment: the card's bytes before, while and after."""
    before, code = cuda.used(), 0
    held = before
    try:
        with CLASSES[name].hold(cuda, size):
            held = cuda.used()
    except CudaError as error:
        code = error.code
    return {"class": name, "asked": size, "took": held - before, "left": cuda.used() - before, "code": code}


def fill(cuda: Driver, name: str, size: int) -> dict[str, object]:
    """Hold one class again and again until the driver refuses; then let all of it go."""
    before, count, code = cuda.used(), 0, 0
    with contextlib.ExitStack() as held:
        while not code and count < 1 << 16:
            try:
                held.enter_context(CLASSES[name].hold(cuda, size))
                count += 1
            except CudaError as error:
                code = error.code
        took = cuda.used() - before
    return {"class": name, "asked": size, "count": count, "took": took, "left": cuda.used() - before, "code": code}


def spin(cuda: Driver, kernel: int, stream: int, steps: int) -> None:
    steps_word = ctypes.c_uint64(steps)
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(steps_word))
    cuda.must("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, None)


@contextlib.contextmanager
def timed(cuda: Driver, stream: int) -> Iterator[list[float]]:
    """Milliseconds between two events around the block, in the list once it has ended."""
    begin, end, took = cuda.out("cuEventCreate", 0), cuda.out("cuEventCreate", 0), ctypes.c_float()
    result: list[float] = []
    cuda.must("cuEventRecord", begin, stream)
    yield result
    cuda.must("cuEventRecord", end, stream)
    cuda.must("cuStreamSynchronize", stream)
    name = "cuEventElapsedTime_v2" if cuda.has("cuEventElapsedTime_v2") else "cuEventElapsedTime"
    cuda.must(name, ctypes.byref(took), begin, end)
    result.append(round(took.value, 4))


def launch(cuda: Driver, count: int, steps: int) -> None:
    stream = cuda.out("cuStreamCreate", 1)
    kernel = cuda.out("cuModuleGetFunction", cuda.out("cuModuleLoadData", kernels()), b"vx_spin")
    with timed(cuda, stream) as took:
        for _ in range(count):
            spin(cuda, kernel, stream, steps)
    say(did="launch", count=count, steps=steps, device_ms=took[0])
    plan = ctypes.c_uint64()
    cuda.must("cuStreamBeginCapture_v2", stream, 0)
    for _ in range(count):
        spin(cuda, kernel, stream, steps)
    cuda.must("cuStreamEndCapture", stream, ctypes.byref(plan))
    graph = cuda.out("cuGraphInstantiateWithFlags", plan.value, 0)
    with timed(cuda, stream) as took:
        cuda.must("cuGraphLaunch", graph, stream)
    say(did="graph", count=count, steps=steps, device_ms=took[0])


def fork() -> None:
    """Before the driver is used: a child that uses it; after: the child's first call tells what it may."""
    cuda = Driver()
    for when in ("before", "after"):
        child = os.fork()
        if child == 0:
            code, used = cuda.call("cuInit", 0), None
            with contextlib.suppress(CudaError):
                used = cuda.start().used()
            say(did="fork", when=when, init=code, used=used)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        say(did="wait", when=when, status=status)
        cuda.start()
    say(did="parent", used=cuda.used())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--fill", choices=sorted(CLASSES))
    parser.add_argument("--launch", type=int, metavar="COUNT")
    parser.add_argument("--fork", action="store_true")
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--device", type=int, default=0)
    options = parser.parse_args()
    if options.fork:
        fork()
        return
    cuda = Driver().start(options.device)
    if options.each:
        for name in CLASSES:
            say(**try_class(cuda, name, options.mib * MIB))
    if options.fill:
        say(**fill(cuda, options.fill, options.mib * MIB))
    if options.launch:
        launch(cuda, options.launch, options.steps)


if __name__ == "__main__":
    main()
