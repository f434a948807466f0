"""Random graphs for the backends that evaluate nodes one after another: TOSA and Core ML.

Shapes are of any size up to a bound: the operators have small constants and inputs, and grow them.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from random import Random
from typing import Any, Final

import numpy as np

from et_schema.tosa import serialize_tosa
from et_schema.tosa_graph import (
    AvgPool2dAttribute,
    ClampAttribute,
    ConcatAttribute,
    Conv2dAttribute,
    DepthwiseConv2dAttribute,
    DType,
    MaxPool2dAttribute,
    NanPropagationMode,
    Op,
    RescaleAttribute,
    ResizeAttribute,
    ResizeMode,
    RoundingMode,
    TosaBasicBlock,
    TosaGraph,
    TosaOperator,
    TosaRegion,
    TosaShape,
    TosaTensor,
    TransposeAttribute,
    TransposeConv2dAttribute,
    Version,
)
from et_schema.tosa_ops import ATTRIBUTES, OPERANDS, POINTWISE, TosaType, numpy_name, result_of

__all__ = ["TosaBuild", "random_tosa"]

_VERSION: Final = Version(1, 0, 0, False)


class TosaBuild:
    """A file under construction, whose operators are checked by the rules of the format."""

    def __init__(self) -> None:
        self.types: dict[str, TosaType] = {}
        self.block = TosaBasicBlock("main", [], [], [], [])

    def input(self, dtype: DType, *shape: int) -> str:
        """A tensor that the caller gives."""
        name = self._named(TosaType(shape, dtype))
        self.block.tensors.append(TosaTensor(name, list(shape), dtype))
        self.block.inputs.append(name)
        return name

    def constant(self, dtype: DType, array: Any) -> str:
        """A tensor in the file."""
        elements = np.asarray(array, numpy_name(dtype))
        name = self._named(TosaType(elements.shape, dtype))
        raw = elements.tobytes()
        if dtype is DType.INT48:
            raw = elements.reshape(-1, 1).view(np.uint8)[:, :6].tobytes()
        tensor = TosaTensor(name, list(elements.shape), dtype, raw + bytes(-len(raw) % 8))
        self.block.tensors.append(tensor)
        self.block.operators.append(TosaOperator(Op.CONST, ATTRIBUTES[Op.CONST](), [], [name]))
        return name

    def sizes(self, *numbers: int) -> str:
        """A constant shape."""
        name = self._named(TosaType((len(numbers),), DType.SHAPE, numbers))
        data = np.array(numbers, np.int64).tobytes()
        self.block.shapes.append(TosaShape(name, len(numbers), data))
        self.block.operators.append(TosaOperator(Op.CONST_SHAPE, ATTRIBUTES[Op.CONST_SHAPE](), [], [name]))
        return name

    def add(self, op: Op, *operands: str, attribute: Any = None, declared: DType = DType.FP32) -> str:
        """The result of an operator. Raises ValueError for operands that it does not take."""
        attribute = ATTRIBUTES[op]() if attribute is None else attribute
        made = result_of(op, attribute, [self.types[name] for name in operands], declared)
        name = self._named(made)
        self.block.tensors.append(TosaTensor(name, list(made.shape), made.dtype))
        self.block.operators.append(TosaOperator(op, attribute, list(operands), [name]))
        return name

    def blob(self, *outputs: str) -> bytes:
        """The bytes of the file."""
        self.block.outputs = list(outputs)
        return serialize_tosa(TosaGraph(_VERSION, [TosaRegion("main", [self.block])]))

    def _named(self, type: TosaType) -> str:
        name = f"v{len(self.types)}"
        self.types[name] = type
        return name


def random_tosa(random: Random, *, operators: int, elements: int) -> bytes:
    """A file of so many operators, whose results have up to so many elements."""
    build = TosaBuild()
    made = [build.input(random.choice(_DTYPES), *_shape(random, 64))]
    for _ in range(operators):
        for _ in range(100):
            before = len(build.block.operators)
            try:
                name = _random_operator(build, random, made, elements)
                if prod(build.types[name].shape) <= elements:
                    made.append(name)
                    break
            except ValueError:
                pass
            del build.block.operators[before:]
    return build.blob(*random.sample(made[1:] or made, 1))


_DTYPES: Final = (
    DType.BOOL, DType.INT8, DType.INT16, DType.INT32, DType.INT48, DType.FP16, DType.FP32,
)  # fmt: skip


def _shape(random: Random, elements: int, rank: int | None = None) -> list[int]:
    rank = random.randint(1, 4) if rank is None else rank
    shape = [1] * rank
    for _ in range(rank):
        dim = random.randrange(rank)
        shape[dim] *= random.randint(1, max(1, min(64, elements // prod(shape))))
    return shape


def _operand(
    build: TosaBuild, random: Random, made: list[str], fits: Callable[[TosaType], bool], new: TosaType
) -> str:
    """A value that fits, or a new one of the type `new`: small as a constant, or repeated."""
    found = [name for name in made if fits(build.types[name])]
    if found and random.random() < 0.7:
        return random.choice(found)
    small = [random.choice((1, size)) if prod(new.shape) > 512 else size for size in new.shape]
    while prod(small) > 512:
        small[small.index(max(small))] = 1
    name = build.constant(new.dtype, np.ones(small))
    if small != list(new.shape):
        times = build.sizes(*(size // one for size, one in zip(new.shape, small, strict=True)))
        name = build.add(Op.TILE, name, times)
    return name


def _zero(build: TosaBuild, dtype: DType, random: Random) -> str:
    number = random.choice((0, 1)) if dtype is DType.INT8 else 0
    return build.constant(dtype, [number])


def _random_operator(build: TosaBuild, random: Random, made: list[str], elements: int) -> str:
    op = random.choice([op for op in OPERANDS if op not in (Op.CONST, Op.CONST_SHAPE)])
    size = random.randint(1, elements)

    def new(rank: int | None = None, dtype: DType | None = None) -> str:
        kind = dtype or random.choice(_DTYPES)

        def fits(type: TosaType) -> bool:
            return (
                (rank is None or len(type.shape) == rank)
                and (dtype is None or type.dtype is dtype)
                and type.dtype is not DType.SHAPE
            )

        return _operand(build, random, made, fits, TosaType(tuple(_shape(random, size, rank)), kind))

    types = build.types
    declared = random.choice(_DTYPES)
    if op in (Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.TRANSPOSE_CONV2D):
        return _convolution(build, random, op, new(4), made, elements)
    if op in (Op.AVG_POOL2D, Op.MAX_POOL2D):
        return _pool(build, random, op, new(4, random.choice(_DTYPES[1:])))
    x = new({Op.MATMUL: 3, Op.GATHER: 3, Op.SCATTER: 3, Op.RESIZE: 4}.get(op))
    type = types[x]
    rank = len(type.shape)
    axis = random.randrange(max(rank, 1))
    match op:
        case Op.MUL:
            return build.add(op, x, _like(build, random, made, type), build.constant(DType.INT8, [0]))
        case Op.NEGATE:
            return build.add(op, x, *(_zero(build, type.dtype, random) for _ in range(2)))
        case Op.SELECT:
            condition = _like(build, random, made, TosaType(type.shape, DType.BOOL))
            return build.add(op, condition, x, _like(build, random, made, type))
        case Op.CLAMP:
            ends = np.array([0, 1], numpy_name(type.dtype))
            mode = random.choice(list(NanPropagationMode)[1:])
            return build.add(op, x, attribute=ClampAttribute(ends[:1].tobytes(), ends[1:].tobytes(), mode))
        case _ if op in POINTWISE:
            others = [_like(build, random, made, type) for _ in OPERANDS[op][1:]]
            return build.add(op, x, *others, attribute=_with_mode(op, random), declared=declared)
        case Op.TABLE:
            kind = type.dtype if type.dtype in (DType.INT8, DType.INT16) else DType.INT8
            x = new(None, kind)
            table = build.constant(kind, np.ones(256 if kind is DType.INT8 else 513))
            return build.add(op, x, table)
        case Op.RESCALE:
            channels = random.random() < 0.5 and rank > 0
            width = type.shape[-1] if channels else 1
            attribute = RescaleAttribute(
                True,
                random.choice((RoundingMode.SINGLE_ROUND, RoundingMode.DOUBLE_ROUND)),
                channels,
                False,
                False,
            )
            multiplier = _operand(build, random, [], lambda _: False, TosaType((width,), DType.INT32))
            shift = (
                build.add(
                    Op.TILE, build.constant(DType.INT8, [random.choice((31, 33, 50))]), build.sizes(width)
                )
                if random.random() < 0.5 and width > 1
                else build.constant(DType.INT8, np.full(width, 33))
            )
            zeros = build.constant(type.dtype, [0]), build.constant(declared, [0])
            return build.add(op, x, multiplier, shift, *zeros, attribute=attribute, declared=declared)
        case Op.CONCAT:
            fits = [n for n in made if types[n].dtype is type.dtype and len(types[n].shape) == rank]
            return build.add(op, x, *random.choices([x, *fits], k=2), attribute=ConcatAttribute(axis))
        case Op.PAD:
            amounts = [random.choice((0, 1, random.randint(0, 50))) for _ in range(2 * rank)]
            return build.add(op, x, build.sizes(*amounts), build.constant(type.dtype, [1]))
        case Op.RESHAPE:
            total = prod(type.shape)
            first = random.choice([one for one in range(1, min(total, 64) + 1) if total % one == 0])
            return build.add(op, x, build.sizes(first, total // first))
        case Op.SLICE:
            start = [random.randrange(one) for one in type.shape]
            counts = [random.randint(1, one - at) for at, one in zip(start, type.shape, strict=True)]
            return build.add(op, x, build.sizes(*start), build.sizes(*counts))
        case Op.TILE:
            times = [random.choice((1, 2, random.randint(1, 50))) for _ in range(rank)]
            return build.add(op, x, build.sizes(*times))
        case Op.TRANSPOSE:
            return build.add(op, x, attribute=TransposeAttribute(random.sample(range(rank), rank)))
        case Op.MATMUL:
            batch, _, depth = type.shape
            if random.random() < 0.5:
                x = new(3, type.dtype)
                batch, _, depth = types[x].shape
            b = _like(
                build, random, [], TosaType((batch, depth, random.randint(1, 64)), type.dtype), grows=True
            )
            return build.add(op, x, b, *(_zero(build, type.dtype, random) for _ in range(2)))
        case Op.GATHER | Op.SCATTER:
            batch, _, width = type.shape
            count = random.randint(1, 64)
            indices = _like(build, random, [], TosaType((batch, count), DType.INT32), grows=True, number=0)
            if op is Op.GATHER:
                return build.add(op, x, indices)
            source = _like(build, random, [], TosaType((batch, count, width), type.dtype), grows=True)
            return build.add(op, x, indices, source)
        case Op.RESIZE:
            up = random.choice((1, 2, 4, 16))
            scale, border = (up, 1, up, 1), (up - 1, up - 1)
            mode = random.choice((ResizeMode.NEAREST, ResizeMode.BILINEAR))
            sizes = (build.sizes(*numbers) for numbers in (scale, (0, 0), border))
            return build.add(op, x, *sizes, attribute=ResizeAttribute(mode))
        case _:
            return build.add(op, x, attribute=_with_mode(op, random, axis))


def _with_mode(op: Op, random: Random, axis: int = 0) -> Any:
    kind = ATTRIBUTES[op]
    given: dict[str, Any] = {"axis": axis} if "axis" in kind.__dataclass_fields__ else {}
    if "nan_mode" in kind.__dataclass_fields__:
        given["nan_mode"] = random.choice(list(NanPropagationMode)[1:])
    return kind(**given)


def _like(
    build: TosaBuild, random: Random, made: list[str], type: TosaType, *, grows: bool = False, number: int = 1
) -> str:
    """An operand that can be broadcast with one of a type; of exactly the type if it `grows`."""

    def fits(other: TosaType) -> bool:
        pairs = zip(other.shape, type.shape, strict=False)
        return (
            other.dtype is type.dtype
            and len(other.shape) == len(type.shape)
            and all(1 in pair or pair[0] == pair[1] for pair in pairs)
        )

    found = [name for name in made if fits(build.types[name])]
    if found and random.random() < 0.7:
        return random.choice(found)
    name = build.constant(type.dtype, np.full([1] * len(type.shape), number))
    if grows or random.random() < 0.5:
        name = build.add(Op.TILE, name, build.sizes(*type.shape))
    return name


def _stride_and_pad(
    random: Random, size: int, span: int, most: int, padding: int
) -> tuple[int, tuple[int, int]]:
    """A stride of at most `most`, and padding with which windows end with an image."""
    stride = random.randint(1, most)
    before, after = random.randint(0, padding), random.randint(0, padding)
    rest = size + before + after - span
    if rest < 0:
        raise ValueError("the window is larger than the image")
    return (stride if rest % stride == 0 else 1), (before, after)


def _convolution(build: TosaBuild, random: Random, op: Op, x: str, made: list[str], elements: int) -> str:
    type = build.types[x]
    _, height, width, channels = type.shape
    rows, columns = (random.choice((1, 3, random.randint(1, 20))) for _ in range(2))
    outputs = random.choice((1, 2, random.randint(1, 32)))
    weight_type = DType.INT8 if type.dtype is DType.INT16 else type.dtype
    bias_type = {DType.INT8: DType.INT32, DType.INT16: DType.INT48}.get(type.dtype, type.dtype)
    shape = (
        (rows, columns, channels, outputs)
        if op is Op.DEPTHWISE_CONV2D
        else (outputs, rows, columns, channels)
    )
    if random.random() < 0.5 and prod(shape) <= 4096:
        weight = build.constant(weight_type, np.full(shape, random.choice((1, 100))))
    else:
        weight = _like(build, random, [], TosaType(shape, weight_type), grows=True)
    common = [weight, build.constant(bias_type, [0]), _zero(build, type.dtype, random)]
    common.append(_zero(build, weight_type, random))
    if op is Op.TRANSPOSE_CONV2D:
        pad = [random.randint(1 - size, 20) for size in (rows, rows, columns, columns)]
        stride = [random.randint(1, 9) for _ in range(2)]
        attribute: Any = TransposeConv2dAttribute(pad, stride, acc_type=DType.INT32)
        return build.add(op, x, *common, attribute=attribute)
    dilation = [random.choice((1, 2, random.randint(1, 20))) for _ in range(2)]
    spans = [(size - 1) * apart + 1 for size, apart in zip((rows, columns), dilation, strict=True)]
    strides, pads = zip(
        *(
            _stride_and_pad(random, size, span, 9, random.choice((0, 1, 40)))
            for size, span in zip((height, width), spans, strict=True)
        ),
        strict=True,
    )
    pad = [*pads[0], *pads[1]]
    kind = Conv2dAttribute if op is Op.CONV2D else DepthwiseConv2dAttribute
    return build.add(op, x, *common, attribute=kind(pad, list(strides), dilation, acc_type=DType.INT32))


def _pool(build: TosaBuild, random: Random, op: Op, x: str) -> str:
    type = build.types[x]
    kernel = [random.choice((2, random.randint(1, 60))) for _ in range(2)]
    strides, pads = zip(
        *(
            _stride_and_pad(random, size, span, 9, random.choice((0, span - 1)))
            for size, span in zip(type.shape[1:3], kernel, strict=True)
        ),
        strict=True,
    )
    pad = [*pads[0], *pads[1]]
    if op is Op.MAX_POOL2D:
        return build.add(
            op, x, attribute=MaxPool2dAttribute(kernel, list(strides), pad, NanPropagationMode.PROPAGATE)
        )
    zeros = (build.constant(type.dtype, [0]) for _ in range(2))
    return build.add(op, x, *zeros, attribute=AvgPool2dAttribute(kernel, list(strides), pad, DType.INT32))
