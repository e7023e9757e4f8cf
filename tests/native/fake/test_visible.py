"""Which devices a program has: CUDA_VISIBLE_DEVICES by number and by name, and what ends the list."""

import pytest

from tests.native.conftest import MakeCards
from tests.native.fake.conftest import StartGuest
from tests.native.fake.driver import INVALID_DEVICE, INVALID_VALUE, NO_DEVICE, NOT_INITIALIZED, SUCCESS
from tests.native.fake.guest import Guest

SEEN = """
def seen():
    found = []
    for i in range(cuda.out("cuDeviceGetCount")):
        name = ctypes.create_string_buffer(20)
        cuda.must("cuDeviceGetPCIBusId", name, 20, i)
        found.append(int(name.value.split(b":")[1], 16) - 1)
    return found
"""

NAME = """
def name(code):
    text = ctypes.c_char_p()
    cuda.must("cuGetErrorName", code, ctypes.byref(text))
    return text.value
"""


def seen(guest: Guest) -> object:
    guest(SEEN)
    return guest("seen()")


@pytest.mark.parametrize(
    ("value", "cards"),
    [
        ("0,1,2", [0, 1, 2]),
        ("2", [2]),
        ("2,0", [2, 0]),
        (" 1 , 2 ", [1, 2]),
        ("0,7,1", [0]),  # what names no card ends the list
        ("1,-1,0", [1]),
        ("1,1,0", [1]),  # a second time is no card either
        ("0,rubbish,1", [0]),
    ],
)
def test_numbers_pick_and_order_cards(value: str, cards: list[int], make_cards: MakeCards, start: StartGuest) -> None:
    guest = start(make_cards(count=3), CUDA_VISIBLE_DEVICES=value)
    guest("cuda.init()")

    assert seen(guest) == cards


@pytest.mark.parametrize("value", ["", "-1", "3", "NoDevFiles", "GPU-ffffffff"])
def test_a_list_without_a_card_leaves_no_device(value: str, make_cards: MakeCards, start: StartGuest) -> None:
    assert start(make_cards(count=3), CUDA_VISIBLE_DEVICES=value).code("cuda.init()") == NO_DEVICE


def test_without_the_variable_all_cards_are_there(make_cards: MakeCards, start: StartGuest) -> None:
    guest = start(make_cards(count=3))
    guest("cuda.init()")

    assert seen(guest) == [0, 1, 2]


def test_a_name_may_be_cut_while_it_is_unique(make_cards: MakeCards, start: StartGuest) -> None:
    cards = make_cards(count=3)
    value = f"{cards.uuid(2)},{cards.uuid(0)[:12]}"
    guest = start(cards, CUDA_VISIBLE_DEVICES=value)
    guest("cuda.init()")

    assert seen(guest) == [2, 0]
    assert start(cards, CUDA_VISIBLE_DEVICES="GPU-").code("cuda.init()") == NO_DEVICE


def test_nvml_sees_all_cards_whatever_the_variable_says(make_cards: MakeCards, reader: StartGuest) -> None:
    assert reader(make_cards(count=3), CUDA_VISIBLE_DEVICES="1")("n.nvmlDeviceGetCount()") == 3


def test_nothing_answers_before_initialisation(make_cards: MakeCards, start: StartGuest) -> None:
    guest = start(make_cards())

    assert guest.code('cuda.out("cuDeviceGetCount")') == NOT_INITIALIZED
    assert guest.code('cuda.out("cuDeviceGet", 0)') == NOT_INITIALIZED
    assert guest.code(f"cuda.alloc({1 << 20})") == NOT_INITIALIZED
    assert guest('cuda.out("cuDriverGetVersion")') == 13050
    assert guest.code('cuda.must("cuInit", 1)') == INVALID_VALUE
    assert guest.code('cuda.must("cuInit", 0)') == SUCCESS


def test_devices_answer_in_the_drivers_way(make_cards: MakeCards, start: StartGuest) -> None:
    guest = start(make_cards(sms=42))
    guest("cuda.init()")

    assert guest('cuda.out("cuDeviceGetAttribute", 16, 0)') == 42
    assert guest('cuda.out("cuDeviceGetAttribute", 1, 0)') == 1024
    assert guest.code('cuda.out("cuDeviceGetAttribute", 9999, 0)') == INVALID_VALUE
    assert guest.code('cuda.out("cuDeviceGetAttribute", 16, 1)') == INVALID_DEVICE
    assert guest.code('cuda.out("cuDeviceGet", 5)') == INVALID_DEVICE
    assert guest.code('cuda.must("cuDeviceTotalMem_v2", None, 0)') == INVALID_VALUE
    assert guest('cuda.out("cuDeviceGetByPCIBusId", b"01:00.0")') == 0
    assert guest.code('cuda.out("cuDeviceGetByPCIBusId", b"0000:55:00.0")') == INVALID_DEVICE


@pytest.mark.parametrize(("forbidden", "code"), [(0, SUCCESS), (1, NOT_INITIALIZED)])
def test_a_child_starts_anew_unless_the_card_is_as_strict_as_a_real_one(
    forbidden: int, code: int, make_cards: MakeCards, user: StartGuest
) -> None:
    cards = make_cards()
    cards.set(0, fork_forbidden=forbidden)
    guest = user(cards)
    guest("child = os.fork()\nif not child: os._exit(cuda.call('cuInit', 0))")

    assert guest("os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])") == code


def test_codes_have_names(make_cards: MakeCards, start: StartGuest) -> None:
    guest = start(make_cards())
    guest(NAME)

    assert [guest(f"name({code})") for code in (0, 2, 100)] == [
        "CUDA_SUCCESS",
        "CUDA_ERROR_OUT_OF_MEMORY",
        "CUDA_ERROR_NO_DEVICE",
    ]
    assert guest.code("name(12345)") == INVALID_VALUE
