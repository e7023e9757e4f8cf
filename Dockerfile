# One image for the server's processes and one for the node agent; see docker-compose.yml.
FROM debian:12-slim AS native
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev make && rm -rf /var/lib/apt/lists/*
COPY native /src
RUN make -C /src

FROM node:24-bookworm-slim AS console
WORKDIR /src
COPY frontend/package.json frontend/package-lock.json frontend/.npmrc frontend/
RUN npm --prefix frontend ci
COPY frontend frontend
COPY deploy/ship_ui.mjs deploy/
RUN npm --prefix frontend run build && node deploy/ship_ui.mjs

FROM python:3.11-slim-bookworm AS base
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /opt/vxpu

FROM base AS server
COPY requirements/server.txt requirements/
RUN pip install -r requirements/server.txt
COPY manage.py pyproject.toml README.md ./
COPY requirements requirements
COPY vxpu vxpu
COPY plumbing plumbing
COPY identity identity
COPY allocator allocator
COPY billing billing
COPY marketplace marketplace
COPY config config
COPY --from=console /src/config/ui config/ui
# Named volumes take their owner from here.
RUN useradd --system --uid 10001 --home-dir /var/lib/vxpu vxpu && install -d -o vxpu -g vxpu -m 0700 /var/lib/vxpu
USER vxpu
ENV DJANGO_SETTINGS_MODULE=config.settings.prod VXPU_VAR=/var/lib/vxpu

FROM base AS agent
# PoCL links kernels with ld; the agent makes namespaces and cgroups, so it runs as root in a privileged container.
RUN apt-get update && apt-get install -y --no-install-recommends binutils && rm -rf /var/lib/apt/lists/*
COPY requirements requirements
RUN pip install -r requirements/agent.txt setuptools==80.9.0
COPY pyproject.toml README.md ./
COPY vxpu vxpu
COPY agent agent
COPY cli cli
RUN pip install --no-deps --no-build-isolation --editable .
COPY --from=native /src/build/libvxpu.so native/build/libvxpu.so
CMD ["vxpu-agent", "run"]
