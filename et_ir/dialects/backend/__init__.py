"""The `backend` dialect: subgraphs that backends take over.

A `partition` is one before the backend compiles it, a `lowered` symbol what became of it, a `call` its use.
"""

from xdsl.ir import Dialect

from et_ir.dialects.backend.attributes import CompileSpecAttr
from et_ir.dialects.backend.ops import CallOp, LoweredOp, NamedDataOp, PartitionOp, YieldOp

__all__ = ["Backend", "CallOp", "CompileSpecAttr", "LoweredOp", "NamedDataOp", "PartitionOp", "YieldOp"]

Backend = Dialect("backend", [PartitionOp, YieldOp, LoweredOp, CallOp, NamedDataOp], [CompileSpecAttr])
