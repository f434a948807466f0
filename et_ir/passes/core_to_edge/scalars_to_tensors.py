"""Put tensors into tensor slots that hold Python numbers. An overload that takes a number is used instead where there
is one.

A number in a tensor's place promotes as torch's wrapped number does. Where the target has a kernel for the
`Scalar` overload, which promotes alike, the number becomes its literal. Elsewhere it becomes a tensor without
dimensions, of the type that the op is computed in: a constant of the program, which all its uses share, or
`scalar_tensor` of a number known at run time only.

```mlir
%two = program.literal 2.0 : f64
%1 = aten.mul.Tensor %x, %two : (tensor<4xf32>, f64) -> tensor<4xf32>                           // before
%2 = aten.maximum %1, %two : (tensor<4xf32>, f64) -> tensor<4xf32>

%c = program.get @"scalar_f32_2.0" : tensor<f32>
%1 = aten.mul.Scalar %x {other = 2.0} : tensor<4xf32>                                           // after
%2 = aten.maximum %1, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, f64, i1, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from et_ir.data import Blob
from et_ir.dialects.aten import OP_BY_NAME, AtenOp
from et_ir.dialects.aten import ops as aten
from et_ir.dialects.edge import OP_BY_NAME as EDGE_OPS
from et_ir.dialects.edge.promotion import computation_dtype
from et_ir.dialects.program import GetOp, Globals, LiteralOp
from et_ir.dialects.schema.dtypes import attr_of, dtype_of
from et_ir.dialects.schema.literals import literal_of
from et_ir.dialects.schema.tensors import is_tensor
from et_ir.evaluation.arrays import numpy_dtype
from et_ir.rewriting import rewrite
from et_ir.targets.lookup import DEFAULT
from et_ir.targets.rewriting import target_of
from et_ir.targets.target import Target
from et_ops import OPERATORS, Operator
from et_ops.dtypes import DType

__all__ = ["ScalarsToTensorsPass"]

Number = int | float | bool


def _mirrored_scalar_form(operator: Operator) -> str | None:
    """The overload for a number as the first operand of a binary operator, which it takes as its second."""
    facts = operator.facts
    mirror = operator.name if facts.commutative else facts.mirror
    return None if mirror is None else OPERATORS[mirror].facts.scalar_form


# A wrapped number of an op that is no promotion: the default type of its kind.
_DEFAULT: Final[dict[Attribute, Attribute]] = {i64: i64, f64: f32, i1: i1}


class NumberToTensor(RewritePattern):
    """Rewrites one op that has a number in a tensor slot."""

    def __init__(self, module: ModuleOp, target: Target):
        self.globals = Globals(module)
        self.kernels = target.kernels
        self.symbols: dict[tuple[str, str], str] = {}
        """Constants made so far, by element type and text of the number."""
        self.read: dict[tuple[Block, str], SSAValue] = {}
        """Their values in each method."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, AtenOp) or all(is_tensor(value.type) for value in op.operands):
            return
        tensors = len(op.operands) - len(op.symbols)
        numbers = [i for i in range(tensors) if not is_tensor(op.operands[i].type)]
        if not numbers:
            return
        form = self._scalar_form(op)
        if form is not None:
            rewriter.replace(op, form)
            return
        dtype = self._dtype(op)
        for index in numbers:
            value = op.operands[index]
            op.operands[index] = self._tensor(value, dtype or _DEFAULT[value.type], op, rewriter)
        rewriter.notify_op_modified(op)

    def _dtype(self, op: AtenOp) -> Attribute | None:
        promotion = op.operator.facts.promotion
        computed = None if promotion is None else computation_dtype(op, promotion)
        return None if computed is None else attr_of(computed)

    def _has_kernel(self, name: str) -> bool:
        edge = EDGE_OPS.get(name)
        return edge is not None and edge.operator.kernel in self.kernels

    def _scalar_form(self, op: AtenOp) -> AtenOp | None:
        """The op with its numbers as literals, if there is such an overload and a kernel for it."""
        name = op.name.removeprefix("aten.")
        arguments = op.args()
        first = next(iter(arguments))
        if _is_number(arguments[first]):
            swapped = _mirrored_scalar_form(op.operator)
            if name == "pow.Tensor_Tensor" and is_tensor(arguments["exponent"].type):
                swapped, arguments["self"] = "pow.Scalar", _literal(arguments["self"])
            elif (
                swapped is None
                or not is_tensor(arguments["other"].type)
                or (swapped == "add.Scalar" and arguments["alpha"] != 1)
            ):
                return None
            else:
                arguments["self"], arguments["other"] = arguments["other"], _literal(arguments["self"])
        else:
            swapped = op.operator.facts.scalar_form
            for key, value in list(arguments.items())[1:]:
                if _is_number(value):
                    arguments[key] = _literal(value)
                elif swapped == "clamp" and value is not None:
                    return None
        if swapped is None or not self._has_kernel(swapped):
            return None
        return OP_BY_NAME[swapped].make(**arguments, result_types=op.result_types)

    def _tensor(
        self, value: SSAValue, dtype: Attribute, op: Operation, rewriter: PatternRewriter
    ) -> SSAValue:
        if not isinstance(value.owner, LiteralOp):
            made = aten.ScalarTensorOp.make(value, dtype=dtype, result_types=[TensorType(dtype, [])])
            return rewriter.insert(made, InsertPoint.before(op)).result
        number = literal_of(value.owner.value)
        assert isinstance(number, int | float)
        symbol = self._constant(number, dtype_of(dtype))
        block = _entry(op)
        found = self.read.get((block, symbol))
        if found is None:
            get = GetOp(symbol, TensorType(dtype, []))
            found = self.read[block, symbol] = rewriter.insert(get, InsertPoint.at_start(block)).result
        return found

    def _constant(self, number: Number, dtype: DType) -> str:
        symbol = self.symbols.get((dtype.name, repr(number)))
        if symbol is None:
            import numpy as np

            data = np.asarray(number).astype(numpy_dtype(attr_of(dtype))).tobytes()
            hint = f"scalar_{dtype.name}_{number!r}".lower()
            op = self.globals.add_constant(hint, TensorType(attr_of(dtype), []), Blob.of("", data))
            symbol = self.symbols[dtype.name, repr(number)] = op.key
        return symbol


def _is_number(value: Any) -> bool:
    return isinstance(value, SSAValue) and not is_tensor(cast("Attribute", value.type))


def _literal(value: SSAValue) -> Any:
    """The Python number of a literal, or the value itself where it is known at run time only."""
    return literal_of(value.owner.value) if isinstance(value.owner, LiteralOp) else value


def _entry(op: Operation) -> Block:
    """The entry block of the method that an op is in."""
    block = op.parent
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        block, parent = parent.parent, parent.parent_op()
    assert block is not None
    return block


@dataclass(frozen=True)
class ScalarsToTensorsPass(ModulePass):
    """Put tensors into tensor slots that hold numbers."""

    name = "scalars-to-tensors"

    target: str = DEFAULT
    """The runtime whose kernels decide whether an overload that takes a number is used."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [NumberToTensor(op, target_of(self))])
