"""Formulas of pointwise operators, over the arithmetic of any back end.

A formula is a function of a builder and of the arguments of the operator's schema:

    @formula("hardswish")
    def hardswish(b: Builder[Value], x: Value) -> Value:
        return b.mul(x, b.operator("hardsigmoid", x))

A back end is a `Builder`: it says how it writes a number, and which functions it has by itself. `builder.operator(name,
*arguments)` takes such a function where there is one, and else a formula, down to what the back end has.
`lacking(builder.native, name, arguments)` tells for lack of what it cannot. Formulas are of floats, and their results
are within some roundings of torch's for all numbers, infinities and NaN, overflow included, unless they say otherwise.
"""

from __future__ import annotations

from et_ops.formulas import (  # noqa: F401
    activations,  # pyright: ignore[reportUnusedImport]
    arithmetic,  # pyright: ignore[reportUnusedImport]
    comparisons,  # pyright: ignore[reportUnusedImport]
    exponentials,  # pyright: ignore[reportUnusedImport]
    hyperbolic,  # pyright: ignore[reportUnusedImport]
)
from et_ops.formulas.builder import Builder, LacksFunction, Literal, Value, lacking
from et_ops.formulas.registry import FORMULAS, Formula, formula

__all__ = ["FORMULAS", "Builder", "Formula", "LacksFunction", "Literal", "Value", "formula", "lacking"]
