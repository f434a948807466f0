"""Evaluate operators whose results are as large as constants say.

```mlir
%r = program.get @repeats : tensor<3xi64>                                                         // [1, 0, 2]
%1 = aten.repeat_interleave.Tensor %r : (tensor<3xi64>) -> tensor<?xi64>                          // before
%2 = aten.index_select %x, %1 {dim = 0} : (tensor<3x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>

%1 = program.get @repeats_size : tensor<3xi64>                                                    // after
%2 = aten.index_select %x, %1 {dim = 0} : (tensor<3x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
```

To the program these sizes are not known before it runs, so `constant-fold`, which puts constants where results of
known sizes were, leaves such operators alone. `repeat_interleave`, `nonzero` (which masks come down to) and `bincount`
are evaluated in numpy; what is large stays an op, of a known size. What is computed from the results gets sizes that
follow from theirs. The element of a constant that `_local_scalar_dense` reads is a number:

```mlir
%p = program.get @padding : tensor<i64>                                                           // 5
%n = aten._local_scalar_dense %p : (tensor<i64>) -> i64                                           // before

%n = program.literal 5 : i64                                                                      // after
```
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from et_ir.data.blob import KEEP, Blob
from et_ir.dialects.program import GetOp, Globals, LiteralOp
from et_ir.dialects.schema import SchemaOp, compatible
from et_ir.dialects.schema.literals import ELEMENT_TYPES
from et_ir.dialects.schema.tensors import is_static, is_tensor, layout_of, sized_tensor, sizes_of, tensor_type
from et_ir.evaluation.arrays import Array, array_of, bytes_of, has_numpy_dtype
from et_ir.passes.common.canonicalize import symbols
from et_ir.passes.common.constant_fold import ConstantFoldPass
from et_ir.rewriting import rewrite

__all__ = ["FoldSizesPass"]


def _repeat_interleave(op: SchemaOp, repeats: Array) -> Array | None:
    if repeats.ndim != 1 or (repeats < 0).any():
        return None
    return np.repeat(np.arange(len(repeats), dtype=np.int64), repeats.astype(np.int64))


def _nonzero(op: SchemaOp, array: Array) -> Array | None:
    return np.argwhere(array).astype(np.int64)


def _bincount(op: SchemaOp, array: Array) -> Array | None:
    least = op.arg("minlength")
    if array.ndim != 1 or (array < 0).any() or not isinstance(least, int) or least < 0:
        return None
    return np.bincount(array.astype(np.int64), minlength=least).astype(np.int64)


_KERNELS: Final[dict[str, Callable[[SchemaOp, Array], Array | None]]] = {
    "repeat_interleave.Tensor": _repeat_interleave,
    "nonzero": _nonzero,
    "bincount": _bincount,
}
"""Evaluation of operators of one tensor; nothing where the error is the runtime's to report."""


def _fold(op: SchemaOp, globals: Globals) -> bool:
    """Put a constant in the place of an op whose operand is one, or say how large the result is."""
    kernel = _KERNELS.get(op.operator.view_form)
    if kernel is None or len(op.operands) != 1 or is_static(tensor_type(op.results[0])):
        return False
    found = globals.constant_of(op.operands[0])
    if found is None or found.value is None or not found.value.blob.is_resolved:
        return False
    array = kernel(op, array_of(found.type, found.value.blob))
    if array is None:
        return False
    sized = TensorType[Attribute](ELEMENT_TYPES["i64"], array.shape)
    if array.nbytes > max(KEEP, found.value.blob.nbytes):
        Rewriter.replace_value_with_new_type(cast("Any", op.results[0]), sized)
        return True
    name = f"{found.key}_size"
    made = globals.add_constant(name, sized, Blob.of(name, bytes_of(array, sized)))
    get = GetOp(made.key, sized)
    made.location = get.location = op.location
    Rewriter.insert_op(get, InsertPoint.before(op))
    op.results[0].replace_all_uses_with(get.result)
    Rewriter.erase_op(op)
    return True


def _fold_element(op: SchemaOp, globals: Globals) -> bool:
    """Put a number in the place of an op that reads it from a constant."""
    if op.operator.view_form != "_local_scalar_dense":
        return False
    found = globals.constant_of(op.operands[0])
    if found is None or found.value is None or not found.value.blob.is_resolved:
        return False
    if not has_numpy_dtype(found.type.element_type):
        return False
    number = array_of(found.type, found.value.blob).reshape(-1)[0].item()
    literal = LiteralOp(number) if isinstance(number, bool | int | float) else None
    if literal is None or literal.result.type != op.results[0].type:
        return False
    literal.location = op.location
    literal.result.name_hint = op.results[0].name_hint
    Rewriter.replace_op(op, literal)
    return True


def _refine(op: Operation) -> bool:
    """Give the results of an op the sizes that follow from its operands."""
    if not isinstance(op, SchemaOp) or all(not is_tensor(r.type) or is_static(r.type) for r in op.results):
        return False
    inferred = type(op).infer(op)
    if inferred is None:
        return False
    changed = False
    for result, better in zip(tuple(op.results), inferred, strict=True):
        if not is_tensor(result.type) or not is_tensor(better) or not compatible(result.type, better):
            continue
        before = sizes_of(result.type)
        sizes = [
            old if isinstance(old, int) or new is None else new
            for old, new in zip(before, sizes_of(better), strict=True)
        ]
        if tuple(sizes) != before:
            refined = sized_tensor(result.type.element_type, sizes, layout_of(result.type))
            Rewriter.replace_value_with_new_type(cast("Any", result), refined)
            changed = True
    return changed


@dataclass(frozen=True)
class FoldSizesPass(ModulePass):
    """Evaluate what has a size that constants tell."""

    name = "fold-sizes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        methods = [method for method in op.body.block.ops if isinstance(method, FuncOp)]
        # What is computed from a size that is known now may be the number that tells another.
        while sum(_fold_method(op, method) for method in methods):
            ConstantFoldPass().apply(ctx, op)


def _fold_method(module: ModuleOp, method: FuncOp) -> bool:
    """Fold what constants tell in a method; whether there was such an op."""
    globals = Globals(module)
    ops = [one for one in method.walk() if isinstance(one, SchemaOp)]
    found = folded = [one for one in ops if _fold(one, globals) or _fold_element(one, globals)]
    # Sizes go from op to op, and from types into numbers that other sizes are computed from.
    while folded and method.body.blocks:
        rewrite(module, [pattern() for pattern in symbols.PATTERNS], recursive=True)
        folded = [one for one in method.body.block.ops if _refine(one)]
    if method.body.blocks:
        method.update_function_type()
    return bool(found)
