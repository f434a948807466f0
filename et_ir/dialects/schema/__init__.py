"""Operations whose shape is an operator schema of PyTorch.

`aten` and `edge` hold hundreds of operations that differ only in their schema. This package is what they
share: how the literals of a schema become attributes (`literals.py`), one base class with accessors, builder and
verifier (`op.py`), one custom syntax (`syntax.py`), and how a class is made from an operator's record (`classes.py`).
"""

from et_ir.dialects.schema.op import DYNAMIC, OpInfo, SchemaOp, compatible

__all__ = [
    "DYNAMIC",
    "OpInfo",
    "SchemaOp",
    "compatible",
]
