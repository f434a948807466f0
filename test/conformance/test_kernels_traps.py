"""Invalid kernel calls: a typed error before anything is written or resized."""

from __future__ import annotations

import pytest
import torch
from kernel_oracle import (
    FAMILIES,
    Recorded,
    as_argument,
    blank_like,
    record,
    register_of,
    returns_list,
    run_kernel,
    tensor_of,
)
from kernel_samples import composite_calls, own_calls

from et_schema.errors import ExecutorchError, Trap
from et_vm.values import Tensor

# Convert to whatever type the output has, or accumulate in it.
CONVERTING = {
    f"aten::{name}"
    for name in (
        "_to_copy.out",
        "cumprod.out",
        "cumsum.out",
        "prod.int_out",
        "split_with_sizes_copy.out",
        "sum.IntList_out",
        "sum.out",
        "unfold_copy.out",
        "unsafe_split_with_sizes.out",
    )
}
# Fill what they are given, of any type that the number fits.
FILLING = {
    f"aten::{name}"
    for name in (
        "arange.out",
        "arange.start_out",
        "eye.m_out",
        "eye.out",
        "fill.Scalar_out",
        "fill.Tensor_out",
        "full.out",
        "full_like.out",
        "linspace.out",
        "new_full.out",
        "new_ones.out",
        "new_zeros.out",
        "ones.out",
        "ones_like.out",
        "scalar_tensor.out",
        "zeros.out",
        "zeros_like.out",
        "empty.out",
        "empty_like.out",
        "empty_permuted.out",
        "empty_strided.out",
        "new_empty.out",
        "new_empty_strided.out",
        "bernoulli.out",
        "bernoulli.Tensor_out",
        "bernoulli.float_out",
        "geometric.out",
        "randint.out",
        "randint.low_out",
        "randint_like.Tensor_out",
        "randint_like.low_dtype_out",
        "randint_like.out",
        "random.from_out",
        "random.out",
        "random.to_out",
    )
}


@pytest.fixture(scope="session")
def calls() -> list[Recorded]:
    """One call of each operator that our own samples reach."""
    found: dict[str, Recorded] = {}
    for call in [*composite_calls(), *(call for function in own_calls() for call in record(function))]:
        if call.results and all(result.numel() for result in call.results):
            found.setdefault(call.operator, call)
    kernels = {name for names in FAMILIES.values() for name in names}
    return [call for call in found.values() if call.operator in kernels]


def _refused(library: str, call: Recorded, outs: list[Tensor]) -> Exception | None:
    """The error that the call ends with, having left the outputs as they were. Torch's own errors become
    traps in the VM.
    """
    before = [(out.sizes, None if out.storage is None else out.storage.tobytes()) for out in outs]
    grouped: list[object] = [outs] if returns_list(call.operator) else list(outs)
    try:
        run_kernel(library, call.operator, tuple(map(as_argument, call.arguments)), grouped)
    except (ExecutorchError, RuntimeError) as error:
        after = [(out.sizes, None if out.storage is None else out.storage.tobytes()) for out in outs]
        assert before == after, call
        return error
    return None


@pytest.mark.parametrize("library", ["portable", "aten"])
def test_outputs_of_a_type_the_result_does_not_cast_to(calls: list[Recorded], library: str) -> None:
    tried = 0
    for call in calls:
        result = call.results[0]
        if not result.is_floating_point() or call.operator in CONVERTING | FILLING:
            continue
        outs = [blank_like(r) for r in call.results]
        outs[0] = blank_like(result.to(torch.bool))
        refused = _refused(library, call, outs)
        assert refused is not None, call
        assert library == "aten" or isinstance(refused, Trap), call
        tried += 1
    assert tried > 80


@pytest.mark.parametrize("library", ["portable", "aten"])
def test_static_outputs_of_another_shape(calls: list[Recorded], library: str) -> None:
    """Never a silent broadcast: the output has another shape than the result."""
    for call in calls:
        outs = [blank_like(r) for r in call.results]
        larger = torch.zeros([size + 1 for size in call.results[0].shape] or [1], dtype=call.results[0].dtype)
        outs[0] = blank_like(larger)
        assert _refused(library, call, outs) is not None, call


