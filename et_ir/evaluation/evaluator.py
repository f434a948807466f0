"""Reference evaluation of programs at the levels aten, core-aten, edge and backend.

    evaluator = Evaluator(module)
    y, = evaluator.run([x])                       # the method "forward"
    evaluator.run([x], "step")                    # mutable buffers keep their values between runs

Each operator is computed by torch's of the same name, if torch is asked to (`et_ops.torch_operators`), on operands that
its shape rule takes. Tensors have no strides in the IR, so every value is contiguous. Partitions are evaluated by
their own ops. What only a runtime can compute, a delegate that is compiled or an operator that torch does not compute,
is left to `fallback`.
"""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from et_ir.data import Blob
from et_ir.diagnostics import diagnose
from et_ir.dialects.backend import PartitionOp
from et_ir.dialects.control import CondOp, MapOp, ScanOp, WhileOp
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.edge.promotion import operand_type
from et_ir.dialects.program import (
    BufferOp,
    ComputeOp,
    GetOp,
    GlobalOp,
    LiteralOp,
    LoadOp,
    OverwriteOp,
    RangeOp,
    StoreOp,
)
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import element_type_name, literal_of
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ir.evaluation.dim_order_operators import DIM_ORDER_OPERATORS
from et_ir.evaluation.torch_kernels import constant_of, operator_of, torch_dtypes
from et_ir.passes.verify.program_rules import ProgramRules
from et_ops.torch_operators import check_operands
from et_schema.diagnostics import Report
from et_schema.wording import in_words, worded

__all__ = ["MAX_OPS", "EvaluationFailed", "Evaluator", "Fallback", "Watch", "constant_tensor"]

Watch: TypeAlias = Callable[[Operation, Sequence[Any]], None]
"""Told of the results of each op that ran: torch tensors, which must not be changed, and Python numbers."""

Fallback: TypeAlias = Callable[[Operation, Sequence[Any]], Sequence[Any]]
"""Computes the results of an op from its operands, torch tensors and Python numbers."""

MAX_OPS: Final = 10_000_000
"""The most ops that one execution evaluates, as many as instructions on et-vm."""


class EvaluationFailed(Report):
    """An op cannot be evaluated on these inputs."""

    exit_code = 5  # of a program that fails at run time


