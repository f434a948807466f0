"""Inferred result types are torch's, exactly where sizes are known and never wrong where they are not."""

from __future__ import annotations

import random
import warnings
from typing import Any

import pytest
import torch
from support.decompose_cases import FAMILIES, unchanged, unspecified
from support.inference_cases import core, others
from support.quantized_cases import quantized
from torch._ops import OpOverloadPacket
from xdsl.dialects import test as xdsl_test
from xdsl.dialects.builtin import TensorType, f32, i1, i64
from xdsl.ir import Attribute, SSAValue

from dev.calls import RecordedCall, module_of, result_type
from dev.integer_calls import INTEGER
from dev.quantized_calls import RUNTIME_EXAMPLES
from et_ir.dialects.aten import OP_BY_NAME
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema import DYNAMIC, compatible
from et_ir.dialects.schema.inference import infer
from et_ops import OPERATORS
from et_ops.dtypes import F32
from et_ops.inference import RULES
from et_ops.inference.meta import Meta, Mismatch


def called(case: tuple[Any, ...]) -> RecordedCall:
    target, *args = case
    kwargs: dict[str, Any] = args.pop() if args and isinstance(args[-1], dict) else {}
    overload = target.default if isinstance(target, OpOverloadPacket) else target
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        found = overload(*args, **kwargs)
    return RecordedCall(
        overload, tuple(args), kwargs, tuple(found) if isinstance(found, list | tuple) else (found,)
    )


def collected() -> list[Any]:
    torch.manual_seed(0)
    return [
        pytest.param(case, id=f"{family.__name__}-{number}-{str(case[0]).removeprefix('aten.')}")
        for family in (core, others, quantized, *FAMILIES, unchanged, unspecified)
        for number, case in enumerate(family())
    ]


CASES = collected()

DATA_DEPENDENT = frozenset(
    """
    _unique2 argwhere bincount index.Tensor masked_select nonzero nonzero_numpy one_hot repeat_interleave.Tensor
    repeat_interleave.self_Tensor tensor_split.tensor_indices_or_sections torchvision.nms unique_consecutive unique_dim
    unique_dim_consecutive
    """.split()  # noqa: SIM905
)
"""Operators whose results are as large as the data says."""


@pytest.mark.parametrize("case", CASES)
def test_infers_what_torch_computes(case: tuple[Any, ...]) -> None:
    call = called(case)
    _, op, _ = module_of(call)
    found = infer(op)
    expected = [result_type(result) for result in call.results]
    assert found is not None
    if call.name in DATA_DEPENDENT:
        assert len(found) == len(expected)
        assert all(map(compatible, found, expected))
    else:
        assert list(found) == expected


@pytest.mark.parametrize("case", CASES)
def test_unknown_sizes_are_inferred_soundly(case: tuple[Any, ...]) -> None:
    """With any sizes of the operands unknown, what is inferred still fits what torch computes."""
    call = called(case)
    expected = [result_type(result) for result in call.results]
    chosen = random.Random(str(call))
    for _ in range(4):
        _, op, _ = module_of(call)
        for operand in op.operands:
            type = operand.type
            if isinstance(type, TensorType):
                shape = [DYNAMIC if size > 1 and chosen.random() < 0.5 else size for size in type.get_shape()]
                loosen(operand, TensorType(type.element_type, shape))
        found = infer(op)
        if found is not None:
            assert len(found) == len(expected)
            assert all(map(compatible, found, expected)), [str(type) for type in found]


def loosen(value: SSAValue, type: Attribute) -> None:
    value._type = type  # pyright: ignore[reportAttributeAccessIssue]


def test_every_rule_has_a_case() -> None:
    names = {called(parameter.values[0]).name for parameter in CASES}
    assert set(RULES) - names - UNTESTED == set()


DIM_ORDER_OPS = {name for name in RULES if name.startswith("dim_order_ops.")}
"""Operators that lowering makes, which the tests of the edge dialect infer."""

DECLARED = {"llama.custom_sdpa"}
"""Operators of ExecuTorch's library for language models, which are in no registry: modules declare them."""

REMOVED = {"cholesky"} - set(dir(torch.ops.aten))
"""Operators that newer releases of torch do not have."""

UNTESTED = {"baddbmm.dtype", *REMOVED, *DECLARED, *DIM_ORDER_OPS, *INTEGER, *RUNTIME_EXAMPLES}
"""Operators that torch does not run on the CPU, and those that only runtimes have: `test_quantized.py`, lit tests."""


def test_rules_are_of_operators_that_exist() -> None:
    assert set(RULES) <= set(OPERATORS) | DECLARED


