"""Ops of the `xnnpack` dialect that are no nodes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    i64,
)
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    base,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import HasParent, IsolatedFromAbove, IsTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.backend import CompileSpecAttr
from et_ir.dialects.program import DataAttr
from et_ir.dialects.xnnpack.attributes import ValueType, integers
from et_schema.errors import ExecutorchError
from et_schema.xnnpack import xnnpack_chunks
from et_schema.xnnpack_check import check_graph

__all__ = ["ConstantOp", "GraphOp", "InputOp", "OutputOp"]


@irdl_op_definition
class GraphOp(IRDLOperation):
    """A graph: what `backend.lowered` has of XNNPACK as bytes, which `close-xnnpack` makes it again.

    `table` says where each constant is, from 0 on: bytes of `constants`, or data of the program by its key.

    ```mlir
    xnnpack.graph @lowered_0 version "0" table [{offset = 0 : i64, size = 0 : i64}] {
      %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
      %1 = xnnpack.abs(%0) ids array<i64: 1> : (!xnnpack.value<fp32, [4]>) -> !xnnpack.value<fp32, [4]>
      xnnpack.output %1 arguments array<i64: 1> : !xnnpack.value<fp32, [4]>
    }
    ```

    Rule: `graph_c1` ids, shapes and constants fit each other, and numbers their fields, as the format wants.
    """

    name = "xnnpack.graph"
    sym_name = prop_def(SymbolNameConstraint())
    version = prop_def(StringAttr)
    table = prop_def(base(ArrayAttr[DictionaryAttr]))
    specs = opt_prop_def(base(ArrayAttr[CompileSpecAttr]))
    alignment = opt_prop_def(IntegerAttr.constr(i64))
    debug_handles = opt_prop_def(DictionaryAttr)
    constants = opt_prop_def(DataAttr)
    body = region_def("single_block")

    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove())
    assembly_format = (
        "$sym_name `version` $version (`specs` $specs^)? (`align` $alignment^)? (`debug_handles` $debug_handles^)? "
        "`table` $table (`constants` qualified($constants)^)? attr-dict-with-keyword $body"
    )

    def __init__(self, properties: dict[str, Attribute], body: Region):
        super().__init__(properties=properties, regions=[body])

    def verify_(self) -> None:
        from et_ir.dialects.xnnpack.graphs import tables_of

        try:
            for inner in self.body.block.ops:
                inner.verify_()
        except VerifyException:
            # Which is said where it is.
            return
        try:
            tables = tables_of(self)
            check_graph(tables, self.constants.blob.nbytes if self.constants is not None else 0)
            # That each number fits where the format has it is for the writer to say.
            xnnpack_chunks(tables)
        except (ExecutorchError, ValueError) as error:
            raise VerifyException(f"[graph_c1] {error}") from None


@irdl_op_definition
class InputOp(IRDLOperation):
    """An input of the graph: which argument it is, and the id of the value.

    ```mlir
    %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
    ```
    """

    name = "xnnpack.input"
    argument = prop_def(IntegerAttr.constr(i64))
    id_out = prop_def(IntegerAttr.constr(i64), prop_name="id")
    value = result_def(ValueType)
    traits = traits_def(HasParent(GraphOp))
    assembly_format = "$argument `id` $id attr-dict `:` type($value)"

    def __init__(self, argument: int, id_out: int, type: ValueType):
        properties = {"argument": IntegerAttr(argument, i64), "id": IntegerAttr(id_out, i64)}
        super().__init__(properties=properties, result_types=[type])


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A constant: its index in the graph's table, and the id of the value.

    ```mlir
    %1 = xnnpack.constant 1 id 2 : !xnnpack.value<fp32, [8, 4]>
    ```
    """

    name = "xnnpack.constant"
    index = prop_def(IntegerAttr.constr(i64))
    id_out = prop_def(IntegerAttr.constr(i64), prop_name="id")
    value = result_def(ValueType)
    traits = traits_def(HasParent(GraphOp))
    assembly_format = "$index `id` $id attr-dict `:` type($value)"

    def __init__(self, index: int, id_out: int, type: ValueType):
        properties = {"index": IntegerAttr(index, i64), "id": IntegerAttr(id_out, i64)}
        super().__init__(properties=properties, result_types=[type])


@irdl_op_definition
class OutputOp(IRDLOperation):
    """The outputs of the graph, and which arguments they are.

    ```mlir
    xnnpack.output %1 arguments array<i64: 1> : !xnnpack.value<fp32, [4]>
    ```

    Rule: `output_c1` each output is an argument.
    """

    name = "xnnpack.output"
    arguments = prop_def(AnyAttr())
    values = var_operand_def(base(ValueType))
    traits = traits_def(IsTerminator(), HasParent(GraphOp))
    assembly_format = "$values `arguments` $arguments attr-dict `:` type($values)"

    def __init__(self, values: Sequence[SSAValue], arguments: DenseArrayBase):
        super().__init__(operands=[values], properties={"arguments": arguments})

    def verify_(self) -> None:
        arguments = self.arguments
        if len(integers(arguments)) != len(self.values):
            raise VerifyException("[output_c1] each output is an argument")
