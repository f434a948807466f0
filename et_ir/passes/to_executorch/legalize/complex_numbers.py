"""Complex tensors as pairs of real ones. Few kernels of the stock runtime take them.

What the kernels take stays, unless the parts are there anyway. An operator without a rule gets complex tensors, and
is named if its kernel refuses them.
"""

from __future__ import annotations

from typing import Final

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.passes.to_executorch.legalize import (  # noqa: F401
    complex_arithmetic,  # pyright: ignore[reportUnusedImport]
    complex_fourier,  # pyright: ignore[reportUnusedImport]
    complex_moves,  # pyright: ignore[reportUnusedImport]
)
from et_ir.passes.to_executorch.legalize.complex_parts import RULES, Pair, Parts, fits, is_complex
from et_ir.passes.to_executorch.legalize.complex_sizes import ProductOfTwice
from et_ir.targets.rewriting import TargetPattern
from et_ir.targets.target import Target

__all__ = ["PATTERNS"]


class OnParts(TargetPattern):
    """Ops on complex tensors."""

    roots = tuple(RULES)

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.parts = Parts()

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, EdgeOp)
        values = [value for value in (*op.operands, *op.results) if is_complex(value)]
        if (
            not values
            or not fits(op)
            or not (_is_refused(op, self.target) or any(map(self.parts.knows, values)))
        ):
            return
        self.parts.rewriter = rewriter
        found = RULES[type(op)](self.parts, op)
        if found is None:
            return
        results = [found] if isinstance(found, Pair | SSAValue) else found
        rewriter.replace(op, [], [self.parts.joined(r) if isinstance(r, Pair) else r for r in results])


def _is_refused(op: EdgeOp, target: Target) -> bool:
    if isinstance(op, edge.AbsOp):  # whose squares overflow
        return True
    if target.limits is not None and any(target.limits(op)):
        return True
    kernel = op.operator.kernel
    refused = target.refused_types.get(kernel, {})
    return kernel not in target.kernels or any(
        name.startswith("complex") for types in refused.values() for name in types
    )


PATTERNS: Final = (OnParts, ProductOfTwice)
"""One pattern for all that has parts: they are known across operators."""
