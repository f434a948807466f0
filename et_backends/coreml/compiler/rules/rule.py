"""Conversion rules to operations of ML programs."""

from __future__ import annotations

from dataclasses import dataclass

from et_backends.coreml.compiler.translation import Lowering
from et_ir.backends.operator_rules import OperatorRule

__all__ = ["Rule"]


@dataclass(frozen=True)
class Rule(OperatorRule[Lowering]):
    """Mapping of an operator to operations."""
