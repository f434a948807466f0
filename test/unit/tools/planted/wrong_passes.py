"""Passes with one mistake each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.data import Blob
from et_ir.dialects.edge import OP_BY_NAME
from et_ir.dialects.executorch import AllocOp, KernelCallOp
from et_ir.dialects.program import GetOp, GlobalOp, Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import attribute_of
from et_ir.evaluation.arrays import array_of, bytes_of
from et_ir.rewriting import rewrite

Edit = Callable[[Any], Operation | Sequence[SSAValue] | None]
"""Gives the op that stands for another, or the values; None where it does not apply."""


def _class(name: str) -> type[SchemaOp]:
    return OP_BY_NAME[name]


class _Mistake(RewritePattern):
    def __init__(self, roots: Sequence[type[Operation]], edit: Edit):
        self.roots = tuple(roots)
        self.edit = edit

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        found = self.edit(op)
        if isinstance(found, Operation):
            rewriter.replace(op, found)
        elif found is not None:
            rewriter.replace(op, [], list(found))


def _planted(name: str, edit: Edit, *roots: type[Operation]) -> type[ModulePass]:
    def apply(self: ModulePass, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [_Mistake(roots, edit)])

    return type(name.replace("-", "_"), (ModulePass,), {"name": name, "apply": apply, "__module__": __name__})


def _with(op: SchemaOp, **changed: Any) -> SchemaOp:
    """An op with other literals."""
    copy = op.clone()
    for name, value in changed.items():
        if value is None:
            copy.properties.pop(name)
        else:
            copy.properties[name] = attribute_of(value, op.schema().by_name[name].type)
    return copy


def _swapped(op: SchemaOp) -> Operation:
    copy = op.clone()
    copy.operands = [op.operands[1], op.operands[0], *op.operands[2:]]
    return copy


def _reversed(op: SchemaOp) -> Operation:
    copy = op.clone()
    copy.operands = list(reversed(op.operands))
    return copy


def _branches_swapped(op: SchemaOp) -> Operation:
    copy = op.clone()
    copy.operands = [op.operands[0], op.operands[2], op.operands[1]]
    return copy


def _made(cls: type[SchemaOp]) -> Edit:
    return lambda op: cls.make(*op.operands, result_types=[op.results[0].type])


def _transposed(op: GetOp) -> Operation | None:
    """A square weight that is read by columns."""
    module = op.parent_op()
    while not isinstance(module, ModuleOp):
        assert module is not None
        module = module.parent_op()
    held = Globals(module)[op.symbol.string_value()]
    assert isinstance(held, GlobalOp)
    shape = held.type.get_shape()
    if held.value is None or len(shape) != 2 or shape[0] != shape[1]:
        return None
    array = np.ascontiguousarray(array_of(held.type, held.value.blob).T)
    blob = Blob.of("turned", bytes(bytes_of(array, held.type)))
    return GetOp(Globals(module).add_constant("turned", held.type, blob).key, held.type)


def _without_bias(op: SchemaOp) -> Operation:
    arguments = {**op.args(), "bias": None}
    return type(op).make(**arguments)


swapped_operands = _planted("swapped-operands", _swapped, _class("sub.Tensor"))
swapped_quotient = _planted("swapped-quotient", _swapped, _class("div.Tensor"))
lost_alpha = _planted(
    "lost-alpha", lambda op: _with(op, alpha=1) if op.alpha != 1 else None, _class("add.Tensor")
)
off_by_one_pad = _planted("off-by-one-pad", lambda op: _with(op, pad=(0, 2, 1, 1)), _class("constant_pad_nd"))
dropped_relu = _planted("dropped-relu", lambda op: [op.self], _class("relu"))
wrong_scale = _planted("wrong-scale", lambda op: _with(op, other=2.5), _class("mul.Scalar"))
wrong_function = _planted("wrong-function", _made(_class("tanh")), _class("sigmoid"))
reversed_cat = _planted("reversed-cat", _reversed, _class("cat"))
lost_permutation = _planted(
    "lost-permutation", lambda op: _with(op, dims=(0, 1, 2, 3)), _class("permute_copy")
)
wrong_clamp = _planted("wrong-clamp", lambda op: _with(op, min=None), _class("clamp"))
mean_of_another = _planted(
    "mean-of-another", lambda op: _class("amax").make(op.self, [1]), _class("mean.dim")
)
swapped_branches = _planted("swapped-branches", _branches_swapped, _class("where.self"))
wrong_comparison = _planted(
    "wrong-comparison", lambda op: _class("lt.Scalar").make(op.self, op.other), _class("gt.Scalar")
)
wrong_dimension = _planted("wrong-dimension", lambda op: _with(op, dim=0), _class("_softmax"))
wrong_quantization = _planted(
    "wrong-quantization",
    lambda op: _with(op, zero_point=4),
    _class("quantized_decomposed.dequantize_per_tensor"),
)
wrong_average = _planted("wrong-average", lambda op: _with(op, count_include_pad=False), _class("avg_pool2d"))
turned_weight = _planted("turned-weight", _transposed, GetOp)
lost_bias = _planted("lost-bias", _without_bias, _class("convolution"))
wrong_sign = _planted("wrong-sign", lambda op: [op.self], _class("neg"))


class UnsafeReusePass(ModulePass):
    """Computation in place, although the operand is still needed."""

    name = "unsafe-reuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for call in [
            one for one in op.walk() if isinstance(one, KernelCallOp) and one.key == "aten::exp.out"
        ]:
            result, source = call.operands[-1], call.operands[0]
            if isinstance(result.owner, AllocOp) and result is not source:
                result.replace_all_uses_with(source)
                result.owner.detach()
                result.owner.erase()


class OverlappingPlanPass(ModulePass):
    """The register of a difference on the bytes of its operand, which is needed again."""

    name = "overlapping-plan"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for call in [
            one for one in op.walk() if isinstance(one, KernelCallOp) and one.key == "aten::exp.out"
        ]:
            result, source = call.operands[-1].owner, call.operands[0].owner
            if isinstance(result, AllocOp) and isinstance(source, AllocOp):
                result.properties["offset"] = source.properties["offset"]
