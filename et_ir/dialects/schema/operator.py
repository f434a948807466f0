"""Base of the op classes of `aten` and `edge`.

They share custom syntax, effects and the out variant, beside their schema.
"""

from __future__ import annotations

from typing import Final, Self, cast

from xdsl.ir import Operation
from xdsl.irdl import traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Pure

from et_ir.dialects.schema.op import SchemaOp
from et_ir.dialects.schema.syntax import parse_op, print_op

__all__ = ["PURE", "RANDOM", "SIDE_EFFECT", "OperatorOp"]


class RandomState(MemoryEffect):
    """The op draws from the random generator: equal ops differ in value, an unused one can still be dropped."""

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


class OperatorOp(SchemaOp):
    """A functional operator of a runtime's or of torch's registry."""

    traits = PURE

    def print(self, printer: Printer) -> None:
        print_op(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cast("Self", parse_op(cls, parser))
