"""Graphs and stream capture of the simulated driver: structure, launch, update, and what a capture forbids."""

from collections.abc import Callable

import pytest

from tests.native.conftest import MakeCards
from tests.native.fake.conftest import StartGuest
from tests.native.fake.driver import INVALID_HANDLE, INVALID_VALUE, MIB, NOT_SUPPORTED
from tests.native.fake.guest import Guest
from tests.native.fake.work import (
    CAPTURED_EVENT,
    GLOBAL,
    ILLEGAL_STATE,
    IMPLICIT,
    INVALIDATED,
    ISOLATION,
    MERGE,
    NON_BLOCKING,
    RELAXED,
    THREAD_LOCAL,
    UNJOINED,
    UNMATCHED,
    UNSUPPORTED,
    WRONG_THREAD,
)

MakeWorker = Callable[[], Guest]
NONE, ACTIVE, BROKEN = 0, 1, 2
UPDATE_FAILURE, TOPOLOGY_CHANGED, TYPE_CHANGED = 910, 2, 3


@pytest.fixture
def worker(make_cards: MakeCards, user: StartGuest) -> Guest:
    """A guest on a card with virtual time, two streams `s` and `t`."""
    guest = user(make_cards(clock="virtual"))
    guest("from tests.native.fake.work import Work; w = Work(cuda); s, t = w.stream(), w.stream()")
    return guest


def test_a_captured_graph_does_what_the_calls_would(worker: Guest) -> None:
    worker("g = w.graph_of(1, 2, 3); x = w.exec_of(g)")
    assert worker("w.node_count(g), w.edge_count(g)") == [3, 2]
    assert worker("w.timed_graph(x, s)") == pytest.approx(6, abs=0.01)
    assert worker("w.timed_graph(x, s)") == pytest.approx(6, abs=0.01)


def test_a_graph_of_1000_kernels_costs_one_launch(worker: Guest) -> None:
    worker("x = w.exec_of(w.graph_of(*[0.2] * 1000)); before = w.now(); cuda.must('cuGraphLaunch', x, s)")
    assert worker.number("w.now() - before") < 10_000
    assert worker("w.timed_graph(x, s)") == pytest.approx(200, abs=0.01)


def test_copies_fills_and_host_functions_are_captured(worker: Guest) -> None:
    worker("at = cuda.alloc(4096); cuda.write(at, bytes(4096)); data = ctypes.create_string_buffer(b'abcd', 4)")
    worker("w.begin(s); cuda.must('cuMemsetD8Async', at, 7, 16, s); w.host('set', s)")
    worker("cuda.must('cuMemcpyHtoDAsync_v2', at + 4, data, 4, s); w.host('copied', s); g = w.end(s)")
    assert worker("w.heard, list(cuda.read(at, 8))") == [[], [0] * 8]  # nothing has run
    worker("cuda.must('cuGraphLaunch', w.exec_of(g), s); cuda.synchronize()")
    assert worker("w.heard, list(cuda.read(at, 9))") == [["set", "copied"], [7] * 4 + [*b"abcd"] + [7]]


def test_a_graph_made_by_hand_keeps_its_dependencies(worker: Guest) -> None:
    worker("g = cuda.out('cuGraphCreate', 0); a = w.kernel_node(g, 1); b = w.kernel_node(g, 2, a)")
    worker("c = w.kernel_node(g, 3, a); d = w.kernel_node(g, 4, b, c)")
    assert worker("w.node_count(g), w.edge_count(g)") == [4, 4]
    assert worker("w.timed_graph(w.exec_of(g), s)") == pytest.approx(10, abs=0.01)
    pair = "(ctypes.c_uint64 * 1)(d), (ctypes.c_uint64 * 1)(a)"
    assert worker(f"cuda.call('cuGraphAddDependencies', g, {pair}, 1)") == INVALID_VALUE  # a circle
    assert worker("cuda.call('cuGraphDestroyNode', b), w.node_count(g), w.edge_count(g)") == [0, 3, 2]


def test_clones_and_children_are_their_own(worker: Guest) -> None:
    worker("g = w.graph_of(1, 2); copy = cuda.out('cuGraphClone', g)")
    worker("outer = cuda.out('cuGraphCreate', 0); cuda.out('cuGraphAddChildGraphNode', outer, None, 0, g)")
    worker("w.kernel_node(g, 5); cuda.must('cuGraphDestroy', g)")
    assert worker("w.node_count(copy), w.timed_graph(w.exec_of(outer), s)") == [2, pytest.approx(3, abs=0.01)]
    assert worker("cuda.call('cuGraphLaunch', g, s)") == INVALID_VALUE


def test_parameters_of_an_executable_graph_change(worker: Guest) -> None:
    worker("g = cuda.out('cuGraphCreate', 0); a = w.kernel_node(g, 1); x = w.exec_of(g)")
    worker("cuda.must('cuGraphExecKernelNodeSetParams', x, a, w.kernel_params(4))")
    assert worker("w.timed_graph(x, s)") == pytest.approx(4, abs=0.01)
    assert worker("w.timed_graph(w.exec_of(g), s)") == pytest.approx(1, abs=0.01)  # the graph is as it was
    worker("cuda.must('cuGraphNodeSetEnabled', x, a, 0)")
    assert worker("w.timed_graph(x, s)") < 0.01  # type: ignore[operator]


