"""Replace copies that leave every byte where it is by views of the same memory.

`view_copy`, `squeeze_copy`, `unsqueeze_copy`, a slice or selection along the outermost dimension, a
permutation that moves only dimensions of size 1, a clone to the same layout: the result of each is the memory
of its argument under another type. Where that is known it becomes a view, and the call is gone:

```mlir
%r = executorch.alloc : tensor<2x4xf32>
executorch.kernel_call "aten::relu.out"(%x) outs(%r)
%v = executorch.alloc : tensor<8xf32>
executorch.kernel_call "aten::view_copy.out"(%r, [8]) outs(%v)
// becomes
%r = executorch.alloc : tensor<2x4xf32>
executorch.kernel_call "aten::relu.out"(%x) outs(%r)
%v = executorch.view %r : tensor<8xf32>
```

So does each piece of a split along the outermost dimension, if all of them start at a multiple of 16 bytes. A view of a
constant is the constant under another type. Two registers may be one memory only if neither is
written while the other is needed, so a call stays

- if its argument or its result is written by more than one instruction, or in place;
- if they are not all in one block, where a loop could bring the writer round again;
- if the argument is state that is written before the result is used for the last time;
- if the result is an output of the method and the argument an input: the caller may give the input's memory
  to something else;
- if the argument is an input and the result starts somewhere in it, unless `inputs` says that the plan has the memory
  of inputs;
- if a tensor is dynamic, where a `view_copy` becomes a view at run time, and everything else stays:

```mlir
%v = executorch.view bound %r : tensor<8xf32>
executorch.kernel_call "executorch_prim::et_view.default"(%r, [%n]) returns(%v)
```
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from et_ir.analysis.register_liveness import root_of
from et_ir.dialects.executorch import (
    AllocOp,
    ConstantOp,
    DelegateCallOp,
    InputOp,
    Instruction,
    KernelCallOp,
    ListKind,
    ListValue,
    PlanOp,
    RegisterOp,
    ReturnOp,
    StateOp,
    ViewOp,
)
from et_ir.dialects.executorch.arguments import Argument
from et_ir.dialects.executorch.layout import Tensor, dim_order, is_contiguous, nbytes
from et_ops.calls import ET_VIEW
from et_schema.generated.program import TensorShapeDynamism

__all__ = ["ViewsPass"]

ALIGNMENT: Final = 16
"""Bytes that a view's start is a multiple of, so that kernels find views as well aligned as other tensors."""

Start = Callable[[list[Argument], Tensor, Tensor], int | None]
"""Where the result's bytes start in the argument, given the call's arguments and both types; `None` if they
are not all there.
"""


@dataclass(frozen=True)
class ViewsPass(ModulePass):
    """Replace copies that move no bytes by views."""

    name = "views"

    inputs: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for plan in op.body.block.ops:
            if isinstance(plan, PlanOp):
                _Elision(plan, self.inputs).run()


