"""The cap through a real OpenCL runtime (cases 1, 3, 16, 17)."""

import pytest

from tests.native.conftest import MakeEnv, MakeRegion
from tests.native.guests import run_python, run_tool
from tests.native.region import MIB, Region

CODE_NO_ROOM = -4
CODE_TOO_LARGE = -61


@pytest.mark.parametrize("mode", ["preload", "layer", "both"])
def test_the_cap_is_exact_to_the_granule(make_region: MakeRegion, make_env: MakeEnv, mode: str) -> None:
    script = """
held = [buffer(4 * MIB) for _ in range(7)] + [buffer(4 * MIB - 4096)]
codes = [code_of(lambda: held.append(buffer(4097))), code_of(lambda: held.append(buffer(4096))),
         code_of(lambda: held.append(buffer(1))), code_of(lambda: buffer(32 * MIB + 1))]
held.pop()
codes.append(code_of(lambda: held.append(buffer(1))))
print(json.dumps([device.global_mem_size, device.max_mem_alloc_size, codes]))
"""
    region = make_region(limit=32 * MIB)
    seen = run_python(script, make_env(region, mode=mode))
    assert seen == [32 * MIB, 32 * MIB, [CODE_NO_ROOM, 0, CODE_NO_ROOM, CODE_TOO_LARGE, 0]]
    assert region.usage("peak_bytes") == 32 * MIB


def test_a_parent_lives_and_is_charged_as_long_as_its_sub_buffer(make_region: MakeRegion, make_env: MakeEnv) -> None:
    script = """
parent = buffer(30 * MIB)
part = parent.get_sub_region(0, 16 * MIB)
codes = [code_of(lambda: buffer(4 * MIB))]
parent.release()
codes.append(code_of(lambda: buffer(4 * MIB)))
part.release()
codes.append(code_of(lambda: buffer(32 * MIB)))
print(json.dumps(codes))
"""
    assert run_python(script, make_env(make_region(limit=32 * MIB))) == [CODE_NO_ROOM, CODE_NO_ROOM, 0]


def test_a_buffer_over_host_memory_is_charged(make_region: MakeRegion, make_env: MakeEnv) -> None:
    script = """
data = np.zeros(20 * MIB, np.uint8)
held = cl.Buffer(ctx, mf.READ_WRITE | mf.USE_HOST_PTR, hostbuf=data)
print(json.dumps([code_of(lambda: buffer(13 * MIB)), code_of(lambda: buffer(12 * MIB))]))
"""
    assert run_python(script, make_env(make_region(limit=32 * MIB))) == [CODE_NO_ROOM, 0]


@pytest.mark.parametrize(
    ("shape", "fits"), [("(1024, 1024)", 4), ("(256, 64, 64)", 4), ("(1024, 1025)", 3)], ids=["2d", "3d", "2d-odd"]
)
def test_images_are_charged_by_their_size(make_region: MakeRegion, make_env: MakeEnv, shape: str, fits: int) -> None:
    script = f"""
form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNSIGNED_INT8)
held = []
while code_of(lambda: held.append(cl.Image(ctx, mf.READ_WRITE, form, shape={shape}))) == 0:
    pass
code = code_of(lambda: cl.Image(ctx, mf.READ_WRITE, form, shape={shape}))
count = len(held)
held.clear()
print(json.dumps([count, code, code_of(lambda: buffer(16 * MIB))]))
"""
    assert run_python(script, make_env(make_region(limit=16 * MIB))) == [fits, CODE_NO_ROOM, 0]


def test_image_arrays_and_one_dimension_are_charged(make_region: MakeRegion, make_env: MakeEnv) -> None:
    script = """
form = cl.ImageFormat(cl.channel_order.R, cl.channel_type.FLOAT)
held = [cl.Image(ctx, mf.READ_WRITE, form, shape=(512, 512, 8), is_array=True)]
print(json.dumps([code_of(lambda: buffer(8 * MIB + 1)), code_of(lambda: buffer(8 * MIB))]))
"""
    assert run_python(script, make_env(make_region(limit=16 * MIB))) == [CODE_NO_ROOM, 0]


