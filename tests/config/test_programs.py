"""The parts of the launcher that need no running stack."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from config import health
from config.guard import Guarded, StartFailed
from config.interrupts import Interrupted, interrupts, undisturbed
from config.programs import Layout, LogMark, Service, answers, call, listener, port_of
from config.supervisor import StackFailed, Supervisor
from tests.config.starters import alive, within

SLEEP = ["sleep", "60"]


class Door(BaseHTTPRequestHandler):
    """200 at /healthz, a refusal elsewhere."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/healthz" else 403)
        self.end_headers()
        self.wfile.write(b"no entry")

    def log_message(self, *_: object) -> None:
        """Nothing on the screen."""


@pytest.fixture
def port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Door) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    layout = Layout(tmp_path)
    layout.make()
    lines: list[str] = []
    found = Supervisor(layout, lines.append)
    yield found
    found.end_watch()
    for service in found.services.values():
        if service.process is not None:
            service.process.stop()


def sleeper(log: Path) -> Service:
    return Service("sleeper", lambda: Guarded(SLEEP, log=log), lambda: True)


def test_a_taken_port_is_passed_over_and_a_held_one_stays_ours() -> None:
    with listener(18800) as first, listener(port_of(first)) as second:
        assert port_of(second) > port_of(first)
        with socket.create_connection(("127.0.0.1", port_of(first)), timeout=2):
            pass


def test_health_is_an_answer_of_200(port: int) -> None:
    assert answers(port)
    assert not answers(port, "/elsewhere")
    assert health.main([f"http://127.0.0.1:{port}/healthz"]) == 0
    assert health.main([f"http://127.0.0.1:{port}/elsewhere"]) == 1
    with pytest.raises(OSError, match="403 no entry"):
        call(port, "GET", "/elsewhere", token="x")


def test_a_fresh_file_is_a_sign_of_life(tmp_path: Path) -> None:
    file = tmp_path / "schedule"
    assert health.main([str(file), "--within-s", "60"]) == 1
    file.touch()
    assert health.main([str(file), "--within-s", "60"]) == 0
    os.utime(file, (time.time() - 90, time.time() - 90))
    assert health.main([str(file), "--within-s", "60"]) == 1


def test_a_log_mark_sees_only_what_comes_after_it(tmp_path: Path) -> None:
    mark = LogMark(tmp_path / "log")
    assert not mark.saw("ready")
    mark.log.write_text("ready\n")
    mark.set()
    assert not mark.saw("ready")
    with mark.log.open("a") as sink:
        sink.write("ready again\n")
    assert mark.saw("ready")


def test_a_secret_is_made_once_and_kept_closed(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.make()
    assert layout.secret("word") == layout.secret("word")
    assert stat.S_IMODE((layout.run / "word").stat().st_mode) == 0o600


def test_the_agents_socket_path_is_short_whatever_the_folder() -> None:
    assert len(bytes(Layout(Path("/" + "deep/" * 60)).agent_socket)) < 108


def test_a_program_that_cannot_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(StartFailed, match="No such file"):
        Guarded(["/no/such/program"], log=tmp_path / "log")


def test_a_program_that_ignores_its_signals_is_killed_with_its_group(tmp_path: Path) -> None:
    deaf = "trap '' TERM; sleep 300 & echo $! > new; mv new child; while :; do sleep 1; done"
    process = Guarded(["sh", "-c", deaf], log=tmp_path / "log", cwd=tmp_path, grace_s=0.5)
    assert within(5, (tmp_path / "child").exists)
    child = int((tmp_path / "child").read_text())
    process.stop()
    assert not alive(process.pid)
    assert within(2, lambda: not alive(child))


def test_the_end_of_a_program_is_told_as_it_was(tmp_path: Path) -> None:
    assert Guarded(["sh", "-c", "exit 3"], log=tmp_path / "log").wait(10) == 3
    killed = Guarded(SLEEP, log=tmp_path / "log")
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait(10) == -signal.SIGKILL


def test_what_ends_is_started_again_after_a_pause(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.begin(sleeper(tmp_path / "log/sleeper.log"))
    supervisor.watch()
    first = supervisor.pids["sleeper"]
    supervisor.kill9("sleeper")
    supervisor.wait_healthy("sleeper", 10)
    assert supervisor.pids["sleeper"] != first
    assert "starting it again" in (tmp_path / "log/stack.log").read_text()


def test_what_is_taken_down_stays_down(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.begin(sleeper(tmp_path / "log/sleeper.log"))
    supervisor.watch()
    supervisor.take_down("sleeper")
    time.sleep(0.6)
    assert supervisor.pids == {}
    supervisor.bring_up("sleeper")
    assert "sleeper" in supervisor.pids


def test_a_part_that_ends_at_the_start_is_a_failure_with_its_log(supervisor: Supervisor, tmp_path: Path) -> None:
    log = tmp_path / "log/broken.log"
    command = ["sh", "-c", "echo out of cheese; exit 1"]
    supervisor.begin(Service("broken", lambda: Guarded(command, log=log), lambda: False))
    with pytest.raises(StackFailed, match="out of cheese"):
        supervisor.wait_healthy("broken", 10)


def be_stopped_twice() -> None:
    with interrupts():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        finally:
            with undisturbed():
                os.kill(os.getpid(), signal.SIGTERM)
                os.kill(os.getpid(), signal.SIGINT)


def test_the_first_stop_signal_unwinds_and_none_disturbs_the_stop() -> None:
    with pytest.raises(Interrupted, match="SIGTERM"):
        be_stopped_twice()


def test_status_of_a_folder_without_a_stack(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "config.stack", "status", "--var", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, f"no stack runs on {tmp_path}\n")