class Evaluator:
    """The methods of a module on values, and the state that they keep.

    `state` holds the mutable buffers by name, and `overwritten` the inputs that the last run wrote to, by index, both
    as torch tensors.
    """

    def __init__(
        self,
        module: ModuleOp,
        *,
        watch: Watch | None = None,
        fallback: Fallback | None = None,
        limit: int = MAX_OPS,
    ):
        """`watch` is told of every op's results. Constants are read when they are needed; without bytes, that raises
        `MissingData`. An execution fails after `limit` ops, those in loops counted each time. Raises `EvaluationFailed`
        for accesses of symbols that the module does not have, or not as they are accessed.
        """
        wrong = ProgramRules(module, "").accesses()
        if wrong:
            raise EvaluationFailed("the program cannot be evaluated", wrong)
        self.methods = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
        self.state: dict[str, Any] = {}
        self.overwritten: dict[int, Any] = {}
        self._globals = {op.key: op for op in module.body.block.ops if isinstance(op, GlobalOp)}
        self._constants: dict[str, Any] = {}
        self._watch = watch
        self._fallback = fallback
        self._limit = limit
        self._evaluated = 0
        self.reset()

    def reset(self) -> None:
        """Give mutable buffers their initial values."""
        self.state = {
            name: constant_tensor(op)
            for name, op in self._globals.items()
            if isinstance(op, BufferOp) and op.mutable is not None
        }

    def run(self, inputs: Sequence[Any], method: str = "forward") -> list[Any]:
        """The outputs of a method, flat, for its inputs, flat: torch tensors, numbers, strings and None.

        Random operators draw from a generator with a fixed seed. Raises `EvaluationFailed` for an op that cannot be
        evaluated, or whose result is not of its type, and for more ops than the limit; `KeyError` for an unknown
        method, and `ValueError` for inputs of another number.
        """
        import torch

        block = self.methods[method].body.block
        if len(inputs) != len(block.args):
            raise ValueError(f"{method} takes {in_words(len(block.args), 'input')}, got {len(inputs)}")
        self.overwritten = {}
        self._evaluated = 0
        values: dict[SSAValue, Any] = dict(zip(block.args, map(_plain, inputs), strict=True))
        random: Any = torch.random
        with torch.no_grad(), random.fork_rng(devices=[]):
            random.manual_seed(0)
            return self._block(block, values)

    def _block(self, block: Block, values: dict[SSAValue, Any]) -> list[Any]:
        """The operands of a block's terminator, with those of its ops added to `values`."""
        for op in block.ops:
            self._evaluated += 1
            if self._evaluated > self._limit:
                limit = worded(python="limit=N", command="et-vm run has --instruction-limit")
                fix = f"if it is no endless loop, raise the limit: {limit}"
                raise _failed(op, f"more than {self._limit:,} ops in one execution", fix)
            operands = [values[operand] for operand in op.operands]
            if (
                op.next_op is None
                and not op.results
                and (isinstance(op, ReturnOp) or op.name.endswith(".yield"))
            ):
                return operands
            found = self._op(op, operands, values)
            if len(found) != len(op.results):
                raise _failed(op, f"gives {len(found)} results, not {len(op.results)}")
            for result, value in zip(op.results, found, strict=True):
                values[result] = _checked(op, result.type, _plain(value))
            if self._watch is not None and op.results:
                self._watch(op, [values[result] for result in op.results])
        return []

    def _op(self, op: Operation, operands: list[Any], values: dict[SSAValue, Any]) -> Sequence[Any]:
        match op:
            case SchemaOp():
                return self._call(op, operands)
            case GetOp():
                return [self._constant(op.symbol.string_value())]
            case LoadOp():
                return [self.state[op.symbol.string_value()]]
            case StoreOp():
                self.state[op.symbol.string_value()] = operands[0].clone()
                return []
            case OverwriteOp():
                if isinstance(op.target, BlockArgument):
                    self.overwritten[op.target.index] = operands[1].clone()
                return []
            case LiteralOp():
                return [literal_of(op.value)]
            case ComputeOp():
                try:
                    return [op.evaluate(operands)]
                except (ArithmeticError, ValueError) as error:
                    raise _failed(op, str(error)) from error
            case RangeOp():
                self._check_range(op, operands[0])
                return []
            case CondOp():
                chosen = op.then_region if bool(operands[0]) else op.else_region
                return self._block(chosen.block, values)
            case WhileOp():
                carried = operands
                while bool(self._apply(op.condition.block, carried, values)[0]):
                    carried = self._apply(op.body.block, carried, values)
                return carried
            case MapOp():
                return self._sliced(op, 0, operands, values)
            case ScanOp():
                return self._sliced(op, len(op.inits), operands, values)
            case PartitionOp():
                return self._apply(op.body.block, operands, values)
            case _ if len(op.regions) == 1 and len(op.regions[0].blocks) == 1:
                # Of backends' own ops: a region that takes the operands.
                block = op.regions[0].block
                if len(block.args) == len(operands):
                    return self._apply(block, operands, values)
            case _:
                pass
        return self._by_fallback(op, operands)

    def _by_fallback(self, op: Operation, operands: Sequence[Any]) -> Sequence[Any]:
        if self._fallback is None:
            raise _failed(op, "has no reference implementation")
        return self._fallback(op, operands)

    def _apply(self, block: Block, arguments: Sequence[Any], values: dict[SSAValue, Any]) -> list[Any]:
        return self._block(block, {**values, **dict(zip(block.args, arguments, strict=True))})

    def _sliced(
        self, op: MapOp | ScanOp, count: int, operands: list[Any], values: dict[SSAValue, Any]
    ) -> list[Any]:
        """A loop over slices whose first `count` operands are its state."""
        import torch

        carried, sequences = operands[:count], operands[count:]
        if len({one.shape[0] for one in sequences}) > 1:
            shown = ", ".join(str(list(one.shape)) for one in sequences)
            raise _failed(op, f"loops over tensors of different lengths: {shown}")
        rows: list[list[Any]] = []
        for slices in zip(*sequences, strict=True):
            yielded = self._apply(op.body.block, [*carried, *slices], values)
            carried = yielded[:count]
            rows.append(yielded[count:])
        if not rows:
            types = [tensor_type(result) for result in op.results[count:]]
            empty = [
                torch.zeros([0, *map(abs, t.get_shape()[1:])], dtype=_dtype(t.element_type)) for t in types
            ]
            return [*carried, *empty]
        try:
            return [*carried, *(torch.stack(list(items)) for items in zip(*rows, strict=True))]
        except RuntimeError as error:
            raise _failed(op, str(error).splitlines()[0]) from error

    def _check_range(self, op: RangeOp, number: Any) -> None:
        if (op.least is not None and number < op.least) or (op.most is not None and number > op.most):
            raise _failed(op, f"{number} is not in the range stated")

    def _constant(self, name: str) -> Any:
        known = self._constants.get(name)
        if known is None:
            known = self._constants[name] = constant_tensor(self._globals[name])
        return known

    def _call(self, op: SchemaOp, operands: list[Any]) -> Sequence[Any]:
        import torch

        name = op.name.partition(".")[2]
        function = DIM_ORDER_OPERATORS.get(name) or operator_of(type(op))
        if function is None:
            return self._by_fallback(op, operands)
        try:
            positional, named = _arguments(op, dict(zip(op.operands, operands, strict=True)))
            given = iter(positional)
            arguments = [named.get(arg.name) if arg.kwarg_only else next(given) for arg in op.schema().args]
            check_operands(torch, op.operator, arguments)
            found = function(*positional, **named)
        except (
            RuntimeError,
            TypeError,
            ValueError,
            IndexError,
            NotImplementedError,
            AssertionError,
        ) as error:
            text = str(error).strip().splitlines()
            raise _failed(op, text[0] if text else type(error).__name__) from error
        if found is None:
            return []
        results = list(cast("Sequence[Any]", found)) if isinstance(found, list | tuple) else [found]
        if op.operator.facts.unspecified:
            return [torch.zeros_like(one) for one in results]
        return results


