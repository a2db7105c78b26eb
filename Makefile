# What a newcomer and CI run. `make demo` and `make test` make the environment first, once.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
GYM_VENV ?= .gym-venv
PORT ?= 3000
export DAGSTER_HOME ?= $(CURDIR)/.dagster

.PHONY: env demo demo-gym gym test check bench ui

env: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) not found; install Python 3.11 to 3.13 or pass PYTHON=/path/to/python" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
		|| { echo "make: $(PYTHON) is not Python 3.11 to 3.13; pass PYTHON=/path/to/python" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: env ## a three-environment sweep through Dagster, with the collector stand-in
	$(BIN)/reward-profiling demo

gym: env ## NeMo Gym in a virtual environment of its own
	$(BIN)/python -m lab.gym_env --dir $(GYM_VENV)

demo-gym: gym ## the same sweep with the real NeMo Gym against a policy server of the lab
	$(BIN)/python -m lab.demo_gym

test: env ## every lane; a lane whose part is missing skips and says what to install
	$(BIN)/python -m pytest

check: env ## format, lint, types, imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: env ## speed and memory as ratios, printed
	$(BIN)/python -m reward_profiling_tests.bench

ui: env $(DAGSTER_HOME)/dagster.yaml ## the Dagster UI of this checkout; GYM=simulated runs sweeps with the stand-in
	REWARD_PROFILING_GYM="$(or $(GYM),$$REWARD_PROFILING_GYM)" $(BIN)/dagster dev --port $(PORT)

# Made once: an instance that somebody configured is theirs.
$(DAGSTER_HOME)/dagster.yaml:
	@mkdir -p $(@D)
	cp dagster.yaml $@
