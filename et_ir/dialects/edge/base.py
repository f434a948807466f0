"""The base class of `edge` ops and the traits they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from xdsl.ir import Attribute, Operation
from xdsl.irdl import traits_def
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Pure
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.schema import SchemaOp

__all__ = ["PURE", "RANDOM", "SIDE_EFFECT", "EdgeOp"]


class RandomState(MemoryEffect):
    """The op draws from the random generator: two equal ops differ in value, an unused one can still be
    dropped.
    """

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.READ)}


class Assertion(MemoryEffect):
    """The op checks something at run time and must stay."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.WRITE)}


PURE: Final = traits_def(Pure())
RANDOM: Final = traits_def(RandomState())
SIDE_EFFECT: Final = traits_def(Assertion())


class EdgeOp(SchemaOp):
    """An operator that a runtime has a kernel for, functional: the result is a new tensor.

    `out_schema` is the schema of the operator's out variant, empty where there is none.
    """

    out_schema: ClassVar[str] = ""
    traits = PURE

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
