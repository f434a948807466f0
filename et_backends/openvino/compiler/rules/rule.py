"""Conversion rules whose nodes are OpenVINO's."""

from __future__ import annotations

from dataclasses import dataclass

from et_backends.openvino.compiler.translation import Lowering
from et_ir.backends.operator_rules import OperatorRule

__all__ = ["Rule"]


@dataclass(frozen=True)
class Rule(OperatorRule[Lowering]):
    """Mapping of an operator to nodes."""
