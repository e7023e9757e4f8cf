"""The embedded servers: passwords everywhere, nobody's folder modes touched, nothing left behind, nothing lost."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import psycopg
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from config import reach
from config.embedded import RunningPostgres, RunningValkey, start_postgres, start_valkey
from config.guard import Guarded
from tests.config.starters import alive, end, spawn_starter, started, within

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="drops to another account, which only root can")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A data folder that the servers' account reaches (pytest's own are 0700), removed with its stores."""
    top = Path(tempfile.mkdtemp(prefix="vxpu-test-"))
    top.chmod(0o755)
    yield top
    for part in ("pg", "vk"):
        reach.remove_place(top / part)
    reach.remove_place(top)


@pytest.fixture
def private(tmp_path: Path) -> Iterator[Path]:
    """A data folder below a 0700 home."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    yield home / "clone/var"
    for part in ("pg", "vk"):
        reach.remove_place(home / "clone/var" / part)


@pytest.fixture(scope="module")
def postgres(folder: Path) -> Iterator[RunningPostgres]:
    server = start_postgres(data_dir=folder / "pg", durable=False)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def valkey(folder: Path) -> Iterator[RunningValkey]:
    server = start_valkey(data_dir=folder / "vk")
    yield server
    server.stop()


def listening(pid: int) -> set[str]:
    return {one.laddr.ip for one in psutil.Process(pid).net_connections("tcp") if one.status == psutil.CONN_LISTEN}


def password(url: str) -> str:
    return urlsplit(url).password or ""


def socket_of(folder: Path) -> str:
    return str((folder / "pg/sock").resolve())


@pytest.mark.parametrize("role", ["postgres", "vxpu_owner", "vxpu_app"])
def test_nobody_enters_without_the_password(postgres: RunningPostgres, folder: Path, role: str) -> None:
    for host in ("127.0.0.1", socket_of(folder)):
        for word in ("wrong", ""):
            with pytest.raises(psycopg.OperationalError, match="password"):
                psycopg.connect(host=host, port=postgres.port, user=role, password=word, dbname="vxpu")
    word = password(postgres.app_url)
    psycopg.connect(host=socket_of(folder), port=postgres.port, user="vxpu_app", password=word, dbname="vxpu").close()


def test_every_access_rule_asks_for_scram(postgres: RunningPostgres) -> None:
    with psycopg.connect(postgres.superuser_url) as link:
        methods = link.execute("SELECT DISTINCT auth_method FROM pg_hba_file_rules").fetchall()
    assert methods == [("scram-sha-256",)]


def test_the_application_role_uses_what_the_owner_makes_and_no_more(postgres: RunningPostgres) -> None:
    with psycopg.connect(postgres.owner_url, autocommit=True) as owner:
        owner.execute("CREATE TABLE note (id bigint GENERATED ALWAYS AS IDENTITY, words text)")
        owner.execute("CREATE DATABASE vxpu_other")
    with psycopg.connect(postgres.app_url, autocommit=True) as app:
        app.execute("INSERT INTO note (words) VALUES ('hello')")
        assert app.execute("SELECT count(*) FROM note").fetchone() == (1,)
        for refused in ("TRUNCATE note", "DROP TABLE note", "CREATE TABLE mine (id int)", "CREATE DATABASE mine"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                app.execute(refused)
        rights = "SELECT bool_or(rolsuper OR rolbypassrls) FROM pg_roles WHERE rolname LIKE 'vxpu%'"
        assert app.execute(rights).fetchone() == (False,)


def test_a_database_of_the_owner_serves_the_application_role_too(postgres: RunningPostgres) -> None:
    with psycopg.connect(postgres.owner_url, autocommit=True) as owner:
        owner.execute("CREATE DATABASE vxpu_worker")
    with psycopg.connect(postgres.owner_url, dbname="vxpu_worker") as owner:
        owner.execute("CREATE TABLE fact (id int)")
    with psycopg.connect(postgres.app_url, dbname="vxpu_worker") as app:
        app.execute("INSERT INTO fact VALUES (1)")


def test_servers_listen_on_loopback_only(postgres: RunningPostgres, valkey: RunningValkey) -> None:
    assert listening(postgres.pid) == {"127.0.0.1"}
    assert listening(valkey.pid) == {"127.0.0.1"}


def test_valkey_wants_the_password_and_never_evicts(valkey: RunningValkey) -> None:
    once = Retry(NoBackoff(), 0)
    with redis.Redis(port=valkey.port, retry=once) as stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()
    with redis.Redis.from_url(valkey.url) as client:
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
    assert password(valkey.url) not in " ".join(psutil.Process(valkey.pid).cmdline())


@as_root
def test_root_hands_the_servers_to_an_account_of_their_own(postgres: RunningPostgres, valkey: RunningValkey) -> None:
    for pid in (postgres.pid, valkey.pid):
        assert 0 not in psutil.Process(pid).uids()
        assert 0 not in psutil.Process(pid).gids()


def test_passwords_are_the_starters_own(postgres: RunningPostgres, folder: Path) -> None:
    facts = (folder / "pg/passwords.json").stat()
    assert (stat.S_IMODE(facts.st_mode), facts.st_uid) == (0o600, os.geteuid())


def test_a_second_start_returns_the_first_server_and_cannot_stop_it(postgres: RunningPostgres, folder: Path) -> None:
    again = start_postgres(data_dir=folder / "pg", durable=False)
    again.stop()
    assert (again.pid, again.app_url) == (postgres.pid, postgres.app_url)
    psycopg.connect(postgres.app_url).close()


def test_a_clone_under_a_closed_home_works_and_keeps_its_modes(private: Path) -> None:
    chain = [step for step in private.parents if step.exists()]
    before = [step.stat().st_mode for step in chain]
    server = start_postgres(data_dir=private / "pg", durable=False)
    try:
        psycopg.connect(server.app_url).close()
    finally:
        server.stop()
    assert [step.stat().st_mode for step in chain] == before


@as_root
def test_stores_of_vanished_temporary_folders_are_swept(tmp_path: Path) -> None:
    for name in ("first", "second"):
        start_valkey(data_dir=tmp_path / name).stop()
    store = (tmp_path / "first" / reach.STORE_LINK).resolve()
    assert store != tmp_path / "first"
    shutil.rmtree(tmp_path / "first")
    start_valkey(data_dir=tmp_path / "second").stop()
    assert not store.exists()
    reach.remove_place(tmp_path / "second")


def test_a_long_path_still_gets_a_socket(private: Path) -> None:
    account = reach.server_account()
    home = private / ("deep" * 30)
    home.mkdir(parents=True)
    folder = reach.socket_folder(home, account)
    assert len(bytes(folder / ".s.PGSQL.65535")) <= reach.SOCKET_PATH_LIMIT
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.rmdir()


@as_root
def test_without_useradd_a_fixed_number_serves(private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "ACCOUNT", "vxpu-no-such-user")
    monkeypatch.setattr(reach, "USERADD_PATH", "/nonexistent")
    server = start_postgres(data_dir=private / "pg", durable=False)
    try:
        assert psutil.Process(server.pid).uids().real == reach.FALLBACK_UID
        psycopg.connect(server.app_url).close()
    finally:
        server.stop()


def test_kill_9_of_the_starter_leaves_no_server(private: Path) -> None:
    starter = spawn_starter(private)
    facts = started(starter)
    assert all(alive(pid) for pid in facts["pids"])
    end(starter)
    assert within(5, lambda: not any(alive(pid) for pid in facts["pids"] + facts["keepers"]))


def test_kill_9_of_the_keepers_leaves_no_server(private: Path) -> None:
    starter = spawn_starter(private)
    facts = started(starter)
    for keeper in facts["keepers"]:
        os.kill(keeper, signal.SIGKILL)
    assert within(5, lambda: not any(alive(pid) for pid in facts["pids"]))
    end(starter)


def test_what_was_committed_survives_kill_9_of_the_server_and_the_starter(private: Path) -> None:
    starter = spawn_starter(private, durable=True)
    facts = started(starter)
    with psycopg.connect(facts["owner"], autocommit=True) as link:
        link.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    os.kill(facts["pids"][0], signal.SIGKILL)
    end(starter)
    server = start_postgres(data_dir=private / "pg")
    try:
        with psycopg.connect(server.app_url) as link:
            assert link.execute("SELECT answer FROM kept").fetchone() == (42,)
    finally:
        server.stop()


def test_a_stale_pid_file_that_names_a_living_process_is_seen_through(private: Path, tmp_path: Path) -> None:
    start_postgres(data_dir=private / "pg", durable=False).stop()
    link = private / "pg" / reach.STORE_LINK
    home = link.resolve() if link.is_symlink() else private / "pg"
    # The same account's, or PostgreSQL itself would know that it is none of its own.
    other = Guarded(["sleep", "60"], log=tmp_path / "log", user=reach.server_account().ids)
    (home / "pgdata/postmaster.pid").write_text(f"{other.pid}\n{home}/pgdata\n1\n1\n\n\n\n\n")
    server = start_postgres(data_dir=private / "pg", durable=False)
    psycopg.connect(server.app_url).close()
    server.stop()
    assert other.is_running()
    other.stop()


def test_two_starters_at_once_share_one_server(private: Path) -> None:
    starters = [spawn_starter(private) for _ in range(2)]
    facts = [started(one) for one in starters]
    assert facts[0]["pids"] == facts[1]["pids"]
    assert sorted(one["mine"] for one in facts) == [False, True]
    for one in starters:
        end(one)
    assert within(5, lambda: not any(alive(pid) for pid in facts[0]["pids"]))


def test_a_start_right_after_kill_9_waits_for_the_old_server_to_go(private: Path) -> None:
    starter = spawn_starter(private)
    facts = started(starter)
    end(starter)
    server = start_postgres(data_dir=private / "pg", durable=False)
    try:
        assert server.pid != facts["pids"][0]
        psycopg.connect(server.app_url).close()
    finally:
        server.stop()
