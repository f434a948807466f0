"""Decomposition by patterns: the result is Core ATen and computes what torch computes.

Operators without a pattern go through torch's own decomposition, and are held to the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from aten_interpreter import Interpreter
from decompose_cases import FAMILIES, Case, random, unchanged, unspecified
from support.linspace import integers_between
from torch._ops import OpOverloadPacket
from xdsl.context import Context
from xdsl.dialects.builtin import (
    ComplexType,
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    f32,
    i1,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.utils.exceptions import PassFailedException

from dev.calls import RecordedCall, module_of
from et_ir.dialects.aten import AtenOp
from et_ir.dialects.aten import ops as aten
from et_ir.dialects.schema import DYNAMIC, SchemaOp
from et_ir.passes.aten_to_core.decompose import DecomposePass
from et_ir.passes.aten_to_core.decompose.chain import DECOMPOSITIONS
from et_ir.passes.aten_to_core.decompose_traced import DecomposeTracedPass
from et_ir.passes.verify.verify_core_aten import is_leaf

A = torch.ops.aten


def call_of(case: Case) -> RecordedCall:
    """The call of a case, with what torch says are its results, and of `linspace` of integers what they are exactly."""
    target, *args = case
    kwargs: dict[str, Any] = args.pop() if args and isinstance(args[-1], dict) else {}
    overload = target.default if isinstance(target, OpOverloadPacket) else target
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        found = overload(*args, **kwargs)
    if overload is A.linspace.default and not found.is_floating_point():
        found = integers_between(*args, **kwargs)
    return RecordedCall(
        overload, tuple(args), kwargs, tuple(found) if isinstance(found, list | tuple) else (found,)
    )


def collected(*families: Callable[[], Iterator[Case]]) -> list[Any]:
    """The cases of families as parameters of a test."""
    torch.manual_seed(0)
    return [
        pytest.param(case, id=f"{family.__name__}-{number}-{str(case[0]).removeprefix('aten.')}")
        for family in families
        for number, case in enumerate(family())
    ]


def decomposed(module: ModuleOp, *preserve: str, by_torch: bool = False) -> list[AtenOp]:
    """The operators that patterns leave, after torch's decomposition of an operator without a pattern if so asked."""
    module.verify()
    if by_torch:
        DecomposeTracedPass().apply(Context(), module)
    DecomposePass(preserve).apply(Context(), module)
    module.verify()
    return [op for op in module.walk() if isinstance(op, AtenOp)]


TOLERANCES = {torch.float16: (2e-3, 2e-3), torch.bfloat16: (2e-2, 2e-2)}


@pytest.mark.parametrize("case", collected(*FAMILIES))
def test_computes_what_torch_computes(case: Case) -> None:
    call = call_of(case)
    module, op, inputs = module_of(call)
    left = decomposed(module, by_torch=type(op) not in DECOMPOSITIONS)
    assert all(inner.operator.is_core or is_leaf(type(inner)) for inner in left), [
        inner.name for inner in left
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Interpreter(module).run(*inputs)
    for actual, expected in zip(found, call.results, strict=True):
        rtol, atol = TOLERANCES.get(expected.dtype, (1e-5, 1e-6))
        torch.testing.assert_close(
            actual, expected.contiguous(), rtol=rtol, atol=atol, equal_nan=True, check_stride=False
        )


@pytest.mark.parametrize("case", collected(random))
def test_draws_what_torch_draws(case: Case) -> None:
    """Types and shapes; `test_decompose_random.py` is about the distributions."""
    call = call_of(case)
    module, op, inputs = module_of(call)
    left = decomposed(module, by_torch=type(op) not in DECOMPOSITIONS)
    assert all(inner.operator.is_core for inner in left)
    for actual, expected in zip(Interpreter(module).run(*inputs), call.results, strict=True):
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)


@pytest.mark.parametrize("case", collected(unspecified))
def test_unspecified_elements_are_zero(case: Case) -> None:
    module, _, inputs = module_of(call_of(case))
    (op,) = decomposed(module)
    assert isinstance(op, aten.FullOp)
    (found,) = Interpreter(module).run(*inputs)
    assert not found.any()


@pytest.mark.parametrize("case", collected(unchanged))
def test_leaves_what_no_pattern_takes(case: Case) -> None:
    module, op, _ = module_of(call_of(case))
    before = str(module)
    assert decomposed(module) == [op]
    assert str(module) == before


def test_every_decomposition_has_a_case() -> None:
    cases = collected(*FAMILIES, unspecified, random)
    names = {f"aten.{call_of(parameter.values[0]).name}" for parameter in cases}
    assert {cls.name for cls in DECOMPOSITIONS} - names == NUMBERS | UNSIZED_ONLY


