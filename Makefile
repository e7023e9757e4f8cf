# make help   lists what there is. Nothing here needs root; as root, slices are confined for real.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
PY := $(VENV)/bin/python
VAR ?= var
# Checks and schema need Django's settings but no server.
CHECK := DJANGO_SETTINGS_MODULE=config.settings.test $(PY)

# The console: its packages and its build, each with a stamp.
NODE := deploy/node.sh $(PY)
NPM := cd frontend && ../deploy/node.sh ../$(PY) npm
MODULES := frontend/node_modules/.stamp
UI := config/ui/index.html
UI_SOURCES := frontend/index.html frontend/vite.config.ts frontend/tsconfig.json \
	$(shell find frontend/src frontend/public -type f -not -name '*.test.*' 2>/dev/null)

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | sort | column -t -s "$$(printf '\t')"

# ---- to run it ----

demo: $(VENV)/.demo native ui  ## the main job from end to end, with its receipt
	@exec $(PY) -m config.demo

run: $(VENV)/.demo native ui  ## keep the whole stack up with its data (VAR=folder)
	@exec $(PY) -m config.stack up --var $(VAR)

fleet: $(VENV)/.demo ui  ## a stack with 1,000 simulated devices, to look at
	@exec $(PY) -m config.fleet

status:  ## what runs, and where
	@exec $(PY) -m config.stack status --var $(VAR)

native:  ## build the limiter, its shim and the simulated driver into native/build
	@$(MAKE) -s -j 2 -C native

native-tests:
	@$(MAKE) -s -j 2 -C native all tests

ui: $(UI)  ## build the web console (with the machine's Node >= 20.19, or one from PyPI)

# ---- to develop it ----

test: $(VENV)/.dev native-tests ui  ## everything needed for the tests, and the tests
	@exec $(PY) -m tests.lanes fast alone web browser

quick: $(VENV)/.dev $(MODULES)  ## style, the pure rooms, the wire, the command line, the house rules (< 60 s)
	@$(PY) -m ruff check .
	@exec $(PY) -m tests.lanes quick

soak: $(VENV)/.dev native-tests  ## the long form of every proof
	@exec $(PY) -m tests.lanes soak wild

screenshots: $(VENV)/.dev native ui  ## every page of the console as a picture, in var/screenshots
	@exec $(PY) -m tests.screenshots

gpu-check: $(VENV)/.dev native-tests  ## ten minutes on a real card (or on a simulated one), JSON lines and a summary
	@exec $(PY) -m tests.gpu_check $(GPU_CHECK)

bench: $(VENV)/.dev native-tests ui  ## the figures of docs/performance.md
	@exec $(PY) -m tests.bench

LINT := style types imports migrations schema docs ui
lint: $(VENV)/.dev  ## style, types, import contracts, migrations, committed schema, docs, the console's code
	@$(MAKE) --keep-going --jobs 2 --output-sync $(LINT:%=lint-%)

lint-style:
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .

lint-types:
	@$(PY) -m mypy .

lint-imports:
	@$(VENV)/bin/lint-imports

lint-migrations:
	@$(CHECK) -W ignore manage.py makemigrations --check --dry-run

lint-schema:
	@mkdir -p $(VAR) && $(CHECK) manage.py spectacular --format openapi-json --validate --fail-on-warn --file $(VAR)/openapi.json
	@cmp $(VAR)/openapi.json docs/openapi.json || { echo "docs/openapi.json is not current: make openapi"; exit 1; }

lint-docs:
	@$(PY) -m tests.docs_check

lint-ui: $(MODULES)
	@$(NPM) run --silent lint
	@$(NPM) run --silent typecheck
	@mkdir -p $(VAR) && $(NPM) exec --silent -- openapi-typescript ../docs/openapi.json --output $(abspath $(VAR))/schema.d.ts >/dev/null
	@cmp $(VAR)/schema.d.ts frontend/src/lib/schema.d.ts || { echo "frontend/src/lib/schema.d.ts is not current: make types"; exit 1; }

fmt: $(VENV)/.dev  ## put every file into the house's style
	@$(PY) -m ruff check --fix --quiet . || true
	@$(PY) -m ruff format .

openapi: $(VENV)/.dev  ## write docs/openapi.json
	@$(CHECK) manage.py spectacular --format openapi-json --validate --fail-on-warn --file docs/openapi.json

types: $(MODULES)  ## write the console's types from docs/openapi.json
	@$(NPM) run --silent types

PIN := -m uv pip compile -q --universal --python-version 3.11 --no-emit-index-url --no-emit-find-links --no-header --no-annotate
pins: $(VENV)/.dev  ## requirements/*.txt from requirements/*.in (needs `pip install uv`)
	@$(PY) $(PIN) requirements/dev.in -o requirements/dev.txt
	@$(PY) $(PIN) requirements/demo.in -c requirements/dev.txt -o requirements/demo.txt
	@$(PY) $(PIN) requirements/cli.in requirements/server.in -c requirements/dev.txt -o requirements/server.txt
	@$(PY) $(PIN) requirements/cli.in requirements/agent.in -c requirements/dev.txt -o requirements/agent.txt
	@$(PY) $(PIN) requirements/node.in -o requirements/node.txt

clean:  ## remove what was built and all run-time data (the environment stays)
	@if [ -x $(PY) ]; then $(PY) -m config.stack clean --var $(VAR); fi
	@rm -rf native/build frontend/dist config/ui .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info

# ---- the environment: stamps, so that a second run is quick ----

$(VENV)/bin/python:
	@python="$$(deploy/prerequisites.sh)" && echo "making $(VENV) with $$python" && "$$python" -m venv $(VENV)

$(VENV)/.demo: requirements/demo.txt pyproject.toml | $(VENV)/bin/python
	@deploy/install.sh $(PY) requirements/demo.txt
	@touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(VENV)/bin/python
	@deploy/install.sh $(PY) requirements/dev.txt
	@touch $@ $(VENV)/.demo

# ---- the console: npm is asked only when its lock changed, Vite only when a source did ----

$(MODULES): frontend/package.json frontend/package-lock.json frontend/.npmrc | $(VENV)/bin/python
	@echo "installing the console's packages (once; a minute)"
	@$(NPM) ci --silent
	@touch $@

$(UI): $(UI_SOURCES) deploy/ship_ui.mjs $(MODULES)
	@$(NPM) run --silent build -- --logLevel warn
	@$(NODE) node deploy/ship_ui.mjs
	@touch $@

.PHONY: help demo run fleet status native native-tests ui test quick soak screenshots gpu-check bench lint fmt openapi types pins clean $(LINT:%=lint-%)
