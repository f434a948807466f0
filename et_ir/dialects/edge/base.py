"""The base class of `edge` ops."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.operator import PURE, RANDOM, SIDE_EFFECT, OperatorOp

__all__ = ["PURE", "RANDOM", "SIDE_EFFECT", "EdgeOp"]


class EdgeOp(OperatorOp):
    """An operator that a runtime has a kernel for, functional: the result is a new tensor."""

    @staticmethod
    def infer(op: SchemaOp) -> Sequence[Attribute] | None:
        from et_ir.dialects.edge.inference import infer

        return infer(op)

    def verify_(self) -> None:
        """Check the schema, and the rules of `et_ir.dialects.edge.rules`."""
        super().verify_()
        from et_ir.dialects.edge.rules import violations

        for violation in violations(self):
            raise VerifyException(violation.message)
