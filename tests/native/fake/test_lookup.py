"""cuGetProcAddress of the fake: each look-up of a real runtime, every threshold and flag, and what is not there."""

import ctypes
import re
from functools import cache
from pathlib import Path

import pytest

from tests.native.cards import FAKE
from tests.native.fake.driver import INVALID_VALUE, NOT_FOUND
from tests.native.region import NATIVE

DATA = Path(__file__).parents[1] / "data"
LOOKUPS, SYMBOLS = DATA / "lookups-cudart-13.0.txt", DATA / "driver-symbols-13.5.txt"
DEFAULT, LEGACY, PER_THREAD = 0, 1, 2
FOUND, NO_SYMBOL, TOO_OLD = 0, 1, 2
DRIVER_VERSION = 13050


@cache
def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(FAKE / "libcuda.so.1"))


@cache
def names_by_address() -> dict[int | None, str]:
    text = (NATIVE / "include/vxpu/driver_symbols.def").read_text()
    names = re.findall(r"^VX_(?:SYMBOL|INTEROP)\((\w+)\)", text, re.MULTILINE)
    return {ctypes.cast(getattr(library(), name), ctypes.c_void_p).value: name for name in names}


def versions() -> list[tuple[str, int, str, str]]:
    rows = re.findall(r"VF_VERSION\((cu\w+), (\d+), (\w+), (\w+)\)", (NATIVE / "fake/versions.def").read_text())
    return [(base, int(version), stream, name) for base, version, stream, name in rows]


def look_up(symbol: str, version: int, flags: int, call: str = "cuGetProcAddress_v2") -> tuple[int, str | None, int]:
    """Code, name of what the pointer is, status."""
    at, status = ctypes.c_void_p(1), ctypes.c_int(-1)
    flags_word = ctypes.c_uint64(flags)
    code = getattr(library(), call)(symbol.encode(), ctypes.byref(at), version, flags_word, ctypes.byref(status))
    return code, names_by_address().get(at.value), status.value


def recorded() -> list[tuple[str, int, int, str]]:
    rows = re.findall(r"^(\w*) ?ver=(\d+) flags=(\d+) (\S+)", LOOKUPS.read_text(), re.MULTILINE)
    return [(name, int(version), int(flags), answer) for name, version, flags, answer in rows]


def test_each_look_up_of_a_real_runtime_gets_its_own_variant() -> None:
    rows = recorded()
    wrong = [row for row in rows if look_up(*row[:3])[1] != (None if row[3] == "->" else row[3])]

    assert (len(rows), wrong) == (440, [])


def test_every_name_of_the_driver_is_exported_once() -> None:
    text = (NATIVE / "include/vxpu/driver_symbols.def").read_text()

    assert re.findall(r"^VX_SYMBOL\((\w+)\)", text, re.MULTILINE) == SYMBOLS.read_text().split()
    assert len(names_by_address()) == len(re.findall(r"^VX_(?:SYMBOL|INTEROP)\(", text, re.MULTILINE))


def test_a_variant_is_found_from_its_version_on_until_the_next() -> None:
    for base, version, stream, name in versions():
        flags = LEGACY if stream == "LEGACY" else PER_THREAD
        later = [v for b, v, s, _ in versions() if (b, s) == (base, stream) and v > version]
        until = min(later, default=DRIVER_VERSION + 1) - 1

        assert look_up(base, version, flags) == (0, name, FOUND)
        assert look_up(base, until, flags)[1] == name


def test_below_the_first_version_the_status_says_so() -> None:
    first: dict[str, int] = {}
    for base, version, _, _ in versions():
        first[base] = min(version, first.get(base, version))

    assert {look_up(base, version - 10, PER_THREAD) for base, version in first.items()} == {(0, None, TOO_OLD)}


@pytest.mark.parametrize("symbol", ["", "cuNothing", "cuMemAlloc_v2", "cuLaunchKernel_ptsz", "nvmlInit"])
def test_a_name_that_is_no_base_name_is_not_found(symbol: str) -> None:
    assert look_up(symbol, 12000, DEFAULT) == (0, None, NO_SYMBOL)


def test_the_first_abi_has_no_status_and_answers_a_miss_with_an_error() -> None:
    assert look_up("cuNothing", 12000, DEFAULT, "cuGetProcAddress")[:2] == (NOT_FOUND, None)
    assert look_up("cuMemAlloc", 1000, DEFAULT, "cuGetProcAddress")[:2] == (NOT_FOUND, None)
    assert look_up("cuMemAlloc", 3020, DEFAULT, "cuGetProcAddress")[:2] == (0, "cuMemAlloc_v2")


def test_default_means_per_thread_only_in_the_per_thread_twin() -> None:
    assert look_up("cuMemcpy", 12000, DEFAULT)[1] == "cuMemcpy"
    assert look_up("cuMemcpy", 12000, DEFAULT, "cuGetProcAddress_v2_ptsz")[1] == "cuMemcpy_ptds"
    assert look_up("cuMemcpy", 12000, LEGACY, "cuGetProcAddress_v2_ptsz")[1] == "cuMemcpy"
    assert look_up("cuMemcpy", 4000, PER_THREAD)[1] == "cuMemcpy"  # the twin is younger


@pytest.mark.parametrize(("version", "flags"), [(DRIVER_VERSION + 10, DEFAULT), (12000, 3), (12000, 4)])
def test_a_version_beyond_the_driver_and_unknown_flags_are_refused(version: int, flags: int) -> None:
    assert look_up("cuMemAlloc", version, flags)[0] == INVALID_VALUE


def test_missing_arguments_are_refused() -> None:
    at = ctypes.c_void_p()

    assert library().cuGetProcAddress_v2(None, ctypes.byref(at), 12000, ctypes.c_uint64(0), None) == INVALID_VALUE
    assert library().cuGetProcAddress_v2(b"cuInit", None, 12000, ctypes.c_uint64(0), None) == INVALID_VALUE
    assert library().cuGetProcAddress_v2(b"cuInit", ctypes.byref(at), 12000, ctypes.c_uint64(0), None) == 0