NUMBERS = {"aten.equal", "aten.item", "aten.sym_numel"}
"""Their results are numbers: `test_numbers_of_tensors`, `test_element_counts`."""

UNSIZED_ONLY = {
    *("aten.affine_grid_generator", "aten.empty.memory_format", "aten.istft", "aten.stft", "aten.unfold"),
    *(f"aten.fft_{name}" for name in ("fft", "hfft", "ifft", "ihfft", "irfft", "rfft")),
}
"""Decomposed only where sizes are known at run time only: `UNSIZED`."""


def test_numbers_of_tensors() -> None:
    x = torch.tensor([2.5])
    for build, inputs, expected in (
        (lambda x: aten.ItemOp.make(x), (x,), 2.5),
        (lambda x, y: aten.EqualOp.make(x, y, result_types=[i1]), (x, x), True),
        (lambda x, y: aten.EqualOp.make(x, y, result_types=[i1]), (x, -x), False),
    ):
        module = method([tensor(1)] * len(inputs), build)
        assert all(op.operator.is_core for op in decomposed(module))
        assert Interpreter(module).run(*inputs) == [expected]


@pytest.mark.parametrize("sizes", [(2, 3), (DYNAMIC, 4, DYNAMIC), (0, DYNAMIC), ()])
def test_element_counts(sizes: tuple[int, ...]) -> None:
    module = method([tensor(*sizes)], lambda x: aten.SymNumelOp.make(x))
    decomposed(module)
    assert not any(isinstance(op, aten.SymNumelOp) for op in module.walk())
    x = torch.empty([5 if size < 0 else size for size in sizes])
    assert Interpreter(module).run(x) == [x.numel()]


def method(types: list[Attribute], build: Any) -> ModuleOp:
    """A module whose method returns what `build` makes of its arguments."""
    block = Block(arg_types=types)
    op: SchemaOp = build(*block.args)
    block.add_ops([op, ReturnOp(*op.results)])
    return ModuleOp([FuncOp("forward", (types, op.result_types), Region(block))])


def tensor(*shape: int) -> TensorType[Attribute]:
    return TensorType(f32, shape)


def test_preserves_named_operators_also_inside_of_others() -> None:
    module = method([tensor(2, 5, 3), tensor(4, 3), tensor(4)], lambda x, w, b: aten.LinearOp.make(x, w, b))
    assert [op.name for op in decomposed(module, "aten.linear")] == ["aten.linear"]
    module = method([tensor(5, 8)] * 3, lambda q, k, v: aten.ScaledDotProductAttentionOp.make(q, k, v))
    assert "aten.transpose.int" in [op.name for op in decomposed(module, "transpose.int")]


def test_refuses_to_preserve_what_does_not_exist() -> None:
    module = method([tensor(2)], lambda x: aten.SiluOp.make(x))
    with pytest.raises(PassFailedException, match=r"unknown operator aten\.sliu"):
        DecomposePass(("sliu",)).apply(Context(), module)


def test_new_ops_have_the_location_of_the_old() -> None:
    where = FileLineColLoc(StringAttr("model.py"), IntAttr(3), IntAttr(0))
    module = method([tensor(2)], lambda x: aten.MishOp.make(x, location=where))
    assert {op.location for op in decomposed(module)} == {where}


def test_type_of_the_program_is_kept_where_it_says_more_or_less() -> None:
    loose = tensor(DYNAMIC, 4)
    module = method([tensor(2, 4)], lambda x: aten.SiluOp.make(x, result_types=[loose]))
    assert decomposed(module)[-1].result_types == (loose,)
    module = method([tensor(2, 4)], lambda x: aten.DropoutOp.make(x, 0.5, False, result_types=[loose]))
    (alias,) = decomposed(module)
    assert isinstance(alias, aten.AliasOp)
    assert alias.result_types == (loose,)


# -- sizes known at run time only

C64 = ComplexType(f32)


def grids(theta: SSAValue, spatial: tuple[int, ...], align_corners: bool) -> SchemaOp:
    count = aten.SymSizeIntOp.make(theta, 0)
    theta.block.add_op(count)
    return aten.AffineGridGeneratorOp.make(theta, (count.result, 3, *spatial), align_corners)