def _arguments(op: SchemaOp, by_value: Mapping[SSAValue, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of torch's operator: positional, and by keyword."""
    import torch

    schema = op.schema()
    takes_numbers: bool = torch._C._should_allow_numbers_as_tensors(schema.name)  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]

    def evaluated(value: Any, base: str) -> Any:
        if isinstance(value, SSAValue):
            value = by_value[cast("SSAValue[Attribute]", value)]
            if base == "Tensor" and isinstance(value, int | float) and not takes_numbers:
                computed = operand_type(op)
                exact = torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
                return exact if computed is None else exact.to(_dtype(computed))
            return value
        if isinstance(value, tuple):
            return [evaluated(item, base) for item in cast("Sequence[Any]", value)]
        if base == "ScalarType" and isinstance(value, Attribute):
            return _dtype(value)
        if base in ("MemoryFormat", "Layout") and isinstance(value, str):
            return constant_of(value)
        if base == "Device" and value is not None:
            return "cpu"  # values have no devices
        return value

    positional: list[Any] = []
    named: dict[str, Any] = {}
    for arg in schema.args:
        value = evaluated(op.arg(arg.name), arg.type.base)
        if not arg.kwarg_only:
            positional.append(value)
        elif value is not None:
            named[arg.name] = value
    return positional, named


def _dtype(element_type: Attribute) -> Any:
    import torch

    name = element_type_name(element_type)
    return torch.complex32 if name == "complex<f16>" else torch_dtypes()[name]


def _plain(value: Any) -> Any:
    """A value as the evaluator holds it: a contiguous tensor on memory of its own, or a Python value."""
    import torch

    if isinstance(value, torch.Tensor):
        return value.contiguous()
    if isinstance(value, np.ndarray | np.generic):
        array = np.ascontiguousarray(cast("np.ndarray[Any, Any]", value))
        if array.dtype.isbuiltin == 2:  # of ml_dtypes
            carrier = np.int16 if array.dtype.itemsize == 2 else np.int8
            bits = array.view(carrier).reshape(cast("Any", value).shape)
            return _shared(bits.copy()).view(getattr(torch, array.dtype.name))
        return _shared(array.reshape(cast("Any", value).shape).copy())
    return value


def _shared(array: np.ndarray[Any, Any]) -> Any:
    """A tensor on the memory of an array."""
    import torch

    return torch.from_numpy(array)  # pyright: ignore[reportUnknownMemberType]


def _checked(op: Operation, type: Attribute, value: Any) -> Any:
    """A result, if it is of the type that the module says."""
    import torch

    if not is_tensor(type):
        if isinstance(value, torch.Tensor):
            raise _failed(op, f"gives a tensor, which is not of its type {type}")
        return value
    if not isinstance(value, torch.Tensor):
        raise _failed(op, f"gives {builtins.type(value).__name__}, which is not of its type {type}")
    shape = type.get_shape()
    fits = (
        len(shape) == value.dim()
        and value.dtype == _dtype(type.element_type)
        and all(said in (size, DYNAMIC_INDEX) for said, size in zip(shape, value.shape, strict=True))
    )
    if not fits:
        dtype = str(value.dtype).removeprefix("torch.")
        raise _failed(op, f"gives {dtype} {list(value.shape)}, which is not of its type {type}")
    return value


def constant_tensor(op: GlobalOp) -> Any:
    """The tensor of a symbol, without a copy where its layout allows it; zeros without data."""
    import torch

    type = op.type
    shape, dtype = type.get_shape(), _dtype(type.element_type)
    if op.value is None or op.value.blob.nbytes == 0:
        return torch.zeros(shape, dtype=dtype)
    order = dim_order_of(type)
    stored = _bytes(op.value.blob).view(dtype).reshape([shape[dim] for dim in order])
    return stored.permute([order.index(dim) for dim in range(len(order))]).contiguous()


def _bytes(blob: Blob) -> Any:
    import torch

    with warnings.catch_warnings():
        # Weights are read-only memory of files. No operator of a functional graph writes to its operands.
        warnings.simplefilter("ignore")
        view = blob.view()
        if np.frombuffer(view, np.uint8).ctypes.data % 16:
            return _shared(np.frombuffer(view, np.uint8).copy())
        return torch.frombuffer(view, dtype=torch.uint8)


def _failed(op: Operation, message: str, fix: str = "") -> EvaluationFailed:
    return EvaluationFailed("the program cannot be evaluated", [diagnose(op, message, fix)])