@pytest.mark.parametrize(
    ("operator", "arguments", "message"),
    [
        ("aten::add.out", (torch.zeros(2, 3), torch.zeros(4), 1), "shapes .* do not broadcast"),
        (
            "aten::add.out",
            (torch.zeros(2, dtype=torch.int64), torch.zeros(2, dtype=torch.int64), 1.5),
            "'alpha'",
        ),
        ("aten::sub.out", (torch.ones(2, dtype=torch.bool), torch.ones(2, dtype=torch.bool), 1), "'self'"),
        ("aten::mm.out", (torch.zeros(2, 3), torch.zeros(4, 5)), "'mat2': expected 3 rows"),
        ("aten::mm.out", (torch.zeros(2, 3), torch.zeros(3, 5).double()), "'mat2': expected float32"),
        ("aten::bmm.out", (torch.zeros(2, 3, 4), torch.zeros(1, 4, 5)), "'mat2'"),
        ("aten::cat.out", ([torch.zeros(2, 3), torch.zeros(3, 3)], 1), "'tensors'"),
        ("aten::view_copy.out", (torch.zeros(2, 3), [4, -1]), "'size': expected a shape of 6 elements"),
        (
            "aten::permute_copy.out",
            (torch.zeros(2, 3), [0, 0]),
            "'dims': expected a permutation of 2 dimensions",
        ),
        ("aten::slice_copy.Tensor_out", (torch.zeros(2), 0, 0, 2, 0), "'step'"),
        ("aten::select_copy.int_out", (torch.zeros(2), 0, 2), r"'index': expected an index in \[-2, 2\)"),
        ("aten::_softmax.out", (torch.zeros(2, dtype=torch.int64), 0, False), "'self'"),
        (
            "aten::sum.IntList_out",
            (torch.zeros(2), [1], False, None),
            r"'dim': expected a dimension in \[-1, 0\]",
        ),
        ("aten::sum.IntList_out", (torch.zeros(2, 2), [0, -2], False, None), "distinct"),
        ("aten::amax.out", (torch.zeros(0, 2), [0], False), "elements in the reduced dimensions"),
        ("aten::full.out", ([2], 300), "'fill_value': expected a number that fits uint8"),
        ("aten::where.self_out", (torch.zeros(2), torch.zeros(2), torch.zeros(2)), "'condition'"),
        ("aten::gather.out", (torch.zeros(2, 2), 0, torch.zeros(2, 2), False), "'index'"),
        ("aten::native_layer_norm.out", (torch.zeros(2, 3), [2], None, None, 1e-5), "'normalized_shape'"),
        ("aten::avg_pool2d.out", (torch.zeros(1, 4, 4), [3], [1], [2], False, True, None), "at most half"),
        ("aten::gelu.out", (torch.zeros(2), "fast"), "'approximate'"),
        ("aten::pow.Tensor_Scalar_out", (torch.ones(2, dtype=torch.int64), -1), "'exponent'"),
    ],
)
def test_messages(operator: str, arguments: tuple[object, ...], message: str) -> None:
    count = 3 if operator == "aten::native_layer_norm.out" else 1
    dtype = torch.uint8 if operator == "aten::full.out" else torch.float32
    outs: list[object] = [blank_like(torch.zeros(2, dtype=dtype)) for _ in range(count)]
    with pytest.raises(Trap, match=message):
        run_kernel("portable", operator, tuple(map(as_argument, arguments)), outs)


