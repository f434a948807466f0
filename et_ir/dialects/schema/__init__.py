"""Operations whose shape is an operator schema of PyTorch.

`aten` and `edge` hold hundreds of operations that differ only in their schema. This package is what they
share: the schema itself (`schema.py`), how its literals become attributes (`literals.py`), one base class
with accessors, builder and verifier (`op.py`), and one custom syntax (`syntax.py`).
"""

from et_ir.dialects.schema.op import DYNAMIC, OpInfo, SchemaOp, compatible
from et_ir.dialects.schema.schema import MISSING, Arg, ArgType, Schema, parse_schema

__all__ = [
    "DYNAMIC",
    "MISSING",
    "Arg",
    "ArgType",
    "OpInfo",
    "Schema",
    "SchemaOp",
    "compatible",
    "parse_schema",
]
