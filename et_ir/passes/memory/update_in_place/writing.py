"""Updates written in place.

A part that lies in one piece is a view that is copied to, any other is written by `aten::index_put_`. That of some
runtimes (`Target.general_index_put`) takes one index of one dimension and values of the whole shape, adds nothing up
and does not count from the end. For it, indices and values are brought into that form by operations on what is small.
Where a runtime has `llama::update_cache`, that writes neighbors of the second of four dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Final, cast

import numpy as np
from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.ir import Block, SSAValue

from et_ir.analysis.aliasing import extent_of, has_exact_size, root_of
from et_ir.data import Blob
from et_ir.dialects.executorch import (
    AllocOp,
    ConstantOp,
    InputOp,
    KernelCallOp,
    ListKind,
    ListValue,
    RegisterOp,
    StateOp,
    TensorRegisterOp,
    ValueOp,
    ViewOp,
)
from et_ir.dialects.executorch.arguments import Argument
from et_ir.dialects.executorch.layout import Tensor
from et_ir.dialects.program import Globals
from et_ir.passes.memory.coalescing import Coalescing
from et_ir.passes.memory.update_in_place.updates import (
    Index,
    IndexRange,
    Put,
    Update,
    UpdatedBytes,
    numel,
    type_of,
)
from et_ops.conventions import COPY, UPDATE_CACHE

__all__ = ["Emitter"]


KNOWN: Final = 64
"""Elements of constants that are looked at."""


class Emitter:
    """Writes updates of one plan in place; what several of them share is computed once in a block."""

    def __init__(
        self, memory: Coalescing, symbols: Globals, general_index_put: bool, update_cache: bool = False
    ):
        self._memory = memory
        self._plan = memory.plan
        self._symbols = symbols
        self._general = general_index_put
        self._has_update_cache = update_cache
        self._constants: dict[tuple[int, int, int], SSAValue] = {}
        self._known: dict[tuple[Block, SSAValue, object], SSAValue] = {}
        self._counted_from_front: set[SSAValue] = set()

    def can(self, update: Update, target: SSAValue) -> bool:
        """Whether there is a kernel for an update, or operations that lead to one."""
        if isinstance(update, UpdatedBytes) or self._general:
            return True
        indices = [index for index in update.indices if index is not None]
        if any(isinstance(index, IndexRange) for index in indices):
            return True
        given = cast("list[SSAValue]", indices)
        if not given or not has_exact_size(target):
            return False
        if not has_exact_size(update.values, *given):
            # Without sizes to go by, values are taken as they are or not at all.
            dim, shape = update.indices.index(given[0]), type_of(target).get_shape()
            whole = (*shape[:dim], numel(given[0]), *shape[dim + 1 :])
            fits = len(type_of(given[0]).get_shape()) == 1 and type_of(update.values).get_shape() == whole
            bounded = not has_exact_size(update.values) and not has_exact_size(given[0])
            return len(given) == 1 and not update.accumulate and fits and bounded
        if len(given) > 1 and (
            update.indices[0] is None
            or None in update.indices[: len(given)]
            or any(len(t.get_shape()) != 1 or t.element_type != i64 for t in map(type_of, given))
            or isinstance(root_of(target).owner, InputOp)
        ):
            return False
        return not update.accumulate or all(numel(index) == 1 for index in given)

    def emit(self, update: Update, target: SSAValue, before: KernelCallOp) -> KernelCallOp:
        """Insert the instructions that make an update of a register, in front of a call. Returns the last."""
        self._before = before
        block = before.parent_block()
        assert block is not None
        self._block = block
        if isinstance(update, UpdatedBytes):
            place = extent_of(target)
            part = self._declare(ViewOp(place.root, update.source.type, start=place.first + update.first))
            return self._add(KernelCallOp(COPY, [part, update.source, False], returns=[part]))
        if self._has_update_cache and _is_cache_update(update, target):
            return self._update_cache(update, target)
        indices = [None if index is None else self._index(index) for index in update.indices]
        values, accumulate = update.values, update.accumulate
        if update.sizes is not None:
            values = self._view(values, update.sizes)
        if not self._general:
            given = [index for index in indices if index is not None]
            if len(given) > 1:
                shape = type_of(target).get_shape()
                indices = [self._merged(given, shape)]
                target = self._view(target, (prod(shape[: len(given)]), *shape[len(given) :]))
            dim = next(dim for dim, index in enumerate(indices) if index is not None)
            index = indices[dim]
            assert index is not None
            indices[dim], values = self._fit(target, dim, index, values)
            if accumulate:
                values = self._sum(target, dim, indices[dim], values)
                accumulate = False
        given = ListValue(ListKind.OPTIONAL_TENSORS, tuple(indices))
        return self._add(
            KernelCallOp("aten::index_put_", [target, given, values, accumulate], returns=[target])
        )

    def _update_cache(self, update: Put, target: SSAValue) -> KernelCallOp:
        written = cast(IndexRange, update.indices[1])
        unused = self._declare(AllocOp(TensorType(type_of(target).element_type, [1])))
        return self._add(KernelCallOp(UPDATE_CACHE, [update.values, target, written.start], outs=[unused]))

    # -- indices

    def _index(self, index: Index) -> SSAValue:
        if not isinstance(index, IndexRange):
            return index
        size = 1 if index.dim is None else type_of(index.source).get_shape()[index.dim]
        static = index.dim is None or has_exact_size(index.source)
        if static and isinstance(index.start, int):
            return self._constant(index.start, size, index.step)
        if not static:
            return self._range(index, size)
        assert isinstance(index.start, SSAValue)
        return self._once(index.start, (size, index.step), lambda: self._range(index, size))

    def _constant(self, start: int, count: int, step: int) -> SSAValue:
        key = (start, count, step)
        found = self._constants.get(key)
        if found is None:
            data = (start + step * np.arange(count, dtype=np.int64)).tobytes()
            symbol = self._symbols.add_constant("places", TensorType(i64, [count]), Blob.of("places", data))
            op = ConstantOp(symbol.key, symbol.type)
            op.location = self._before.location
            first = self._plan.blocks[0].first_op
            assert first is not None
            self._plan.blocks[0].insert_op_before(op, first)
            found = self._constants[key] = op.result
            self._counted_from_front.add(found)
        return found

    def _range(self, index: IndexRange, size: int) -> SSAValue:
        if index.dim is not None and not has_exact_size(index.source):
            count = self._number("aten::sym_size.int", index.source, index.dim)
            if index.step != 1:
                count = self._number("executorch_prim::mul.Scalar", count, index.step)
            end = (
                count if index.start == 0 else self._number("executorch_prim::add.Scalar", count, index.start)
            )
            # As many as the source has rows, which may be known at run time only.
            dynamism = cast(TensorRegisterOp, index.source.owner).dynamism
        else:
            end = self._number("executorch_prim::add.Scalar", index.start, size * index.step)
            dynamism = None
        alloc = AllocOp(TensorType(i64, [size]), dynamism=dynamism)
        found = self._declare(alloc)
        self._add(KernelCallOp("aten::arange.start_out", [index.start, end, index.step], outs=[found]))
        if isinstance(index.start, int):
            self._counted_from_front.add(found)
        return found

    def _number(self, operator: str, *arguments: Argument) -> SSAValue:
        value = self._declare(ValueOp(0))
        self._add(KernelCallOp(operator, arguments, returns=[value]))
        return value

    # -- what a kernel of one index takes

    def _fit(
        self, target: SSAValue, dim: int, index: SSAValue, values: SSAValue
    ) -> tuple[SSAValue, SSAValue]:
        """An index of one dimension that counts from the front, and values of the shape of what is written."""
        shape = type_of(target).get_shape()
        count = numel(index)
        index = self._fit_index(index, shape[dim])
        whole = (*shape[:dim], count, *shape[dim + 1 :])
        if has_exact_size(values) and type_of(values).get_shape() != whole:
            values = (
                self._view(values, whole) if numel(values) == prod(whole) else self._expand(values, whole)
            )
        return index, values

    def _merged(self, indices: Sequence[SSAValue], shape: Sequence[int]) -> SSAValue:
        """One index into the first dimensions as one, for an index into each.

        What an index amounts to is looked up, so that one that is out of range is still found to be.
        """
        count = max(numel(index) for index in indices)
        merged: SSAValue | None = None
        for dim, index in enumerate(indices):
            table = self._constant(0, shape[dim], prod(shape[dim + 1 : len(indices)]))
            found = self._declare(AllocOp(index.type if merged is None else TensorType(i64, [count])))
            looked_up = found if merged is None else self._declare(AllocOp(index.type))
            places = ListValue(ListKind.OPTIONAL_TENSORS, (index,))
            self._add(KernelCallOp("aten::index.Tensor_out", [table, places], outs=[looked_up]))
            if merged is not None:
                self._add(KernelCallOp("aten::add.out", [merged, looked_up, 1], outs=[found]))
            merged = found
        assert merged is not None
        self._counted_from_front.add(merged)
        return merged

    def _fit_index(self, index: SSAValue, size: int) -> SSAValue:
        """An index of one dimension that counts from the front."""
        if len(type_of(index).get_shape()) != 1:
            several = index
            index = self._once(several, "flat", lambda: self._view(several, (numel(several),)))
        if index in self._counted_from_front or self._is_known_from_front(index) or not size:
            return index
        return self._once(index, size, lambda: self._wrap(index, size))

    def _is_known_from_front(self, index: SSAValue) -> bool:
        """Whether an index is a small constant without negative numbers."""
        op = index.owner
        symbol = self._symbols.by_name.get(op.key) if isinstance(op, ConstantOp) else None
        if (
            symbol is None
            or symbol.value is None
            or numel(index) > KNOWN
            or type_of(index).element_type != i64
        ):
            return False
        return bool((np.frombuffer(symbol.value.blob.view(), np.int64) >= 0).all())

    def _wrap(self, index: SSAValue, size: int) -> SSAValue:
        """Indices that count from the end as ones that count from the front."""
        type = type_of(index)
        bound = cast(TensorRegisterOp, index.owner).dynamism if not has_exact_size(index) else None
        negative = self._declare(AllocOp(TensorType(i1, type.get_shape()), dynamism=bound))
        wrapped = self._declare(AllocOp(type, dynamism=bound))
        self._add(KernelCallOp("aten::lt.Scalar_out", [index, 0], outs=[negative]))
        self._add(KernelCallOp("aten::add.Scalar_out", [index, size, 1], outs=[wrapped]))
        self._add(KernelCallOp("aten::where.self_out", [negative, wrapped, index], outs=[wrapped]))
        return wrapped

    def _expand(self, values: SSAValue, sizes: Sequence[int]) -> SSAValue:
        expanded = self._declare(AllocOp(TensorType(type_of(values).element_type, sizes)))
        self._add(KernelCallOp("aten::expand_copy.out", [values, _ints(sizes), False], outs=[expanded]))
        return expanded

    def _sum(self, target: SSAValue, dim: int, index: SSAValue | None, values: SSAValue) -> SSAValue:
        """The slice at one index, and the values."""
        assert index is not None
        there = self._declare(AllocOp(values.type))
        self._add(KernelCallOp("aten::index_select.out", [target, dim, index], outs=[there]))
        self._add(KernelCallOp("aten::add.out", [there, values, 1], outs=[there]))
        return there

    # -- registers and instructions

    def _view(self, value: SSAValue, sizes: Sequence[int]) -> SSAValue:
        type: Tensor = TensorType(type_of(value).element_type, sizes)
        place = extent_of(value)
        root, first = place.root, place.first
        if isinstance(root.owner, AllocOp | StateOp) or (isinstance(root.owner, InputOp) and not first):
            return self._declare(ViewOp(root, type, start=first))
        copied = self._declare(AllocOp(type))
        self._add(KernelCallOp("aten::view_copy.out", [root, _ints(sizes)], outs=[copied]))
        return copied

    def _once(self, value: SSAValue, what: object, make: Callable[[], SSAValue]) -> SSAValue:
        """The cached conversion of a number or an index in this block, valid while it has not changed."""
        place = (self._block, value, what)
        found = self._known.get(place)
        if found is None:
            found = make()
            now = self._memory.times[self._before]
            writes = self._memory.writes(root_of(value))
            if all(write.op.parent_block() is not self._block or write.time < now for write in writes):
                self._known[place] = found
        return found

    def _declare(self, register: RegisterOp) -> SSAValue:
        return self._plan.declare(register, self._before)

    def _add(self, op: KernelCallOp) -> KernelCallOp:
        op.location = self._before.location
        self._block.insert_op_before(op, self._before)
        return op


def _is_cache_update(update: Put, target: SSAValue) -> bool:
    """Whether an update writes neighbors of the second of four dimensions, and all that there is at each."""
    written = update.indices[1] if len(update.indices) == 2 else None
    if not isinstance(written, IndexRange) or update.indices[0] is not None or written.step != 1:
        return False
    whole, part = type_of(target), type_of(update.values)
    sizes, others = whole.get_shape(), part.get_shape()
    return (
        whole.element_type == part.element_type
        and len(sizes) == len(others) == 4
        and (sizes[0], *sizes[2:]) == (others[0], *others[2:])
        and has_exact_size(target)
        and not update.accumulate
        and update.sizes is None
    )


def _ints(items: Sequence[int]) -> ListValue:
    return ListValue(ListKind.INTS, tuple(items))
