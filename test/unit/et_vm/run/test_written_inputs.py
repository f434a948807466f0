"""Inputs that a method writes to, and what the caller's arrays hold afterwards."""

import ml_dtypes
import numpy as np
import pytest
import torch
from support.vm_programs import Build, f32, load

from et_schema.errors import Error, InputError, Trap
from et_schema.scalar_type import ScalarType


def accumulate(dtype: ScalarType = ScalarType.FLOAT, size: int = 2, *, planned: bool = False) -> Build:
    """x += y; returns x + y + y"""
    build = Build()
    x = build.tensor(size, dtype=dtype, planned=planned)
    y, out = build.tensor(size, dtype=dtype), build.tensor(size, dtype=dtype)
    build.call("test::add.out", x, y, x, x)
    build.call("test::add.out", x, y, out, out)
    build.inputs(x, y)
    build.outputs(out)
    return build


class TestWrites:
    def test_reach_the_caller(self):
        method = load(accumulate())
        x, y = f32(1, 2), f32(10, 20)
        (out,) = method.execute([x, y])
        assert x.tolist() == [11, 22]
        assert y.tolist() == [10, 20]
        assert out.tolist() == [21, 42]
        method.execute([x, y])
        assert x.tolist() == [21, 42]

    def test_reach_torch_tensors_of_any_strides(self):
        method = load(accumulate())
        whole = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        (out,) = method.execute([whole[:, 1], torch.ones(2)])
        assert isinstance(out, torch.Tensor)
        assert whole.tolist() == [[1, 3], [3, 5]]

    def test_reach_torch_tensors_that_are_negated_lazily(self):
        method = load(accumulate())
        pair = torch.tensor([1 + 2j, 3 + 4j])
        method.execute([pair.conj().imag, torch.ones(2)])
        assert pair.tolist() == [1 + 1j, 3 + 3j]

    @pytest.mark.parametrize("x", [np.empty(0, np.float32), torch.ones(1, 3).expand(0, 3)[:, 0]], ids=type)
    def test_of_no_elements(self, x):
        (out,) = load(accumulate(size=0)).execute([x, f32()])
        assert out.shape == (0,)

    def test_reach_arrays_of_any_strides(self):
        whole = np.arange(4, dtype=np.float32)
        load(accumulate()).execute([whole[::-2], f32(10, 10)])
        assert whole.tolist() == [0, 11, 2, 13]

    @pytest.mark.parametrize("torchy", [False, True])
    def test_reach_types_that_numpy_lacks(self, torchy):
        method = load(accumulate(ScalarType.BFLOAT16))
        if torchy:
            x = torch.tensor([1, 2], dtype=torch.bfloat16)
            method.execute([x, x.clone()])
        else:
            x = np.array([1, 2], ml_dtypes.bfloat16)
            method.execute([x, x.copy()])
        assert x.tolist() == [2, 4]

    def test_do_not_reach_the_caller_of_planned_inputs(self):
        x = f32(1, 2)
        load(accumulate(planned=True)).execute([x, f32(1, 1)])
        assert x.tolist() == [1, 2]

    def test_reach_the_caller_at_the_last_step(self):
        method = load(accumulate())
        x = f32(1, 2)
        method.set_inputs([x, f32(1, 1)])
        while method.step() == Error.Ok:
            assert x.tolist() == [1, 2]
        assert x.tolist() == [2, 3]

    def test_through_views_and_moves(self):
        build = Build()
        x, y = build.tensor(4, planned=False), build.tensor(4)
        view, other = build.tensor(2, 2, planned=False), build.tensor(2, 2, planned=False)
        build.call("executorch_prim::et_view.default", x, build.ints(2, 2), view)
        build.move(view, other)
        build.call("test::increment_", other, other)
        build.inputs(x, y)
        build.outputs(y)
        method = load(build)
        assert method.written_inputs == (0,)
        given = f32(1, 2, 3, 4)
        method.execute([given, f32(0, 0, 0, 0)])
        assert given.tolist() == [2, 3, 4, 5]

    def test_are_known(self):
        assert load(accumulate()).written_inputs == (0,)
        assert load(accumulate(planned=True)).written_inputs == ()

    def test_with_poison(self):
        x = f32(1, 2)
        load(accumulate(), poison=True).execute([x, f32(1, 1)])
        assert x.tolist() == [2, 3]


class TestRefusals:
    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (np.broadcast_to(np.float32(1), (2,)), "the array is read-only"),
            (np.lib.stride_tricks.as_strided(f32(1), (2,), (0,)), "its elements overlap"),
            (torch.ones(1).expand(2), "its elements overlap"),
        ],
    )
    def test_what_cannot_be_written(self, given, message):
        method = load(accumulate())
        with pytest.raises(InputError, match=f"the method writes to it, and {message} at input 0"):
            method.execute([given, f32(1, 1)])

    def test_numpy_scalars(self):
        build = Build()
        x = build.tensor(planned=False)
        build.call("test::increment_", x, x)
        build.inputs(x)
        method = load(build)
        with pytest.raises(InputError, match="a float32 is not writable memory"):
            method.execute([np.float32(1)])
        given = np.ones((), np.float32)
        method.execute([given])
        assert given == 2

    @pytest.mark.parametrize("swapped", [False, True])
    def test_inputs_that_share_memory(self, swapped):
        build = accumulate()
        if swapped:
            build.plan.inputs.reverse()
        method = load(build)
        whole = np.arange(4, dtype=np.float32)
        with pytest.raises(InputError, match=r"shares memory with input . at input") as error:
            method.execute([whole[:2], whole[1:3]])
        assert error.value.where == f"input {int(swapped)}"
        method.execute([whole[:2], whole[2:]])
        method.execute([whole[::2], whole[1::2]])

    def test_inputs_that_share_memory_but_are_not_used(self):
        build = Build()
        x, unused = build.tensor(2, planned=False), build.tensor(2)
        build.call("test::increment_", x, x)
        build.inputs(x, unused)
        given = f32(1, 2)
        load(build).execute([given, given])
        assert given.tolist() == [2, 3]

    def test_a_trap_leaves_the_caller_as_it_was(self):
        build = Build()
        x, y = build.tensor(2, planned=False), build.tensor(2)
        build.call("test::increment_", x, x)
        build.call("test::fail.out", x, y, y)
        build.inputs(x)
        method = load(build)
        given = f32(1, 2)
        with pytest.raises(Trap):
            method.execute([given])
        assert given.tolist() == [1, 2]
