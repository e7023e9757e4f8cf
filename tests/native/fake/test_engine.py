"""What a simulated card executes: round robin, times, full queues, the dead, real and virtual time."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from tests.native.cards import FAKE, Cards
from tests.native.conftest import MakeCards
from tests.native.fake.conftest import StartGuest
from tests.native.fake.driver import INVALID_HANDLE, INVALID_VALUE, MIB, NOT_FOUND, NOT_INITIALIZED
from tests.native.fake.guest import Guest
from tests.native.fake.work import NON_BLOCKING, NOT_PERMITTED, NOT_READY

Client = Callable[..., subprocess.Popen[str]]
MakeWorker = Callable[..., Guest]
INVALID_IMAGE = 200
WORK = "from tests.native.fake.work import Work; w = Work(cuda)"


@pytest.fixture
def client() -> Iterator[Client]:
    """Starts a client of native/fake/tests; it is ready, and waits for its line."""
    started: list[subprocess.Popen[str]] = []

    def start(cards: Cards, name: str, *args: object) -> subprocess.Popen[str]:
        words = [str(FAKE / "tests" / name), *map(str, args)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(words, env=cards.env(None), stdin=pipe, stdout=pipe, text=True)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def worker(user: StartGuest) -> MakeWorker:
    """A guest with a context and `w`, the work that it can do."""

    def make(cards: Cards, **extra: str) -> Guest:
        guest = user(cards, **extra)
        guest(WORK)
        return guest

    return make


def begin(*clients: subprocess.Popen[str]) -> None:
    """Nobody's time moves until the last has its line."""
    for process in clients:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()


def hear(process: subprocess.Popen[str]) -> dict[str, int]:
    assert process.stdout is not None
    fields: dict[str, int] = json.loads(process.stdout.readline())
    return fields


def shares(client: Client, cards: Cards, milliseconds: int, *kernels_ns: int, sync: int = 0) -> list[float]:
    """Of a card's time, what each of these processes got while all of them launch."""
    workers = [client(cards, "engine", "work", f"kernel_ns={ns}", f"sync={sync}") for ns in kernels_ns]
    watch = client(cards, "watch", milliseconds)
    begin(*workers, watch)
    seen = hear(watch)
    got: list[int] = seen["got_ns"]  # type: ignore[assignment]
    return [ns / seen["took_ns"] for ns in got]


@pytest.mark.parametrize(
    "kernels", [(200_000,) * 2, (200_000,) * 3, (5_000_000, 200_000), (100_000, 700_000, 3_000_000)]
)
def test_processes_with_work_get_equal_time(make_cards: MakeCards, client: Client, kernels: tuple[int, ...]) -> None:
    got = shares(client, make_cards(clock="virtual"), 5_000, *kernels)
    assert got == pytest.approx([1 / len(kernels)] * len(kernels), abs=0.01 / len(kernels))
    assert sum(got) == pytest.approx(1, abs=0.001)


def test_who_waits_for_each_kernel_gets_one_kernel_a_turn(make_cards: MakeCards, client: Client) -> None:
    """Why a share needs a limiter: 0.2 ms kernels one at a time against full turns of 2 ms."""
    got = sorted(shares(client, make_cards(clock="virtual"), 5_000, 200_000, 2_000_000, sync=1))
    assert got == pytest.approx([0.2 / 2.2, 2 / 2.2], abs=0.01)


def test_32_processes_share_ten_seconds_of_virtual_time(make_cards: MakeCards, client: Client) -> None:
    got = shares(client, make_cards(clock="virtual"), 10_000, *[200_000] * 32)
    assert got == pytest.approx([1 / 32] * 32, rel=0.01)


def test_16_processes_share_a_real_second(make_cards: MakeCards, client: Client) -> None:
    got = shares(client, make_cards(), 1_000, *[200_000] * 16)
    assert len(got) == 16
    assert sum(got) == pytest.approx(1, abs=0.001)
    assert min(got) > 0.5 / 16


def test_a_launch_into_a_full_queue_waits_for_room(make_cards: MakeCards, client: Client) -> None:
    """1,024 kernels of 10 ms: the next waits until the first is through."""
    full = client(make_cards(clock="virtual"), "engine", "full", "kernel_ns=10000000")
    begin(full)
    seen = hear(full)
    assert seen["filled_ns"] < 5_000_000
    assert seen["filled_ns"] + seen["waited_ns"] == pytest.approx(10_000_000, abs=10_000)
    assert seen["all_ns"] == pytest.approx(1025 * 10_000_000, rel=0.001)


def test_events_give_the_time_of_what_is_between(make_cards: MakeCards, worker: MakeWorker) -> None:
    guest = worker(make_cards(clock="virtual"))
    assert guest("w.timed(w.stream(), 5)") == pytest.approx(5, abs=0.01)
    assert guest("w.timed(w.stream(), 1, 2, 3)") == pytest.approx(6, abs=0.02)
    assert guest("w.timed(0, 0.1)") == pytest.approx(0.1, abs=0.01)


