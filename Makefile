# make demo   train, compile and run a small network, on a machine that has Python and nothing else
# make test   everything CI checks
# make fuzz   1,000,000 damaged files and 100,000 random programs; it goes on where it was stopped
# make plans  10,000 memory plans against a solver; it goes on where it was stopped, too
# make conformance   every sample that torch has of its operators, through everything; writes docs/ops.md
# make test-newest   what a user has who pins nothing: the newest torch and xDSL, in an environment of its own
# The environment is .venv; PYTHON chooses the interpreter it is made from.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test lint types lit stubs unit oracles properties fuzz-quick fuzz plans conformance test-newest format regenerate clean

demo: $(VENV)/.demo
	$(BIN)/python -m examples.digits

test: lint types lit unit oracles properties fuzz-quick

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

types: stubs
	$(BIN)/basedpyright --level error

# Classes of ops are made from their schemas at run time: these stubs are what editors and type checkers know of them.
stubs: $(VENV)/.test
	$(BIN)/python -m dev.stubs

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

# Without the stock runtime, which is built for one torch, and without what compares our tables with torch's registry:
# operators are added to it with every release.
NEWEST := .venv-newest
NEWEST_PYTEST := OMP_NUM_THREADS=1 $(NEWEST)/bin/python -m pytest --numprocesses auto --dist loadfile
STOCK_TESTS := passes/test_concatenate_in_place.py backends/xnnpack/test_damaged_file.py backends/test_lowering.py
NEWEST_CONFORMANCE := test_lowering test_delegated test_folded_state test_mixed_types \
	test_random_programs test_threads

test-newest: $(NEWEST)/.made
	$(NEWEST)/bin/python -c 'import torch; from importlib.metadata import version; print("torch", torch.__version__, "xdsl", version("xdsl"))'
	$(NEWEST)/bin/lit -sv test/lit
	$(NEWEST_PYTEST) test/unit/et_schema test/unit/et_vm test/unit/et_ir $(STOCK_TESTS:%=--ignore test/unit/et_ir/%)
	$(NEWEST_PYTEST) $(NEWEST_CONFORMANCE:%=test/conformance/%.py)

$(NEWEST)/.made: pyproject.toml
	$(PYTHON) -m venv $(NEWEST)
	$(NEWEST)/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable '.[compiler,test]'
	touch $@

format: $(VENV)/.test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Sources that are generated from others, and checked by tests to be current. The examples are run by torch. What the
# stock runtime takes does not change with our sources and takes minutes to find out: see
# test/conformance/stock_probe.py. docs/ops.md is what `make conformance` writes.
regenerate: $(VENV)/.test
	$(BIN)/python -m dev.targets
	$(BIN)/python -m dev.snapshot
	$(BIN)/python -m dev.examples
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
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[compiler,scipy,test,stock,examples,sentences]'
	touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) $(NEWEST) build *.egg-info .pytest_cache .ruff_cache .hypothesis
