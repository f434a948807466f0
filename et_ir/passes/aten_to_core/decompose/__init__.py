"""Decompose composite operators into Core ATen by hand-written patterns.

```mlir
%y = aten.linear %x, %w, %b : (tensor<8x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<8x2xf32>
%z = aten.silu %y : tensor<8x2xf32>
```
becomes
```mlir
%wt = aten.permute %w {dims = [1, 0]} : (tensor<2x4xf32>) -> tensor<4x2xf32>
%0 = aten.mm %x, %wt : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
%y = aten.add.Tensor %0, %b : (tensor<8x2xf32>, tensor<2xf32>) -> tensor<8x2xf32>
%1 = aten.sigmoid %y : tensor<8x2xf32>
%z = aten.mul.Tensor %y, %1 : tensor<8x2xf32>
```

Ops that no pattern takes stay as they are; `decompose-traced` derives their decomposition from torch. There
is one module of patterns a family; see `chain.py` for how they are written.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.utils.exceptions import PassFailedException

from et_ir.dialects.aten import OP_BY_NAME, AtenOp
from et_ir.passes.aten_to_core.decompose import (  # noqa: F401
    activation,  # pyright: ignore[reportUnusedImport]
    arithmetic,  # pyright: ignore[reportUnusedImport]
    attention,  # pyright: ignore[reportUnusedImport]
    complex,  # pyright: ignore[reportUnusedImport]
    convolution,  # pyright: ignore[reportUnusedImport]
    creation,  # pyright: ignore[reportUnusedImport]
    data_dependent,  # pyright: ignore[reportUnusedImport]
    data_movement,  # pyright: ignore[reportUnusedImport]
    grids,  # pyright: ignore[reportUnusedImport]
    indexing,  # pyright: ignore[reportUnusedImport]
    loss,  # pyright: ignore[reportUnusedImport]
    matmul,  # pyright: ignore[reportUnusedImport]
    normalization,  # pyright: ignore[reportUnusedImport]
    order,  # pyright: ignore[reportUnusedImport]
    pooling,  # pyright: ignore[reportUnusedImport]
    random,  # pyright: ignore[reportUnusedImport]
    recurrent,  # pyright: ignore[reportUnusedImport]
    reduction,  # pyright: ignore[reportUnusedImport]
    renamed,  # pyright: ignore[reportUnusedImport]
    spectral,  # pyright: ignore[reportUnusedImport]
)
from et_ir.passes.aten_to_core.decompose.chain import DECOMPOSITIONS, UNROLL, Chain
from et_ir.rewriting import rewrite
from et_schema.diagnostics import did_you_mean

__all__ = ["DECOMPOSITIONS", "Decompose", "DecomposeChosen", "DecomposePass"]


class Decompose(RewritePattern):
    """Replaces an op by its decomposition. `preserve` has the names of operators to leave as they are; `unroll` is as
    of `DecomposePass`.
    """

    def __init__(self, preserve: frozenset[str] = frozenset(), unroll: int = UNROLL):
        self.unroll = unroll
        self.table = {cls: f for cls, f in DECOMPOSITIONS.items() if cls.name[len("aten.") :] not in preserve}
        self.roots = tuple(self.table)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, AtenOp)
        chain = Chain(op, rewriter, self.table, self.unroll)
        found = DECOMPOSITIONS[type(op)](chain, op)
        if found is None:
            if chain.built:
                raise AssertionError(f"the decomposition of {op.name} builds ops and then leaves it")
            return
        values = (found,) if isinstance(found, SSAValue) else found
        fitted = [chain.fitted(new, old.type) for new, old in zip(values, op.results, strict=True)]
        rewriter.replace(op, (), fitted)


class DecomposeChosen(Decompose):
    """Replaces certain ops by their decomposition, also where their operator is preserved elsewhere."""

    def __init__(self, chosen: Collection[Operation], preserve: frozenset[str]):
        super().__init__(preserve)
        self.chosen = chosen
        self.roots = tuple({type(op) for op in chosen} & DECOMPOSITIONS.keys())

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if op in self.chosen:
            super().match_and_rewrite(op, rewriter)


@dataclass(frozen=True)
class DecomposePass(ModulePass):
    """Decompose composite operators into Core ATen."""

    name = "decompose"

    preserve: tuple[str, ...] = ()
    """Operators to leave as they are, as `linear` or `upsample_nearest2d.vec`."""
    unroll: int = UNROLL
    """Recurrent layers of at most so many steps are unrolled, by `decompose-traced`; longer ones become loops."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = [name.removeprefix("aten.") for name in self.preserve]
        unknown = [name for name in names if name not in OP_BY_NAME]
        if unknown:
            hint = did_you_mean(unknown[0], OP_BY_NAME)
            raise PassFailedException(f"decompose{{preserve}}: unknown operator aten.{unknown[0]}{hint}")
        rewrite(op, [Decompose(frozenset(names), self.unroll)])