def test_a_neighbours_turns_are_in_an_events_time(make_cards: MakeCards, client: Client, worker: MakeWorker) -> None:
    """20 ms of work take 40 ms beside another: what the limiter's gain is for."""
    cards = make_cards(clock="virtual")
    guest = worker(cards)
    begin(client(cards, "engine", "work", "kernel_ns=200000"))
    assert guest("w.timed(w.stream(), 20)") == pytest.approx(40, abs=2.1)


def test_events_in_wrong_states(make_cards: MakeCards, worker: MakeWorker) -> None:
    guest = worker(make_cards(clock="virtual"))
    guest("e, plain, s = w.event(), w.event(2), w.stream(); f = ctypes.byref(ctypes.c_float())")
    assert guest("cuda.call('cuEventQuery', e)") == 0  # never recorded: nothing to wait for
    assert guest("cuda.call('cuEventElapsedTime', f, e, e)") == 400
    guest("w.launch(5, s); cuda.must('cuEventRecord', e, s); cuda.must('cuEventRecord', plain, s)")
    assert guest("cuda.call('cuEventQuery', e)") == NOT_READY
    assert guest("cuda.call('cuEventElapsedTime', f, e, e)") == NOT_READY
    assert guest("cuda.call('cuEventElapsedTime', f, e, plain)") == 400
    assert guest("cuda.call('cuEventSynchronize', e), cuda.call('cuEventQuery', e)") == [0, 0]
    assert guest("cuda.call('cuEventDestroy_v2', e), cuda.call('cuEventQuery', e)") == [0, 400]


def test_streams_keep_their_order_with_the_default_stream(make_cards: MakeCards, worker: MakeWorker) -> None:
    guest = worker(make_cards(clock="virtual"))
    guest("a, b = w.stream(), w.stream(1); at = cuda.alloc(4096); cuda.write(at, bytes(8))")
    guest("cuda.must('cuStreamWaitValue32_v2', a, at, 1, 1); w.launch(1, a); w.launch(1, b); w.launch(1)")
    guest("cuda.must('cuStreamSynchronize', b)")  # a non-blocking stream does not wait for anybody
    assert guest("[cuda.call('cuStreamQuery', s) for s in (a, b, 0)]") == [NOT_READY, 0, NOT_READY]
    guest("ctypes.c_uint32.from_address(at).value = 1")
    assert guest("[cuda.call('cuStreamSynchronize', s) for s in (a, b, 0)]") == [0, 0, 0]


def test_a_stream_waits_for_another_ones_event(make_cards: MakeCards, worker: MakeWorker) -> None:
    guest = worker(make_cards(clock="virtual", count=2))
    guest("a, b = w.stream(1), w.stream(1); at = cuda.alloc(4096); cuda.write(at, bytes(8))")
    guest("cuda.must('cuStreamWaitValue32', a, at, 7, 1); w.launch(1, a); e = w.record(a)")
    guest("cuda.must('cuStreamWaitEvent', b, e, 0); w.launch(1, b)")
    guest("cuda.primary(1); c = w.stream(); cuda.must('cuStreamWaitEvent', c, e, 0)")  # on the other card
    assert guest("[cuda.call('cuStreamQuery', s) for s in (a, b, c)]") == [NOT_READY] * 3
    guest("ctypes.c_uint32.from_address(at).value = 7")
    assert guest("[cuda.call('cuStreamSynchronize', s) for s in (c, b, a)]") == [0, 0, 0]


def test_host_functions_run_in_order_and_may_not_call_the_driver(make_cards: MakeCards, worker: MakeWorker) -> None:
    guest = worker(make_cards(clock="virtual"))
    guest("s = w.stream()\nfor word in 'abc': w.launch(1, s); w.host(word, s)")
    guest("w.host_that_calls(s); cuda.must('cuStreamSynchronize', s)")
    assert guest("w.heard") == ["a", "b", "c", str(NOT_PERMITTED)]


def test_values_are_written_when_the_stream_gets_there(make_cards: MakeCards, worker: MakeWorker) -> None:
    guest = worker(make_cards(clock="virtual"))
    guest("s = w.stream(); at = cuda.alloc(4096); cuda.write(at, bytes(16)); read = ctypes.c_uint64.from_address")
    guest("w.launch(5, s); cuda.must('cuStreamWriteValue64_v2', s, at + 8, 1 << 40, 0)")
    assert guest("read(at + 8).value") == 0
    assert guest("cuda.call('cuStreamSynchronize', s), read(at + 8).value") == [0, 1 << 40]
    assert guest("cuda.call('cuStreamWriteValue64_v2', s, at + 4, 1, 0)") == INVALID_VALUE


def test_a_killed_process_frees_the_card_at_once(make_cards: MakeCards, client: Client, worker: MakeWorker) -> None:
    cards = make_cards(clock="virtual")
    dead, alive = worker(cards), worker(cards)
    idle = cards.used_bytes()
    dead("cuda.alloc(64 << 20)\nfor _ in range(100): w.launch(1000)")
    assert cards.used_bytes() == idle + 64 * MIB
    dead.kill()
    assert alive("w.timed(w.stream(), 10)") == pytest.approx(10, abs=4)
    assert cards.used_bytes() == idle // 2


