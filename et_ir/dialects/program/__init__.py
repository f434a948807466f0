"""The `program` dialect: what a program has at every level beside its operations.

Weights, buffers and constants are module-level symbols that all methods share; `get` reads one that never
changes, `load` and `store` access mutable state, `overwrite` changes what the caller gave. `literal` is a Python
value that is no tensor, `compute` a number made of others, `range` what is known of a number that only the data tells.
`sizes` are the expressions of a tensor type's sizes that are known at run time only, `ranges` of a method what their
symbols can be. `roles` are those of a training method's results. `operator` declares an operator that no registry
knows.
"""

from xdsl.ir import Dialect

from et_ir.dialects.program.arithmetic import FUNCTIONS, ComputeOp
from et_ir.dialects.program.attributes import DataAttr, StringType
from et_ir.dialects.program.guards import Guards, GuardsAttr
from et_ir.dialects.program.inputs import OverwriteOp
from et_ir.dialects.program.operator_declarations import DeclareOperatorOp, declare_operators
from et_ir.dialects.program.ops import (
    BufferOp,
    ConstantOp,
    GetOp,
    GlobalOp,
    LiteralOp,
    LoadOp,
    ParameterOp,
    StoreOp,
)
from et_ir.dialects.program.quantized import Numbers, QuantizedParameters, QuantizedType, quantized_type_of
from et_ir.dialects.program.ranges import RangeOp
from et_ir.dialects.program.roles import RolesAttr

__all__ = [
    "FUNCTIONS",
    "BufferOp",
    "ComputeOp",
    "ConstantOp",
    "DataAttr",
    "DeclareOperatorOp",
    "GetOp",
    "GlobalOp",
    "Globals",
    "Guards",
    "GuardsAttr",
    "LiteralOp",
    "LoadOp",
    "Numbers",
    "OverwriteOp",
    "ParameterOp",
    "Program",
    "QuantizedParameters",
    "QuantizedType",
    "RangeOp",
    "RangesAttr",
    "RolesAttr",
    "SizesAttr",
    "StoreOp",
    "StringType",
    "TreeAttr",
    "declare_operators",
    "quantized_type_of",
]

from et_ir.dialects.program.symbols import Globals
from et_ir.dialects.program.trees import TreeAttr
from et_ir.dialects.schema.sizes import RangesAttr, SizesAttr

Program = Dialect(
    "program",
    [
        ParameterOp,
        BufferOp,
        ConstantOp,
        DeclareOperatorOp,
        GetOp,
        LoadOp,
        StoreOp,
        OverwriteOp,
        LiteralOp,
        ComputeOp,
        RangeOp,
    ],
    [DataAttr, GuardsAttr, QuantizedType, RangesAttr, RolesAttr, SizesAttr, StringType, TreeAttr],
)
