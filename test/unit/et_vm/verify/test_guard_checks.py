"""Guard checks on changed input sizes."""

import json

import numpy as np
import pytest
from support.vm_programs import BOUND, Build, kernels

from et_schema.errors import Error, InputError
from et_schema.program import NamedData
from et_schema.pte import serialize_pte
from et_vm.program import Program


def guarded(*conditions, names=("x", "y")):
    """A method that returns its two inputs, of at most 64x4 and 64 elements."""
    build = Build()
    x, y = build.tensor(64, 4, dynamism=BOUND), build.tensor(64, dynamism=BOUND)
    build.inputs(x, y)
    build.outputs(x, y)
    program = build.program()
    table = {"forward": {"inputs": list(names), "guards": list(conditions)}}
    program.named_data = [NamedData("et_ir.guards", 2)]
    file = serialize_pte(program, [*build.segments(), [json.dumps(table).encode()]])
    return Program.load(file).load_method("forward", kernels=kernels())


def inputs(rows, length):
    return [np.zeros((rows, 4), np.float32), np.zeros(length, np.float32)]


RANGES = ("2 <= x.shape[0] <= 64", "x.shape[0] % 2 == 0", "y.shape[0] == x.shape[0] + 1")


@pytest.mark.parametrize("rows", [2, 62, 32])
def test_sizes_that_fit(rows):
    method = guarded(*RANGES)
    for _ in range(2):
        assert method.execute(inputs(rows, rows + 1))[0].shape == (rows, 4)


@pytest.mark.parametrize(
    ("rows", "length", "where", "message"),
    [
        (1, 2, r"input 0 \(x\)", "dimension 0 of x is 1, the program requires 2 <= x.shape"),
        (65, 2, "input 0", "dimension 0 is 65, its upper bound is 64"),
        (5, 6, r"input 0 \(x\)", "dimension 0 of x is 5, the program requires x.shape.0. % 2 == 0"),
        (4, 6, r"input 1 \(y\) and input 0 \(x\)", "dimension 0 of y is 6 and dimension 0 of x is 4"),
    ],
)
def test_sizes_that_do_not(rows, length, where, message):
    method = guarded(*RANGES)
    for _ in range(2):
        # The refused size is not taken for one that has been checked.
        with pytest.raises(InputError, match=message) as caught:
            method.execute(inputs(rows, length))
        assert caught.value.code == Error.NotSupported
        assert caught.value.where.replace("(", r"\(").replace(")", r"\)") == where
        assert method.execute(inputs(4, 5))[1].shape == (5,)


def test_the_largest_size_is_checked_though_it_is_the_first():
    method = guarded("x.shape[0] % 3 == 0")
    with pytest.raises(InputError, match="dimension 0 of x is 64"):
        method.execute(inputs(64, 64))
    method.execute(inputs(63, 64))


def test_a_size_that_a_guard_lets_pass_but_no_memory():
    method = guarded("x.shape[0] > 0")
    method.execute(inputs(4, 4))
    for _ in range(2):
        with pytest.raises(InputError, match="dimension 0 is 65, its upper bound is 64"):
            method.execute(inputs(65, 4))
    method.execute(inputs(4, 4))


def test_rank_and_type_come_first():
    method = guarded(*RANGES)
    with pytest.raises(InputError, match=r"expected shape \[64, 4\], got \[4\]"):
        method.execute([np.zeros(4, np.float32), np.zeros(5, np.float32)])
    with pytest.raises(InputError, match="expected element type"):
        method.execute([np.zeros((1, 4)), np.zeros(5, np.float32)])


def test_steps_check_before_the_first():
    method = guarded(*RANGES)
    method.set_input(0, inputs(4, 5)[0])
    method.set_input(1, inputs(4, 6)[1])
    with pytest.raises(InputError, match="dimension 0 of y is 6"):
        method.step()
    method.set_input(1, inputs(4, 5)[1])
    assert method.step() == Error.EndOfMethod


def test_conditions_on_what_is_no_number_are_not_met():
    with pytest.raises(InputError, match="the program requires"):
        guarded("x.shape[0] // y.shape[0] == 1").execute(inputs(4, 0))


def test_checked_once_for_a_size(monkeypatch):
    from et_schema.guards import Condition

    method = guarded(*RANGES)
    method.execute(inputs(4, 5))
    asked = []
    monkeypatch.setattr(Condition, "holds", lambda self, sizes: asked.append(self.text) or True)
    for _ in range(3):
        method.execute(inputs(4, 5))
    assert asked == []
    method.execute(inputs(6, 7))
    assert sorted(asked) == sorted(RANGES)
