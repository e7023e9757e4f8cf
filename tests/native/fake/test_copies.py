"""Copies and fills of the simulated card: bytes really move, and take the time of the card's bandwidth."""

import pytest

from tests.native.conftest import MakeCards
from tests.native.fake.conftest import StartGuest
from tests.native.fake.driver import INVALID_VALUE
from tests.native.fake.guest import Guest

COPY_2D = """
class Copy2D(ctypes.Structure):
    side = lambda p: [(p + 'x', ctypes.c_size_t), (p + 'y', ctypes.c_size_t), (p + 'type', ctypes.c_size_t),
                      (p + 'host', ctypes.c_void_p), (p + 'at', ctypes.c_uint64), (p + 'array', ctypes.c_void_p),
                      (p + 'pitch', ctypes.c_size_t)]
    _fields_ = [*side('s'), *side('d'), ('width', ctypes.c_size_t), ('height', ctypes.c_size_t)]
"""


@pytest.fixture
def worker(make_cards: MakeCards, user: StartGuest) -> Guest:
    """A guest with 64 MiB at `at` and a stream `s`."""
    guest = user(make_cards(clock="virtual"))
    guest("from tests.native.fake.work import Work; w = Work(cuda); s = w.stream(); at = cuda.alloc(64 << 20)")
    return guest


def test_bytes_move_both_ways_and_across(worker: Guest) -> None:
    worker("cuda.write(at, bytes(range(256))); cuda.must('cuMemcpyDtoD_v2', at + 1000, at, 256)")
    worker("cuda.must('cuMemcpy', at + 2000, at + 1000, 256)")
    assert worker("list(cuda.read(at + 2000, 256))") == list(range(256))


def test_a_copy_takes_its_bytes_over_the_bandwidth(worker: Guest) -> None:
    worker("cuda.must('cuMemsetD8_v2', at, 0, 64 << 20); cuda.synchronize(); a = w.record(s)")
    worker("cuda.must('cuMemcpyDtoDAsync_v2', at, at + (32 << 20), 25_000_000, s); b = w.record(s)")
    assert worker("w.elapsed(a, b)") == pytest.approx(1, abs=0.01)
    worker("a = w.record(s); cuda.must('cuMemsetD32Async', at, 5, 10_000_000, s); b = w.record(s)")
    assert worker("w.elapsed(a, b)") == pytest.approx(0.04, abs=0.01)


def test_a_pageable_source_is_taken_at_the_call(worker: Guest) -> None:
    """The program may use its buffer again; a page-locked one is read when the card gets there."""
    worker(
        "import ctypes as c; data = c.create_string_buffer(b'old!', 4); pinned = cuda.out('cuMemHostAlloc', 4096, 0)"
    )
    worker("c.memmove(pinned, b'old!', 4); w.launch(1, s); cuda.must('cuMemcpyHtoDAsync_v2', at, data, 4, s)")
    worker("cuda.must('cuMemcpyHtoDAsync_v2', at + 4, pinned, 4, s); c.memmove(data, b'new!', 4)")
    worker("c.memmove(pinned, b'new!', 4); cuda.must('cuStreamSynchronize', s)")
    assert worker("cuda.read(at, 8)") == "old!new!"


def test_rows_keep_their_pitch(worker: Guest) -> None:
    worker(COPY_2D)
    worker("cuda.must('cuMemsetD2D16_v2', at, 32, 0x0201, 2, 3); cuda.synchronize()")
    assert worker("list(cuda.read(at, 70))") == ([1, 2, 1, 2] + [0] * 28) * 2 + [1, 2, 1, 2, 0, 0]
    worker("c = Copy2D(stype=2, sat=at, spitch=32, dtype=2, dat=at + 4096, dpitch=8, width=4, height=3)")
    worker("cuda.must('cuMemcpy2D_v2', ctypes.byref(c))")
    assert worker("list(cuda.read(at + 4096, 24))") == [1, 2, 1, 2, 0, 0, 0, 0] * 3


def test_copies_beyond_an_allocation_are_refused(worker: Guest) -> None:
    assert worker("cuda.call('cuMemcpyHtoD_v2', at + (64 << 20) - 2, b'abcd', 4)") == INVALID_VALUE
    assert worker("cuda.call('cuMemcpyDtoD_v2', at, 4096, 4)") == INVALID_VALUE
    assert worker("cuda.call('cuMemsetD8_v2', at + (64 << 20) - 2, 1, 4)") == INVALID_VALUE
    assert worker("cuda.call('cuMemsetD32_v2', at + 1, 1, 4)") == INVALID_VALUE
    assert worker("cuda.call('cuMemcpyHtoD_v2', at, b'', 0)") == 0