class _Elision:
    """The views of one plan."""

    def __init__(self, plan: PlanOp, inputs: bool):
        self.plan = plan
        self.inputs = inputs
        self.writers: dict[SSAValue, list[Instruction]] = {}
        self.outputs: set[SSAValue] = set()
        self.order: dict[Operation, int] = {}
        for position, op in enumerate(plan.instructions):
            self.order[op] = position
            for register in op.writes:
                self.writers.setdefault(root_of(register), []).append(op)
            if isinstance(op, ReturnOp):
                self.outputs.update(root_of(register) for register in op.outputs)

    def run(self) -> None:
        for op in self.plan.instructions:
            if isinstance(op, KernelCallOp):
                if op.list_out is None:
                    self._call(op)
                elif op.key in _SPLITS:
                    self._split(op)

    def _call(self, op: KernelCallOp) -> None:
        start = _KERNELS.get(op.key)
        if start is None or len(op.outs) != 1 or not op.inputs:
            return
        base, result = op.inputs[0], op.outs[0]
        target = result.owner
        if not isinstance(target, AllocOp) or not isinstance(base.owner, RegisterOp):
            return
        whole, part = cast(Tensor, base.type), target.type
        if whole.element_type != part.element_type:
            return
        if not self._sound(op, base, target):
            return
        source = root_of(base).owner
        assert isinstance(source, RegisterOp)
        if not target.is_static or "dynamism" in source.properties:
            self._view_at_run_time(op, base, target)
            return
        first = start(op.arguments, whole, part)
        if first is None or first % ALIGNMENT:
            return
        if isinstance(source, ConstantOp):
            if first or nbytes(part) != nbytes(source.type):
                return
            replacement: RegisterOp = ConstantOp.create(
                properties=dict(source.properties), result_types=[part]
            )
        elif not self._has_place(source, first, part):
            return
        else:
            replacement = _view(base, first, part)
        self._replace(op, target, replacement)

    def _split(self, op: KernelCallOp) -> None:
        """A split into pieces that lie one behind the other."""
        base = op.inputs[0]
        source = root_of(base).owner
        targets = [out.owner for out in op.outs]
        whole = cast(Tensor, base.type)
        if not isinstance(source, AllocOp | InputOp | StateOp) or "dynamism" in source.properties:
            return
        sizes = [nbytes(cast(Tensor, out.type)) for out in op.outs]
        starts = list(accumulate(sizes, initial=0))
        outer = _split_dimension(op, whole)
        if outer is None or starts[-1] != nbytes(whole) or any(start % ALIGNMENT for start in starts[:-1]):
            return
        pieces: list[AllocOp] = []
        for target, start in zip(targets, starts, strict=False):
            if not isinstance(target, AllocOp) or not target.is_static or not is_contiguous(target.type):
                return
            if not self._sound(op, base, target) or not self._has_place(source, start, target.type):
                return
            pieces.append(target)
        for target, start in zip(pieces, starts, strict=False):
            view = _view(base, start, target.type)
            self._insert(view, op, target)
            target.result.replace_all_uses_with(view.result)
        _erase(op, *pieces)

    def _has_place(self, source: RegisterOp, first: int, part: Tensor) -> bool:
        """Whether a part of a register can be told by the byte it starts at.

        Without planned inputs a view of one becomes a view at run time, which knows neither that nor a dim order.
        """
        if not isinstance(source, InputOp):
            return True
        return (self.inputs and source.aliased is None) or (not first and is_contiguous(part))

    def _view_at_run_time(self, op: KernelCallOp, base: SSAValue, target: AllocOp) -> None:
        """A view in a shape that is known when it is made: memory is shared, and an instruction says the
        shape.
        """
        whole, part = cast(Tensor, base.type), target.type
        bounded = (
            target.dynamism != TensorShapeDynamism.DYNAMIC_UNBOUND
            and is_contiguous(whole)
            and is_contiguous(part)
        )
        if op.key not in _RESHAPES or not bounded or nbytes(part) > nbytes(whole):
            return
        view = ViewOp(base, part, dynamism=target.dynamism)
        call = KernelCallOp(ET_VIEW, op.arguments, returns=[view.result])
        call.location = op.location
        self._insert(view, op, target)
        target.result.replace_all_uses_with(view.result)
        block = op.parent_block()
        assert block is not None
        block.insert_op_before(call, op)
        _erase(op, target)

    def _replace(self, op: KernelCallOp, target: AllocOp, replacement: RegisterOp) -> None:
        self._insert(replacement, op, target)
        target.result.replace_all_uses_with(replacement.result)
        _erase(op, target)

    def _insert(self, register: RegisterOp, op: KernelCallOp, target: AllocOp) -> None:
        """Declare a register in place of another, behind what it views."""
        register.location = target.location
        register.result.name_hint = target.result.name_hint
        # Where the other is declared, what is viewed may not be; at the call it is.
        anchor: Operation = op
        if len(self.plan.blocks) > 1:
            owner = op.inputs[0].owner
            assert isinstance(owner, Operation)
            assert owner.next_op is not None
            anchor = owner.next_op
        block = anchor.parent_block()
        assert block is not None
        block.insert_op_before(register, anchor)

    def _sound(self, op: KernelCallOp, base: SSAValue, target: AllocOp) -> bool:
        """Whether base and result may be one memory."""
        root = root_of(base)
        source = root.owner
        result = target.result
        if len(self.writers.get(result, ())) != 1:
            return False
        block = op.parent_block()
        if any(use.operation.parent_block() is not block for use in result.uses):
            return False
        writers = self.writers.get(root, [])
        match source:
            case ConstantOp():
                return result not in self.outputs
            case InputOp():
                return not writers and result not in self.outputs
            case StateOp():
                return result not in self.outputs and not self._written_meanwhile(op, result, writers)
            case AllocOp():
                if source.dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND or len(writers) != 1:
                    return False
                writer = writers[0]
                # A move, or a view at run time, makes the register refer to other memory than its own.
                return (
                    isinstance(writer, KernelCallOp | DelegateCallOp)
                    and root in writer.outs
                    and writer.parent_block() is block
                    and self.order[writer] < self.order[op]
                )
            case _:
                return False

    def _written_meanwhile(self, op: KernelCallOp, result: SSAValue, writers: list[Instruction]) -> bool:
        """Whether one of the writers is between a call and the last use of its result, in their block."""
        block, first = op.parent_block(), self.order[op]
        last = max((self.order.get(use.operation, first) for use in result.uses), default=first)
        return any(
            writer.parent_block() is block and first < self.order[writer] <= last for writer in writers
        )


def _view(base: SSAValue, first: int, part: Tensor) -> ViewOp:
    """A view of a part: one of what the base views, which may then be dropped."""
    inner = base.owner
    while isinstance(inner, ViewOp):
        first += inner.first_byte
        inner = inner.base.owner
    return ViewOp(root_of(base), part, start=first)


def _erase(*ops: Operation) -> None:
    for op in ops:
        op.detach()
        op.erase()


# -- where the bytes of a kernel's result start in its argument


def _same_bytes(arguments: list[Argument], whole: Tensor, part: Tensor) -> int | None:
    """Another shape over the same elements in the same order."""
    same = is_contiguous(whole) and is_contiguous(part) and nbytes(whole) == nbytes(part)
    return 0 if same else None


