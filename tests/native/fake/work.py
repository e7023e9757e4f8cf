"""Work on a simulated card for guests: kernels, streams, events, captures, graphs. Times are of the card's clock."""

import ctypes

from tests.native.cuda_client import kernels
from tests.native.fake.driver import Driver

NS_PER_MS = 1_000_000
NOT_READY, NOT_PERMITTED, ILLEGAL_STATE, CAPTURED_EVENT = 600, 800, 401, 907
UNSUPPORTED, INVALIDATED, MERGE, UNMATCHED = 900, 901, 902, 903  # of a stream's capture, up to:
UNJOINED, ISOLATION, IMPLICIT, WRONG_THREAD = 904, 905, 906, 908
GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2
NON_BLOCKING = 1
HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class KernelNode(ctypes.Structure):
    _fields_ = [
        ("function", ctypes.c_uint64),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("params", ctypes.c_void_p),
        ("extra", ctypes.c_void_p),
    ]


class HostNode(ctypes.Structure):
    _fields_ = [("function", HOST_FUNCTION), ("data", ctypes.c_void_p)]


class Work:
    """A started driver, with the test kernels loaded."""

    def __init__(self, cuda: Driver) -> None:
        self.cuda = cuda
        self.module = cuda.out("cuModuleLoadData", kernels())
        self.spin = cuda.out("cuModuleGetFunction", self.module, b"vx_spin")
        self.keep: list[object] = []
        self.heard: list[str] = []

    def now(self) -> int:
        self.cuda.library.vxfake_now_ns.restype = ctypes.c_uint64
        return int(self.cuda.library.vxfake_now_ns())

    def stream(self, flags: int = 0) -> int:
        return self.cuda.out("cuStreamCreate", flags)

    def event(self, flags: int = 0) -> int:
        return self.cuda.out("cuEventCreate", flags)

    def record(self, stream: int = 0) -> int:
        event = self.event()
        self.cuda.must("cuEventRecord", event, stream)
        return event

    def launch(self, milliseconds: float, stream: int = 0) -> int:
        """The code that a launch of so long a kernel answers."""
        return self.cuda.call(
            "cuLaunchKernel", self.spin, 1, 1, 1, 32, 1, 1, 0, stream, self._params(milliseconds), None
        )

    def _params(self, milliseconds: float) -> ctypes.Array[ctypes.c_void_p]:
        word = ctypes.c_uint64(int(milliseconds * NS_PER_MS))
        self.keep.append(word)
        return (ctypes.c_void_p * 1)(ctypes.addressof(word))

    def elapsed(self, start: int, end: int) -> float:
        self.cuda.must("cuEventSynchronize", end)
        took = ctypes.c_float()
        self.cuda.must("cuEventElapsedTime", ctypes.byref(took), start, end)
        return took.value

    def timed(self, stream: int, *kernels_ms: float) -> float:
        """Milliseconds between events around kernels in one stream."""
        start = self.record(stream)
        for milliseconds in kernels_ms:
            assert self.launch(milliseconds, stream) == 0
        return self.elapsed(start, self.record(stream))

    def host(self, word: str, stream: int = 0) -> int:
        """A host function that notes a word."""
        function = HOST_FUNCTION(lambda _: self.heard.append(word))
        self.keep.append(function)
        return self.cuda.call("cuLaunchHostFunc", stream, function, None)

    def host_that_calls(self, stream: int = 0) -> None:
        """A host function that notes what the driver answers to a call from inside."""
        function = HOST_FUNCTION(lambda _: self.heard.append(str(self.cuda.call("cuStreamSynchronize", stream))))
        self.keep.append(function)
        self.cuda.must("cuLaunchHostFunc", stream, function, None)

    # Captures and graphs.

    def begin(self, stream: int, mode: int = GLOBAL) -> int:
        return self.cuda.call("cuStreamBeginCapture_v2", stream, mode)

    def end(self, stream: int) -> int:
        code, graph = self._end(stream)
        assert code == 0, code
        return graph

    def end_code(self, stream: int) -> int:
        return self._end(stream)[0]

    def _end(self, stream: int) -> tuple[int, int]:
        graph = ctypes.c_uint64()
        code = self.cuda.call("cuStreamEndCapture", stream, ctypes.byref(graph))
        return code, graph.value

    def status(self, stream: int) -> int:
        status = ctypes.c_int()
        self.cuda.must("cuStreamIsCapturing", stream, ctypes.byref(status))
        return status.value

    def node_count(self, graph: int) -> int:
        count = ctypes.c_size_t()
        self.cuda.must("cuGraphGetNodes", graph, None, ctypes.byref(count))
        return count.value

    def edge_count(self, graph: int) -> int:
        count = ctypes.c_size_t()
        self.cuda.must("cuGraphGetEdges", graph, None, None, ctypes.byref(count))
        return count.value

    def exec_of(self, graph: int, flags: int = 0) -> int:
        return self.cuda.out("cuGraphInstantiateWithFlags", graph, flags)

    def graph_of(self, *kernels_ms: float) -> int:
        """A graph that was captured from kernels in one stream."""
        stream = self.stream()
        assert self.begin(stream) == 0
        for milliseconds in kernels_ms:
            assert self.launch(milliseconds, stream) == 0
        return self.end(stream)

    def timed_graph(self, executable: int, stream: int) -> float:
        start = self.record(stream)
        self.cuda.must("cuGraphLaunch", executable, stream)
        return self.elapsed(start, self.record(stream))

    def kernel_node(self, graph: int, milliseconds: float, *after: int) -> int:
        node = ctypes.c_uint64()
        before = (ctypes.c_uint64 * max(1, len(after)))(*after)
        params = self.kernel_params(milliseconds)
        self.cuda.must("cuGraphAddKernelNode", ctypes.byref(node), graph, before, len(after), params)
        return node.value

    def kernel_params(self, milliseconds: float) -> object:
        words = self._params(milliseconds)
        self.keep.append(words)
        node = KernelNode(self.spin, (1, 1, 1), (32, 1, 1), 0, ctypes.addressof(words), None)
        self.keep.append(node)
        return ctypes.byref(node)

    def update(self, executable: int, graph: int) -> tuple[int, int]:
        """The code, and the result that says why not."""
        info = (ctypes.c_uint64 * 3)()
        return self.cuda.call("cuGraphExecUpdate_v2", executable, graph, info), info[0] & 0xFFFFFFFF