UNSIZED = [
    ([tensor(DYNAMIC, 2, 3)], lambda x: grids(x, (4, 5), False)),
    ([tensor(DYNAMIC, 2, 3)], lambda x: grids(x, (1, 3), True)),
    ([tensor(DYNAMIC, 3, 4)], lambda x: grids(x, (3, 1, 2), False)),
    (
        [tensor(DYNAMIC, 16), tensor(8)],
        lambda x, w: aten.StftOp.make(
            x, 8, window=w, return_complex=True, result_types=[TensorType(C64, [DYNAMIC, 5, 5])]
        ),
    ),
    (
        [tensor(DYNAMIC, 16), tensor(5)],
        lambda x, w: aten.StftOp.make(
            x, 8, 3, 5, w, True, False, False, result_types=[tensor(DYNAMIC, 8, 3, 2)]
        ),
    ),
    ([tensor(2, 8, 6)], lambda x: aten.PixelUnshuffleOp.make(x, 2)),
    ([tensor(DYNAMIC, 8, 6)], lambda x: aten.PixelUnshuffleOp.make(x, 2)),
    ([tensor(DYNAMIC, 3), tensor(4, 3), tensor(4)], lambda x, w, b: aten.LinearOp.make(x, w, b)),
    ([tensor(DYNAMIC, 5, 3), tensor(4, 3), tensor(4)], lambda x, w, b: aten.LinearOp.make(x, w, b)),
    ([tensor(2, DYNAMIC, 3), tensor(4, 3)], lambda x, w: aten.LinearOp.make(x, w)),
    ([tensor(DYNAMIC, 4, 5, 3), tensor(DYNAMIC, 4, 3, 6)], lambda x, y: aten.MatmulOp.make(x, y)),
    ([tensor(4, 5, 3), tensor(DYNAMIC, 4, 3, 6)], lambda x, y: aten.MatmulOp.make(x, y)),
    ([tensor(DYNAMIC, 4, 5, 3), tensor(4, 3, 6)], lambda x, y: aten.MatmulOp.make(x, y)),
    ([tensor(DYNAMIC, 3), tensor(3)], lambda x, y: aten.MatmulOp.make(x, y)),
    ([tensor(DYNAMIC, 3, 4)], lambda x: aten.FlattenUsingIntsOp.make(x, 1)),
    ([tensor(DYNAMIC, 3, 4)], lambda x: aten.FlattenUsingIntsOp.make(x)),
    ([tensor(DYNAMIC, 12)], lambda x: aten.UnflattenIntOp.make(x, 1, (3, 4))),
    ([tensor(DYNAMIC, 3), tensor(DYNAMIC, 3)], lambda x, y: aten.StackOp.make((x, y), 1)),
    ([tensor(DYNAMIC, 3)], lambda x: aten.ZerosLikeOp.make(x)),
    ([tensor(DYNAMIC, 3, 4, 4)], lambda x: aten.AdaptiveAvgPool2dOp.make(x, (1, 1))),
    ([tensor(DYNAMIC, 3, 8)], lambda x: aten.MaxPool1dOp.make(x, (2,))),
    ([tensor(DYNAMIC, 6)], lambda x: aten.ChunkOp.make(x, 2, 1)),
    ([tensor(DYNAMIC, DYNAMIC)], lambda x: aten.TrilOp.make(x)),
    ([tensor(DYNAMIC, 3), tensor(DYNAMIC, 3)], lambda x, y: aten.ExpandAsOp.make(x, y)),
    ([tensor(DYNAMIC, 3, 4), tensor(3)], lambda x, w: aten.PreluOp.make(x, w)),
    ([tensor(DYNAMIC, 9)], lambda x: aten.UnfoldOp.make(x, 1, 3, 2)),
    ([tensor(DYNAMIC, 9)], lambda x: aten.RollOp.make(x, (7, -3), (1, 1))),
    ([tensor(DYNAMIC, 9)], lambda x: aten.RollOp.make(x, (1, -1), (0, 1))),
    ([tensor(DYNAMIC, 3, 4)], lambda x: aten.PadOp.make(x, (1, 2), "circular")),
    ([tensor(DYNAMIC, 3, 8)], lambda x: aten.AdaptiveMaxPool1dOp.make(x, (3,))),
    (
        [tensor(2, 3), tensor(DYNAMIC, 2, 4), tensor(DYNAMIC, 4, 3)],
        lambda t, x, y: aten.AddbmmOp.make(t, x, y, alpha=2),
    ),
    ([tensor(2, 3, DYNAMIC)], lambda x: aten.AdaptiveMaxPool1dOp.make(x, (3,))),
    ([tensor(2, DYNAMIC)], lambda x: aten.ChunkOp.make(x, 3, 1, result_types=[tensor(2, DYNAMIC)] * 3)),
    (
        [tensor(DYNAMIC, 2)],
        lambda x: aten.TensorSplitSectionsOp.make(x, 3, result_types=[tensor(DYNAMIC, 2)] * 3),
    ),
    ([tensor(DYNAMIC)], lambda x: aten.MedianOp.make(x)),
    *(
        (
            [tensor(DYNAMIC, 2)],
            lambda x, op=op, type=type, n=n, norm=norm: op.make(x, n, 0, norm, result_types=[type]),
        )
        for op, n, norm, type in (
            (aten.FftFftOp, None, "forward", TensorType(C64, [DYNAMIC, 2])),
            (aten.FftIfftOp, 9, None, TensorType(C64, [9, 2])),
            (aten.FftRfftOp, None, "ortho", TensorType(C64, [DYNAMIC, 2])),
            (aten.FftIhfftOp, 5, "forward", TensorType(C64, [3, 2])),
            (aten.FftIrfftOp, None, None, tensor(DYNAMIC, 2)),
            (aten.FftHfftOp, 20, "forward", tensor(20, 2)),
        )
    ),
    ([tensor(DYNAMIC, 2, 5, 4)] * 3, lambda q, k, v: aten.ScaledDotProductAttentionOp.make(q, k, v)),
    (
        [tensor(2, DYNAMIC, 4)] * 3,
        lambda q, k, v: aten.ScaledDotProductAttentionOp.make(q, k, v, is_causal=True),
    ),
    (
        [tensor(DYNAMIC, 4, DYNAMIC, 4), *[tensor(DYNAMIC, 2, 5, 4)] * 2, tensor(DYNAMIC, 5)],
        lambda q, k, v, m: aten.ScaledDotProductAttentionOp.make(q, k, v, m, enable_gqa=True),
    ),
]


