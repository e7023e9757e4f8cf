"""Ways in, and what must not change for others (cases 8, 11, 12, 18, 21)."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.native.conftest import MakeEnv, MakeRegion
from tests.native.guests import BUILD, LIBRARY, run, run_python, run_tool
from tests.native.region import MIB, Region

NO_PLATFORM = -1001
PROBE = """
import json, pyopencl as cl
try:
    print(json.dumps([d.global_mem_size for p in cl.get_platforms() for d in p.get_devices()]))
except cl.Error as e:
    print(json.dumps(e.code))
"""


def probe(env: dict[str, str]) -> str:
    done = run([sys.executable, "-c", PROBE], env)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_program_without_opencl_sees_no_change(make_region: MakeRegion) -> None:
    plain = run([str(BUILD / "tests/bare")], {}).stdout.split("parent")[0]
    env = {"LD_PRELOAD": str(LIBRARY), "VXPU_REGION_DIR": str(make_region().path)}
    limited = run([str(BUILD / "tests/bare")], env)
    assert limited.stdout.split("parent")[0] == plain == "default=0 self=0 null=0 libc=1 "
    assert limited.stderr == ""


def test_another_interposers_next_is_not_itself() -> None:
    env = {"LD_PRELOAD": f"{LIBRARY} {BUILD / 'tests/libnext.so'}"}
    parent = int(run([str(BUILD / "tests/bare")], env).stdout.split("parent=")[1])
    assert parent == 1_000_000 + os.getpid()


def damage_nothing_there(region: Region) -> None:
    shutil.rmtree(region.path)


def damage_magic(region: Region) -> None:
    region.put("limits", 0, 1)


def damage_version(region: Region) -> None:
    region.put("limits", 8, 99)


def damage_short_usage(region: Region) -> None:
    os.truncate(region.path / "usage", 4096)


def damage_usage_is_a_link(region: Region) -> None:
    (region.path / "usage").rename(region.path / "elsewhere")
    (region.path / "usage").symlink_to(region.path / "elsewhere")


def damage_limits_for_all(region: Region) -> None:
    (region.path / "limits").chmod(0o666)


def damage_folder_for_all(region: Region) -> None:
    region.path.chmod(0o777)


def damage_lock_gone(region: Region) -> None:
    (region.path / "lock").unlink()


@pytest.mark.parametrize(
    "damage",
    [
        damage_nothing_there,
        damage_magic,
        damage_version,
        damage_short_usage,
        damage_usage_is_a_link,
        damage_limits_for_all,
        damage_folder_for_all,
        damage_lock_gone,
    ],
    ids=lambda f: f.__name__,
)
def test_a_bad_region_shows_no_device(
    make_region: MakeRegion, make_env: MakeEnv, damage: Callable[[Region], None]
) -> None:
    region = make_region()
    damage(region)
    assert run([str(BUILD / "tests/guest"), "null"], make_env(region)).returncode == 8


@pytest.mark.parametrize("mode", ["preload", "layer"])
def test_a_missing_region_is_said_in_opencls_own_words(make_env: MakeEnv, tmp_path: Path, mode: str) -> None:
    assert probe(make_env(None, mode=mode, VXPU_REGION_DIR=str(tmp_path / "none"))) == str(NO_PLATFORM)


# In a mount namespace of its own, so that nobody's real region is touched.
FIXED_PATH = """
mount -t tmpfs none /run && mkdir -p /run/vxpu/uid && cp -a "$REGION" /run/vxpu/uid/0 && exec "$0" -c "$1"
"""


def test_the_product_finds_its_region_by_uid_and_believes_no_variable(
    make_region: MakeRegion, make_env: MakeEnv
) -> None:
    region, decoy = make_region(limit=48 * MIB), make_region("decoy", limit=900 * MIB)
    env = make_env(decoy, mode="none", REGION=str(region.path), VXPU_LIMIT="1")
    unshare = ["unshare", "-m"] if os.getuid() == 0 else ["unshare", "-rm"]
    program = f"import os; os.environ['LD_PRELOAD'] = {str(BUILD / 'libvxpu.so')!r}\n"
    program += f"os.execv({sys.executable!r}, [{sys.executable!r}, '-c', {PROBE!r}])"
    done = run([*unshare, "sh", "-c", FIXED_PATH, sys.executable, program], env)
    assert done.stdout.strip() == f"[{48 * MIB}]", done.stderr


def test_a_whole_device_slice_changes_nothing(make_region: MakeRegion, make_env: MakeEnv) -> None:
    script = """
held = buffer(32 * MIB)
cl.enqueue_fill_buffer(queue, held, np.int32(1), 0, 1024).wait()
print(json.dumps(device.global_mem_size))
"""
    region = make_region(limit=MIB, share=1, flags=1)
    plain = run_python(script, make_env(None, mode="none"))
    assert run_python(script, make_env(region)) == plain
    assert region.usage("launches") == 0
    assert len(region.live_slots()) == 1


def test_a_lease_that_ended_gets_nothing_new(make_region: MakeRegion, make_env: MakeEnv) -> None:
    region = make_region()
    flag = "with open(os.environ['VXPU_REGION_DIR'] + '/limits', 'r+b') as f:\n    f.seek(40), f.write(bytes([2]))\n"
    script = """
codes = [code_of(lambda: buffer(4096)),
         code_of(lambda: cl.enqueue_fill_buffer(queue, held, np.int32(1), 0, 1024)), code_of(held.release)]
print(json.dumps(codes))
"""
    assert run_python("held = buffer(MIB)\n" + flag + script, make_env(region)) == [-4, -5, 0]


def test_rubbish_in_the_usage_file_crashes_no_guest(make_region: MakeRegion, make_env: MakeEnv) -> None:
    script = """
with open(os.environ["VXPU_REGION_DIR"] + "/usage", "r+b") as f:
    f.seek(32)
    f.write(b"\\xff" * 83040)
seen = [code_of(lambda: buffer(4096)), code_of(lambda: cl.get_platforms()[0].get_devices())]
print(json.dumps(seen))
"""
    assert run_python(script, make_env(make_region())) == [-4, 0]


def test_look_ups_by_extension_name_are_ours_too(make_region: MakeRegion, make_env: MakeEnv) -> None:
    out = run_tool("guest", "lookup", env=make_env(make_region(limit=8 * MIB)))
    assert out == "refused=1 unknown=0 unseen=0"


def test_look_ups_by_name_and_version_are_ours_too(make_region: MakeRegion, make_env: MakeEnv) -> None:
    script = """
import ctypes
program = ctypes.CDLL(None)
program.dlvsym.restype = ctypes.c_void_p
loader = ctypes.c_void_p(ctypes.CDLL(os.environ["GUEST_LIBOPENCL"])._handle)
wrapper = ctypes.cast(program.clFinish, ctypes.c_void_p).value
found = program.dlvsym(loader, b"clFinish", b"OPENCL_1.0")
wrong = program.dlvsym(loader, b"clFinish", b"OPENCL_99")
other = program.dlvsym(loader, b"clGetKernelInfo", b"OPENCL_1.0")
print(json.dumps([found == wrapper, wrong, other is not None]))
"""
    assert run_python(script, make_env(make_region())) == [True, None, True]
