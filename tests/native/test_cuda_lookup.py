"""Look-ups of driver calls: each answer is the driver's own, or our wrapper of exactly that variant (case 10)."""

import itertools
import re
import shutil
from pathlib import Path

import pytest

from tests.native.cards import FAKE, Cards
from tests.native.conftest import CardRegion
from tests.native.guests import BUILD
from tests.native.region import NATIVE, OFFSETS, Region
from tests.native.tools import answers

HOOKS = (NATIVE / "src/hooks.def").read_text()
WRAPPED = re.findall(r"^VX_(?:CU|NV)\(\w, (\w+),", HOOKS, re.MULTILINE)
DATA = Path(__file__).parent / "data"
DRIVER_NAMES = (DATA / "driver-symbols-13.5.txt").read_text().split()
RECORDED = [
    (found[1] or "-", found[2], found[3], found[4] if found[1] else "null")
    for found in re.finditer(
        r"^(\w*) ?ver=(\d+) flags=(\d+) (\S+)", (DATA / "lookups-cudart-13.0.txt").read_text(), re.MULTILINE
    )
]
VARIANTS = re.findall(r"^VF_VERSION\((\w+), (\d+),", (NATIVE / "fake/versions.def").read_text(), re.MULTILINE)
ENTRIES = ("v1", "v2", "ptsz")
OURS = "libvxpu-test.so"
STRICT = 4


def base_of(name: str) -> str:
    return re.sub(r"(_v\d+)?(_ptsz|_ptds)?$", "", name)


def exported(library: Path) -> set[str]:
    """The names that a library defines, from its dynamic symbols."""
    lines = answers(["nm", "-D", "--defined-only", str(library)], {})
    return {line.split()[-1].split("@")[0] for line in lines}


def limited(answer: str) -> str:
    """What a limited program must get where a plain one got this."""
    *codes, _, name = answer.split()
    return " ".join([*codes, OURS, name]) if name in WRAPPED else answer


@pytest.fixture
def both(card_region: CardRegion) -> tuple[Cards, Region]:
    return card_region(limit=1 << 30)


def compare(cards: Cards, region: Region, how: str, questions: list[str]) -> list[str]:
    """Ask the same with and without the limiter; the plain answers."""
    command, text = [str(BUILD / "tests/cuda_lookup"), how], "\n".join(questions)
    plain = answers(command, cards.env(None), text)
    assert len(plain) == len(questions)
    ours = answers(command, cards.env(region), text)
    expected = [limited(answer) if answer.count(" ") > 1 - how.startswith("d") else answer for answer in plain]
    assert [pair for pair in zip(questions, expected, ours, strict=True) if pair[1] != pair[2]] == []
    return plain


@pytest.mark.parametrize("entry", ENTRIES[1:])
def test_what_a_real_runtime_looks_up_is_answered_as_by_the_driver(both: tuple[Cards, Region], entry: str) -> None:
    plain = compare(*both, entry, [f"{name} {version} {flags}" for name, version, flags, _ in RECORDED])
    assert len(plain) == 440
    if entry == "v2":
        assert [line.split()[-1] for line in plain] == [function for *_, function in RECORDED]


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_variant_at_every_threshold_and_flag(both: tuple[Cards, Region], entry: str) -> None:
    bases = sorted({base_of(name) for name in WRAPPED if name.startswith("cu")})
    steps = sorted({int(version) for _, version in VARIANTS})
    versions = sorted({0, *steps, *(step - 1 for step in steps), 99_999, -1})
    questions = [f"{base} {version} {flags}" for base, version, flags in itertools.product(bases, versions, range(3))]
    plain = compare(*both, entry, questions)
    found = {line.split()[-1] for line in plain}
    missing = {name for name in WRAPPED if name.startswith("cu")} - found
    assert missing <= {"cuGetProcAddress_v2_ptsz"}  # no version asks for it: a program is linked with it


@pytest.mark.parametrize("entry", ENTRIES)
def test_what_the_driver_refuses_is_refused_in_its_own_words(both: tuple[Cards, Region], entry: str) -> None:
    names = ["-", "NULL", "cuNoSuchCall", "cuMemAlloc_v2", "cuMemAlloc_v3", "cumemalloc", "x" * 200]
    questions = [f"{name} {version} {flags}" for name in names for version in (0, 2000, 13000) for flags in (0, 1, 2)]
    questions += ["cuMemAlloc 999999 0", "cuMemAlloc -5 0", "cuMemAlloc 13000 77", "cuMemAlloc 1 0"]
    assert not any("libcuda" in line for line in compare(*both, entry, questions))


NAMES = [*DRIVER_NAMES, "cuNoSuchCall", "cuMemAlloc_v3", "malloc", "c", "cu", "cl", "n"]


def test_look_ups_by_name(both: tuple[Cards, Region]) -> None:
    assert compare(*both, "dlsym", NAMES)[0] == "libcuda.so.1 cuArray3DCreate"


def test_look_ups_by_name_in_a_program_whose_driver_is_private(both: tuple[Cards, Region]) -> None:
    """A plain one finds nothing, a limited one our exports: both are right for what it does next."""
    cards, region = both
    ours = answers([str(BUILD / "tests/cuda_lookup"), "default"], cards.env(region), "\n".join(NAMES))
    expected = [f"{OURS} {name}" if name in WRAPPED else "null" for name in NAMES]
    expected[NAMES.index("malloc")] = "libc.so.6 malloc"
    assert ours == expected


def test_every_row_of_the_list_has_its_wrapper() -> None:
    for library in ("libvxpu.so", "libvxpu-test.so"):
        assert set(WRAPPED) - exported(BUILD / library) == set()
        undefined = answers(["nm", "-D", "--undefined-only", str(BUILD / library)], {})
        assert [line for line in undefined if re.search(r" (cu|nvml)[A-Z]", line)] == []


