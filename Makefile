# make demo   train, compile and run a small network, on a machine that has Python and nothing else
# make story  train a small language model, compile it, and let it continue a text; ten minutes
# make check  90 seconds: lint, types of what changed, and the lit and unit tests near the change with a share of the others
# make test   eight minutes: lint, types, lit, unit tests, and a sample of what `make conformance` runs
# make conformance   everything else: all cases against torch and the stock runtime, 500 random programs, 20,000 damaged
#                    files, commands in processes of their own, and the documentation followed in a fresh environment
#                    with the installed wheel
# make test-core   quick tests of the core, in a copy of the tree without the backends
# make affected   the tests that a change can affect, and a share of the others: what CI runs of `make conformance`
# make sweep  every sample that torch has of its operators, through everything; writes docs/ops.md
# make sweep-models   the example models × 6 backends × 3 levels: a table and a report in build/sweep; it goes on where it was stopped
# make docs   tables that are built, not committed: docs/generated/
# make bench  twenty minutes: measures every published figure; writes docs/performance.md
# make fuzz   1,000,000 damaged files and 100,000 random programs; it goes on where it was stopped
# make mutants   200 random faults in the sources: which are found by `make test`, and which by all tests; hours
# make plans  10,000 memory plans against a solver; it goes on where it was stopped, too
# make test-newest   what a user has who pins nothing: the newest torch and xDSL, in an environment of its own
# The environment is .venv; PYTHON chooses the interpreter it is made from.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TIMES := build/durations
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Hundreds of processes import the same files: each would compile them again where this is set.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo story check test conformance untyped lint types types-near stubs lit tests test-core cases random commands suites affected \
	machines lit-near properties fuzz-quick walkthrough pages sweep sweep-models docs bench fuzz mutants plans test-newest tosa-tools clients format \
	regenerate clean

# Each part says how long it took, and records it: `python -m dev.parts` compares that with what it may take.
RUN = @$(BIN)/python -m dev.parts $@

demo: $(VENV)/.demo
	$(BIN)/python -m examples.digits

story: $(VENV)/.story
	$(BIN)/python -m examples.story

# Types are one process, which takes as long as the rest.
check: $(VENV)/.test
	@$(MAKE) --no-print-directory --jobs 2 types-near untyped

untyped: $(VENV)/.test
	@$(MAKE) --no-print-directory --jobs 1 lint lit-near cases

test: $(VENV)/.test
	@$(MAKE) --no-print-directory --jobs 2 lint types lit
	@$(MAKE) --no-print-directory tests
	@$(MAKE) --no-print-directory random

conformance: commands suites properties fuzz-quick walkthrough

lint: $(VENV)/.test
	$(RUN) $(BIN)/ruff check .
	$(RUN) $(BIN)/ruff format --check .
	$(RUN) $(BIN)/lint-imports --no-cache

types: stubs
	$(RUN) $(BIN)/basedpyright --level error

# Types of the files that changed since BASE, and of those that import them.
types-near: stubs
	$(RUN) sh -c 'files=$$($(BIN)/python -m dev.affected --sources) && { [ -z "$$files" ] || $(BIN)/basedpyright --level error $$files; }'

# Classes of ops are made from their schemas at run time: these stubs are what editors and type checkers know of them.
stubs: $(VENV)/.test
	$(BIN)/python -m dev.stubs

LIT := $(BIN)/lit -sv test/lit -o

lit: $(VENV)/.test | $(TIMES)
	$(RUN) $(LIT) $(TIMES)/$@.lit.json --param warm

# Of the lit tests, what takes LIT_SOON seconds of two cores: those near the change since BASE, and a share of the others.
LIT_SOON := 24

lit-near: $(VENV)/.test | $(TIMES)
	$(BIN)/python -m dev.affected --json build/affected.json >/dev/null
	$(RUN) $(LIT) $(TIMES)/$@.lit.json --param warm --param seconds=$$((2 * $(LIT_SOON))) --param affected=build/affected.json \
	  --param turn=$$((0x$(COMMIT)))

# As few of the lit tests as run every command with every verb and pass, in processes of their own.
commands: $(VENV)/.test | $(TIMES)
	$(RUN) $(LIT) $(TIMES)/$@.lit.json --param cover

# As many processes as there are cores; one that has no tests left takes some of another. A process that crashes ends the
# run with the test's name: pytest-xdist 3.8 may wait forever behind one that it replaces.
PYTEST := env OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal --max-worker-restart 0
PROPERTY := env PYTHONPATH=test $(BIN)/python -m property --processes 2
FUZZ := env PYTHONPATH=test $(BIN)/python -m fuzz

# Chooses among equals: cases, instruction sets, settings of machines.
COMMIT = $(shell git rev-parse --short=6 HEAD || echo 0)

# The quick cases of each test, which test/support/selection.py chooses; `suites` runs the others.
tests: $(VENV)/.test
	$(RUN) $(PYTEST) --quick --turn $$((0x$(COMMIT))) test/unit test/conformance