@pytest.mark.parametrize("number", range(len(UNSIZED)))
def test_sizes_known_at_run_time_only(number: int) -> None:
    types, build = UNSIZED[number]
    module = method(types, build)
    before = module.clone()
    left = decomposed(module)
    assert all(op.operator.is_core or is_leaf(type(op)) for op in left), [op.name for op in left]
    torch.manual_seed(0)
    inputs = [torch.randn([7 if size < 0 else size for size in type.get_shape()]) for type in types]
    expected = Interpreter(before).run(*inputs)
    for actual, wanted in zip(Interpreter(module).run(*inputs), expected, strict=True):
        torch.testing.assert_close(actual, wanted)


NEED_SIZES = [
    (
        [tensor(5, 3), TensorType(i64, [DYNAMIC]), TensorType(i64, [DYNAMIC])],
        lambda w, i, o: aten.EmbeddingBagOp.make(
            w, i, o, result_types=[tensor(DYNAMIC, 3), *[TensorType(i64, [DYNAMIC])] * 3]
        ),
    ),
    ([tensor(DYNAMIC, 4, 4)], lambda x: aten.PixelShuffleOp.make(x, 2)),
    ([tensor(DYNAMIC, 4)], lambda x: aten.RollOp.make(x, (2,), (0,))),  # perhaps more than once around
    ([tensor(DYNAMIC, 4)], lambda x: aten.RollOp.make(x, (1,))),
    ([tensor(2, 5, DYNAMIC)] * 3, lambda q, k, v: aten.ScaledDotProductAttentionOp.make(q, k, v)),
]


@pytest.mark.parametrize("number", range(len(NEED_SIZES)))
def test_does_not_decompose_what_needs_sizes(number: int) -> None:
    types, build = NEED_SIZES[number]
    module = method(types, build)
    (op,) = [op for op in module.walk() if isinstance(op, AtenOp)]
    assert decomposed(module) == [op]


def test_empty_tensors_of_sizes_known_at_run_time_only_are_zero() -> None:
    def build(x: SSAValue) -> SchemaOp:
        size = aten.SymSizeIntOp.make(x, 0)
        x.block.add_op(size)
        return aten.EmptyMemoryFormatOp.make((size.result, 3))

    module = method([tensor(DYNAMIC, 3)], build)
    assert [op.name for op in decomposed(module)] == ["aten.sym_size.int", "aten.full"]


def test_a_chain_is_discarded_with_what_it_was_made_of() -> None:
    """Composite ops that patterns build are never part of the program, nor users of its values."""
    module = method([tensor(2, 3), tensor(4, 3)], lambda x, w: aten.LinearOp.make(x, w))
    decomposed(module)
    function = next(op for op in module.walk() if isinstance(op, FuncOp))
    weight: SSAValue = function.body.block.args[1]
    assert [use.operation.name for use in weight.uses] == ["aten.permute"]
