"""Complex tensors, which few kernels of the stock runtime take, as pairs of real ones.

What the kernels take stays, unless the parts are there anyway. An operator without a rule gets complex tensors, and
is named if its kernel refuses them.
"""

from __future__ import annotations

from typing import Final

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.passes.to_executorch.fit_kernels import (  # noqa: F401
    complex_arithmetic,  # pyright: ignore[reportUnusedImport]
    complex_fourier,  # pyright: ignore[reportUnusedImport]
    complex_inverses,  # pyright: ignore[reportUnusedImport]
    complex_moves,  # pyright: ignore[reportUnusedImport]
    complex_truth,  # pyright: ignore[reportUnusedImport]
)
from et_ir.passes.to_executorch.fit_kernels.complex_parts import RULES, Pair, Parts, fits, is_complex
from et_ir.passes.to_executorch.fit_kernels.complex_sizes import ProductOfTwice, may_be_one
from et_ir.targets.manifest import STOCK, load_manifest, load_refused_types
from et_ops.dtypes import real_of

__all__ = ["PATTERNS", "complex_limit"]

_TARGET: Final = STOCK


class OnParts(RewritePattern):
    """Ops on complex tensors."""

    roots = tuple(RULES)

    def __init__(self) -> None:
        self.parts = Parts()

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, EdgeOp)
        values = [value for value in (*op.operands, *op.results) if is_complex(value)]
        if not values or not fits(op) or not (_is_refused(op) or any(map(self.parts.knows, values))):
            return
        self.parts.rewriter = rewriter
        found = RULES[type(op)](self.parts, op)
        if found is None:
            return
        results = [found] if isinstance(found, Pair | SSAValue) else found
        rewriter.replace(op, [], [self.parts.joined(r) if isinstance(r, Pair) else r for r in results])


def complex_limit(op: EdgeOp) -> str | None:
    """What the kernel of an op does not do with complex tensors, apart from types that it refuses altogether."""
    if not any(map(is_complex, (*op.operands, *op.results))):
        return None
    match op:
        case edge.MulTensorOp():
            # It takes an operand of one element for a number, which is real.
            shape = tensor_type(op.results[0]).get_shape()
            if may_be_one(shape) or any(tensor_type(value).get_shape() != shape for value in op.operands):
                return "multiplies complex tensors of one shape only, of more than one element"
        case edge.UnderscoreFftR2cOp():
            return None if op.arg("onesided") else "gives only half of the transform"
        case edge.DimOrderOpsUnderscoreToDimOrderCopyOp():
            types = [dtype_of(tensor_type(value).element_type) for value in (op.operands[0], op.results[0])]
            # What is real may become complex, and what is complex get another layout, without another change.
            taken = types[0] in (types[1], real_of(types[1])) and types[1].is_complex
            return None if taken else "does not convert complex numbers"
        case edge.DimOrderOpsUnderscoreCloneDimOrderOp():
            return "does not copy complex numbers"
        case edge.IndexTensorOp():
            return "takes no complex tensors with every choice of indices"
        case edge.RandnOp() | edge.RandOp():
            return "draws no complex numbers"
        case _:
            pass
    return None


def _is_refused(op: EdgeOp) -> bool:
    if complex_limit(op) is not None or isinstance(op, edge.AbsOp):  # whose squares overflow
        return True
    kernel = op.operator.kernel
    refused = load_refused_types(_TARGET).get(kernel, {})
    return kernel not in load_manifest(_TARGET) or any(
        name.startswith("complex") for types in refused.values() for name in types
    )


PATTERNS: Final = (OnParts, ProductOfTwice)
"""One pattern for all that has parts: they are known across operators."""
