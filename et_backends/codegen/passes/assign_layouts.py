"""Layout assignment: the order in memory of every tensor between kernels.

Images are kept with channels innermost from the first convolution to the last, so that a vector is of channels and
products of pixels and filters need no rearrangement. Elements move only where a kernel needs another order than the one
before has given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from et_backends.codegen.dialect import KernelOp, ViewOp, YieldOp
from et_backends.codegen.forms import SPATIAL, is_read_packed, is_view
from et_backends.codegen.kernels.attention_operands import attention_matrices, scaled_matrices
from et_backends.codegen.kernels.convolution import reads_planes
from et_backends.codegen.kernels.images import channel_dim, channels_innermost
from et_backends.codegen.kernels.loops import loop_of
from et_backends.codegen.kernels.matrices import rows_or_columns
from et_backends.codegen.kernels.pointwise_rules import anchor_of, operator_name
from et_backends.codegen.kernels.product import right_argument
from et_backends.codegen.kernels.rows import reads_in_order
from et_backends.codegen.sizes import Size, count_of, representative, shape_of
from et_ir.analysis.dim_orders import NHWC, Order, permuted_order, reshaped_order, straight
from et_ir.dialects import control
from et_ir.dialects.edge.attributes import dim_order_of, with_dim_order
from et_ir.dialects.program import GetOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor, tensor_type

__all__ = ["AssignLayoutsPass"]


@dataclass(frozen=True)
class AssignLayoutsPass(ModulePass):
    """Choose the dim orders of values between kernels.

    Transpositions are inserted where orders differ. Operators that compute nothing, such as permutations, become views,
    in which no element moves.

    Before:

    ```mlir
    %1 = native.kernel "convolution"(%x, %w) : (tensor<1x8x4x4xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x4x4xf32> ...
    ```

    After:

    ```mlir
    %0 = native.kernel "transpose"(%x) : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32, #edge.dim_order<0, 2, 3, 1>> ...
    %1 = native.kernel "convolution"(%0, %w) : (tensor<1x8x4x4xf32, #edge.dim_order<0, 2, 3, 1>>, tensor<8x8x3x3xf32>)
      -> tensor<1x8x4x4xf32, #edge.dim_order<0, 2, 3, 1>> ...
    ```
    """

    name = "assign-layouts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                orders = [dim_order_of(type) for type in function.function_type.outputs if is_tensor(type)]
                _Layouts(function.body.block, orders).assign()


class _Layouts:
    """The orders in which the values of a block are there."""

    def __init__(self, block: Block, returned: Sequence[Order]):
        self._block = block
        self._returned = returned
        self._held: dict[SSAValue, dict[Order, SSAValue]] = {}

    def assign(self) -> None:
        for op in list(self._block.ops):
            match op:
                case KernelOp():
                    self._kernel(op)
                case SchemaOp() if is_view(op):
                    self._view(op)
                case ReturnOp() | control.YieldOp():
                    for number, value in enumerate(op.operands):
                        if not is_tensor(value.type):
                            continue
                        op.operands[number] = self._in_order(value, self._returned[number], op)
                case _:
                    pass

    def _kernel(self, op: KernelOp) -> None:
        if op.form.data == "attention":
            self._attention(op)
            return
        if op.form.data == "loop":
            self._loop(op)
            return
        order = self._order_of(op)
        for number, value in enumerate(op.inputs):
            if not is_tensor(value.type):
                continue
            # Filters are packed, not read as they are.
            if isinstance(value.owner, GetOp) and op.form.data in SPATIAL and is_read_packed(op, number):
                continue
            rank = tensor_type(value).get_num_dims()
            if op.form.data == "product" and op.body.block.args[number] is right_argument(op):
                op.operands[number] = self._in_order(value, self._readable(value), op)
                continue
            wanted = order if rank == len(order) else straight(rank)
            if op.form.data == "grid_sample" and anchor_of(op).arg("grid") is op.body.block.args[number]:
                wanted = straight(rank)
            if rank == len(NHWC) and straight(rank) in self._orders(value) and reads_planes(op, value):
                wanted = straight(rank)
            op.operands[number] = self._in_order(value, wanted, op)
        for result in op.outputs:
            type = tensor_type(result)
            if type.get_num_dims() == len(order):
                Rewriter.replace_value_with_new_type(result, with_dim_order(type, order))

    def _loop(self, op: KernelOp) -> None:
        """Slices of tensors, and what is made of them, are straight."""
        for number, value in enumerate(op.inputs):
            if is_tensor(value.type):
                order = straight(tensor_type(value).get_num_dims())
                op.operands[number] = self._in_order(value, order, op)
        block = loop_of(op).body.block
        end = block.last_op
        assert end is not None
        _Layouts(block, [straight(tensor_type(one).get_num_dims()) for one in end.operands]).assign()

    def _attention(self, op: KernelOp) -> None:
        """Matrices are read in any order in which their rows or columns are together; masks are straight.

        The result is written as what alone reads it permutes it.
        """
        matrices = {id(value) for value in attention_matrices(op)}
        scaled = scaled_matrices(op)
        for number, (value, inside) in enumerate(zip(op.inputs, op.body.block.args, strict=True)):
            order = straight(tensor_type(value).get_num_dims())
            if inside in scaled:
                order = scaled[inside]
            elif id(inside) in matrices:
                order = self._readable(value)
            op.operands[number] = self._in_order(value, order, op)
        (result,) = op.outputs
        type = tensor_type(result)
        users = [use.operation for use in result.uses]
        if len(users) == 1 and isinstance(users[0], SchemaOp) and operator_name(users[0]) == "permute_copy":
            rank = type.get_num_dims()
            order = tuple(int(dim) % rank for dim in users[0].arg("dims"))
            if order[-1] == rank - 1:
                Rewriter.replace_value_with_new_type(result, with_dim_order(type, order))

    def _readable(self, value: SSAValue) -> Order:
        """An order in which matrices are there, or else the straight one, in which vectors of them can be loaded."""
        order = straight(tensor_type(value).get_num_dims())
        return next((one for one in self._orders(value) if rows_or_columns(value, one)), order)

    def _order_of(self, op: KernelOp) -> Order:
        """The order in which a kernel writes its result, and reads what has its rank."""
        type = tensor_type(op.outputs[0])
        rank = type.get_num_dims()
        if op.form.data == "bands":
            return NHWC
        if op.form.data in SPATIAL:
            return channels_innermost(rank, channel_dim(anchor_of(op)))
        if op.form.data == "rows":
            return self._order_of_rows(op)
        if op.form.data in ("move", "pad") and all(
            tensor_type(one).get_num_dims() == rank for one, _ in op.tensors()
        ):
            # Whatever order there is: the first one's.
            return next(iter(self._orders(op.inputs[0])))
        if op.form.data != "pointwise":
            return straight(rank)
        orders: list[Order] = []
        lower: list[tuple[Size, ...]] = []
        for value, _ in op.tensors():
            other = tensor_type(value)
            if other.get_num_dims() < rank and count_of(value) != 1:
                lower.append(shape_of(value))
            if shape_of(value) == shape_of(op.outputs[0]) and not isinstance(value.owner, GetOp):
                orders += self._held.get(value, {dim_order_of(other): value})
        order = orders[0] if orders else straight(rank)
        for sizes in lower:
            # It goes with the last dimensions, which must follow each other as in its own memory.
            first = rank - len(sizes)
            moving = [dim for dim in order if dim >= first and sizes[dim - first] != 1]
            if moving != sorted(moving):
                return straight(rank)
        return order

    def _order_of_rows(self, op: KernelOp) -> Order:
        """A reduction reads its largest input in the order that it is there."""
        value = max(op.tensors(), key=lambda one: representative(count_of(one[0])))[0]
        for order in self._orders(value):
            if reads_in_order(op, order):
                return order
        return straight(tensor_type(value).get_num_dims())

    def _view(self, op: SchemaOp) -> None:
        source = op.operands[0]
        result = tensor_type(op.results[0])
        made: dict[Order, SSAValue] = {}
        for have, value in self._orders(source).items():
            order = self._viewed(op, have)
            if order is not None:
                made.setdefault(order, self._insert_view(value, with_dim_order(result, order), op))
                break
        if not made:
            rank = tensor_type(source).get_num_dims()
            value = self._in_order(source, straight(rank), op)
            order = straight(result.get_num_dims())
            made[order] = self._insert_view(value, with_dim_order(result, order), op)
        order, value = next(iter(made.items()))
        value.name_hint = op.results[0].name_hint
        # Users keep the type they know until they are visited themselves.
        op.results[0].replace_all_uses_with(value)
        self._held[value] = {order: value}
        self._block.erase_op(op)

    def _viewed(self, op: SchemaOp, have: Order) -> Order | None:
        """The order of a view of memory in an order; None where elements have to move."""
        rank = tensor_type(op.operands[0]).get_num_dims()
        match operator_name(op):
            case "permute_copy":
                return permuted_order(have, [int(dim) % rank for dim in op.arg("dims")])
            case "t_copy":
                return permuted_order(have, straight(rank)[::-1])
            case "transpose_copy.int":
                dims = list(straight(rank))
                one, other = int(op.arg("dim0")) % rank, int(op.arg("dim1")) % rank
                dims[one], dims[other] = dims[other], dims[one]
                return permuted_order(have, dims)
            case "clone" | "dim_order_ops._clone_dim_order" | "dim_order_ops._to_dim_order_copy":
                return have
            case _:
                shapes = [shape_of(one) for one in (op.operands[0], op.results[0])]
                before, after = (list(map(representative, shape)) for shape in shapes)
                return reshaped_order(have, before, after)

    def _insert_view(self, value: SSAValue, type: Attribute, before: Operation) -> SSAValue:
        made = ViewOp(value, type)
        made.location = before.location
        self._block.insert_op_before(made, before)
        return made.result

    def _orders(self, value: SSAValue) -> dict[Order, SSAValue]:
        return self._held.setdefault(value, {dim_order_of(tensor_type(value)): value})

    def _in_order(self, value: SSAValue, order: Order, before: Operation) -> SSAValue:
        """A value in an order: as it is there, or what a transposition before an op makes."""
        held = self._orders(value)
        if order in held:
            return held[order]
        type = tensor_type(value)
        have = next(iter(held))
        moving = [[dim for dim in one if type.get_shape()[dim] != 1] for one in (have, order)]
        target = with_dim_order(type, order)
        if moving[0] == moving[1]:
            held[order] = self._insert_view(held[have], target, before)
            return held[order]
        body = Block(arg_types=[with_dim_order(type, straight(type.get_num_dims()))])
        body.add_op(YieldOp([body.args[0]]))
        kernel = KernelOp("transpose", [held[have]], [target], Region(body))
        kernel.location = before.location
        self._block.insert_op_before(kernel, before)
        held[order] = kernel.outputs[0]
        return held[order]
