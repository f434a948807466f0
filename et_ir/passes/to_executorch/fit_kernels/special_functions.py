"""Functions that no kernel computes, by formulas of those that kernels do: exponentials, logarithms, polynomials.

The modules `error_functions`, `gamma_functions` and `bessel_functions` have the formulas, with how exact they are and
how many ops they take. What is not here is named at compile time:

| operator | why |
|---|---|
| `igamma`, `igammac`, `special_zeta` | as many terms of a series as the arguments ask for |
| `special_airy_ai` | a table of series, one for each element |
| polynomials of a degree that is data; `polygamma` of an order above 12 | as many steps as the degree says |
| `nextafter`, `frexp` | bits of the operands, which no kernel shows |
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import f64
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.passes.to_executorch.fit_kernels import (  # noqa: F401
    bessel_functions,  # pyright: ignore[reportUnusedImport]
    error_functions,  # pyright: ignore[reportUnusedImport]
    gamma_functions,  # pyright: ignore[reportUnusedImport]
)
from et_ir.passes.to_executorch.fit_kernels.formulas import FORMULAS, Real
from et_ir.passes.to_executorch.fit_kernels.types import converted

__all__ = ["PATTERNS"]


class ByFormula(RewritePattern):
    """An op with a formula: converted to f64, and back at the end. Integers are what torch makes of them first."""

    roots = tuple(FORMULAS)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, EdgeOp)
        (value,) = op.operands
        literals = {name: given for name, given in op.args().items() if not isinstance(given, SSAValue)}
        if isinstance(op, edge.PolygammaOp) and op.arg("n") > gamma_functions.MOST_DERIVATIVES:
            return
        result = tensor_type(op.results[0]).element_type
        if not dtype_of(tensor_type(value).element_type).is_float:
            value = converted(value, result, rewriter)
        if result != f64:
            value = converted(value, f64, rewriter)
        found = FORMULAS[type(op)](Real(rewriter, value, narrow=result != f64), **literals).value
        rewriter.replace(op, [], [found if result == f64 else converted(found, result, rewriter)])


PATTERNS: Final = (ByFormula,)
