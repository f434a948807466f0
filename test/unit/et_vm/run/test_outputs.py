"""Outputs into memory of the caller's."""

import numpy as np
import pytest
import torch
from support.vm_programs import BOUND, Build, f32, load

from et_schema.errors import InputError


def adding(dynamism=None) -> Build:
    build = Build()
    options = {} if dynamism is None else {"dynamism": dynamism}
    x, out = build.tensor(2, **options), build.tensor(2, **options)
    build.add(x, x, out)
    build.inputs(x)
    build.outputs(out, build.scalar(7))
    return build


def test_the_result_is_where_it_was_asked_for(mode):
    method = load(adding(), **mode)
    target = np.zeros((2, 2), np.float32)[:, 1]
    method.set_output(0, target)
    outputs = method.execute([f32(1, 2)])
    assert outputs[0] is target
    assert outputs[1] == 7
    assert target.tolist() == [2, 4]
    method.execute([f32(5, 6)])
    assert target.tolist() == [10, 12]
    method.set_output(0, None)
    assert method.execute([f32(1, 1)])[0] is not target
    assert target.tolist() == [10, 12]


def test_torch_tensors():
    method = load(adding())
    target = torch.zeros(2)
    method.set_output(0, target)
    assert method.execute([f32(1, 2)])[0] is target
    assert target.tolist() == [2, 4]


def test_sizes_that_change():
    method = load(adding(BOUND))
    target = np.zeros(1, np.float32)
    method.set_output(0, target)
    assert method.execute([f32(3)])[0].tolist() == [6]
    with pytest.raises(InputError, match=r"the output has shape \[2\], got memory of shape \[1\]"):
        method.execute([f32(1, 2)])
    assert target.tolist() == [6]
    assert method.execute([f32(4)])[0].tolist() == [8]


@pytest.mark.parametrize(
    ("index", "value", "message"),
    [
        (2, f32(1, 2), "no output 2: the method has 2"),
        (-1, f32(1, 2), "no output -1"),
        (1, f32(1, 2), "the output is a int, not a tensor"),
        (0, [1, 2], "expected an array or a tensor, got list"),
        (0, np.zeros(2), "the output is float32, got memory for float64"),
        (0, f32(1, 2, 3), r"the output has shape \[2\], got memory of shape \[3\]"),
        (0, np.broadcast_to(f32(1), 2), "the array cannot be written"),
    ],
)
def test_memory_that_does_not_fit(index, value, message):
    with pytest.raises(InputError, match=message):
        load(adding()).set_output(index, value)