def test_shared_virtual_memory_is_charged_and_returned(make_region: MakeRegion, make_env: MakeEnv) -> None:
    script = """
flags = cl.svm_mem_flags
first = cl.SVMAllocation(ctx, 20 * MIB, 0, flags.READ_WRITE)
codes = [code_of(lambda: buffer(13 * MIB))]
first.release()
second = cl.SVMAllocation(ctx, 20 * MIB, 0, flags.READ_WRITE, queue=queue)
second.enqueue_release(queue)
queue.finish()
codes.append(code_of(lambda: buffer(32 * MIB)))
print(json.dumps(codes))
"""
    assert run_python(script, make_env(make_region(limit=32 * MIB))) == [CODE_NO_ROOM, 0]


def test_pipes_are_charged(make_region: MakeRegion, make_env: MakeEnv) -> None:
    script = """
held = []
code = code_of(lambda: held.append(cl.Pipe(ctx, mf.READ_WRITE, 1024, 64 * 1024)))
print(json.dumps(code))
"""
    region = make_region(limit=32 * MIB)
    assert run_python(script, make_env(region)) == CODE_NO_ROOM


def test_what_the_runtime_refuses_is_refunded(make_region: MakeRegion, make_env: MakeEnv) -> None:
    script = """
bad = mf.READ_ONLY | mf.WRITE_ONLY | mf.READ_WRITE
codes = [code_of(lambda: cl.Buffer(ctx, bad, size=8 * MIB)) for _ in range(20)]
print(json.dumps([sorted(set(codes)), code_of(lambda: buffer(32 * MIB))]))
"""
    codes, after = run_python(script, make_env(make_region(limit=32 * MIB)))
    assert after == 0
    assert 0 not in codes
    assert CODE_NO_ROOM not in codes


def test_shrinking_below_use_refuses_and_growing_helps_at_once(make_region: MakeRegion, make_env: MakeEnv) -> None:
    region = make_region(limit=32 * MIB)
    base = "import struct\ndef limit(mib):\n    with open(os.environ['VXPU_REGION_DIR'] + '/limits', 'r+b') as f:\n"
    script = (
        base
        + """        f.seek(128), f.write(struct.pack("<QQ", mib * MIB, mib * MIB))
held = buffer(20 * MIB)
limit(10)
seen = [device.global_mem_size == 10 * MIB, code_of(lambda: buffer(4096))]
held.release()
seen.append(code_of(lambda: buffer(10 * MIB)))
limit(48)
seen.append(code_of(lambda: buffer(48 * MIB)))
print(json.dumps(seen))
"""
    )
    assert run_python(script, make_env(region)) == [True, CODE_NO_ROOM, 0, 0]


def test_retain_and_release_from_four_threads_return_every_byte(make_region: MakeRegion, make_env: MakeEnv) -> None:
    region = make_region(limit=32 * MIB)
    assert run_tool("guest", "threads", "5", env=make_env(region)) == "ok"
    assert region.usage("peak_bytes") == MIB + 4096


def test_results_left_out_are_no_crash(make_region: MakeRegion, make_env: MakeEnv) -> None:
    out = run_tool("guest", "null", env=make_env(make_region()))
    assert out == "0 1 -30 0 0 -30 1 1 0"


def test_two_processes_share_one_cap(make_region: MakeRegion, make_env: MakeEnv) -> None:
    script = """
import subprocess
held = buffer(20 * MIB)
child = "import pyopencl as cl\\nctx = cl.create_some_context(False)\\n"
child += "try:\\n    cl.Buffer(ctx, 1, size=int({})); print(0)\\nexcept cl.Error as e: print(e.code)"
def ask(size):
    done = subprocess.run([sys.executable, "-c", child.format(size)], capture_output=True, text=True, check=True)
    return int(done.stdout)
print(json.dumps([ask(13 * MIB), ask(12 * MIB)]))
"""
    region: Region = make_region(limit=32 * MIB)
    assert run_python(script, make_env(region)) == [CODE_NO_ROOM, 0]