def _convolution(**changes: object) -> tuple[object, ...]:
    values: dict[str, object] = {
        "input": torch.zeros(1, 4, 5, 5),
        "weight": torch.zeros(6, 4, 3, 3),
        "bias": None,
        "stride": [1, 1],
        "padding": [0, 0],
        "dilation": [1, 1],
        "transposed": False,
        "output_padding": [0, 0],
        "groups": 1,
    }
    return tuple((values | changes).values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weight": torch.zeros(6, 3, 3, 3)}, "'weight'"),
        ({"weight": torch.zeros(6, 4, 3)}, "'weight': expected 4 dimensions"),
        ({"weight": torch.zeros(6, 4, 7, 3)}, "'input': expected an image that the kernel fits in"),
        ({"bias": torch.zeros(5)}, "'bias'"),
        ({"stride": [0, 1]}, "'stride'"),
        ({"stride": [1, 1, 1]}, "'stride': expected 2 numbers"),
        ({"padding": [-1, 0]}, "'padding'"),
        ({"groups": 3}, "'groups'"),
        ({"weight": torch.zeros(6, 4, 3, 3).half()}, "'weight': expected float32"),
        (
            {"transposed": True, "weight": torch.zeros(4, 6, 3, 3), "output_padding": [1, 0]},
            "'output_padding'",
        ),
    ],
)
def test_convolution_messages(changes: dict[str, object], message: str) -> None:
    out = blank_like(torch.zeros(1, 6, 3, 3))
    with pytest.raises(Trap, match=message):
        run_kernel(
            "portable", "aten::convolution.out", tuple(map(as_argument, _convolution(**changes))), [out]
        )


@pytest.mark.parametrize("library", ["portable", "aten"])
@pytest.mark.parametrize(
    ("operator", "arguments"),
    [
        ("aten::embedding.out", (torch.zeros(4, 2), torch.tensor([0, 4]), -1, False, False)),
        ("aten::index_select.out", (torch.zeros(4, 2), 0, torch.tensor([0, -5]))),
        ("aten::gather.out", (torch.zeros(4, 2), 0, torch.tensor([[4, 0], [0, 0]]), False)),
        ("aten::index.Tensor_out", (torch.zeros(4, 2), [torch.tensor([0, 4])])),
        ("aten::scatter.value_out", (torch.zeros(2, 2), 0, torch.tensor([[2, 0]]), 1.0)),
    ],
)
def test_indices_out_of_range_stop_the_step(
    library: str, operator: str, arguments: tuple[object, ...]
) -> None:
    out = blank_like(torch.zeros(2, 2))
    with pytest.raises((Trap, IndexError, RuntimeError), match=r"range|bounds|indices in|index"):
        run_kernel(library, operator, tuple(map(as_argument, arguments)), [out])


@pytest.mark.parametrize("library", ["portable", "aten"])
@pytest.mark.parametrize(
    "operator", ["aten::floor_divide.out", "aten::remainder.Tensor_out", "aten::fmod.Tensor_out"]
)
def test_integers_are_not_divided_by_zero(library: str, operator: str) -> None:
    out = blank_like(torch.zeros(2, dtype=torch.int64))
    arguments = (torch.tensor([1, 2]), torch.tensor([1, 0]))
    with pytest.raises((Trap, RuntimeError), match=r"(?i)zero"):
        run_kernel(library, operator, tuple(map(as_argument, arguments)), [out])


UNCHECKED = {"aten::sub.Scalar_out": "f16 bf16", "aten::rsub.Scalar_out": "f16 bf16 f32"}
"""Operators and types of which ExecuTorch's kernels take a factor that the type does not hold; torch refuses it."""


def test_factors_that_a_type_does_not_hold() -> None:
    scalars = ("aten::add.Scalar_out", "aten::sub.Scalar_out", "aten::rsub.Scalar_out")
    types = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "i8": torch.int8}
    for operator in (*scalars, "aten::add.out", "aten::sub.out"):
        for name, dtype in types.items():
            x = torch.ones(2, dtype=dtype)
            other = 1 if operator in scalars else register_of(x)
            for factor, holds in ((2, True), (300 if name == "i8" else 1e300, False)):
                out = blank_like(x)
                if not holds and name not in UNCHECKED.get(operator, "").split():
                    with pytest.raises(Trap, match="'alpha'"):
                        run_kernel("portable", operator, (register_of(x), other, factor), [out])
                    continue
                run_kernel("portable", operator, (register_of(x), other, factor), [out])
                if holds:
                    assert tensor_of(out).tolist() == [3 if "add" in operator else -1] * 2
