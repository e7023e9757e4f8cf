"""How tests and benchmarks start guests under the limiter."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.native.region import NATIVE, Region

BUILD = NATIVE / "build"
LIBRARY = BUILD / "libvxpu-test.so"


def _pyopencl_home() -> Path:
    spec = importlib.util.find_spec("pyopencl")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def opencl_env(cache: Path) -> dict[str, str]:
    """PoCL as the wheels bring it: exactly one driver, named by its file."""
    home = _pyopencl_home()
    loader = next((home / ".libs").glob("libOpenCL*"))
    vendor = cache / "pocl.icd"
    if not vendor.exists():  # never under the eyes of a guest that is starting
        fresh = cache / f"pocl.{os.getpid()}"
        fresh.write_text(f"{next((home / '.libs').glob('libpocl*'))}\n")
        fresh.rename(vendor)
    return {"PYOPENCL_HOME": str(home), "GUEST_LIBOPENCL": str(loader), "OCL_ICD_VENDORS": str(vendor)}


def guest_env(region: Region | None, cache: Path, *, mode: str = "preload", **extra: str) -> dict[str, str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(cache), "POCL_CACHE_DIR": str(cache), "OMP_NUM_THREADS": "1"}
    env |= opencl_env(cache) | {"PYOPENCL_NO_CACHE": "1", "OPENBLAS_NUM_THREADS": "1"} | extra
    if region is not None:
        env["VXPU_REGION_DIR"] = str(region.path)
    if mode in {"preload", "both"}:
        env["LD_PRELOAD"] = str(LIBRARY)
    if mode in {"layer", "both"}:
        env["OPENCL_LAYERS"] = str(LIBRARY)
    return env


def run(command: list[str], env: dict[str, str], *, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=timeout, check=False)


def run_tool(name: str, *args: str, env: dict[str, str], timeout: float = 60) -> str:
    """Run one of native/tests' programs; its output, after it ended well."""
    done = run([str(BUILD / "tests" / name), *args], env, timeout=timeout)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout.strip()


def figures(out: str) -> dict[str, int]:
    """What a tool printed as ``name=number`` words."""
    return {name: int(value) for name, value in (word.split("=") for word in out.split())}


PRELUDE = """
import json, os, sys
import warnings
warnings.simplefilter("ignore")
import numpy as np
import pyopencl as cl
mf = cl.mem_flags
device = cl.get_platforms()[0].get_devices()[0]
ctx = cl.Context([device])
queue = cl.CommandQueue(ctx)
MIB = 1 << 20
def code_of(call):
    try:
        call()
        return 0
    except cl.Error as e:
        return e.code
def buffer(size, flags=mf.READ_WRITE):
    return cl.Buffer(ctx, flags, size=size)
"""


def run_python(script: str, env: dict[str, str]) -> Any:
    """Run pyopencl code in a guest; it prints one JSON value."""
    done = run([sys.executable, "-c", PRELUDE + script], env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
