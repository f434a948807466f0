"""Mutation testing: random faults in the sources, and which tests find them.

    python -m dev.mutants --count 200 --quick 'PYTEST ARGUMENTS' --quick-lit test/lit      seed 0
    python -m dev.mutants ... --tests CHECKOUT --mutants FILE     the same faults, tests of another revision
    python -m dev.mutants ... --compare OLD/results.json          exit code 1 if a fault that was caught is not any more

All faults are in one copy of the sources, each behind a switch (mutant schemata: R. H. Untch, A. J. Offutt and
M. J. Harrold, Mutation analysis using mutant schemata, ISSTA 1993). A run of the tests with all switches off records
which test reaches which fault, and how long it takes; then each fault is switched on in a fork of a process that has
collected the tests, which runs the tests that reach it, the cheapest first, until one fails. A fault outside functions,
or in a function that is called while modules are imported, takes effect before the tests start: such a fault has a
process of its own, and the tests that reach it are those that enter a function which uses the names that it defines.

| module | |
|---|---|
| `operators` | the faults that a source file can have |
| `sampling` | a random sample of them, the same for the same seed; its file |
| `instrumentation` | sources with switches |
| `usage` | functions that use what a statement outside functions defines |
| `checkout` | the copy: sources of one revision, tests of another |
| `switch` | the only part that is imported by the sources |
| `server` | the pytest plugin: a collected session whose forks run tests |
| `client` | starts servers and asks for runs |
| `lit_reach` | the same for lit |
| `recording`, `trials` | the run with no switch on; the runs with one |
| `report` | shares, what escaped, comparison |

No library fits; this was read in mutmut 3.8.1 and cosmic-ray 8.7.0. mutmut has the same scheme and forks, too, but
changes functions only, and of those with decorators only static and class methods: all kernels and shape rules are
decorated, and tables are outside functions. It records the functions that a test calls in pytest's process, not in
commands, and knows pytest only. cosmic-ray writes one mutant at a time to disk and runs a command, the same for all:
ten minutes and more for each. Neither has rows of tables, or a sample.
"""
