"""Methods of one program: which of them share arenas and state."""

import numpy as np
import pytest
from support.vm_programs import Build, combine, kernels

from et_schema.scalar_type import ScalarType
from et_vm.program import Program
from et_vm.runtime import Program as RuntimeProgram
from et_vm.runtime import Runtime


def counter(name: str) -> Build:
    """A method that counts in a buffer, which starts at five, and returns it."""
    build = Build()
    state = build.state(np.array([5, 6], np.int64), name="n")
    build.call("test::increment_", state, state)
    build.outputs(state)
    build.plan.name = name
    return build


FILE = combine(counter("one"), counter("two"))
SOME = {"kernels": kernels()}


@pytest.fixture
def loaded() -> RuntimeProgram:
    return Runtime().load_program(FILE, **SOME)


def count(method) -> list[int]:
    return method.execute()[0].tolist()


class TestOfTheRuntime:
    def test_state_goes_from_method_to_method(self, loaded):
        assert count(loaded.load_method("one")) == [6, 7]
        assert count(loaded.load_method("two")) == [7, 8]  # loaded after the first has counted
        assert count(loaded.load_method("one")) == [8, 9]

    def test_a_reset_is_seen_by_all(self, loaded):
        one, two = loaded.load_method("one"), loaded.load_method("two")
        count(one)
        two.state.reset()
        assert count(one) == [6, 7]

    def test_each_is_loaded_once(self, loaded):
        assert loaded.load_method("one") is loaded.load_method("one")

    def test_two_programs_share_nothing(self, loaded):
        count(loaded.load_method("one"))
        assert count(Runtime().load_program(FILE, **SOME).load_method("one")) == [6, 7]


class TestOfTheProgramBeneath:
    def test_each_call_makes_a_method_with_memory_of_its_own(self):
        program = Program.load(FILE)
        first, second = program.load_method("one", **SOME), program.load_method("one", **SOME)
        assert first is not second
        assert [count(first), count(first), count(second)] == [[6, 7], [7, 8], [6, 7]]
        results = [method.execute(clone_outputs=False)[0] for method in (first, second)]
        assert not np.shares_memory(*results)

    def test_methods_with_one_memory_share_arenas_and_state(self):
        program = Program.load(FILE)
        memory = program.new_memory()
        one = program.load_method("one", memory=memory, **SOME)
        assert count(one) == [6, 7]
        two, again = (program.load_method(name, memory=memory, **SOME) for name in ("two", "one"))
        assert [count(two), count(again), count(one)] == [[7, 8], [8, 9], [9, 10]]
        results = [method.execute(clone_outputs=False)[0] for method in (one, two, again)]
        assert all(np.shares_memory(result, memory.bank(1, memory.sizes[1])) for result in results)

    def test_the_memory_of_all_methods_is_that_of_the_largest(self):
        small, large = Build(), Build()
        for build, width in ((small, 4), (large, 100)):
            x = build.tensor(width, dtype=ScalarType.FLOAT)
            build.inputs(x)
            build.outputs(x)
        small.plan.name, large.plan.name = "small", "large"
        program = Program.load(combine(small, large))
        assert program.new_memory().sizes == program.new_memory(("large",)).sizes == {1: 400}
        assert program.new_memory(("small",)).sizes == {1: 16}

    def test_the_runtime_is_a_use_of_it(self, loaded):
        method = loaded.core.load_method("one", **SOME)
        assert method is not loaded.load_method("one")
        count(method)
        assert count(loaded.load_method("one")) == [6, 7]
