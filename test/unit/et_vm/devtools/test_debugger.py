"""The debugger: execution in both directions, under breakpoints and changes by hand."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.vm_programs import BOUND, Build, kernels, load

from et_schema.errors import ExecutorchError, InputError, Trap
from et_schema.program import Frame
from et_schema.scalar_type import ScalarType
from et_vm.devtools.debug_map import Place
from et_vm.devtools.debugger import (
    AtInstruction,
    AtLine,
    AtOperator,
    Debugger,
    InModule,
    NonFinite,
    StopReason,
    WatchBytes,
    WatchRegister,
)
from et_vm.program import Program
from et_vm.run.method import Method
from et_vm.values import Tensor

FIXTURES = Path(__file__).parents[3] / "fixtures"


def f32(*items: Any) -> Any:
    return np.array(items, np.float32)


def loop(turns: int) -> Build:
    """A state that is doubled and shifted `turns` times, counted in a register."""
    build = Build()
    state = build.state(np.ones(3, np.float32), name="state")
    counter, one, limit, done = (build.scalar(value) for value in (0, 1, turns, False))
    x, y = build.tensor(3), build.tensor(3)
    build.add(state, x, y)
    build.add(y, state, state)
    build.call("executorch_prim::add.Scalar", counter, one, counter)
    build.call("executorch_prim::eq.Scalar", counter, limit, done)
    build.jump_false(done, 0)
    build.inputs(x)
    build.outputs(state, counter)
    return build


def chain() -> Build:
    """y = x + x; z = y + y; out = z + y, with a source line each."""
    build = Build()
    x, y, z, out = (build.tensor(2) for _ in range(4))
    for line, args in enumerate([(x, x, y), (y, y, z), (z, y, out)], 10):
        build.add(*args, frames=[Frame("lib/model.py", line, "forward", "a line")])
    build.inputs(x)
    build.outputs(out)
    return build


def failing() -> Build:
    build = chain()
    build.call("test::fail.out", 0, 3, 3)
    return build


def snapshot(debugger: Debugger) -> list[Any]:
    """Everything that there is of an execution: position, registers, the bytes of arenas."""

    def plain(value: object) -> Any:
        if isinstance(value, Tensor):
            return (value.sizes, value.array.tobytes()) if value.has_data else None
        return [plain(item) for item in value] if isinstance(value, list) else value

    registers = [plain(debugger.value(register)) for register in range(len(debugger.plan.values))]
    arenas = [
        debugger.arena(memory_id).tobytes()
        for memory_id in range(1, len(debugger.plan.non_const_buffer_sizes))
    ]
    return [debugger.method.position, debugger.history, registers, arenas]


def snapshots(debugger: Debugger) -> list[list[Any]]:
    """The state before each instruction and at the end."""
    found = [snapshot(debugger)]
    while debugger.step().reason not in (StopReason.END, StopReason.TRAP):
        found.append(snapshot(debugger))
    return found


def fixture(name: str) -> Method:
    return Program.load((FIXTURES / f"{name}.pte").read_bytes()).load_method("forward")


def inputs_of(method: Method) -> list[Any]:
    meta = method.metadata
    generator = np.random.default_rng(0)
    values: list[Any] = []
    for slot in range(meta.num_inputs()):
        if meta.input_tag(slot) != "Tensor":
            values.append(meta.input_value(slot))
            continue
        tensor = meta.input_tensor_meta(slot)
        array = generator.standard_normal(tensor.sizes())
        values.append(array.astype(np.dtype(tensor.dtype().torch_name)))
    return values


class TestBothDirections:
    @pytest.mark.parametrize("memory_limit", [1 << 20, 1], ids=["checkpoints", "one-checkpoint"])
    @pytest.mark.parametrize("turns", [3, 40])
    def test_a_loop_over_state(self, turns, memory_limit):
        debugger = Debugger(load(loop(turns)), [f32(1, 2, 3)], memory_limit=memory_limit)
        expected = snapshots(debugger)
        assert len(expected) == 5 * turns + 1
        steps = list(range(len(expected)))
        random.Random(turns).shuffle(steps)
        for step in steps[:60]:
            debugger.go_to(step)
            assert snapshot(debugger) == expected[step]
        for step in reversed(range(debugger.step_count)):
            debugger.back()
            assert snapshot(debugger) == expected[step]

    @pytest.mark.parametrize(
        "name",
        [
            "control_flow",
            "dynamic_bound",
            "mutable_data",
            "scalar_inputs",
            "two_chains",
            "unplanned",
            "zero_state",
        ],
    )
    def test_frozen_files(self, name):
        method = fixture(name)
        given = inputs_of(method)
        debugger = Debugger(method, given)
        expected = snapshots(debugger)
        outputs = debugger.outputs()
        for step in reversed(range(len(expected))):
            debugger.go_to(step)
            assert snapshot(debugger) == expected[step]
        debugger.resume()
        for found, wanted in zip(debugger.outputs(), outputs, strict=True):
            np.testing.assert_array_equal(found, wanted)
        for found, wanted in zip(outputs, fixture(name).execute(given), strict=True):
            np.testing.assert_array_equal(found, wanted)

    def test_shapes_come_back(self):
        build = Build()
        x = build.tensor(4)
        found = build.tensor(4, 1, dtype=ScalarType.LONG, dynamism=BOUND)
        build.call("test::nonzero.out", x, found, found)
        build.inputs(x)
        build.outputs(found)
        debugger = Debugger(load(build), [f32(1, 0, 1, 0)])
        before = snapshot(debugger)
        debugger.step()
        assert debugger.outputs()[0].tolist() == [[0], [2]]
        debugger.back()
        assert snapshot(debugger) == before
        debugger.step()
        assert debugger.outputs()[0].tolist() == [[0], [2]]

    def test_freed_memory_comes_back(self):
        build = chain()
        build.free(1)
        debugger = Debugger(load(build), [f32(1, 2)])
        expected = snapshots(debugger)
        debugger.back()
        assert snapshot(debugger) == expected[-2]

    def test_more_steps_than_there_are(self):
        debugger = Debugger(load(chain()), [f32(1, 2)])
        assert debugger.step(100).reason is StopReason.END
        assert debugger.step().reason is StopReason.END
        assert debugger.back(100).reason is StopReason.START
        assert debugger.go_to(100).reason is StopReason.END
        with pytest.raises(ExecutorchError, match="there is no step -1"):
            debugger.go_to(-1)

    def test_execution_goes_on_afterwards(self):
        method = load(chain())
        debugger = Debugger(method, [f32(1, 2)])
        debugger.step()
        with pytest.raises(ExecutorchError, match="in the middle of an execution"):
            method.execute([f32(1, 2)])
        method.reset_execution()
        assert method.execute([f32(1, 2)])[0].tolist() == [6, 12]

    def test_a_work_limit_counts_from_the_checkpoint(self):
        from et_vm.platform import Platform

        build = loop(4)
        program = Program.load(build.file(), platform=Platform(work_limit=16_000))
        method = program.load_method("forward", kernels=kernels())
        debugger = Debugger(method, [f32(1, 2, 3)])
        for _ in range(10):
            assert debugger.resume().reason is StopReason.END
            debugger.restart()


class TestBreakpoints:
    def test_each_kind_of_place(self):
        parts = {"0": Place("d.e", "net.py:5"), "1": Place("", "net.py:6")}
        places = {0: Place("a"), 1: Place("b.c"), 2: Place("b", "lib/net.py:4", parts)}
        for chosen, stops in (
            (AtInstruction(1), [1]),
            (AtOperator("test::add*"), [1, 2]),
            (AtOperator("test::mul"), []),
            (AtLine("model.py", 12), [2]),
            (AtLine("lib/model.py", 11), [1]),
            (AtLine("del.py", 11), []),
            (InModule("b"), [1]),
            (InModule("b.*"), [1]),
            (InModule("a"), []),
            (InModule("d"), [2]),
            (AtLine("net.py", 4), [2]),
            (AtLine("net.py", 6), [2]),
            (AtLine("net.py", 7), []),
        ):
            debugger = Debugger(load(chain()), [f32(1, 2)], places=places)
            number = debugger.add(chosen)
            found = []
            while (stop := debugger.resume()).reason is StopReason.BREAKPOINT:
                assert stop.detail == f"breakpoint {number}: {chosen}"
                found.append(stop.step)
            assert found == stops, chosen
            assert stop.reason is StopReason.END

    def test_reverse_makes_the_stops_of_resume_backwards(self):
        debugger = Debugger(load(loop(30)), [f32(1, 2, 3)])
        debugger.add(AtInstruction(1))
        debugger.add(WatchRegister(1))
        forward = []
        while (stop := debugger.resume()).reason is not StopReason.END:
            forward.append((stop.reason, stop.step, stop.detail, snapshot(debugger)))
        assert len(forward) == 60
        for expected in reversed(forward):
            stop = debugger.reverse()
            assert (stop.reason, stop.step, stop.detail, snapshot(debugger)) == expected
        assert debugger.reverse().reason is StopReason.START

    def test_watched_bytes(self):
        debugger = Debugger(load(chain()), [f32(1, 2)])
        debugger.add(WatchBytes(1, 16, 24))
        stop = debugger.resume()
        assert stop.detail == "watchpoint 1: instruction 0 changed 3 bytes of arena 1, the first at 19"
        assert debugger.resume().reason is StopReason.END

    def test_the_first_nan(self):
        build = chain()
        debugger = Debugger(load(build), [f32(np.inf, 1)])
        debugger.add(NonFinite(infinities=True))
        debugger.add(NonFinite())
        assert debugger.resume().reason is StopReason.END
        debugger = Debugger(load(build), [f32(3e38, 1)])
        debugger.add(NonFinite(infinities=True))
        assert (
            debugger.resume().detail
            == "watchpoint 1: instruction 0 writes a NaN or an infinity to %1 and reads none"
        )
        assert debugger.resume().reason is StopReason.END

    def test_lines_and_modules(self):
        debugger = Debugger(
            load(chain()), [f32(1, 2)], places={0: Place("a"), 1: Place("a.b"), 2: Place("c")}
        )
        assert debugger.next_line().step == 1
        debugger.restart()
        assert debugger.finish().step == 2
        assert debugger.finish().reason is StopReason.END

    def test_deleted(self):
        debugger = Debugger(load(chain()), [f32(1, 2)])
        debugger.delete(debugger.add(AtInstruction(1)))
        assert not debugger.breakpoints
        assert debugger.resume().reason is StopReason.END
        with pytest.raises(ExecutorchError, match="no breakpoint 1"):
            debugger.delete(1)


class TestTraps:
    def test_back_out_of_a_trap(self):
        debugger = Debugger(load(failing()), [f32(1, 2)])
        stop = debugger.resume()
        assert stop.reason is StopReason.TRAP
        assert stop.instruction is not None
        assert stop.instruction.index == 3
        assert isinstance(debugger.trap, Trap)
        assert debugger.step().reason is StopReason.TRAP
        with pytest.raises(ExecutorchError, match="ended in a trap"):
            debugger.poke(1, 1.0)
        stop = debugger.back()
        assert (stop.reason, stop.step, debugger.trap) == (StopReason.STEP, 3, None)
        assert debugger.reverse().reason is StopReason.START
        assert debugger.go_to(9).reason is StopReason.TRAP


class TestValues:
    def test_elements(self):
        debugger = Debugger(load(chain()), [f32(1, 2)])
        debugger.step()
        debugger.poke(1, 10, 0)
        debugger.resume()
        assert debugger.outputs()[0].tolist() == [30, 12]
        debugger.back(2)
        assert debugger.value(1).array.tolist() == [10, 4]
        debugger.resume()
        assert debugger.outputs()[0].tolist() == [30, 12]
        debugger.go_to(0)
        debugger.resume()
        assert debugger.outputs()[0].tolist() == [6, 12]

    def test_changes_hold_while_going_back_and_forth_after_them(self):
        debugger = Debugger(load(loop(30)), [f32(1, 2, 3)])
        debugger.go_to(20)
        debugger.poke(0, [5, 6, 7])
        debugger.go_to(75)
        debugger.poke(1, 3)
        expected = snapshots(debugger)
        debugger.add(AtInstruction(4))
        while debugger.step_count > 75:
            debugger.reverse()
            if debugger.step_count > 75:
                assert snapshot(debugger) == expected[debugger.step_count - 75]
        debugger.restart()
        fresh = Debugger(load(loop(30)), [f32(1, 2, 3)])
        assert snapshots(debugger)[1:] == snapshots(fresh)[1:]

    def test_a_number(self):
        debugger = Debugger(load(loop(9)), [f32(1, 2, 3)])
        debugger.go_to(5)
        assert debugger.value(1) == 1
        debugger.poke(1, 8)
        debugger.resume()
        assert debugger.step_count == 10
        assert debugger.outputs()[1] == 9

    def test_what_cannot_be_changed(self):
        build = chain()
        constant = build.constant(f32(1, 2))
        number = build.scalar(2)
        debugger = Debugger(load(build), [f32(1, 2)])
        for register, value, index, message in (
            (constant, 1.0, ..., "is a constant"),
            (number, 3, ..., "is a literal"),
            (number, 3.0, ..., "holds int, not float"),
            (0, 1.0, 5, "out of bounds"),
            (0, [1, 2, 3], ..., "could not be broadcast"),
            (99, 1, ..., "no register 99"),
        ):
            with pytest.raises(ExecutorchError, match=message):
                debugger.poke(register, value, index)

    def test_accesses(self):
        debugger = Debugger(load(loop(4)), [f32(1, 2, 3)])
        assert debugger.last_writer(0) is None
        debugger.go_to(9)
        assert [(at.index, at.reads, at.writes, at.executed) for at in debugger.accesses(0)] == [
            (0, True, False, 2),
            (1, True, True, 2),
        ]
        assert debugger.last_writer(0) == 6
        build = Build()
        x, y, z = build.tensor(2), build.tensor(2, offset=4), build.tensor(2)
        build.add(x, x, y)
        build.inputs(x)
        build.outputs(z)
        assert Debugger(load(build), [f32(1, 2)]).overlapping(x) == [y]

    def test_inputs_that_do_not_fit(self):
        with pytest.raises(InputError, match="expected shape"):
            Debugger(load(chain()), [f32(1, 2, 3)])
        with pytest.raises(ExecutorchError, match="has not come to its end"):
            Debugger(load(chain()), [f32(1, 2)]).outputs()
        with pytest.raises(ExecutorchError, match="no arena 7"):
            Debugger(load(chain()), [f32(1, 2)]).arena(7)
