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

from et_backends.xnnpack.dialect.attributes import ValueType, integers
from et_backends.xnnpack.dialect.nodes import NodeOp
from et_backends.xnnpack.format.blob import xnnpack_chunks
from et_backends.xnnpack.format.check import check_graph
from et_backends.xnnpack.format.graph import (
    ConstantDataOffset,
    XNNDatatype,
    XNNGraph,
    XNNQuantizedTensorValue,
    XNNTensorValue,
    XValue,
)
from et_backends.xnnpack.format.nodes import EXTERNAL_INPUT, EXTERNAL_OUTPUT, NO_OFFSET, NO_VALUE
from et_ir.dialects.backend import CompileSpecAttr
from et_ir.dialects.program import DataAttr
from et_schema.errors import ExecutorchError

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
    """The name that calls refer to, that of the `backend.lowered`."""
    version = prop_def(StringAttr)
    """The version of the format."""
    table = prop_def(base(ArrayAttr[DictionaryAttr]))
    """Location of each constant, from index 0 on: `size` bytes at `offset` of `constants`, or named data by `key`."""
    specs = opt_prop_def(base(ArrayAttr[CompileSpecAttr]))
    """Settings that the backend gets when the file is loaded."""
    alignment = opt_prop_def(IntegerAttr.constr(i64))
    """Alignment of the blob in the file, in bytes."""
    debug_handles = opt_prop_def(DictionaryAttr)
    """Lists of locations by identifiers of nodes."""
    debug_orders = opt_prop_def(DictionaryAttr)
    """Orders of dimensions by identifiers of nodes."""
    constants = opt_prop_def(DataAttr)
    """Bytes of the constants that are in the blob."""
    body = region_def("single_block")
    """Inputs, constants, nodes and the outputs, in the order of the format."""

    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove())
    assembly_format = (
        "$sym_name `version` $version (`specs` $specs^)? (`align` $alignment^)? (`debug_handles` $debug_handles^)? "
        "(`debug_orders` $debug_orders^)? `table` $table (`constants` qualified($constants)^)? "
        "attr-dict-with-keyword $body"
    )

    def __init__(self, properties: dict[str, Attribute], body: Region):
        super().__init__(properties=properties, regions=[body])

    def tables(self) -> XNNGraph:
        """The graph as the format has it, values in the order of their ids. Raises ValueError."""
        graph = XNNGraph(self.version.data, constant_data=[_data(entry) for entry in self.table])
        tensors: dict[int, XNNTensorValue] = {}
        values: dict[int, XValue] = {}
        ids: dict[SSAValue, int] = {}

        def define(value: SSAValue, number: int) -> XNNTensorValue:
            if number in tensors:
                raise ValueError(f"two values have the id {number}")
            type = value.type
            assert isinstance(type, ValueType)
            dims, parameters = [size.data for size in type.dims], type.quantized_by
            tensor = XNNTensorValue(XNNDatatype[type.datatype.data], len(dims), dims, 0, NO_VALUE, 0, number)
            ids[value], tensors[number] = number, tensor
            values[number] = XValue(
                tensor if parameters is None else XNNQuantizedTensorValue(tensor, parameters)
            )
            return tensor

        for inner in self.body.block.ops:
            if isinstance(inner, InputOp):
                tensor = define(inner.value, inner.id_out.value.data)
                tensor.external_id, tensor.flags = inner.argument.value.data, EXTERNAL_INPUT
                graph.input_ids.append(tensor.id_out)
            elif isinstance(inner, ConstantOp):
                tensor = define(inner.value, inner.id_out.value.data)
                tensor.constant_buffer_idx = inner.index.value.data
            elif isinstance(inner, NodeOp):
                graph.xnodes.append(inner.table([ids[operand] for operand in inner.inputs]))
                for result, number in zip(inner.outputs, integers(inner.ids), strict=True):
                    define(result, number)
            elif isinstance(inner, OutputOp):
                for value, argument in zip(inner.values, integers(inner.arguments), strict=True):
                    tensor = tensors[ids[value]]
                    tensor.external_id, tensor.flags = argument, EXTERNAL_OUTPUT
                    graph.output_ids.append(tensor.id_out)
            else:
                raise ValueError(f"{inner.name} is not allowed in a graph")
        graph.xvalues = [values[number] for number in sorted(values)]
        graph.num_externs = len(graph.input_ids) + len(graph.output_ids)
        return graph

    def verify_(self) -> None:
        try:
            for inner in self.body.block.ops:
                inner.verify_()
        except VerifyException:
            # Which is said where it is.
            return
        try:
            tables = self.tables()
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
    """The number of the delegate's argument."""
    id_out = prop_def(IntegerAttr.constr(i64), prop_name="id")
    """The id of the value."""
    value = result_def(ValueType)
    """The value."""
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
    """The index in the graph's table, from 1 on."""
    id_out = prop_def(IntegerAttr.constr(i64), prop_name="id")
    """The id of the value."""
    value = result_def(ValueType)
    """The value."""
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
    """The number of the delegate's argument, for each value."""
    values = var_operand_def(base(ValueType))
    """The values."""
    traits = traits_def(IsTerminator(), HasParent(GraphOp))
    assembly_format = "$values `arguments` $arguments attr-dict `:` type($values)"

    def __init__(self, values: Sequence[SSAValue], arguments: DenseArrayBase):
        super().__init__(operands=[values], properties={"arguments": arguments})

    def verify_(self) -> None:
        arguments = self.arguments
        if len(integers(arguments)) != len(self.values):
            raise VerifyException("[output_c1] each output is an argument")


def _data(entry: DictionaryAttr) -> ConstantDataOffset:
    size, offset, key = (entry.data.get(name) for name in ("size", "offset", "key"))
    if not isinstance(size, IntegerAttr):
        raise ValueError(f"a constant without a size: {entry}")
    if isinstance(key, StringAttr):
        return ConstantDataOffset(NO_OFFSET, size.value.data, key.data)
    if not isinstance(offset, IntegerAttr):
        raise ValueError(f"a constant with neither a key nor an offset: {entry}")
    return ConstantDataOffset(offset.value.data, size.value.data)
