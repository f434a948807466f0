"""The base class of `aten` ops."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute

from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.operator import PURE, RANDOM, SIDE_EFFECT, OperatorOp

__all__ = ["PURE", "RANDOM", "SIDE_EFFECT", "AtenOp"]


class AtenOp(OperatorOp):
    """An operator of torch, functional, as `torch.export` yields it: of the namespace `aten`, or of another, which its
    name then says (`aten.quantized_decomposed.quantize_per_tensor`).
    """

    @staticmethod
    def infer(op: SchemaOp) -> Sequence[Attribute] | None:
        from et_ir.dialects.schema.inference import infer

        return infer(op)
