# Everything a developer runs. `make help` lists it.
# Tools live in .venv, built from the lock file; nothing else is needed but Python 3.11 or newer, git and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TESTS ?=
# One more than there are CPUs: many tests wait, for clocks and for processes that start.
TEST_PROCESSES ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
PART ?= all

.DEFAULT_GOAL := help
.PHONY: help env demo up web play test test-chaos sim lint format gen check-gen docs bench bench-compare capacity monitoring breaking release-contract lock clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

env: $(STAMP) ## Build .venv from requirements.lock

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(STAMP) ## Start a cluster, play a real match over gRPC, show it and verify its replay
	@$(BIN)/rami demo $(ARGS)

up: $(STAMP) ## Start a cluster and leave it running (Ctrl-C stops it); EDGE=1 puts Envoy in front
	@$(BIN)/rami up $(if $(EDGE),--edge) $(ARGS)

web: $(STAMP) ## Build the table in the browser, which `make up EDGE=1` then serves
	@export PATH="$$PATH:$(abspath $(BIN))" && cd libs/rami_web && npm ci --no-audit --no-fund && npm run --silent build

play: $(STAMP) ## Take a seat against bots in the terminal
	@$(BIN)/rami play $(ARGS)

test: $(STAMP) ## Run every test (TESTS=path narrows it down)
	@$(BIN)/pytest --numprocesses $(TEST_PROCESSES) --dist worksteal $(TESTS)

test-chaos: $(STAMP) ## Run all chaos tests: kills and cuts at hundreds of seeded moments, and builds broken on purpose
	@$(BIN)/pytest tests/chaos -m "chaos_long or not chaos_long" $(ARGS)

bench: $(STAMP) ## Measure every cost beside its yardstick, or PART= of it (PART=--help lists them)
	@$(BIN)/rami bench $(PART) $(ARGS)

bench-compare: $(STAMP) ## Say what moved since a report that was kept: BASE=file, NEW=file or the last of its part
	@$(BIN)/rami bench compare $(BASE) $(NEW)

sim: $(STAMP) ## Simulate SEEDS=n schedules of faults from FIRST=k on, or show one: REPLAY=seed
	@PYTHONPATH=tests $(BIN)/python -m sim \
		$(if $(REPLAY),--replay $(REPLAY),--seeds $(or $(SEEDS),1000) --first $(or $(FIRST),1)) $(ARGS)

lint: $(STAMP) ## Check style, types, imports between packages, and the contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(BIN)/python scripts/generate.py --export-common build/protos
	$(BIN)/buf lint
	$(BIN)/buf format --diff --exit-code protos

format: $(STAMP) ## Rewrite code and protos in the one style
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format --quiet .
	@$(BIN)/python scripts/generate.py --export-common build/protos
	$(BIN)/buf format --write protos

gen: $(STAMP) ## Generate the Python code of the contract
	@$(BIN)/python scripts/generate.py

docs: $(STAMP) ## Refresh the table of settings, the references in docs, and the configurations of the edge
	@$(BIN)/python scripts/readme_settings.py
	@$(BIN)/python scripts/contract_reference.py
	@$(BIN)/python scripts/client_reference.py
	@$(BIN)/python scripts/edge_configs.py
	@$(BIN)/python scripts/capacity.py

capacity: $(STAMP) ## Put the figures of the last `make bench` into deploy/capacity.md
	@$(BIN)/python scripts/capacity.py --from build/bench

monitoring: $(STAMP) ## Make the rules, alerts and dashboards of the code in deploy/monitoring
	@PYTHONPATH=deploy $(BIN)/python -m monitoring

breaking: $(STAMP) ## Fail when the contract, or what is stored, breaks those who have the last release
	@$(BIN)/python scripts/generate.py --export-common build/protos
	$(BIN)/buf breaking protos --exclude-imports --against "$$(ls -v protos/released/*.binpb | tail -1)"

release-contract: $(STAMP) ## Keep the contract as that of the version in pyproject.toml, once it is released
	@$(BIN)/python scripts/generate.py --export-common build/protos
	$(BIN)/buf build protos --exclude-source-info \
		-o "protos/released/$$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml).binpb"

check-gen: gen ## Fail when the committed generated code is not what the contract makes
	@test -z "$$(git status --porcelain -- libs/rami)" || { git status --short -- libs/rami; exit 1; }

lock: ## Choose dependency versions anew (needs uv)
	uv pip compile --quiet pyproject.toml --extra bench --extra edge --extra tracing --group dev --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --custom-compile-command "make lock" -o requirements.lock
	uv pip compile --quiet pyproject.toml --extra edge --extra tracing --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --constraint requirements.lock \
		--custom-compile-command "make lock" -o deploy/docker/requirements.lock
	echo hatchling | uv pip compile --quiet - --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-annotate --constraint requirements.lock \
		--custom-compile-command "make lock" -o deploy/docker/build-requirements.lock

clean: ## Remove everything that was built
	rm -rf $(VENV) build libs/rami_web/dist libs/rami_web/node_modules libs/rami_web/src/gen .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
