"""Real PostgreSQL and Valkey for one pytest session, one database per worker, and clones for tests that commit.

The process that starts the session starts the servers in a folder of its own (several sessions may run at once) and
tells its workers by the environment. Databases are clones of a template that the owner's role has migrated; the tests'
connection is the application's role, so row-level security binds the tests as it binds the product.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db import connections

from config.embedded import start_postgres, start_valkey
from config.reach import remove_place
from config.settings import _env

FOLDER = Path(__file__).resolve().parents[1] / "var/test"
TEMPLATE = "vxpu_template"
VARIABLES = ("VXPU_TEST_APP_URL", "VXPU_TEST_OWNER_URL", "VXPU_TEST_ADMIN_URL", "VXPU_TEST_REDIS_URL")


@dataclass(frozen=True)
class Servers:
    """Addresses with passwords: the application's role, the owner's, the superuser's (clones only), and Valkey's."""

    app_url: str
    owner_url: str
    admin_url: str
    redis_url: str
    folder: Path


def _sweep_dead_sessions() -> None:
    for folder in FOLDER.glob("session-*"):
        if not Path("/proc", folder.name.removeprefix("session-")).exists():
            _remove(folder)


def _remove(folder: Path) -> None:
    """The session's folder and, under a home that the servers' account cannot reach, its stores."""
    for part in ("postgres", "valkey"):
        remove_place(folder / part)
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def running_servers() -> Iterator[Servers]:
    """The session's servers: those that the environment names, else new ones that stop when the block ends."""
    if VARIABLES[0] in os.environ:
        folder = Path(os.environ["VXPU_TEST_FOLDER"])
        app, owner, superuser, valkey_url = (os.environ[name] for name in VARIABLES)
        yield Servers(app, owner, superuser, valkey_url, folder)
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    _sweep_dead_sessions()
    folder = FOLDER / f"session-{os.getpid()}"
    folder.mkdir()
    postgres = start_postgres(data_dir=folder / "postgres", durable=False)
    valkey = start_valkey(data_dir=folder / "valkey")
    found = Servers(postgres.app_url, postgres.owner_url, postgres.superuser_url, valkey.url, folder)
    os.environ["VXPU_TEST_FOLDER"] = str(folder)
    os.environ.update(zip(VARIABLES, (found.app_url, found.owner_url, found.admin_url, found.redis_url), strict=True))
    try:
        yield found
    finally:
        for name in (*VARIABLES, "VXPU_TEST_FOLDER"):
            del os.environ[name]
        valkey.stop()
        postgres.stop()
        _remove(folder)


def url_of(servers: Servers, name: str) -> str:
    """The application's role in database `name`, for other processes."""
    return servers.app_url.rsplit("/", 1)[0] + f"/{name}"


def admin(servers: Servers, statement: str) -> list[tuple[Any, ...]]:
    """One statement as the superuser, outside any transaction."""
    with psycopg.connect(servers.admin_url, autocommit=True) as link:
        cursor = link.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def _migrate(owner_url: str, name: str) -> None:
    """As `manage.py init` does it: with the owner's role."""
    made = _env.database(owner_url, options={})
    connections.databases["owner"] = {**connections.databases["default"], **made, "NAME": name}
    try:
        call_command("migrate", database="owner", verbosity=0, interactive=False)
    finally:
        connections["owner"].close()
        del connections["owner"]
        del connections.databases["owner"]


def provide_template(servers: Servers) -> None:
    """Make and migrate the template, once a session."""
    with (servers.folder / "template.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (TEMPLATE,) in admin(servers, "SELECT datname FROM pg_database"):
            return
        admin(servers, f"CREATE DATABASE {TEMPLATE}_draft OWNER vxpu_owner")
        _migrate(servers.owner_url, f"{TEMPLATE}_draft")
        admin(servers, f"ALTER DATABASE {TEMPLATE}_draft RENAME TO {TEMPLATE}")


def clone(servers: Servers, name: str) -> None:
    """A new database `name`, as the template is."""
    admin(servers, f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} OWNER vxpu_owner STRATEGY FILE_COPY")


def drop(servers: Servers, name: str) -> None:
    """End its connections and remove it."""
    admin(servers, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def point_django_at(servers: Servers, name: str) -> None:
    """This process's `default` connection goes to database `name`, as the application's role; also in new threads."""
    made = _env.database(servers.app_url, options={})
    connections["default"].close()
    # In place: every thread's connection shares these settings.
    connections["default"].settings_dict.update({key: made[key] for key in ("USER", "PASSWORD", "HOST", "PORT")})
    connections["default"].settings_dict["NAME"] = name
    settings.DATABASES["default"]["NAME"] = name


def point_celery_and_channels_at(redis_url: str) -> None:
    """Broker and channel layer of this process."""
    from config.celery import app

    app.conf.update(broker_url=redis_url)
    vars(app.amqp)["_producer_pool"] = None  # it would keep the old address
    settings.REDIS_URL = settings.CELERY_BROKER_URL = redis_url
    settings.CHANNEL_LAYERS["default"].update(CONFIG={"hosts": [redis_url]})