# The core without the backends, in a copy that has none: lit tests of levels and passes, and unit tests that take CORE
# seconds of two cores.
CORE := 20
COPY := build/core

test-core: $(VENV)/.test
	$(BIN)/python -m dev.core $(COPY)
	$(RUN) sh -c 'cd $(COPY) && export PYTHONPATH=$$PWD && $(abspath $(BIN))/lit -sv --param warm $$(cat lit.txt)'
	$(RUN) sh -c 'cd $(COPY) && export PYTHONPATH=$$PWD && \
	  $(PYTEST:$(BIN)/%=$(abspath $(BIN))/%) --quick --seconds $$((2 * $(CORE))) --turn $$((0x$(COMMIT))) $$(cat unit.txt)'

# Of the unit tests near the change since BASE, quick ones that take SOON seconds of two cores.
SOON := 8

cases: $(VENV)/.test
	$(BIN)/python -m dev.affected --json build/affected.json >/dev/null
	$(RUN) sh -c 'files=$$($(BIN)/python -m dev.affected --near | tr " " "\n" | grep ^test/unit/) || exit 0; \
	  $(PYTEST) --quick --affected build/affected.json --seconds $$((2 * $(SOON))) --turn $$((0x$(COMMIT))) $$files'

# Random programs and damaged files.
PROGRAMS := 40
FILES := 3000

random: $(VENV)/.test
	$(RUN) $(PROPERTY) --count $(PROGRAMS)
	$(RUN) $(FUZZ) --count $(FILES)

suites: $(VENV)/.test
	$(RUN) $(PYTEST) --beyond-quick test/unit test/conformance
	$(RUN) $(PYTEST) test/unit/et_backends/codegen test/unit/et_backends/native/compiler

# What `tests` leaves out, as much of it as SECONDS of two cores allow: whole tests near the change since BASE, and a share
# of the others, another one for each commit (dev/affected.py, dev/shares.py).
SECONDS := 300

affected: $(VENV)/.test
	$(BIN)/python -m dev.affected --json build/affected.json
	$(RUN) $(PYTEST) --beyond-quick --affected build/affected.json --seconds $$((2 * $(SECONDS))) --turn $$((0x$(COMMIT))) test/unit test/conformance

# Numeric tests as on another machine: instructions and threads that another one would have, others for each commit.
machines: $(VENV)/.test
	$(RUN) $(BIN)/python -m dev.machines --turn $$((0x$(COMMIT)))

# TESTED=1: what `random` has not run.
properties: $(VENV)/.test
	$(RUN) $(PROPERTY) $(if $(TESTED),--first $(PROGRAMS) --count $$((500 - $(PROGRAMS))),--count 500)

fuzz-quick: $(VENV)/.test
	$(RUN) $(FUZZ) $(if $(TESTED),--first $(FILES) --count $$((20000 - $(FILES))),--count 20000)

walkthrough: $(VENV)/.test
	$(RUN) env PYTHONPATH=test $(BIN)/python -m walkthrough

