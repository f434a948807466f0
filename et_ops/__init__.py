"""The operator library: one record per operator, on which compiler and runtime are built.

    from et_ops import operator
    operator("aten::add.Tensor").kernel                # aten::add.out
    operator("aten::add.Tensor").facts.commutative     # True

Plain Python: it needs neither torch nor xDSL, and nothing else of this project. The names below are loaded on first
use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from et_ops.library import OPERATORS, Operator, operator, operator_of_kernel
    from et_ops.schema import MISSING, Arg, ArgType, Schema, parse_schema

__all__ = [
    "MISSING",
    "OPERATORS",
    "Arg",
    "ArgType",
    "Operator",
    "Schema",
    "operator",
    "operator_of_kernel",
    "parse_schema",
]

_IN_LIBRARY = frozenset({"OPERATORS", "Operator", "operator", "operator_of_kernel"})


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{'library' if name in _IN_LIBRARY else 'schema'}")
    value: object = getattr(module, name)
    globals()[name] = value
    return value
