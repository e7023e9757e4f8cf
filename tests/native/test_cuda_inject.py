"""Ways in for CUDA: preloading, the shim, both; other interposers; no driver; fixed paths (cases 8, 11, 12, 18)."""

import os
from collections.abc import Callable

import pytest

from tests.native.cards import FAKE, Cards
from tests.native.conftest import CardRegion, MakeCards
from tests.native.guests import BUILD, LIBRARY, run
from tests.native.region import Region

TOOLS = BUILD / "tests"
PLUGIN = str(TOOLS / "libcudaplugin.so")
WAYS = {"linked": [str(TOOLS / "cuda_linked"), "linked"]} | {
    how: [str(TOOLS / "cuda_ways"), how, PLUGIN] for how in ("local", "global", "deepbind", "dlmopen")
}
PLAIN = "init=0 100=0 2000=0 taken=2100 total=8192"
LIMITED = "init=0 100=0 2000=2 taken=100 total=1024"
INERT, GIB = 1, 1 << 30


def preload_env(cards: Cards, region: Region | None) -> dict[str, str]:
    return cards.env(region)


def shim_env(cards: Cards, region: Region | None) -> dict[str, str]:
    env = cards.env(region, VXPU_REAL_CUDA=str(FAKE / "libcuda.so.1"))
    del env["LD_PRELOAD"]
    return env | {"LD_LIBRARY_PATH": str(BUILD / "shim-test")}


def both_env(cards: Cards, region: Region | None) -> dict[str, str]:
    return shim_env(cards, region) | {"LD_PRELOAD": str(LIBRARY)}


@pytest.fixture
def one_card(card_region: CardRegion) -> tuple[Cards, Region]:
    return card_region(cards={"memory_mib": 8192}, limit=GIB)


def ask_memory(way: str, env: dict[str, str]) -> str:
    done = run([*WAYS[way], "100", "2000"], env)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout.strip()


@pytest.mark.parametrize("way", WAYS)
def test_each_way_works_without_us(one_card: tuple[Cards, Region], way: str) -> None:
    assert ask_memory(way, one_card[0].env(None)) == PLAIN


@pytest.mark.parametrize("way", ["linked", "local", "global"])
def test_preloading_holds_programs_and_plugins(one_card: tuple[Cards, Region], way: str) -> None:
    assert ask_memory(way, preload_env(*one_card)) == LIMITED


@pytest.mark.parametrize("env", [shim_env, both_env])
@pytest.mark.parametrize("way", WAYS)
def test_the_shim_holds_every_way_and_charges_once(
    one_card: tuple[Cards, Region], way: str, env: Callable[[Cards, Region], dict[str, str]]
) -> None:
    assert ask_memory(way, env(*one_card)) == LIMITED


def test_the_shims_thunks_hand_on_every_argument(one_card: tuple[Cards, Region]) -> None:
    newer = str(TOOLS / "newer/libcuda.so.1")
    done = run([str(TOOLS / "cuda_lookup"), "arguments"], shim_env(*one_card) | {"VXPU_REAL_CUDA": newer})
    squares = sum(n * n for n in range(1, 13))
    assert done.stdout.splitlines() == [f"{squares} 0"] * 2


@pytest.mark.parametrize("way", ["deepbind", "dlmopen"])
def test_preloading_alone_does_not_reach_there_but_breaks_nothing(one_card: tuple[Cards, Region], way: str) -> None:
    """Why the shim exists; the agent's audit sees such a process."""
    assert ask_memory(way, preload_env(*one_card)) == PLAIN


@pytest.mark.parametrize("other", ["libcudanext.so", "libcudahandle.so"])
@pytest.mark.parametrize("ours_first", [True, False])
def test_another_interposer_keeps_its_turn(one_card: tuple[Cards, Region], other: str, *, ours_first: bool) -> None:
    order = [str(LIBRARY), str(TOOLS / other)]
    env = preload_env(*one_card) | {"LD_PRELOAD": " ".join(order if ours_first else reversed(order))}
    done = run([*WAYS["linked"], "100", "2000"], env)
    assert done.stdout.strip() == LIMITED
    # Ours first: the refused one never gets there.
    assert done.stderr.count("interposed") == (1 if ours_first else 2)


