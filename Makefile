# Two commands for a new user: `make demo` and `make test`. Everything is set up in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.set-up

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format cover vacuity bench bench-parse clean

help: ## show what can be done
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: $(STAMP) ## build .venv with everything the targets below need

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || { echo "setting up $(VENV) (once, about a minute) …"; $(PYTHON) -m venv $(VENV); }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,fast]'
	@touch $@

demo: $(STAMP) ## watch a refused call being rescued and remembered
	@$(BIN)/structguard demo

test: $(STAMP) ## run the tests
	@$(BIN)/python -m pytest

lint: $(STAMP) ## formatter, linter, two type checkers, import contracts
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/pyright
	@$(BIN)/lint-imports

format: $(STAMP) ## put the code in shape
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

cover: $(STAMP) ## run the tests with branch coverage of the package
	@$(BIN)/python -m coverage run -m pytest --ignore=tests/vacuity
	@$(BIN)/python -m coverage combine --quiet 2>/dev/null || true
	@$(BIN)/python -m coverage report

bench: $(STAMP) ## overhead, memo, detection and import, with medians and ratios
	@for name in imports overhead memo refusals schema; do $(BIN)/python -m benchmarks.$$name || exit 1; done

bench-parse: $(STAMP) ## the parser against the others; writes docs/parse-benchmark.md
	@$(BIN)/python -m benchmarks.parse

clean: ## remove what the targets made
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage*
