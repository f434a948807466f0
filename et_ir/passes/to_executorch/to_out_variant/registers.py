"""Initial values of scalar registers."""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import f64, i1, i64
from xdsl.ir import Attribute

from et_ir.dialects.executorch.arguments import Scalar
from et_ir.dialects.program import StringType

__all__ = ["default_of"]

_DEFAULTS: Final[dict[Attribute, Scalar]] = {i64: 0, f64: 0.0, i1: False, StringType(): ""}


def default_of(type: Attribute) -> Scalar:
    """Initial content of a register of a type; `None` for a type that is neither number nor string."""
    return _DEFAULTS.get(type)