def test_without_a_driver_a_program_notices_nothing() -> None:
    command = [str(TOOLS / "cuda_ways"), "none"]
    plain = run(command, {"LD_LIBRARY_PATH": "/nowhere"})
    assert plain.stdout == "cuInit=0 nvml=0 said=1 self=0 loaded=0\n"
    ours = run(command, {"LD_LIBRARY_PATH": "/nowhere", "LD_PRELOAD": str(LIBRARY)})
    assert (ours.stdout, ours.stderr) == (plain.stdout, "")


@pytest.mark.parametrize("env", [preload_env, shim_env, both_env])
@pytest.mark.parametrize("way", ["linked", "local"])
def test_no_region_is_no_device(
    one_card: tuple[Cards, Region], way: str, env: Callable[[Cards, Region], dict[str, str]]
) -> None:
    cards, region = one_card
    missing = env(cards, region) | {"VXPU_REGION_DIR": str(region.path / "none")}
    assert ask_memory(way, missing).startswith("init=100 ")


def test_a_shim_without_the_real_driver_is_no_device(one_card: tuple[Cards, Region]) -> None:
    for path in ("/nowhere/libcuda.so.1", str(BUILD / "shim-test/libcuda.so.1")):
        assert ask_memory("local", shim_env(*one_card) | {"VXPU_REAL_CUDA": path}).startswith("init=100 ")


@pytest.mark.parametrize("env", [preload_env, shim_env, both_env])
@pytest.mark.parametrize("way", ["linked", "local"])
def test_a_whole_card_is_left_as_it_is(
    one_card: tuple[Cards, Region], way: str, env: Callable[[Cards, Region], dict[str, str]]
) -> None:
    cards, region = one_card
    region.flag(INERT)
    assert ask_memory(way, env(cards, region)) == PLAIN
    assert region.usage("peak_bytes") == 0


# A slice's view of the machine: fixed paths, and nothing in the environment.
PLACE = """
set -e
mount -t tmpfs none /run && mkdir -p /run/vxpu/uid /run/vxpu/lib/real && cp -a "$REGION" /run/vxpu/uid/0
cp "$BUILD/libvxpu.so" /run/vxpu/lib/ && cp "$BUILD/fake/libcuda.so.1" /run/vxpu/lib/real/
mount -t tmpfs none /etc && echo "$DRIVER" > /etc/ld.so.conf && ldconfig -X
if [ "$PRELOAD" ]; then echo "$PRELOAD" > /etc/ld.so.preload; fi
mount --bind "$CARDS" /dev
exec env -i "$@"
"""


@pytest.mark.parametrize(
    ("driver", "preload", "way"),
    [("fake", "/run/vxpu/lib/libvxpu.so", "linked"), ("fake", "/run/vxpu/lib/libvxpu.so", "local")]
    + [("shim", preload, way) for preload in ("", "/run/vxpu/lib/libvxpu.so") for way in WAYS],
)
def test_an_empty_environment_changes_nothing(
    one_card: tuple[Cards, Region], driver: str, preload: str, way: str
) -> None:
    cards, region = one_card
    env = {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin", "REGION": str(region.path), "CARDS": str(cards.path)}
    env |= {"BUILD": str(BUILD), "DRIVER": str(BUILD / driver), "PRELOAD": preload}
    unshare = ["unshare", "-m"] if os.getuid() == 0 else ["unshare", "-rm"]
    done = run([*unshare, "sh", "-c", PLACE, "sh", *WAYS[way], "100", "2000"], env)
    assert done.stdout.strip() == LIMITED, done.stderr


def test_an_empty_environment_without_a_region_is_no_device(make_cards: MakeCards) -> None:
    cards = make_cards()
    env = cards.env(None) | {"LD_PRELOAD": str(BUILD / "libvxpu.so"), "VXPU_REGION_DIR": "/nowhere"}
    assert ask_memory("linked", env).startswith("init=100 ")