def test_an_update_takes_the_same_shape_only(worker: Guest) -> None:
    worker("x = w.exec_of(w.graph_of(1, 2))")
    assert worker("w.update(x, w.graph_of(3, 4))") == [0, 0]
    assert worker("w.timed_graph(x, s)") == pytest.approx(7, abs=0.01)
    assert worker("w.update(x, w.graph_of(1, 2, 3))") == [UPDATE_FAILURE, TOPOLOGY_CHANGED]
    worker("w.begin(s); w.launch(1, s); w.host('a', s); other = w.end(s)")
    assert worker("w.update(x, other)") == [UPDATE_FAILURE, TYPE_CHANGED]
    assert worker("w.timed_graph(x, s)") == pytest.approx(7, abs=0.01)


def test_memory_nodes_take_the_card_while_they_live(worker: Guest) -> None:
    worker("before = cuda.used(); w.begin(s); at = cuda.alloc_async(64 << 20, s)")
    worker("cuda.must('cuMemsetD8Async', at, 1, 4096, s); cuda.free_async(at, s); g = w.end(s)")
    assert worker("w.node_count(g), cuda.used() - before") == [3, 0]
    worker("x = w.exec_of(g); cuda.must('cuGraphLaunch', x, s); cuda.synchronize()")
    assert worker("cuda.used() - before") == 64 * MIB  # reserved for the next launch
    assert worker("cuda.call('cuGraphLaunch', x, s), cuda.call('cuStreamSynchronize', s)") == [0, 0]
    assert worker("cuda.call('cuGraphClone', ctypes.byref(ctypes.c_uint64()), g)") == NOT_SUPPORTED
    worker("cuda.must('cuGraphExecDestroy', x); cuda.must('cuGraphDestroy', g); cuda.must('cuDeviceGraphMemTrim', 0)")
    assert worker("cuda.used() - before") == 0


def test_events_tie_streams_into_one_capture(worker: Guest) -> None:
    worker("w.begin(s); w.launch(1, s); fork = w.record(s); cuda.must('cuStreamWaitEvent', t, fork, 0)")
    assert worker("w.launch(2, t), w.status(s), w.status(t)") == [0, ACTIVE, ACTIVE]
    worker("w.launch(3, s); join = w.record(t); cuda.must('cuStreamWaitEvent', s, join, 0); w.launch(4, s)")
    worker("g = w.end(s)")
    assert worker("w.node_count(g), w.edge_count(g), w.status(t)") == [4, 4, NONE]
    assert worker("w.timed_graph(w.exec_of(g), s)") == pytest.approx(10, abs=0.01)


BREAKS = {
    "synchronise": ("cuda.call('cuStreamSynchronize', s)", UNSUPPORTED),
    "query": ("cuda.call('cuStreamQuery', s)", UNSUPPORTED),
    "synchronise the context": ("cuda.call('cuCtxSynchronize')", UNSUPPORTED),
    "allocate": ("cuda.call('cuMemAlloc_v2', ctypes.byref(ctypes.c_uint64()), 4096)", UNSUPPORTED),
    "default stream": ("w.launch(1)", IMPLICIT),
    "blocking copy": ("cuda.call('cuMemcpyHtoD_v2', at, b'abc', 3)", IMPLICIT),
    "callback": ("cuda.call('cuStreamAddCallback', s, ctypes.cast(1, ctypes.c_void_p), None, 0)", UNSUPPORTED),
    "ask its event": ("cuda.call('cuEventQuery', w.record(s))", CAPTURED_EVENT),
    "wait for its event": ("cuda.call('cuEventSynchronize', w.record(s))", CAPTURED_EVENT),
    "wait for work outside": ("cuda.call('cuStreamWaitEvent', s, outside, 0)", ISOLATION),
}


@pytest.mark.parametrize("name", BREAKS)
def test_what_breaks_a_capture(worker: Guest, name: str) -> None:
    code, answer = BREAKS[name]
    worker("at = cuda.alloc(4096); outside = w.record(t); w.begin(s); w.launch(1, s)")
    assert worker(f"({code}, w.status(s), w.launch(1, s), w.end_code(s))") == [answer, BROKEN, INVALIDATED, INVALIDATED]
    assert worker("w.status(s), w.launch(1, s), cuda.call('cuStreamSynchronize', s)") == [NONE, 0, 0]


