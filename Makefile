# adalog. `make run` is all a newcomer needs; every target sets up what it needs, and costs nothing the second time.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := PYTHONWARNINGS=ignore $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-build-isolation
# Exact versions, and files whose hashes are known (scripts/lock.sh).
LOCKED := $(PIP) --require-hashes

# The links are followed one by one: compileall passes over links that it meets.
PACKAGES := src/pyspark_adalog $(wildcard src/adalog/*)

SITE := gateway/documentation/site.zip
PAGES := $(shell find docs -type f) $(wildcard *.md examples/*/README.md clients/js/README.md helm/adalog/README.md)

# A file keeps to one process: its fixtures are made once. Three for two processors, as tests of servers wait now and then.
PYTEST_ARGS ?= --numprocesses 3 --dist loadfile

.PHONY: help run test setup bench client console docs pictures check format clean

help: ## what can be asked for
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Without its documentation adalog serves all the same; /docs says then what to do.
run: $(STAMPS)/app $(STAMPS)/kernels $(STAMPS)/java ## set up, load the sample data the first time, serve on 127.0.0.1:8080
	@$(MAKE) --silent --no-print-directory docs || echo "going on without the documentation" >&2
	@source scripts/java-home.sh; $(BIN)/adalog sample --if-empty; ADALOG_DRAIN_SECONDS=$${ADALOG_DRAIN_SECONDS-0} exec $(BIN)/adalog serve

setup: $(STAMPS)/app $(STAMPS)/kernels $(STAMPS)/java $(STAMPS)/test $(SITE) $(STAMPS)/browser $(STAMPS)/balancers $(STAMPS)/jdbc $(STAMPS)/datascript $(STAMPS)/javascript $(STAMPS)/helm ## the set-up alone

test: setup ## every test
	@source scripts/java-home.sh; $(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(STAMPS)/test $(SITE) ## format, lint, types, import rules, links of the documentation
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(SITE) ## the documentation's site, which the gateway serves at /docs; broken links fail

pictures: $(STAMPS)/app $(STAMPS)/kernels $(STAMPS)/test $(STAMPS)/browser ## the pictures of the documentation, docs/pictures, from a server and Chromium
	@$(BIN)/python -m tests.documentation.pictures

format: $(STAMPS)/test ## put the code into shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMPS)/app $(STAMPS)/kernels $(STAMPS)/java $(STAMPS)/bench ## the benchmarks against their peers; tables and plots in bench/
	@source scripts/java-home.sh; $(BIN)/python -m bench

client: $(STAMPS)/javascript ## the package for JavaScript, build/adalog-client-….tgz
	@command -v npm >/dev/null || { echo "the package needs Node.js 20 or newer, with npm" >&2; exit 1; }
	@mkdir -p build
	@source scripts/caches.sh; cd clients/js && npm run --silent build \
		&& echo "build/$$(npm pack --silent --ignore-scripts --pack-destination ../../build)"

console: $(STAMPS)/javascript ## the page at /, from clients/console into gateway/console
	@command -v npm >/dev/null || { echo "the console needs Node.js 20 or newer, with npm" >&2; exit 1; }
	@source scripts/caches.sh; cd clients/console && npm run --silent check && npm run --silent build

clean: ## forget caches and stamps (the data folder and .venv stay)
	rm -rf $(STAMPS) $(SITE) build clients/js/build clients/js/dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "adalog needs Python 3.11 or newer: no '$(PYTHON)' here" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "adalog needs Python 3.11 or newer; choose one with: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@scripts/ensure-venv.sh $(PYTHON) $(VENV)

$(STAMPS):
	@mkdir -p $@

$(STAMPS)/app: pyproject.toml requirements/build.lock requirements/run.lock | $(BIN)/python $(STAMPS)
	@echo "installing adalog and its libraries into $(VENV)"
	@$(LOCKED) --requirement requirements/build.lock
	@$(LOCKED) --requirement requirements/run.lock
	@$(PIP) --no-deps --config-settings editable_mode=compat --editable .
	@touch $@

$(STAMPS)/test: requirements/test.lock $(STAMPS)/app
	@echo "installing the tools of tests and checks"
	@$(LOCKED) --requirement requirements/test.lock
	@touch $@

$(STAMPS)/docs: requirements/docs.lock | $(BIN)/python $(STAMPS)
	@echo "installing what builds the documentation"
	@$(LOCKED) --requirement requirements/docs.lock
	@touch $@

$(SITE): $(PAGES) $(STAMPS)/docs
	@echo "building the documentation"
	@$(BIN)/python docs/site/build.py $@

$(STAMPS)/bench: requirements/bench.lock $(STAMPS)/app
	@echo "installing what the benchmarks compare with"
	@$(LOCKED) --requirement requirements/bench.lock
	@touch $@

$(STAMPS)/kernels: $(wildcard executor/kernels/*.py) executor/warm.py $(STAMPS)/app
	@echo "compiling the join's kernels: one to five minutes"
	@NUMBA_CACHE_DIR=executor/kernels/compiled $(BIN)/python -m adalog.executor.warm
	@# Where PYTHONDONTWRITEBYTECODE is set, each start would compile all modules anew.
	@$(BIN)/python -m compileall -q $(PACKAGES)
	@touch $@

$(STAMPS)/java: scripts/ensure-java.sh scripts/java-home.sh | $(BIN)/python $(STAMPS)
	@scripts/ensure-java.sh && touch $@

$(STAMPS)/browser: scripts/ensure-browser.sh | $(BIN)/python $(STAMPS)
	@scripts/ensure-browser.sh && touch $@

$(STAMPS)/balancers: scripts/ensure-balancers.sh | $(BIN)/python $(STAMPS)
	@scripts/ensure-balancers.sh && touch $@

$(STAMPS)/jdbc: scripts/ensure-jdbc.sh | $(BIN)/python $(STAMPS)
	@scripts/ensure-jdbc.sh && touch $@

$(STAMPS)/datascript: scripts/ensure-datascript.sh scripts/node.sh tests/datascript/package-lock.json | $(BIN)/python $(STAMPS)
	@scripts/ensure-datascript.sh && touch $@

$(STAMPS)/javascript: scripts/ensure-javascript.sh scripts/node.sh clients/js/package-lock.json clients/console/package-lock.json tests/protocols/package-lock.json | $(BIN)/python $(STAMPS)
	@scripts/ensure-javascript.sh && touch $@

$(STAMPS)/helm: scripts/ensure-go.sh helm/tests/render/main.go | $(BIN)/python $(STAMPS)
	@scripts/ensure-go.sh && touch $@
