"""The operator library: one record per operator, on which compiler and runtime are built.

Plain Python: it needs neither torch nor xDSL, and nothing else of this project.
"""

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
