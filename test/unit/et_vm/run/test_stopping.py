"""Executions that are stopped, in each of the loops: nothing runs behind the instruction in which that was asked for,
and the next execution is right.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.vm_programs import BOUND, STATIC, Build, f32, kernels, load

from et_schema.scalar_type import ScalarType
from et_vm.kernels.registry import PrepareContext
from et_vm.run.stopping import Stop, Stopped
from et_vm.step import Step
from et_vm.tracer import RecordingTracer
from et_vm.values import Tensor

LENGTH = 6


class Calls:
    """A kernel that adds one, notes its calls, and in one of them does something else as well."""

    def __init__(self) -> None:
        self.count = 0
        self.then: dict[int, Callable[[], object]] = {}

    def kernels(self) -> Any:
        def next_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
            del ctx
            out.resize(self.sizes)
            return run, (self.array, out.array)

        def run(given: Any, out: Any) -> None:
            self.count += 1
            self.then.get(self.count, lambda: None)()
            np.add(given, 1, out)

        registry = kernels()
        registry.register("test::next.out", next_out)
        return registry


def straight(*, dynamic: bool) -> Build:
    """Adds 1 `LENGTH` times."""
    build = Build()
    values = [build.tensor(4, dynamism=BOUND if dynamic else STATIC) for _ in range(LENGTH + 1)]
    for source, target in pairwise(values):
        build.call("test::next.out", source, target, target)
    build.inputs(values[0])
    build.outputs(values[-1])
    return build


def looping(*, dynamic: bool) -> Build:
    """Adds 1 until everything is greater than `LENGTH` - 1."""
    build = Build()
    kind = BOUND if dynamic else STATIC
    x, total = build.tensor(4, dynamism=kind), build.tensor(4, dynamism=kind)
    enough = build.tensor(4, dtype=ScalarType.BOOL, dynamism=kind)
    build.call("test::scale.out", x, build.scalar(1.0), total, total)
    build.call("test::next.out", total, total, total)
    build.call("test::greater.out", total, build.scalar(LENGTH - 1.0), enough, enough)
    build.jump_false(enough, 1)
    build.inputs(x)
    build.outputs(total)
    return build


@pytest.mark.parametrize("before", range(4), ids="after {}".format)
@pytest.mark.parametrize("observed", [None, "poison", "tracer"])
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("build", [straight, looping])
def test_stops_before_the_next_instruction(build, dynamic, observed, before):
    """`before`: executions that come first, with which a method for any size settles."""
    calls = Calls()
    options = {"poison": {"poison": True}, "tracer": {"tracer": RecordingTracer()}}.get(observed or "", {})
    method = load(build(dynamic=dynamic), kernels=calls.kernels(), **options)
    given = np.zeros(3 if dynamic else 4, np.float32)
    for _ in range(before):
        assert method.execute_stoppable([given], Stop())[0].tolist() == [LENGTH] * given.size
    stop = Stop()
    calls.then[before * LENGTH + 3] = stop.request
    with pytest.raises(Stopped):
        method.execute_stoppable([given], stop)
    assert calls.count == before * LENGTH + 3
    for _ in range(3):
        assert method.execute([given])[0].tolist() == [LENGTH] * given.size


@pytest.mark.parametrize("build", [straight, looping])
def test_does_not_begin(build):
    calls, stop = Calls(), Stop()
    method = load(build(dynamic=False), kernels=calls.kernels())
    stop.request()
    with pytest.raises(Stopped):
        method.execute_stoppable([f32(0, 0, 0, 0)], stop)
    assert calls.count == 0


def test_a_jump_to_itself():
    """There is no call that could be stopped before."""
    build = Build()
    never = build.tensor(1, dtype=ScalarType.BOOL)
    build.jump_false(never, 0)
    build.inputs(never)
    stop = Stop()
    method = load(build, instruction_limit=10**12)
    stop.request()
    with pytest.raises(Stopped):
        method.execute_stoppable([np.array([False])], stop)


def test_other_executions_look_at_nothing():
    """A method that nobody stops has the loop that looks at nothing."""
    method = load(straight(dynamic=False), kernels=Calls().kernels())
    loop = method._loop
    method.execute([f32(0, 0, 0, 0)])
    assert method._loop is loop
    assert loop.func.__name__ == "run_straight"