def _same_layout(arguments: list[Argument], whole: Tensor, part: Tensor) -> int | None:
    """A copy in the same shape and memory layout."""
    return 0 if whole == part else None


def _permutation(arguments: list[Argument], whole: Tensor, part: Tensor) -> int | None:
    """A permutation that keeps the order in memory of all dimensions but those of size 1."""
    dims = arguments[1] if len(arguments) > 1 else None
    if not isinstance(dims, ListValue):
        return None
    order = [item for item in dims.items if isinstance(item, int)]
    rank = whole.get_num_dims()
    if sorted(dim % rank for dim in order) != list(range(rank)):
        return None
    # The argument's dimensions in the order in which the result has them in memory.
    walked = [order[dim] % rank for dim in dim_order(part)]
    shape = whole.get_shape()
    return (
        0 if [d for d in walked if shape[d] != 1] == [d for d in dim_order(whole) if shape[d] != 1] else None
    )


def _transposition(arguments: list[Argument], whole: Tensor, part: Tensor) -> int | None:
    """Two dimensions that change places."""
    rank = whole.get_num_dims()
    first, second = (arguments[1:3] if len(arguments) > 2 else (0, 1)) if rank > 1 else (0, 0)
    if not isinstance(first, int) or not isinstance(second, int):
        return None
    order = list(range(rank))
    if rank:
        order[first % rank], order[second % rank] = order[second % rank], order[first % rank]
    return _permutation([None, _ints(order)], whole, part)


def _ints(items: list[int]) -> ListValue:
    return ListValue(ListKind.INTS, tuple(items))


def _leading(arguments: list[Argument], whole: Tensor, part: Tensor, index: Argument) -> int | None:
    """A part along a dimension that has only dimensions of size 1 before it."""
    dim = arguments[1] if len(arguments) > 1 else None
    shape = whole.get_shape()
    if not isinstance(dim, int) or not isinstance(index, int) or not shape:
        return None
    dim %= len(shape)
    if not (is_contiguous(whole) and is_contiguous(part)) or any(size != 1 for size in shape[:dim]):
        return None
    size = shape[dim]
    index = max(index + size, 0) if index < 0 else min(index, size)
    return index * (nbytes(whole) // size) if size else 0


def _selection(arguments: list[Argument], whole: Tensor, part: Tensor) -> int | None:
    """One index of a dimension."""
    return _leading(arguments, whole, part, arguments[2] if len(arguments) > 2 else None)


def _slice(arguments: list[Argument], whole: Tensor, part: Tensor) -> int | None:
    """A range of a dimension, without gaps."""
    if whole == part:
        return 0
    if len(arguments) < 5 or arguments[4] != 1:
        return None
    return _leading(arguments, whole, part, 0 if arguments[2] is None else arguments[2])


def _split_dimension(op: KernelCallOp, whole: Tensor) -> int | None:
    """The dimension that a split is along if only dimensions of size 1 stand before it, `None` otherwise."""
    at = _SPLITS[op.key]
    dim = op.arguments[at] if at < len(op.arguments) else None
    shape = whole.get_shape()
    if not isinstance(dim, int) or not shape or not is_contiguous(whole):
        return None
    dim %= len(shape)
    return dim if all(size == 1 for size in shape[:dim]) else None


def _expansion(arguments: list[Argument], whole: Tensor, part: Tensor) -> int | None:
    """An expansion to as many elements as there are."""
    return _same_bytes(arguments, whole, part)


_KERNELS: Final[dict[str, Start]] = {
    "aten::alias_copy.out": _same_layout,
    "aten::clone.out": _same_layout,
    "aten::detach_copy.out": _same_layout,
    "aten::expand_copy.out": _expansion,
    "aten::lift_fresh_copy.out": _same_layout,
    "aten::permute_copy.out": _permutation,
    "aten::select_copy.int_out": _selection,
    "aten::slice_copy.Tensor_out": _slice,
    "aten::squeeze_copy.dim_out": _same_bytes,
    "aten::squeeze_copy.dims_out": _same_bytes,
    "aten::squeeze_copy.out": _same_bytes,
    "aten::t_copy.out": _transposition,
    "aten::transpose_copy.int_out": _transposition,
    "aten::unsqueeze_copy.out": _same_bytes,
    "aten::view_copy.out": _same_bytes,
    "dim_order_ops::_clone_dim_order.out": _same_layout,
    "dim_order_ops::_to_dim_order_copy.out": _same_layout,
}
"""Kernels whose result may be their first argument's memory."""

_SPLITS: Final[dict[str, int]] = {
    "aten::split_copy.Tensor_out": 2,
    "aten::split_with_sizes_copy.out": 2,
    "aten::unbind_copy.int_out": 1,
}
"""Kernels whose results are the pieces of their first argument in order, and which argument is the dimension."""

_RESHAPES: Final = frozenset({"aten::view_copy.out"})
"""Those of them that take the result's sizes, as a view at run time does."""
