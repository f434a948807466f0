"""The `xnnpack` dialect: the graph in a blob for XNNPACK, as text.

`open-xnnpack` makes a `graph` of a `backend.lowered`, and `close-xnnpack` the blob again. A graph has an op for each
node of the format, named as the kind.
"""

from xdsl.ir import Dialect

from et_backends.xnnpack.dialect.attributes import ValueType
from et_backends.xnnpack.dialect.nodes import NODE_OPS, NodeOp
from et_backends.xnnpack.dialect.ops import ConstantOp, GraphOp, InputOp, OutputOp

__all__ = ["ConstantOp", "GraphOp", "InputOp", "NodeOp", "OutputOp", "ValueType", "Xnnpack"]

Xnnpack = Dialect("xnnpack", [GraphOp, InputOp, ConstantOp, OutputOp, *NODE_OPS.values()], [ValueType])