def test_attention_over_a_cache() -> None:
    query, cache = Meta((1, 3, 4, 8), F32), Meta((1, 16, 2, 8), F32)
    rule = RULES["llama.custom_sdpa"]
    assert rule(query, cache, cache, 0, None, 0.0, True, None) == query
    with pytest.raises(Mismatch, match="key"):
        rule(query, Meta((1, 16, 2, 7), F32), cache, 0, None, 0.0, True, None)


@pytest.mark.parametrize(("size", "step"), [(6, 1), (-1, 1), (2, 0), (2, -1)])
def test_windows_that_a_dimension_does_not_hold(size: int, step: int) -> None:
    with pytest.raises(RuntimeError):
        torch.ones(4, 5).unfold(1, size, step)
    with pytest.raises(Mismatch, match="size" if step == 1 else "step"):
        RULES["unfold_copy"](Meta((4, 5), F32), 1, size, step)


def value(*shape: int, element: Attribute = f32) -> SSAValue:
    return xdsl_test.TestOp(result_types=[TensorType(element, shape)]).results[0]


def test_edge_ops_share_the_rules() -> None:
    op = edge.AddTensorOp.make(value(2, 1), value(3))
    assert op.result_types == (TensorType(f32, [2, 3]),)


WRONG: dict[str, tuple[str, tuple[Any, ...], str]] = {
    "broadcast": ("add.Tensor", (value(2, 3), value(4)), "sizes 3 and 4 do not broadcast"),
    "contraction": (
        "mm",
        (value(2, 3), value(4, 5)),
        r"argument 'mat2': expected 3 rows, got \[4, 5\]",
    ),
    "matmul rank": ("matmul", (value(), value(2)), "at least one dimension"),
    "mm rank": ("mm", (value(2, 3, 4), value(4, 5)), "argument 'self': expected 2 dimensions"),
    "addmm": ("addmm", (value(7), value(2, 3), value(3, 5)), "sizes 7 and 5 do not broadcast"),
    "addmm growing": ("addmm", (value(3, 2, 5), value(2, 3), value(3, 5)), "does not broadcast to"),
    "linear": ("linear", (value(2, 3), value(4, 5)), "argument 'weight': expected 3 columns"),
    "permutation": ("permute", (value(2, 3), (0, 0)), "expected a permutation of 2 dimensions"),
    "transpose": ("transpose.int", (value(2, 3), 0, 2), "dimension 2 is out of range for rank 2"),
    "view": ("view", (value(2, 3), (4,)), "expected a shape of 6 elements"),
    "view rest": ("view", (value(2, 3), (4, -1)), "expected a shape of 6 elements"),
    "view twice": ("view", (value(2, 3), (-1, -1)), "only one size"),
    "view negative": ("view", (value(2, 3), (-2, 3)), "negative"),
    "expand": ("expand", (value(2, 3), (2, 4)), r"expected a shape that \[2, 3\] expands to"),
    "expand rank": ("expand", (value(2, 3), (3,)), "expected at least 2 sizes"),
    "select": ("select.int", (value(2, 3), 1, 3), r"expected an index in \[-3, 3\), got 3"),
    "select scalar": ("select.int", (value(), 0, 0), "at least one dimension"),
    "slice": ("slice.Tensor", (value(2, 3), 0, 0, 1, 0), "steps must be positive"),
    "split": ("split_with_sizes", (value(5), (2, 2)), "expected sizes that add up to 5"),
    "cat": (
        "cat",
        ((value(2, 3), value(2, 4)),),
        r"expected shape \[2, 3\] except in dimension 0, got \[2, 4\]",
    ),
    "cat rank": (
        "cat",
        ((value(2, 3), value(2)),),
        r"expected shape \[2, 3\] except in dimension 0, got \[2\]",
    ),
    "full": ("full", ((-3,), 0), "expected non-negative sizes"),
    "arange": ("arange.start_step", (0, 5, -1), "expected a bound of at most 0 for steps of -1, got 5"),
    "convolution": ("conv2d", (value(1, 3, 8, 8), value(4, 2, 3, 3)), r"a shape that begins with \[4, 3\]"),
    "window": (
        "conv2d",
        (value(1, 3, 2, 2), value(4, 3, 3, 3)),
        r"an image that the kernel fits in, of size \[3, 3\]",
    ),
    "pool rank": ("max_pool2d", (value(8, 8), (2, 2)), "argument 'self': expected 3 or 4 dimensions"),
    "padding": ("constant_pad_nd", (value(2, 3), (1, 1, 1)), "expected up to 2 pairs"),
    "padding too much": (
        "constant_pad_nd",
        (value(2, 3), (-2, -2)),
        "expected padding that cuts off at most the 3 elements of dimension 1",
    ),
    "layer norm": (
        "native_layer_norm",
        (value(2, 3), (4,), None, None, 1e-5),
        r"the last dimensions of \[2, 3\]",
    ),
    "einsum": ("einsum", ("ij,jk->ik", (value(2, 3), value(4, 5))), "sizes 3 and 4 do not broadcast"),
    "einsum rank": ("einsum", ("ijk->i", (value(2, 3),)), "does not fit operands of ranks 2"),
    "einsum operands": ("einsum", ("ij,jk->ik", (value(2, 3),)), "does not fit 1 operands"),
    "einsum label": ("einsum", ("ij->k", (value(2, 3),)), "label 'k' of the result"),
    "embedding": ("embedding", (value(2), value(3, element=i64)), "a matrix of weights"),
    "index": ("index.Tensor", (value(2), (value(1, element=i64),) * 2), "2 indices into a tensor of rank 1"),
    "topk": ("topk", (value(3), 4), r"expected a number in \[0, 3\], got 4"),
    "glu": ("glu", (value(3),), "halves a dimension"),
    "movedim": ("movedim.intlist", (value(2, 3), (0, 0), (0, 1)), "cannot move"),
    "adjoint": ("mT", (value(3),), "got a vector"),
    "t": ("t", (value(2, 3, 4),), "at most 2 dimensions"),
    "attention": (
        "scaled_dot_product_attention",
        (value(2, 3), value(2, 4), value(2, 4)),
        "argument 'key': expected 3 columns",
    ),
    "resampling": ("upsample_nearest2d.vec", (value(1, 2, 3, 4), None, None), "exactly one of 'output_size'"),
    "scale": (
        "upsample_bicubic2d",
        (value(1, 2, 3, 4), (6, 8), False, 2.0, 1e-320),
        "argument 'scales': expected a scale of more than 3.7e-09",
    ),
    "average of integers": (
        "avg_pool2d",
        (value(1, 2, 2, element=i64), (1, 1), (1, 1), (0, 0), False, True, -1),
        "a positive divisor of integers, got -1",
    ),
    "random numbers": ("random.from", (value(2), 2**63 - 1, None), "a number below 9223372036854775807"),
    "random numbers of none": ("random.to", (value(2), 0), "argument 'to': expected a positive number"),
    "decimals": ("round.decimals", (value(2, element=i64), 2**40), "a number from -1000 to 1000"),
    "matrix power": ("linalg_matrix_power", (value(2, 2), -(2**63) + 1), r"between -2\^62 and 2\^62"),
    "gamma": ("mvlgamma", (value(2**20), 2**20), "argument 'p': expected at most 80 for 1048576 elements"),
    "entropy": ("binary_cross_entropy", (value(1), value(0)), r"argument 'target': expected shape \[1\]"),
    "outer product": ("addr", (value(2, 2), value(), value(2)), "argument 'vec1': expected one dimension"),
    "outer of a matrix": ("outer", (value(2, 2), value(2)), "argument 'self': expected one dimension"),
    "differences of a number": ("diff", (value(),), "at least one dimension"),
    "differences to a number": (
        "diff",
        (value(3), 1, 0, value()),
        "argument 'prepend': expected 1 dimensions",
    ),
    "glu of a number": ("glu", (value(),), "a dimension to halve"),
    "stack of nothing": ("hstack", ((),), "at least one tensor"),
    "rotation": ("rot90", (value(2, 2), 1, (0,)), "expected two dimensions"),
    "grid": ("affine_grid_generator", (value(1, 2, 3), (), False), "expected 4 or 5 sizes"),
    "scale beyond sizes": (
        "upsample_nearest2d.vec",
        (value(1, 2, 3, 4), None, (2.0, 1e308)),
        "sizes of at most 2147483647",
    ),
    "no type": (
        "relu",
        (xdsl_test.TestOp(result_types=[TensorType(TensorType(i1, []), [])]).results[0],),
        "not a tensor element type",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_refuses_what_the_operator_does_not_take(name: str) -> None:
    operator, arguments, message = WRONG[name]
    with pytest.raises(TypeError, match=message):
        OP_BY_NAME[operator].make(*arguments)


def test_a_number_of_unknown_value_has_its_type() -> None:
    number = xdsl_test.TestOp(result_types=[i64]).results[0]
    assert OP_BY_NAME["add.Scalar"].make(value(2), number).result_types == (TensorType(f32, [2]),)
    assert OP_BY_NAME["full"].make((2, number), number).result_types == (TensorType(i64, [2, DYNAMIC]),)
    assert OP_BY_NAME["arange.start_step"].make(0, number).result_types == (TensorType(i64, [DYNAMIC]),)
    view = OP_BY_NAME["view"].make(value(2, 6), (number, -1, 3))
    assert view.result_types == (TensorType(f32, [DYNAMIC, DYNAMIC, 3]),)
    assert OP_BY_NAME["sym_size.int"].make(value(2), 0).result_types == (i64,)
