# make demo   train, compile and run a small network, on a machine that has Python and nothing else
# make test   everything CI checks
# make fuzz   1,000,000 damaged files and 100,000 random programs; it goes on where it was stopped
# make plans  10,000 memory plans against a solver; it goes on where it was stopped, too
# make conformance   every sample that torch has of its operators, through everything; writes docs/ops.md
# The environment is .venv; PYTHON chooses the interpreter it is made from.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test lint types lit unit oracles properties fuzz-quick fuzz plans conformance format regenerate clean

demo: $(VENV)/.demo
	$(BIN)/python -m examples.digits

test: lint types lit unit oracles properties fuzz-quick

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

types: $(VENV)/.test
	$(BIN)/basedpyright --level error

lit: $(VENV)/.test
	$(BIN)/lit -sv test/lit

# Tests of one file run in one process, as many processes as there are cores.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile

unit: $(VENV)/.test
	$(PYTEST) test/unit

oracles: $(VENV)/.test
	$(PYTEST) test/conformance

properties: $(VENV)/.test
	PYTHONPATH=test $(BIN)/python -m property --count 500 --quiet

fuzz-quick: $(VENV)/.test
	PYTHONPATH=test $(BIN)/python -m fuzz --count 20000 --quiet

fuzz: $(VENV)/.test
	mkdir -p build
	PYTHONPATH=test $(BIN)/python -m property --count 100000 --state build/property.state --save build/property
	PYTHONPATH=test $(BIN)/python -m fuzz --count 1000000 --state build/fuzz.state --save build/fuzz

plans: $(VENV)/.test
	mkdir -p build
	PYTHONPATH=test $(BIN)/python -m planning_oracle --count 10000 --state build/plans.state

conformance: $(VENV)/.test
	PYTHONPATH=test/conformance $(BIN)/python -W ignore -m sweep

format: $(VENV)/.test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Sources that are generated from others, and checked by tests to be current. The examples are run by torch, and end up
# in what the registry generates. What the stock runtime takes does not change with our sources and takes minutes to
# find out: see test/conformance/stock_probe.py. docs/ops.md is what `make conformance` writes.
regenerate: $(VENV)/.test
	$(BIN)/python -m et_schema.generate
	$(BIN)/python -m dev.targets
	$(BIN)/python -m et_ir.registry.snapshot
	$(BIN)/python -m et_ir.registry.generate
	$(BIN)/python -m et_ir.registry.examples
	$(BIN)/python -m et_ir.registry.generate
	$(BIN)/python -W ignore -m dev.dtype_probe
	$(BIN)/python -m dev.document_passes
	$(BIN)/python -m dev.document_operators
	$(BIN)/python -m dev.document_vm

# Each stamp says which extras the environment has; it is made anew when what they pin has changed.
$(VENV)/.made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed, this is %s: make PYTHON=..." % sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.demo: $(VENV)/.made pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[compiler,examples]'
	touch $@

$(VENV)/.test: $(VENV)/.made pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[compiler,scipy,test,examples,sentences]'
	touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .ruff_cache .hypothesis