def test_every_exported_driver_call_is_in_the_list() -> None:
    calls = {name for name in exported(BUILD / "libvxpu.so") if re.match(r"(cu|nvml)[A-Z]", name)}
    assert calls == set(WRAPPED)


def test_no_variant_of_a_wrapped_call_is_forgotten() -> None:
    bases = {base_of(name) for name in WRAPPED}
    assert [name for name in DRIVER_NAMES if base_of(name) in bases and name not in WRAPPED] == []


def test_the_drivers_hidden_tables_are_never_touched() -> None:
    assert not any("ExportTable" in name for name in WRAPPED)


def test_a_driver_under_another_file_name_is_known_by_what_it_is(both: tuple[Cards, Region], tmp_path: Path) -> None:
    cards, region = both
    shutil.copy(FAKE / "libcuda.so.1", tmp_path / "libmine.so")
    command = [str(BUILD / "tests/cuda_lookup"), "dlsym", str(tmp_path / "libmine.so")]
    env = cards.env(region) | {"LD_LIBRARY_PATH": "/nowhere"}
    assert answers(command, env, "cuMemAlloc_v2\ncuCtxGetId") == [f"{OURS} cuMemAlloc_v2", "libmine.so cuCtxGetId"]


@pytest.mark.parametrize("flags", [0, STRICT])
def test_a_second_driver_is_counted_or_withheld(card_region: CardRegion, tmp_path: Path, flags: int) -> None:
    cards, region = card_region(limit=1 << 30, flags=flags)
    shutil.copy(FAKE / "libcuda.so.1", tmp_path / "libmine.so")
    command = [str(BUILD / "tests/cuda_lookup"), "dlsym", str(tmp_path / "libmine.so")]
    (answer,) = answers(command, cards.env(region), "cuMemAlloc_v2")
    assert answer == ("null" if flags else "libmine.so cuMemAlloc_v2")
    assert region.get("usage", OFFSETS["vx_usage", "unknown_symbols"]) == 1


def test_many_threads_look_up_at_once(both: tuple[Cards, Region]) -> None:
    cards, region = both
    for _ in range(10):
        found = answers([str(BUILD / "tests/cuda_lookup"), "race"], cards.env(region))
        assert found == [f"{OURS} cuMemAlloc_v2"] * 16


def test_plugins_that_look_up_while_they_load_hang_nobody(both: tuple[Cards, Region]) -> None:
    cards, region = both
    command = [str(BUILD / "tests/cuda_storm"), str(BUILD / "tests/libcudastorm.so"), "100"]
    assert answers(command, cards.env(region)) == ["done"]


def ask_the_newer_driver(cards: Cards, region: Region, how: str, question: str) -> str:
    env = cards.env(region) | {"LD_LIBRARY_PATH": str(BUILD / "tests/newer")}
    (answer,) = answers([str(BUILD / "tests/cuda_lookup"), how], env, question)
    return answer


@pytest.mark.parametrize("how", ["v1", "v2", "dlsym", "dlvsym"])
@pytest.mark.parametrize("flags", [0, STRICT])
def test_a_variant_that_we_do_not_know_is_counted_or_withheld(card_region: CardRegion, how: str, flags: int) -> None:
    cards, region = card_region(limit=1 << 30, flags=flags)
    question = "cuMemAlloc_v3" if how.startswith("d") else "cuMemAlloc 15000 0"
    handed_out = {"v1": "0 77 ", "v2": "0 0 "}.get(how, "") + "libcuda.so.1 cuMemAlloc_v3"
    withheld = {"v1": "500 77 null", "v2": "0 1 null"}.get(how, "null")
    assert ask_the_newer_driver(cards, region, how, question) == (withheld if flags else handed_out)
    assert region.get("usage", OFFSETS["vx_usage", "unknown_symbols"]) == 1


def test_look_ups_by_name_and_version(both: tuple[Cards, Region]) -> None:
    assert ask_the_newer_driver(*both, "dlvsym", "cuMemAlloc_v2") == f"{OURS} cuMemAlloc_v2"


def test_a_known_variant_of_a_newer_driver_is_not_counted(card_region: CardRegion) -> None:
    cards, region = card_region(limit=1 << 30, flags=STRICT)
    assert ask_the_newer_driver(cards, region, "v2", "cuMemAlloc 13000 0") == f"0 0 {OURS} cuMemAlloc_v2"
    assert region.get("usage", OFFSETS["vx_usage", "unknown_symbols"]) == 0


CALLS = [name for name in WRAPPED if name.startswith("cu")]


@pytest.mark.parametrize("when", ["bare", "started"])
def test_calls_with_nothing_but_zeros_get_the_drivers_own_codes(both: tuple[Cards, Region], when: str) -> None:
    cards, region = both
    command, text = [str(BUILD / "tests/cuda_zeros"), when], "\n".join(CALLS)
    plain, ours = (answers(command, cards.env(who), text) for who in (None, region))
    assert [pair for pair in zip(plain, ours, strict=True) if pair[0] != pair[1]] == []


@pytest.mark.parametrize("with_region", [True, False])
def test_wrappers_without_a_driver_refuse_and_never_crash(both: tuple[Cards, Region], *, with_region: bool) -> None:
    _, region = both
    env = {"VX_TEST_LIBRARY": str(BUILD / OURS), "LD_LIBRARY_PATH": "/nowhere"}
    env["VXPU_REGION_DIR"] = str(region.path) if with_region else "/nowhere"
    lines = answers([str(BUILD / "tests/cuda_zeros"), "absent"], env, "\n".join(CALLS))
    assert {line.split(" ", 1)[1] for line in lines} <= {"code=100 signal=0", "code=500 signal=0"}
