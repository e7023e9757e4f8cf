"""How the REST server runs everywhere: `gunicorn -c python:config.gunicorn config.wsgi:application`.

Threads hide the waits for PostgreSQL; processes use the cores. Sizes come from the environment.
"""

import os

bind = os.environ.get("VXPU_WEB_BIND", "127.0.0.1:8000")
worker_class = "gthread"
workers = int(os.environ.get("VXPU_WEB_WORKERS", "2"))
threads = int(os.environ.get("VXPU_WEB_THREADS", "4"))
# One import for all workers: less memory, and a quicker start on few cores. Nothing connects at import.
preload_app = True
# No request may last longer; VXPU_IDEMPOTENCY_LEASE_S counts on it.
timeout = 50
graceful_timeout = 5
keepalive = 30
loglevel = "warning"
# A local admin socket that nothing of ours uses.
control_socket_disable = True
# The heartbeat file must not wait for a busy disk.
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - gunicorn makes it 0600
