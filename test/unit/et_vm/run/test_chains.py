"""Chains at the same time: order, races, failures, threads, and every interleaving of small programs."""

import gc
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.chain_schedules import Scheduler, interleavings, without_races_checked
from support.vm_programs import UNBOUND, Build

from et_schema.errors import Error, InvalidFile, Trap
from et_schema.program import Chain
from et_schema.scalar_type import ScalarType
from et_vm.kernels.registry import KernelRegistry, PrepareContext
from et_vm.platform import Platform
from et_vm.program import Program
from et_vm.run.chains import ChainLoop
from et_vm.run.method import Method
from et_vm.run.validation import validate

X = np.array([1.5, -2.0, 0.25, 3.0], np.float32)


class Chained(Build):
    """A build of chains, and the registers of their buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.plan.chains = []
        self.buffers: list[list[int]] = []

    def begin(self, *inputs: int) -> None:
        self.plan.chains.append(Chain(inputs=list(inputs)))

    def end(self, *outputs: int) -> None:
        self.chain.outputs = list(outputs)

    def neg(self, a: int, out: int) -> None:
        self.call("aten::neg.out", a, out, out)

    def mul(self, a: int, b: int, out: int) -> None:
        self.call("aten::mul.out", a, b, out, out)

    def plus(self, a: int, b: int, out: int) -> None:
        self.call("aten::add.out", a, b, self.scalar(1), out, out)


def towers(count: int = 3, length: int = 6) -> Chained:
    """Chains of `length` instructions on one input, each in two buffers, and one that adds their results, in the
    buffers of the first.
    """
    build = Chained()
    x = build.tensor(4)
    results: list[int] = []
    first = build.plan.non_const_buffer_sizes[1]
    for number in range(count):
        build.begin()
        buffers = [build.tensor(4), build.tensor(4)]
        build.buffers.append(buffers)
        build.neg(x, buffers[0])
        for step in range(1, length):
            operand = build.plus if (step + number) % 2 else build.mul
            operand(buffers[(step + 1) % 2], x, buffers[step % 2])
        results.append(buffers[(length + 1) % 2])
        build.end(results[-1])
    build.begin(*results)
    total = results[0]
    # The buffer of the first chain that is not its result is free.
    spare = first if length % 2 == 0 else first + 16
    out = build.tensor(4, offset=spare)
    for number, one in enumerate(results[1:]):
        target = out if number % 2 == 0 else results[0]
        build.plus(total, one, target)
        total = target
    build.neg(total, build.tensor(4))
    last = len(build.plan.values) - 1
    build.end(last)
    build.inputs(x)
    build.outputs(last)
    return build


def load(build: Build, threads: int = 2, **options: Any) -> Method:
    program = Program.load(build.file(), platform=Platform(threads=threads))
    return program.load_method("forward", **options)


def sequential(build: Build, *inputs: Any) -> list[Any]:
    method = load(build, threads=1)
    assert not isinstance(method._loop, ChainLoop)
    return method.execute(inputs)


# -- results


@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize(("count", "length"), [(1, 1), (2, 3), (3, 6), (6, 4)])
def test_same_bits_as_in_the_order_of_the_file(threads: int, count: int, length: int) -> None:
    build = towers(count, length)
    expected = sequential(build, X)
    method = load(build, threads)
    assert isinstance(method._loop, ChainLoop) == (count > 1)
    for turn in range(50):
        (result,) = method.execute([X * (turn % 2 + 1)])
        if turn % 2 == 0:
            assert result.tobytes() == expected[0].tobytes()


def test_jumps_within_chains() -> None:
    build = Chained()
    condition, x = build.tensor(dtype=ScalarType.BOOL), build.tensor(4)
    a, b, out = build.tensor(4), build.tensor(4), build.tensor(4)
    for result, first in ((a, build.neg), (b, lambda x, out: build.plus(x, x, out))):
        build.begin()
        jump = build.jump_false(condition, 0)
        first(x, result)
        skip = build.jump_false(build.scalar(False), 0)
        build.chain.instructions[jump].instr_args.destination_instruction = skip + 1
        build.mul(x, x, result)
        build.chain.instructions[skip].instr_args.destination_instruction = len(build.chain.instructions)
        build.end(result)
    build.begin(a, b)
    build.plus(a, b, out)
    build.end(out)
    build.inputs(condition, x)
    build.outputs(out)
    method = load(build)
    assert isinstance(method._loop, ChainLoop)
    for value, expected in ((True, -X + (X + X)), (False, X * X + X * X)) * 20:
        (result,) = method.execute([np.array(value), X])
        assert result.tobytes() == expected.tobytes()


def test_chains_without_inputs_and_outputs_run_one_after_the_other() -> None:
    build = Chained()
    x, a, b = (build.tensor(4) for _ in range(3))
    build.begin()
    build.neg(x, a)
    build.begin()
    build.mul(a, a, b)
    build.inputs(x)
    build.outputs(b)
    method = load(build)
    assert not isinstance(method._loop, ChainLoop)
    assert method.execute([X])[0].tobytes() == (X * X).tobytes()


def test_steps_of_chains_at_the_same_time_have_scratch_of_their_own() -> None:
    build = towers(2, 2)
    method = load(build)
    assert len(method._scratches) == 3
    assert len({id(scratch) for scratch in method._scratches}) == 3


def test_what_is_observed_or_limited_runs_in_the_order_of_the_file() -> None:
    build = towers()
    program = Program.load(build.file(), platform=Platform(threads=2))
    assert not isinstance(program.load_method("forward", poison=True)._loop, ChainLoop)
    limited = Program.load(build.file(), platform=Platform(threads=2, work_limit=10**9))
    assert not isinstance(limited.load_method("forward")._loop, ChainLoop)
    with pytest.raises(Trap, match="more than 5 instructions"):
        program.load_method("forward", instruction_limit=5).execute([X])


def test_steps_of_a_method_in_chains() -> None:
    build = towers()
    method = load(build)
    (expected,) = method.execute([X])
    method.set_inputs([X])
    while method.step() is not Error.EndOfMethod:
        pass
    assert method.get_output(0).tobytes() == expected.tobytes()


# -- failures


def failing(calls: dict[str, Callable[[], None]]) -> KernelRegistry:
    """The portable kernels, and some of the `aten` namespace that do what functions say."""
    from et_vm.kernels.portable import register

    registry = KernelRegistry()
    register(registry)

    def kernel(function: Callable[[], None]) -> Any:
        def prepare(ctx: PrepareContext, self: Any, out: Any) -> Any:
            return function, ()

        return prepare

    for name, function in calls.items():
        registry.register(f"integer::{name}.out", kernel(function))
    return registry


def two_calls(*names: str) -> Chained:
    """A chain for each call, of two instructions, and one behind all."""
    build = Chained()
    x = build.tensor(4)
    outs = [build.tensor(4) for _ in names]
    for name, out in zip(names, outs, strict=True):
        build.begin()
        build.call(f"integer::{name}.out", x, out, out)
        build.neg(x, out)
        build.end(out)
    build.begin(*outs)
    result = build.tensor(4)
    build.plus(outs[0], outs[1], result)
    build.end(result)
    build.inputs(x)
    build.outputs(result)
    return build


def test_chains_run_at_the_same_time() -> None:
    barrier = threading.Barrier(2, timeout=20)
    kernels = failing({"one": barrier.wait, "other": barrier.wait})
    method = load(two_calls("one", "other"), kernels=kernels)
    for _ in range(20):
        assert method.execute([X])[0].tobytes() == (-X - X).tobytes()


def test_the_failure_is_that_of_the_order_of_the_file() -> None:
    later = threading.Event()

    def first() -> None:
        assert later.wait(20)
        raise ValueError("first")

    def second() -> None:
        later.set()
        raise ValueError("second")

    method = load(two_calls("one", "other"), kernels=failing({"one": first, "other": second}))
    for _ in range(5):
        later.clear()
        with pytest.raises(Trap, match="first") as caught:
            method.execute([X])
        assert caught.value.operator == "integer::one.out"


def test_a_failure_stops_the_chains_behind_it() -> None:
    started, failed = threading.Event(), threading.Event()
    after: list[int] = []

    def first() -> None:
        assert started.wait(20)
        failed.set()
        raise ValueError("first")

    def second() -> None:
        started.set()
        assert failed.wait(20)
        time.sleep(0.05)  # until the failure is noted

    build = two_calls("one", "other")
    build.plan.chains[1].instructions[1].instr_args.op_index = len(build.plan.operators)
    build.plan.operators.append(type(build.plan.operators[0])("integer::third", "out"))
    kernels = failing({"one": first, "other": second, "third": lambda: after.append(1)})
    method = load(build, kernels=kernels)
    with pytest.raises(Trap, match="first"):
        method.execute([X])
    assert not after
    failed.clear()
    started.clear()
    with pytest.raises(Trap, match="first"):
        method.execute([X])
    assert not after


def test_an_interrupted_caller_leaves_nothing_running() -> None:
    writing, ended = threading.Event(), threading.Event()

    def interrupted() -> None:
        if threading.current_thread() is threading.main_thread():
            assert writing.wait(20)
            raise KeyboardInterrupt
        writing.set()
        time.sleep(0.1)
        ended.set()

    method = load(two_calls("one", "other"), kernels=failing({"one": interrupted, "other": interrupted}))
    before = set(threading.enumerate())
    for _ in range(2):
        writing.clear()
        ended.clear()
        with pytest.raises(KeyboardInterrupt):
            method.execute([X])
        assert ended.is_set()
        assert not set(threading.enumerate()) - before


def test_threads_end_with_the_method() -> None:
    before = set(threading.enumerate())
    method = load(towers(), 3)
    method.execute([X])
    threads = set(threading.enumerate()) - before
    assert len(threads) == 2
    del method
    gc.collect()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


# -- files with faults


def missing_edge() -> Chained:
    build = towers()
    build.plan.chains[-1].inputs.pop()
    return build


def shared_byte() -> Chained:
    build = towers()
    buffers = [build[one[0]] for one in build.buffers]
    buffers[1].allocation_info.memory_offset_low = buffers[0].allocation_info.memory_offset_low + 12
    return build


def early_free() -> Chained:
    build = Chained()
    x, grown, out = build.tensor(4), build.tensor(4, planned=False, dynamism=UNBOUND), build.tensor(4)
    build.begin()
    build.neg(x, grown)
    build.end(grown)
    build.begin(grown)
    build.mul(grown, x, out)
    build.end(out)
    build.begin(grown)
    build.free(grown)
    build.inputs(x)
    build.outputs(out)
    return build


PLANTED = [missing_edge, shared_byte, early_free]


@pytest.mark.parametrize("planted", PLANTED)
def test_races_are_errors_at_load(planted: Callable[[], Chained]) -> None:
    file = planted().file()
    with pytest.raises(InvalidFile, match="may run at the same time") as caught:
        Program.load(file).load_method("forward")
    assert caught.value.where is not None
    assert ".chains[" in caught.value.where
    assert any("may run at the same time" in str(problem) for problem in validate(memoryview(file)).problems)


@pytest.mark.parametrize("planted", PLANTED)
def test_the_scheduler_finds_planted_faults(
    planted: Callable[[], Chained], monkeypatch: pytest.MonkeyPatch
) -> None:
    without_races_checked(monkeypatch)
    scheduler = Scheduler(planted().file())
    expected = scheduler.in_order([X])
    found, _ = scheduler.every([X])
    assert expected in found
    assert len(found) > 1
    assert any(scheduler.random([X], seed) != expected for seed in range(200))


def cycle() -> Chained:
    build = Chained()
    x, a, b = (build.tensor(4) for _ in range(3))
    build.begin(b)
    build.neg(x, a)
    build.end(a)
    build.begin(a)
    build.neg(a, b)
    build.end(b)
    build.inputs(x)
    build.outputs(b)
    return build


def test_chains_that_wait_for_each_other() -> None:
    with pytest.raises(
        InvalidFile, match=r"chain 0 waits for value 2, which only chain 1 makes: they wait"
    ) as caught:
        Program.load(cycle().file()).load_method("forward")
    assert caught.value.where == "execution_plan[0].chains[0].inputs[0]"


def test_a_chain_that_waits_for_one_behind_it() -> None:
    build = cycle()
    build.plan.chains[1].inputs = []
    with pytest.raises(InvalidFile, match="waits for value 2, which only chain 1 makes"):
        Program.load(build.file()).load_method("forward")


def test_a_chain_that_waits_for_itself() -> None:
    build = cycle()
    build.plan.chains[0].inputs = build.plan.chains[0].outputs
    with pytest.raises(InvalidFile, match="chain 0 waits for value 1, which only chain 0 makes"):
        Program.load(build.file()).load_method("forward")


def test_jumps_across_chains() -> None:
    build = towers()
    build.begin()
    build.jump_false(build.scalar(False), 3)
    with pytest.raises(InvalidFile, match="jump to instruction 3 of a chain of 1"):
        Program.load(build.file()).load_method("forward")


def test_unknown_operators_run_one_after_the_other() -> None:
    build = two_calls("one", "other")
    for operator in build.plan.operators[:1]:
        operator.name = "mylib::one"
    build.plan.operators[2 if build.plan.operators[1].name == "aten::neg" else 1].name = "mylib::other"
    kernels = KernelRegistry()
    from et_vm.kernels.portable import register

    register(kernels)
    for name in ("mylib::one.out", "mylib::other.out"):
        kernels.register(name, lambda ctx, self, out: (time.monotonic, ()))
    assert not isinstance(load(build, kernels=kernels)._loop, ChainLoop)


# -- interleavings


@pytest.mark.parametrize(("count", "length"), [(2, 3), (3, 3), (3, 6)])
def test_every_interleaving_computes_the_same(count: int, length: int) -> None:
    build = towers(count, length)
    scheduler = Scheduler(build.file())
    found, states = scheduler.every([X])
    assert found == {scheduler.in_order([X])} == {tuple(one.tobytes() for one in sequential(build, X))}
    # One state for each set of places: interleavings of the towers, and then the sum.
    assert states == (length + 1) ** count + count
    assert interleavings([length] * count) >= 20


def test_numbers_of_interleavings() -> None:
    assert interleavings([1, 1]) == 2
    assert interleavings([3, 3]) == 20
    assert interleavings([6, 6, 6]) == 17153136


def test_random_schedules_compute_the_same() -> None:
    scheduler = Scheduler(towers(8, 12).file())
    expected = scheduler.in_order([X])
    assert {scheduler.random([X], seed) for seed in range(60)} == {expected}
