"""Delta debugging of a program: a smaller one for which a condition still holds.

Each step edits a copy of the program, removes what nothing needs any more, verifies it, and asks the condition. Steps
are tried in a fixed order, large ones first, until none succeeds, so the result is the same each time. As A. Zeller and
R. Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002; ops in place of characters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp, SymbolRefAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from et_ir.data import Blob
from et_ir.dialects.backend import LoweredOp, PartitionOp
from et_ir.dialects.control import CondOp
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.executorch import PlanOp
from et_ir.dialects.executorch.registers import RegisterOp
from et_ir.dialects.program import DataAttr, GlobalOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import attribute_of, literal_of
from et_ir.dialects.schema.tensors import is_tensor
from et_ir.evaluation.arrays import array_of, bytes_of, has_numpy_dtype
from et_ir.passes.common.dce import erase_dead_ops
from et_ir.text import module_text
from et_ir.verification import verify_module
from et_schema.diagnostics import Report

__all__ = ["Reducer", "count_ops"]

Edit: TypeAlias = Callable[[ModuleOp], bool]
"""Changes a module in place; False where there is nothing to change."""

_OF_SIGNATURE = ("program.in_spec", "program.out_spec", "program.guards")


def count_ops(module: ModuleOp) -> int:
    """The ops of all methods, but for terminators and symbols."""
    return len(_ops(module))


def _methods(module: ModuleOp) -> list[FuncOp | PlanOp]:
    return [op for op in module.body.block.ops if isinstance(op, FuncOp | PlanOp)]


def _ops(module: ModuleOp) -> list[Operation]:
    """The ops of all methods in program order; of register programs, the instructions."""
    return [
        op
        for method in _methods(module)
        for op in method.walk()
        if op is not method and not op.has_trait(IsTerminator) and not isinstance(op, RegisterOp)
    ]


class Reducer:
    """A reduction of `module`, for which `keep` must hold: it is asked with programs that verify. `report` is told of
    every smaller program that is found.
    """

    def __init__(
        self,
        module: ModuleOp,
        keep: Callable[[ModuleOp], bool],
        report: Callable[[ModuleOp, int], None] = lambda *_: None,
    ):
        self.module = module
        self.tests = 0
        """How often `keep` was asked."""
        self._keep = keep
        self._report = report
        self._seen: set[str] = set()

    def run(self) -> ModuleOp:
        """The smallest program that is found. Raises `ValueError` if the condition does not hold for the first."""
        self.tests += 1
        if not self._keep(self.module):
            raise ValueError(
                "the condition does not hold for the program as it is: the command must exit with 0"
            )
        smaller = True
        while smaller:
            smaller = False
            for step in self._steps():
                smaller = step() or smaller
        return self.module

    def _steps(self) -> Sequence[Callable[[], bool]]:
        return (
            self._drop_methods,
            self._return_less,
            self._remove_ops,
            self._bypass_ops,
            self._inline_regions,
            self._shrink_sizes,
            self._flatten_constants,
        )

    def _try(self, edit: Edit) -> bool:
        """Take an edit if what it makes is a valid program, a new one, and keeps the condition."""
        module = self.module.clone()
        try:
            if not edit(module):
                return False
            _clean(module)
            verify_module(module)
            text = module_text(module)
        except (Report, VerifyException, ValueError, TypeError, KeyError):
            return False
        if text in self._seen:
            return False
        self._seen.add(text)
        self.tests += 1
        if not self._keep(module):
            return False
        self.module = module
        self._report(module, self.tests)
        return True

    def _each(self, count: Callable[[], int], edit: Callable[[int], Edit]) -> bool:
        """Try an edit for each number below a count, from the last, which may become less."""
        changed = False
        number = count()
        while number > 0:
            number = min(number, count()) - 1
            changed = (number >= 0 and self._try(edit(number))) or changed
        return changed

    # -- steps

    def _drop_methods(self) -> bool:
        def drop(number: int) -> Edit:
            def edit(module: ModuleOp) -> bool:
                methods = _methods(module)
                if len(methods) < 2:
                    return False
                methods[number].detach()
                methods[number].erase(safe_erase=False)
                return True

            return edit

        return self._each(lambda: len(_methods(self.module)), drop)

    def _return_less(self) -> bool:
        """Return one value that is computed early, or leave an output out."""

        def at(number: int) -> Edit:
            def edit(module: ModuleOp) -> bool:
                op = _ops(module)[number]
                method = op.parent_op()
                if not isinstance(method, FuncOp) or not any(is_tensor(r.type) for r in op.results):
                    return False
                ends = method.body.block.last_op
                assert ends is not None
                tensors = [result for result in op.results if is_tensor(result.type)]
                if list(ends.operands) == tensors:
                    return False
                _return(method, tensors)
                return True

            return edit

        def without(number: int) -> Edit:
            def edit(module: ModuleOp) -> bool:
                for method in _methods(module):
                    last = method.body.blocks[-1].last_op
                    if isinstance(method, FuncOp) and last is not None and number < len(last.operands) > 1:
                        _return(method, [v for i, v in enumerate(last.operands) if i != number])
                        return True
                return False

            return edit

        total = count_ops(self.module)
        # From the first: what follows goes at once.
        found = any(self._try(at(number)) for number in range(total))
        return (
            self._each(lambda: max((len(_outputs(m)) for m in _methods(self.module)), default=0), without)
            or found
        )

    def _remove_ops(self) -> bool:
        """Remove groups of ops, halves first: what they compute becomes inputs."""
        changed = False
        size = max(1, count_ops(self.module) // 2)
        while size:
            start = count_ops(self.module)
            while start > 0:
                start = min(start, count_ops(self.module))
                group = range(max(0, start - size), start)
                changed = self._try(_removal(group)) or changed
                start = group.start
            size //= 2
        return changed

    def _bypass_ops(self) -> bool:
        """Replace the result of an op by an operand of its type."""

        def bypass(number: int) -> Edit:
            def edit(module: ModuleOp) -> bool:
                op = _ops(module)[number]
                if len(op.results) != 1:
                    return False
                same = next((value for value in op.operands if value.type == op.results[0].type), None)
                if same is None:
                    return False
                op.results[0].replace_all_uses_with(same)
                op.detach()
                op.erase()
                return True

            return edit

        return self._each(lambda: count_ops(self.module), bypass)

    def _inline_regions(self) -> bool:
        changed = False
        for which in (0, 1):

            def inline(number: int, which: int = which) -> Edit:
                def edit(module: ModuleOp) -> bool:
                    op = _ops(module)[number]
                    if isinstance(op, CondOp):
                        block, arguments = op.regions[which].block, []
                    elif isinstance(op, PartitionOp) and which == 0:
                        block, arguments = op.body.block, list(op.operands)
                    else:
                        return False
                    _inline(op, block, arguments)
                    return True

                return edit

            changed = self._each(lambda: count_ops(self.module), inline) or changed
        return changed

    def _shrink_sizes(self) -> bool:
        """Replace a size wherever it stands, in types, lists of integers and constants, by a smaller one."""
        changed = False
        for size in sorted(_sizes(self.module), reverse=True):
            for smaller in dict.fromkeys((1, 2, 3, 4, size // 2)):
                if 0 < smaller < size and self._try(
                    lambda module, old=size, new=smaller: _resize(module, old, new)
                ):
                    changed = True
                    break
        return changed

    def _flatten_constants(self) -> bool:
        """Replace the elements of a constant by ones."""

        def flatten(number: int) -> Edit:
            def edit(module: ModuleOp) -> bool:
                op = _constants(module)[number]
                array = array_of(op.type, cast("DataAttr", op.value).blob)
                ones = np.ones_like(array)
                if np.array_equal(array, ones):
                    return False
                _set_data(op, op.type, ones)
                return True

            return edit

        return self._each(lambda: len(_constants(self.module)), flatten)


def _removal(group: range) -> Edit:
    def edit(module: ModuleOp) -> bool:
        ops = [op for number, op in enumerate(_ops(module)) if number in group]
        for op in reversed(ops):
            if op.parent is None:
                continue  # with the region that it was in
            for result in op.results:
                if result.first_use is not None:
                    result.replace_all_uses_with(_new_input(op, result))
            op.detach()
            op.erase(safe_erase=False)
        return bool(ops)

    return edit


def _new_input(op: Operation, result: SSAValue) -> SSAValue:
    """An input of the method in the place of a result. Raises `ValueError` where there can be none."""
    method = op.parent_op()
    while method is not None and not isinstance(method, FuncOp):
        if isinstance(method, PartitionOp):
            raise ValueError("a partition sees no inputs of its method")
        method = method.parent_op()
    if method is None:
        raise ValueError("the inputs of a register program are registers")
    block = method.body.block
    made = block.insert_arg(result.type, len(block.args))
    made.name_hint = result.name_hint
    return made


def _outputs(method: Operation) -> Sequence[SSAValue]:
    last = method.regions[0].blocks[-1].last_op
    return () if last is None or not isinstance(method, FuncOp) else last.operands


def _return(method: FuncOp, values: Sequence[SSAValue]) -> None:
    last = method.body.block.last_op
    assert last is not None
    Rewriter.replace_op(last, ReturnOp(*values))


def _inline(op: Operation, block: Block, arguments: Sequence[SSAValue]) -> None:
    for argument, value in zip(block.args, arguments, strict=True):
        argument.replace_all_uses_with(value)
    last = block.last_op
    assert last is not None
    yielded = list(last.operands)
    for inner in list(block.ops):
        if inner is not last:
            inner.detach()
            assert op.parent is not None
            op.parent.insert_op_before(inner, op)
    for result, value in zip(op.results, yielded, strict=True):
        result.replace_all_uses_with(value)
    op.detach()
    op.erase(safe_erase=False)


def _clean(module: ModuleOp) -> None:
    """Remove dead ops, unused inputs and symbols, and what described the signature that was."""
    erase_dead_ops(module)
    for method in _methods(module):
        if isinstance(method, PlanOp):
            _drop_registers(method)
            continue
        block = method.body.block
        kept = [argument for argument in block.args if argument.first_use is not None]
        for argument in reversed(block.args):
            if argument.first_use is None and len(block.args) > 1:
                block.erase_arg(argument)
        last = block.last_op
        assert last is not None
        results = [value.type for value in last.operands]
        given = [argument.type for argument in block.args]
        if FunctionType.from_lists(given, results) != method.function_type or len(kept) != len(block.args):
            for name in _OF_SIGNATURE:
                method.attributes.pop(name, None)
            method.properties.pop("arg_attrs", None)
            method.properties.pop("res_attrs", None)
            method.properties["function_type"] = FunctionType.from_lists(given, results)
    used = {
        attr.string_value()
        for op in module.walk()
        for attr in op.properties.values()
        if isinstance(attr, SymbolRefAttr)
    }
    for op in list(module.body.block.ops):
        if isinstance(op, GlobalOp | LoweredOp) and op.key not in used:
            op.detach()
            op.erase()


def _drop_registers(plan: PlanOp) -> None:
    from et_ir.dialects.executorch import InputOp

    for op in reversed(list(plan.walk())):
        unused = isinstance(op, RegisterOp) and not isinstance(op, InputOp)
        if unused and all(result.first_use is None for result in op.results):
            op.detach()
            op.erase()


def _tensor_types(module: ModuleOp) -> Iterator[TensorType[Attribute]]:
    for op in module.walk():
        for value in (
            *op.results,
            *(arg for region in op.regions for block in region.blocks for arg in block.args),
        ):
            if is_tensor(value.type):
                yield value.type


def _sizes(module: ModuleOp) -> set[int]:
    """The static sizes above 1 of the values of methods."""
    return {size for type in _tensor_types(module) for size in type.get_shape() if size > 1}


def _resize(module: ModuleOp, old: int, new: int) -> bool:
    def resized(type: Attribute) -> Attribute:
        if not is_tensor(type) or old not in type.get_shape():
            return type
        return TensorType(
            type.element_type, [new if s == old else s for s in type.get_shape()], type.encoding
        )

    for op in module.walk():
        if isinstance(op, GlobalOp):
            _shrink_constant(op, resized(op.type))
            continue
        if isinstance(op, SchemaOp):
            for arg in op.info().literals:
                attr = op.properties.get(arg.name)
                value: Any = None if attr is None else literal_of(attr)
                if isinstance(value, tuple) and any(type(item) is int and item == old for item in value):
                    op.properties[arg.name] = attribute_of(
                        tuple(new if type(item) is int and item == old else item for item in value), arg.type
                    )
        for value in (
            *op.results,
            *(arg for region in op.regions for block in region.blocks for arg in block.args),
        ):
            changed = resized(value.type)
            if changed != value.type:
                Rewriter.replace_value_with_new_type(value, changed)
    return True


def _shrink_constant(op: GlobalOp, type: Attribute) -> None:
    """Keep the first elements of a constant in each dimension."""
    if type == op.type or not is_tensor(type):
        return
    if op.value is not None:
        array = array_of(op.type, op.value.blob)
        _set_data(op, type, np.ascontiguousarray(array[tuple(slice(0, size) for size in type.get_shape())]))
    op.properties["type"] = type


def _set_data(op: GlobalOp, type: TensorType[Attribute], array: Any) -> None:
    assert prod(array.shape) == array.size
    assert len(dim_order_of(type)) == array.ndim
    op.properties["value"] = DataAttr.of(type.element_type, Blob.of(op.key, bytes(bytes_of(array, type))))


def _constants(module: ModuleOp) -> list[GlobalOp]:
    """The constants with bytes."""
    return [
        op
        for op in module.body.block.ops
        if isinstance(op, GlobalOp) and op.value is not None and has_numpy_dtype(op.type.element_type)
    ]