@pytest.mark.parametrize("round_", range(3))
def test_kill_anywhere_leaves_a_card_for_others(make_cards: MakeCards, client: Client, round_: int) -> None:
    """Workers are shot in mid-launch, again and again; the rest go on and the card stays whole."""
    cards = make_cards()
    for _ in range(5):
        victims = [client(cards, "engine", "work", "kernel_ns=1000") for _ in range(3)]
        begin(*victims)
        time.sleep(0.02 + round_ * 0.007)
        for victim in victims:
            victim.kill()
            victim.wait(timeout=10)
    assert sum(shares(client, cards, 200, 200_000, 200_000)) == pytest.approx(1, abs=0.001)
    assert len(cards.list()[0]["processes"]) <= 2  # type: ignore[arg-type]


def test_a_forks_child_has_no_driver_until_it_asks(make_cards: MakeCards, worker: MakeWorker) -> None:
    guest = worker(make_cards())
    guest("""
def child():
    before = cuda.call('cuCtxSynchronize')
    cuda.start()
    from tests.native.fake.work import Work
    return before, Work(cuda).timed(0, 1) > 0.9
def fork():
    import json
    out, into = os.pipe()
    if os.fork() == 0:
        os.write(into, json.dumps(child()).encode())
        os._exit(0)
    os.wait()
    return json.loads(os.read(out, 100))
""")
    assert guest("fork()") == [NOT_INITIALIZED, True]
    assert guest("w.timed(0, 1) > 0.9")


def test_time_does_not_wait_for_who_sleeps_elsewhere(make_cards: MakeCards, worker: MakeWorker) -> None:
    """A participant that reads a pipe (or died) is left out; one that joined by hand is waited for."""
    cards = make_cards(clock="virtual")
    idle, busy = worker(cards), worker(cards)
    assert idle("w.timed(0, 1)") == pytest.approx(1, abs=0.01)
    assert busy("w.timed(0, 3000)") == pytest.approx(3000, abs=1)
    idle.kill()
    assert busy("w.timed(0, 3000)") == pytest.approx(3000, abs=1)


def test_a_launch_costs_little(make_cards: MakeCards, client: Client) -> None:
    """The limiter's cost is measured against it: a launch takes no lock that processes share."""
    cost = client(make_cards(), "engine", "cost")
    begin(cost)
    assert hear(cost)["launch_ns"] < 20_000  # the figure is in docs/performance.md; this only catches a hang


def test_streams_of_threads_are_their_own(make_cards: MakeCards, worker: MakeWorker) -> None:
    guest = worker(make_cards(clock="virtual"))
    guest("at = cuda.alloc(4096); cuda.write(at, bytes(8))")
    guest("cuda.must('cuStreamWaitValue32_ptsz', 0, at, 1, 1)")
    assert guest("cuda.call('cuStreamQuery_ptsz', 0), cuda.call('cuStreamQuery', 2)") == [NOT_READY] * 2
    assert guest(f"cuda.call('cuStreamQuery', w.stream({NON_BLOCKING}))") == 0
    guest("ctypes.c_uint32.from_address(at).value = 1")
    assert guest("cuda.call('cuStreamSynchronize_ptsz', 0)") == 0


def test_linked_images_load_and_modules_tell_their_parts(make_cards: MakeCards, worker: MakeWorker) -> None:
    guest = worker(make_cards(clock="virtual"))
    guest("from tests.native.cuda_client import kernels; state = ctypes.c_void_p()")
    guest("cuda.must('cuLinkCreate_v2', 0, None, None, ctypes.byref(state))")
    guest("ptx = kernels(); image, size = ctypes.c_uint64(), ctypes.c_size_t()")
    guest("cuda.must('cuLinkAddData_v2', state, 1, ptx, len(ptx) - 1, None, 0, None, None)")
    guest("cuda.must('cuLinkComplete', state, ctypes.byref(image), ctypes.byref(size))")
    guest("m = cuda.out('cuModuleLoadData', image.value); cuda.must('cuLinkDestroy', state)")
    assert guest("cuda.out('cuModuleGetFunctionCount', m) & 0xffffffff") == 2
    assert guest("cuda.call('cuModuleGetGlobal_v2', None, ctypes.byref(size), m, b'vx_sink'), size.value") == [0, 4]
    assert guest("cuda.call('cuModuleGetFunction', ctypes.byref(image), m, b'none')") == NOT_FOUND
    assert guest("cuda.call('cuModuleLoadData', ctypes.byref(image), b'rubbish' * 9)") == INVALID_IMAGE
    assert guest("cuda.call('cuModuleUnload', m), cuda.call('cuModuleUnload', m)") == [0, INVALID_HANDLE]


@pytest.mark.parametrize("clock", ["real", "virtual"])
def test_threads_may_do_everything_at_once(make_cards: MakeCards, client: Client, clock: str) -> None:
    busy = client(make_cards(clock=clock), "engine", "threads", "kernel_ns=2000")
    begin(busy)
    assert hear(busy) == {"threads": 4}