@pytest.mark.parametrize(
    ("mode", "own", "exchange", "allocates"),
    [
        (GLOBAL, True, GLOBAL, False),
        (GLOBAL, False, GLOBAL, False),
        (GLOBAL, False, THREAD_LOCAL, True),
        (GLOBAL, True, RELAXED, True),
        (THREAD_LOCAL, True, GLOBAL, False),
        (THREAD_LOCAL, False, GLOBAL, True),
        (RELAXED, True, GLOBAL, True),
    ],
)
def test_a_capture_mode_says_whose_allocation_it_forbids(
    worker: Guest, mode: int, own: bool, exchange: int, allocates: bool
) -> None:
    worker("""
def allocate(mode):
    word = ctypes.c_int(mode)
    cuda.must('cuThreadExchangeStreamCaptureMode', ctypes.byref(word))
    code = cuda.call('cuMemAlloc_v2', ctypes.byref(ctypes.c_uint64()), 4096)
    cuda.must('cuThreadExchangeStreamCaptureMode', ctypes.byref(word))
    return code
def elsewhere(mode):
    import threading
    answers = []
    def other():
        cuda.primary()
        answers.append(allocate(mode))
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    return answers[0]
""")
    worker(f"w.begin(s, {mode})")
    code = worker(f"allocate({exchange})" if own else f"elsewhere({exchange})")
    assert (code, worker("w.end_code(s)")) == ((0, 0) if allocates else (UNSUPPORTED, INVALIDATED))


def test_wrong_ends_of_captures(worker: Guest) -> None:
    assert worker("cuda.call('cuStreamBeginCapture_v2', 0, 0), w.end_code(s)") == [UNSUPPORTED, ILLEGAL_STATE]
    worker("w.begin(s); w.launch(1, s); cuda.must('cuStreamWaitEvent', t, w.record(s), 0); w.launch(1, t)")
    assert worker("w.begin(s), w.end_code(s), w.status(t)") == [ILLEGAL_STATE, UNJOINED, NONE]
    worker("w.begin(s); cuda.must('cuStreamWaitEvent', t, w.record(s), 0)")
    assert worker("w.end_code(t), w.end_code(s)") == [UNMATCHED, INVALIDATED]
    worker("w.begin(s); e = w.record(s); w.begin(t)")
    assert worker("cuda.call('cuStreamWaitEvent', t, e, 0), w.end_code(s), w.end_code(t)") == [
        MERGE,
        INVALIDATED,
        INVALIDATED,
    ]


def test_another_thread_may_not_end_a_capture(worker: Guest) -> None:
    worker("import threading; codes = []; end = lambda: codes.append(w.end_code(s))")
    worker("w.begin(s); thread = threading.Thread(target=end); thread.start(); thread.join()")
    assert worker("codes, w.end_code(s)") == [[WRONG_THREAD], 0]
    worker(f"w.begin(s, {RELAXED}); thread = threading.Thread(target=end); thread.start(); thread.join()")
    assert worker("codes[1], w.status(s)") == [0, NONE]


def test_other_streams_go_on_while_one_captures(worker: Guest) -> None:
    worker(f"free = w.stream({NON_BLOCKING}); before = w.record(free); w.begin(s); w.launch(1, s)")
    assert worker("w.launch(2, free), w.elapsed(before, w.record(free))") == [0, pytest.approx(2, abs=0.1)]
    assert worker("w.launch(2, t), cuda.call('cuStreamSynchronize', t)") == [0, 0]
    assert worker("w.status(s), w.status(t), w.node_count(w.end(s))") == [ACTIVE, NONE, 1]


def test_a_launched_graph_in_a_capture_is_a_child(worker: Guest) -> None:
    worker(
        "x = w.exec_of(w.graph_of(1, 2)); w.begin(s); w.launch(1, s); cuda.must('cuGraphLaunch', x, s); g = w.end(s)"
    )
    assert worker("w.node_count(g), w.timed_graph(w.exec_of(g), s)") == [2, pytest.approx(4, abs=0.01)]


def test_an_executable_graph_may_go_while_it_runs(worker: Guest) -> None:
    worker("at = cuda.alloc(4096); cuda.write(at, bytes(8)); w.begin(s); w.launch(5, s)")
    worker("cuda.must('cuMemsetD8Async', at, 9, 8, s); g = w.end(s); x = w.exec_of(g)")
    worker("cuda.must('cuGraphLaunch', x, s); cuda.must('cuGraphExecDestroy', x); cuda.must('cuGraphDestroy', g)")
    assert worker("cuda.call('cuStreamSynchronize', s), list(cuda.read(at, 8))") == [0, [9] * 8]
    assert worker("cuda.call('cuStreamDestroy_v2', s), cuda.call('cuStreamQuery', s)") == [0, INVALID_HANDLE]


def test_a_user_object_lives_as_long_as_its_graphs(worker: Guest) -> None:
    worker("from tests.native.fake.work import HOST_FUNCTION; gone = HOST_FUNCTION(lambda _: w.heard.append('gone'))")
    worker("o = cuda.out('cuUserObjectCreate', None, gone, 1, 1); g = w.graph_of(1)")
    worker("cuda.must('cuGraphRetainUserObject', g, o, 1, 1); x = w.exec_of(g); cuda.must('cuGraphDestroy', g)")
    assert worker("w.timed_graph(x, s), w.heard") == [pytest.approx(1, abs=0.01), []]
    assert worker("cuda.call('cuGraphExecDestroy', x), w.heard") == [0, ["gone"]]
