# Podshift: `make demo` to see it, `make test` to test it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
UV_VERSION := 0.13.9

.PHONY: help install demo test unit lint format bench reproduce screenshots lock clean system-tools
.DEFAULT_GOAL := help

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

install: $(STAMP) ## Make .venv with everything in requirements.lock and the command podshift

COMPILED := $(addprefix backend/, control/controller.py control/loop.py model/node_table.py model/state.py \
	scheduling/framework.py scheduling/kept.py scheduling/queue.py scheduling/rows.py scheduling/selection.py simulation/cluster.py \
	simulation/engine.py simulation/pods.py simulation/sharing.py)

$(STAMP): requirements.lock pyproject.toml backend/compiled.py $(COMPILED)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Podshift needs Python 3.11 or newer; set PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet uv==$(UV_VERSION)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --compile-bytecode --require-hashes -r requirements.lock
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --no-deps --editable .
	-$(BIN)/python -m backend.compiled
	@touch $@

demo: install ## Start backend and dashboard on this machine and print the address
	$(BIN)/podshift up

system-tools:
	.ci/system-tools

test: install system-tools ## Run every test
	$(BIN)/pytest -n 2 --dist loadfile

unit: install ## Run the tests that need no browser
	$(BIN)/pytest -n 2 --dist loadfile --ignore tests/browser

lint: install ## Check style, types and the arrows between packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install ## Measure speed beside peers and write bench/RESULTS.md
	$(BIN)/python -m bench

reproduce: install ## Run the 50-job reproduction and write docs/reproduction.md
	$(BIN)/python -m bench.reproduction

screenshots: install system-tools ## Draw every page in both themes into docs/screenshots
	$(BIN)/python -m tests.browser.screenshots

lock: install ## Write requirements.lock anew from pyproject.toml
	$(BIN)/uv pip compile pyproject.toml --group dev --generate-hashes --no-emit-index-url --no-header --quiet -o requirements.lock

clean: ## Remove what install and the tests made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