# PAGES="README.md docs/vm.md": the tests of the documentation, and these pages followed with this environment's packages.
SITE = $(shell $(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

pages: $(VENV)/.test
	$(RUN) $(PYTEST) test/unit/docs $(shell $(BIN)/python -m dev.affected --near)
	$(RUN) env PYTHONPATH=test $(BIN)/python -m walkthrough --packages $(SITE) $(PAGES)

sweep: $(VENV)/.test
	PYTHONPATH=test:test/conformance $(BIN)/python -W ignore -m sweep

docs: $(VENV)/.test
	$(BIN)/python -m dev.document_operators

# Folder of results; make it again to go on. OPTIONS="--baseline FOLDER --cache".
RESULTS := build/sweep
OPTIONS :=

sweep-models: $(VENV)/.test
	$(BIN)/et-sweep bench/models.toml -o $(RESULTS) $(OPTIONS)

bench: $(VENV)/.test
	$(BIN)/python -W ignore -m bench

fuzz: $(VENV)/.test
	mkdir -p build
	PYTHONPATH=test $(BIN)/python -m property --count 100000 --state build/property.state --save build/property
	$(FUZZ) --count 1000000 --state build/fuzz.state --save build/fuzz

COUNT ?= 200
SEED ?= 0
MUTANTS ?=

mutants: $(VENV)/.test
	$(BIN)/python -m dev.mutants --count $(COUNT) --seed $(SEED) \
	  --quick '--quick test/unit test/conformance' --quick-lit test/lit \
	  --quick-command 'PYTHONPATH=test python -m property --count $(PROGRAMS)' \
	  --quick-command 'PYTHONPATH=test python -m fuzz --count $(FILES)' \
	  --full '--beyond-quick test/unit test/conformance' \
	  --full-command 'PYTHONPATH=test python -m property --first $(PROGRAMS) --count $$((500 - $(PROGRAMS)))' \
	  --full-command 'PYTHONPATH=test python -m fuzz --first $(FILES) --count $$((20000 - $(FILES)))' $(MUTANTS)

plans: $(VENV)/.test
	mkdir -p build
	PYTHONPATH=test $(BIN)/python -m planning_oracle --count 10000 --state build/plans.state

# Without the stock runtime, which is built for one torch, and without what compares our tables and samples of kernels
# with torch's registry: operators come and go with releases (2.15 has no `aten::cholesky`, which files may call).
NEWEST := .venv-newest
NEWEST_PYTEST := OMP_NUM_THREADS=1 $(NEWEST)/bin/python -m pytest --numprocesses auto --dist worksteal --max-worker-restart 0
STOCK_TESTS := et_ir/passes/memory/test_concatenate_in_place.py et_backends/xnnpack/compiler/test_damaged_file.py \
	et_ir/delegation/test_lowering.py et_ir/targets/test_registry.py
REGISTRY_TESTS := et_ir/dialects/aten/test_promotion.py et_ir/dialects/edge/test_dtypes.py
NEWEST_CONFORMANCE := test_lowering test_delegated test_folded_state test_mixed_types \
	test_random_programs test_threads

test-newest: $(NEWEST)/.made
	$(NEWEST)/bin/python -c 'import torch; from importlib.metadata import version; print("torch", torch.__version__, "xdsl", version("xdsl"))'
	$(NEWEST)/bin/lit -sv --param warm test/lit
	$(NEWEST_PYTEST) --quick test/unit/et_schema test/unit/et_vm test/unit/et_ir test/unit/et_backends $(patsubst %,--ignore test/unit/%,$(STOCK_TESTS) $(REGISTRY_TESTS))
	$(NEWEST_PYTEST) --quick $(NEWEST_CONFORMANCE:%=test/conformance/%.py)

$(NEWEST)/.made: pyproject.toml
	$(PYTHON) -m venv $(NEWEST)
	$(NEWEST)/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable '.[compiler,native,ethos-u,openvino,vgf,scipy,llm,examples,test]'
	touch $@

# Arm's tools for TOSA need an older numpy, so they have an environment of their own. Tests that need them are skipped
# without it, and fail in CI.
TOSA_TOOLS := .venv-tosa

tosa-tools: $(TOSA_TOOLS)/.made

$(TOSA_TOOLS)/.made:
	$(PYTHON) -m venv $(TOSA_TOOLS)
	$(TOSA_TOOLS)/bin/python -m pip install --quiet tosa-tools==2026.8.0
	touch $@

# Programs of others that read our files, in a folder of their own: they pin other versions of what the tests use, and work
# with these. Tests that need them are skipped without it, and fail in CI.
CLIENTS := .venv-clients

clients: $(CLIENTS)/.made

$(CLIENTS)/.made: test/conformance/clients.txt $(VENV)/.made
	$(BIN)/python -m pip install --quiet --no-deps --upgrade --target $(CLIENTS) --requirement $<
	touch $@

format: $(VENV)/.test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Sources that are generated from others, and checked by tests to be current. The examples are run by torch. What the
# stock runtime takes does not change with our sources and takes minutes to find out: see
# test/conformance/stock_probe.py. docs/ops.md is what `make sweep` writes.
regenerate: $(VENV)/.test
	$(BIN)/python -m dev.targets
	$(BIN)/python -m dev.snapshot
	$(BIN)/python -m dev.examples
	$(BIN)/python -W ignore -m dev.dtype_probe
	$(BIN)/python -m dev.document_passes
	$(BIN)/python -m dev.document_reference
	$(BIN)/python -m dev.document_tables
	$(BIN)/python -m dev.soft_float

# pip says nothing for minutes, as it does not print the packages that it takes.
INSTALLING := Installing packages into $(VENV): minutes, most for torch. With PyTorch's index of CPU builds in PIP_EXTRA_INDEX_URL, pip takes the smaller torch without CUDA.

# Each stamp says which extras the environment has; it is made anew when what they pin has changed.
$(VENV)/.made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed, this is %s: make PYTHON=..." % sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.demo: $(VENV)/.made pyproject.toml constraints.txt
	@echo "$(INSTALLING)"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[compiler,examples]'
	touch $@

$(VENV)/.story: $(VENV)/.made pyproject.toml constraints.txt
	@echo "$(INSTALLING)"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[compiler,native,examples,llm]'
	touch $@ $(VENV)/.demo

$(VENV)/.test: $(VENV)/.made pyproject.toml constraints.txt
	@echo "$(INSTALLING)"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[compiler,native,ethos-u,openvino,vgf,scipy,test,stock,examples,sentences]'
	touch $@ $(VENV)/.demo $(VENV)/.story

$(TIMES):
	mkdir -p $@

clean:
	rm -rf $(VENV) $(NEWEST) build *.egg-info .pytest_cache .ruff_cache .hypothesis
