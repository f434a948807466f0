"""Random programs as modules: mixed element types, rank 0, no elements, and sizes that types do not tell.

A program is correct by construction: an op is kept if its rule takes the arguments, and if it can be evaluated on the
inputs of the program, which are drawn first.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import prod
from typing import Any, Final, cast

import torch
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from et_ir.data.tensors import blob_of_tensor
from et_ir.dialects.aten import OP_BY_NAME
from et_ir.dialects.program import GetOp, Globals, LiteralOp
from et_ir.dialects.schema.literals import ELEMENT_TYPES
from et_ir.dialects.schema.tensors import is_tensor
from et_ir.evaluation.evaluator import EvaluationFailed, Evaluator
from support.aten_interpreter import DTYPES

__all__ = ["RandomText"]

NAMES: Final = {dtype: name for name, dtype in DTYPES.items()}
FLOATS: Final = (torch.float32, torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS: Final = (torch.int64, torch.int32, torch.int8, torch.uint8)
TYPES: Final = (*FLOATS, *FLOATS, *INTEGERS, torch.bool)
LARGEST: Final = 200
"""Elements of a tensor."""

UNARY: Final = (
    "neg",
    "abs",
    "relu",
    "sigmoid",
    "sign",
    "logical_not",
    "bitwise_not",
    "clone",
    "alias",
    "square",
)
BINARY: Final = (
    "add.Tensor", "add.Tensor", "sub.Tensor", "mul.Tensor", "mul.Tensor", "maximum", "minimum", "eq.Tensor",
    "lt.Tensor", "ge.Tensor", "logical_and", "bitwise_and.Tensor", "logical_or", "copy", "div.Tensor",
)  # fmt: skip
SCALARS: Final = ("add", "sub", "mul", "eq", "lt", "ge", "div")
REDUCTIONS: Final = ("sum.dim_IntList", "mean.dim", "amax", "amin", "any.dim", "argmax", "cumsum", "_softmax")


class RandomText:
    """A program of some seed: `module`, and the `inputs` of its method `forward`.

    With `forgets`, types do not tell some sizes of inputs, nor those of what depends on them.
    """

    def __init__(self, seed: int, length: int = 12, *, forgets: bool | None = None):
        self.random = random.Random(seed)
        self.forgets = self.random.random() < 0.5 if forgets is None else forgets
        self.module = ModuleOp([])
        self._block = Block()
        self.inputs: list[torch.Tensor] = []
        self._values: list[SSAValue] = []
        self._tensors: dict[SSAValue, Any] = {}
        for _ in range(self.random.randint(1, 3)):
            self._input(self._tensor())
        for _ in range(self.random.randint(0, 2)):
            self._constant(self._tensor())
        while len(list(self._block.ops)) < length:
            self._step()
        self._finish()

    # -- values

    def _tensor(self) -> torch.Tensor:
        sizes = (0, 1, 1, 2, 3, 4) if self.random.random() < 0.3 else (1, 1, 2, 3, 4)
        shape = [self.random.choice(sizes) for _ in range(self.random.choice((0, 0, 1, 2, 2, 3)))]
        dtype = self.random.choice(TYPES)
        return self._filled(shape, dtype)

    def _filled(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        uniform = self.random.random() < 0.3
        count = prod(shape)
        numbers = [self._number(dtype) for _ in range(count)]
        return torch.tensor(numbers[:1] * count if uniform else numbers).reshape(list(shape)).to(dtype)

    def _number(self, dtype: torch.dtype) -> float:
        if dtype.is_floating_point:
            return self.random.choice((0.0, -0.0, 1.0, 0.5, -2.0, 0.3, self.random.gauss(0, 2)))
        return float(self.random.choice((0, 1, 1, 2, 3, self.random.randint(0, 60))))

    def _type(self, tensor: torch.Tensor) -> TensorType[Attribute]:
        shape = [
            DYNAMIC_INDEX if self.forgets and self.random.random() < 0.6 else size for size in tensor.shape
        ]
        return TensorType(ELEMENT_TYPES[NAMES[tensor.dtype]], shape)

    def _input(self, tensor: torch.Tensor) -> None:
        value = self._block.insert_arg(self._type(tensor), len(self._block.args))
        self.inputs.append(tensor)
        self._note(value, tensor)

    def _constant(self, tensor: torch.Tensor) -> None:
        type = TensorType[Attribute](ELEMENT_TYPES[NAMES[tensor.dtype]], list(tensor.shape))
        name = f"c{len(self._values)}"
        symbol = Globals(self.module).add_constant(name, type, blob_of_tensor(name, tensor))
        self._add(GetOp(symbol.key, type))

    def _note(self, value: SSAValue, result: Any) -> None:
        self._tensors[value] = result
        if isinstance(result, torch.Tensor):
            self._values.append(value)

    def _pick(self) -> SSAValue:
        return self.random.choice(self._values[-5:] if self.random.random() < 0.7 else self._values)

    def _shape(self, value: SSAValue) -> tuple[int, ...]:
        return tuple(self._tensors[value].shape)

    # -- ops

    def _add(self, *ops: Operation) -> bool:
        """Add ops, if they can be evaluated to tensors of moderate size."""
        evaluator = Evaluator(self.module)
        values = dict(self._tensors)
        found: dict[SSAValue, Any] = {}
        for op in ops:
            try:
                results = evaluator._op(op, [values[operand] for operand in op.operands], values)  # pyright: ignore[reportPrivateUsage]
            except EvaluationFailed:
                return False
            found.update(zip(op.results, results, strict=True))
            values.update(found)
        tensors = [one for one in found.values() if isinstance(one, torch.Tensor)]
        if any(one.numel() > LARGEST or one.dim() > 5 for one in tensors):
            return False
        if any(not bool(one.double().abs().nan_to_num(0).le(1e4).all()) for one in tensors):
            return False
        for op in ops:
            self._block.add_op(op)
        for value, result in found.items():
            self._note(value, result)
        return True

    def _call(self, name: str, *args: Any, before: Sequence[Operation] = (), **kwargs: Any) -> bool:
        try:
            op = OP_BY_NAME[name].make(*args, **kwargs)
            if self.forgets and self.random.random() < 0.1:
                types = [self._forgotten(result.type) for result in op.results]
                op = OP_BY_NAME[name].make(*args, **kwargs, result_types=types)
        except (TypeError, ValueError):
            return False
        return self._add(*before, op)

    def _forgotten(self, type: Attribute) -> Attribute:
        """A type that does not tell some of the sizes."""
        if not is_tensor(type):
            return type
        shape = [DYNAMIC_INDEX if self.random.random() < 0.5 else size for size in type.get_shape()]
        return TensorType(type.element_type, shape)

    def _step(self) -> None:
        x = self._pick()
        kinds = (self._pointwise, self._movement, self._reduction, self._product, self._indexing)
        self.random.choices(kinds, (6, 6, 3, 1, 1))[0](x)

    def _product(self, x: SSAValue) -> bool:
        """A product of matrices, or a layer, of any values that have the shapes for it."""
        name = self.random.choice(("mm", "bmm", "addmm", "linear", "linear"))
        others = [v for v in self._values if self._tensors[v].dtype == self._tensors[x].dtype]
        operands = [x, *self.random.choices(others, k=2 if name in ("addmm", "linear") else 1)]
        return self._tensors[x].is_floating_point() and self._call(name, *operands)

    def _indexing(self, x: SSAValue) -> bool:
        rank = len(self._shape(x))
        indices = [v for v in self._values if self._tensors[v].dtype is torch.int64]
        if not indices:
            return False
        index = self.random.choice(indices)
        match self.random.randrange(4):
            case 0:
                return self._call("index_select", x, self._dim(rank), index)
            case 1:
                return self._call("gather", x, self._dim(rank), index)
            case 2:
                return self._call("scatter.src", x, self._dim(rank), index, self._pick())
            case _:
                return self._call("embedding", x, index)

    def _pointwise(self, x: SSAValue) -> bool:
        match self.random.randrange(7):
            case 0:
                return self._call(self.random.choice(UNARY), x)
            case 1 | 2:
                name = self.random.choice(BINARY)
                alpha: dict[str, Any] = (
                    {"alpha": 2}
                    if name in ("add.Tensor", "sub.Tensor") and self.random.random() < 0.2
                    else {}
                )
                return self._call(name, x, self._pick(), **alpha)
            case 3:
                number = LiteralOp(self.random.choice((0, 1, 2, 1.0, -0.0, 0.3, True)))
                name = self.random.choice(SCALARS)
                return self._call(f"{name}.Tensor", x, number.result, before=[number])
            case 4:
                return self._call("_to_copy", x, dtype=ELEMENT_TYPES[NAMES[self.random.choice(TYPES)]])
            case 5:
                conditions = [v for v in self._values if self._tensors[v].dtype is torch.bool]
                other = x if self.random.random() < 0.3 else self._pick()
                return bool(conditions) and self._call("where.self", self.random.choice(conditions), x, other)
            case _:
                if self.random.random() < 0.5:
                    return self._call("pow.Tensor_Scalar", x, self.random.choice((0, 1, 2)))
                return self._call("clamp", x, 0, self.random.choice((None, 2)))

    def _dim(self, rank: int) -> int:
        return self.random.randrange(-max(rank, 1), max(rank, 1))

    def _movement(self, x: SSAValue) -> bool:
        shape = self._shape(x)
        rank = len(shape)
        dim = self._dim(rank)
        order = self.random.sample(range(rank), rank)
        match self.random.randrange(17):
            case 0:
                return self._view(x, shape)
            case 1:
                return self._call("unsqueeze", x, self.random.randint(0, rank))
            case 2:
                return self._call(self.random.choice(("squeeze", "clone")), x)
            case 3:
                return self._call("squeeze.dim", x, dim)
            case 4:
                before, sizes = self._sizes(
                    x, [self.random.choice((1, 2)) if size == 1 else size for size in shape]
                )
                lead = [self.random.choice((1, 2))] if self.random.random() < 0.4 else []
                return self._call("expand", x, [*lead, *sizes], before=before)
            case 5 | 6:
                return self._call("permute", x, order)
            case 7:
                return self._call("transpose.int", x, dim, self._dim(rank))
            case 8:
                return self._call("flip", x, [dim])
            case 9 | 10:
                start, end = sorted(self.random.choice((0, 0, 1, 2, -1)) for _ in range(2))
                last = self.random.choice((2**63 - 1, None, end, 3))
                return self._call("slice.Tensor", x, dim, start, last, self.random.choice((1, 1, 1, 2)))
            case 11:
                return self._call("select.int", x, dim, self.random.choice((0, -1, 1)))
            case 12:
                return self._call("cat", [self._pick() for _ in range(self.random.randint(1, 3))], dim)
            case 13:
                return self._call("split.Tensor", x, self.random.randint(1, 3), dim)
            case 14:
                return self._call("repeat", x, [self.random.choice((1, 1, 2)) for _ in range(rank)])
            case 15:
                pad = [self.random.choice((0, 0, 1, -1)) for _ in range(2 * self.random.randint(0, rank))]
                return self._call("constant_pad_nd", x, pad, self.random.choice((0, 1)))
            case _:
                return self._call("flatten.using_ints", x, 0, -1)

    def _view(self, x: SSAValue, shape: Sequence[int]) -> bool:
        """Another shape of as many elements; where sizes are not told, by sizes that are."""
        if self.random.random() < 0.3:
            return self._call("view", x, [-1])
        order = self.random.sample(range(len(shape)), len(shape))
        before, sizes = self._sizes(x, list(shape))
        sizes = [sizes[dim] for dim in order]
        if self.random.random() < 0.3:
            sizes.insert(self.random.randint(0, len(sizes)), 1)
        return self._call(self.random.choice(("view", "reshape")), x, sizes, before=before)

    def _sizes(self, x: SSAValue, shape: list[int]) -> tuple[list[Operation], list[Any]]:
        """Sizes as numbers, and where the type does not tell them, as values that ops compute."""
        before: list[Operation] = []
        sizes: list[Any] = []
        for dim, (size, told) in enumerate(zip(shape, cast(Any, x.type).get_shape(), strict=True)):
            if told == DYNAMIC_INDEX and size == self._shape(x)[dim]:
                op = OP_BY_NAME["sym_size.int"].make(x, dim)
                before.append(op)
                sizes.append(op.result)
            else:
                sizes.append(size)
        return before, sizes

    def _reduction(self, x: SSAValue) -> bool:
        dim = self._dim(len(self._shape(x)))
        keep = self.random.random() < 0.5
        name = self.random.choice(REDUCTIONS)
        match name:
            case "cumsum":
                return self._call(name, x, dim)
            case "_softmax":
                return self._tensors[x].is_floating_point() and self._call(name, x, dim, False)
            case "any.dim" | "argmax":
                return self._call(name, x, dim, keep)
            case _:
                return self._call(name, x, [dim], keep)

    def _finish(self) -> None:
        made = [value for value in self._values if is_tensor(value.type)]
        outputs = [*self.random.sample(made, min(2, len(made))), *made[-2:]]
        self._block.add_op(ReturnOp(*outputs))
        types = [argument.type for argument in self._block.args], [value.type for value in outputs]
        self.module.body.block.add_op(FuncOp("forward", types, Region(self._block)))
