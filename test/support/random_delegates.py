"""Random graphs for the backends that evaluate nodes one after another: TOSA and Core ML.

Shapes are of any size up to a bound: the operators have small constants and inputs, and grow them.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from random import Random
from typing import Any, Final

import numpy as np

from et_backends.coreml.compiler.serialization import serialize_coreml
from et_backends.coreml.format.mil import MilOperation, MilProgram, MilType, MilTypeName, MilValue
from et_backends.coreml.runtime.program import MAKERS
from et_backends.coreml.runtime.sites import DTYPES, Site
from et_backends.tosa.format.blob import serialize_tosa
from et_backends.tosa.format.graph import (
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
from et_backends.tosa.format.operators import ATTRIBUTES, OPERANDS, POINTWISE, TosaType, numpy_name, result_of

__all__ = ["CoremlBuild", "TosaBuild", "random_coreml", "random_tosa"]

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
    made = [build.input(random.choice(_ARGUMENTS), *_shape(random, 64))]
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
    return build.blob(random.choice([name for name in made if build.types[name].dtype in _ARGUMENTS]))


_DTYPES: Final = (
    DType.BOOL, DType.INT8, DType.INT16, DType.INT32, DType.INT48, DType.FP16, DType.FP32,
)  # fmt: skip
_ARGUMENTS: Final = tuple(dtype for dtype in _DTYPES if dtype is not DType.INT48)
"""Element types of programs' tensors."""


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


class _Sizes(Exception):
    """The sizes of an operation's results."""

    def __init__(self, shapes: tuple[tuple[int, ...], ...]) -> None:
        self.shapes = shapes


class _Asking(Site):
    """The place of an operation whose results have no sizes yet."""

    def expect(self, *shapes: tuple[int, ...]) -> None:
        raise _Sizes(shapes)


class CoremlBuild:
    """A program under construction, whose operations get the sizes that their operands give."""

    def __init__(self) -> None:
        self.types: dict[str, MilType] = {}
        self.constants: dict[str, MilValue] = {}
        self.inputs: list[tuple[str, MilType]] = []
        self.operations: list[MilOperation] = []

    def input(self, type: MilType) -> str:
        """A tensor that the caller gives."""
        name = self._named(type)
        self.inputs.append((name, type))
        return name

    def constant(self, value: object, name: MilTypeName = MilTypeName.FLOAT32) -> str:
        """A constant of a type; text is of its own."""
        if isinstance(value, str):
            made = MilValue(MilType(MilTypeName.STRING), strings=(value,))
        else:
            array = np.asarray(value, DTYPES[name])
            made = MilValue(MilType(name, array.shape), array.tobytes())
        text = self._named(made.type)
        self.constants[text] = made
        self.operations.append(MilOperation("const", {}, ((text, made.type),), made))
        return text

    def integers(self, *numbers: int) -> str:
        """A constant vector."""
        return self.constant(list(numbers), MilTypeName.INT32)

    def add(
        self,
        type: str,
        made: MilTypeName,
        /,
        *sizes: tuple[int, ...],
        **operands: str | tuple[str, ...],
    ) -> list[str]:
        """The results of an operation, of sizes that follow from its operands unless they are given.

        Raises ValueError for operands that it does not take.
        """
        inputs = {key: (one,) if isinstance(one, str) else one for key, one in operands.items()}
        shapes = sizes or self._sizes(type, made, inputs)
        outputs = tuple((self._named(MilType(made, one)), MilType(made, one)) for one in shapes)
        self.operations.append(MilOperation(type, inputs, outputs))
        return [name for name, _ in outputs]

    def blob(self, *outputs: str) -> bytes:
        """The bytes of the blob."""
        return serialize_coreml(MilProgram(tuple(self.inputs), outputs, tuple(self.operations)))

    def _sizes(
        self, type: str, made: MilTypeName, inputs: dict[str, tuple[str, ...]]
    ) -> tuple[tuple[int, ...], ...]:
        # Some operations look at the rank.
        like = next((self.types[name].shape for names in inputs.values() for name in names), ())
        operation = MilOperation(type, inputs, (("", MilType(made, like)),))
        try:
            MAKERS[type](_Asking(operation, self.types, self.constants))
        except _Sizes as found:
            return found.shapes
        raise ValueError("an operation that does not say its sizes")

    def _named(self, type: MilType) -> str:
        name = f"v{len(self.types)}"
        self.types[name] = type
        return name


def random_coreml(random: Random, *, operators: int, elements: int) -> bytes:
    """A blob of so many operations, whose results have up to so many elements."""
    build = CoremlBuild()
    kind = random.choice((MilTypeName.FLOAT32, MilTypeName.FLOAT16))
    made = [build.input(MilType(kind, tuple(_shape(random, 64))))]
    for _ in range(operators):
        for _ in range(100):
            before = len(build.operations)
            try:
                names = _random_operation(build, random, made, elements)
                if 1 <= sum(prod(build.types[name].shape) for name in names) <= elements and all(
                    len(build.types[name].shape) <= 5 for name in names
                ):
                    made += names
                    break
            except (ValueError, LookupError):
                pass
            del build.operations[before:]
    of_kinds = [name for name in made if build.types[name].name in _RETURNED and build.types[name].shape]
    return build.blob(random.choice(of_kinds))


_RETURNED: Final = (MilTypeName.FLOAT32, MilTypeName.FLOAT16, MilTypeName.INT32)
_BOOLEAN: Final = frozenset(
    {"equal", "greater", "greater_equal", "less", "less_equal", "logical_not", "not_equal"}
    | {"logical_and", "logical_or", "logical_xor"}
)
_TWO: Final = frozenset(
    {"add", "floor_div", "maximum", "minimum", "mul", "pow", "real_div", "sub"} | _BOOLEAN - {"logical_not"}
)


_OF_INTEGERS: Final = frozenset(
    {"cast", "identity", "select", "reduce_argmax", "reduce_max", "reduce_min", "reduce_prod", "reduce_sum"}
    | (_TWO - {"real_div", "sub", "floor_div", "pow"})
    | {
        "concat",
        "stack",
        "split",
        "tile",
        "pad",
        "transpose",
        "reshape",
        "slice_by_index",
        "gather",
        "reverse",
    }
    | {"gather_along_axis", "fill", "shape", "logical_not", "squeeze", "expand_dims", "pixel_shuffle"}
)


def _filled(
    build: CoremlBuild, random: Random, name: MilTypeName, shape: tuple[int, ...], value: int = 1
) -> str:
    """A constant, or a large one that is repeated."""
    if prod(shape) <= 512:
        return build.constant(np.full(shape, value), name)
    small = build.constant(np.full([1] * len(shape), value), name)
    return build.add("tile", name, x=small, reps=build.integers(*shape))[0]


def _random_operation(build: CoremlBuild, random: Random, made: list[str], elements: int) -> list[str]:
    type = random.choice(list(MAKERS))
    size = random.randint(1, elements)
    rank = {"pixel_shuffle": 4, "conv": 4, "conv_transpose": 4, "avg_pool": 4, "max_pool": 4}.get(type)
    found = [name for name in made if rank is None or len(build.types[name].shape) == rank]
    if found and random.random() < 0.6:
        x = random.choice(found)
    else:
        kind = random.choice(list(DTYPES))
        x = _filled(build, random, kind, tuple(_shape(random, size, rank)))
    name, sizes = build.types[x].name, build.types[x].shape
    if type not in _OF_INTEGERS and name not in (MilTypeName.FLOAT16, MilTypeName.FLOAT32):
        raise ValueError("floats are required")
    dims = len(sizes)
    axis = random.randrange(max(dims, 1))

    def like() -> str:
        shape = tuple(random.choice((one, 1)) for one in sizes)
        return _filled(build, random, name, random.choice((sizes, shape)))

    def number(value: float, kind: MilTypeName = MilTypeName.FLOAT32) -> str:
        return build.constant(value, kind)

    def flag(value: object) -> str:
        return build.constant(value, MilTypeName.BOOL)

    match type:
        case _ if type in _TWO:
            kind = MilTypeName.BOOL if type in _BOOLEAN else name
            return build.add(type, kind, x=x, y=like())
        case "logical_not":
            return build.add(type, MilTypeName.BOOL, x=x)
        case "select":
            return build.add(type, name, cond=_filled(build, random, MilTypeName.BOOL, sizes), a=x, b=like())
        case "cast":
            kind = random.choice(("bool", "fp16", "fp32", "int32"))
            kinds = {"bool": MilTypeName.BOOL, "fp16": MilTypeName.FLOAT16, "fp32": MilTypeName.FLOAT32}
            return build.add(type, kinds.get(kind, MilTypeName.INT32), x=x, dtype=build.constant(kind))
        case "gelu":
            mode = random.choice(("EXACT", "TANH_APPROXIMATION"))
            return build.add(type, name, x=x, mode=build.constant(mode))
        case "softmax" | "cumsum":
            return build.add(type, name, x=x, axis=number(axis, MilTypeName.INT32))
        case "reduce_argmax" | "reduce_argmin":
            given = {"axis": number(axis, MilTypeName.INT32), "keep_dims": flag(random.random() < 0.5)}
            return build.add(type, MilTypeName.INT32, x=x, **given)
        case _ if type.startswith("reduce_"):
            axes = random.sample(range(dims), random.randint(1, dims))
            keeps = flag(random.random() < 0.5)
            return build.add(type, name, x=x, axes=build.integers(*axes), keep_dims=keeps)
        case "layer_norm":
            axes = list(range(axis, dims))
            gamma = _filled(build, random, name, sizes[axis:])
            return build.add(type, name, x=x, axes=build.integers(*axes), gamma=gamma, beta=gamma)
        case "batch_norm":
            given = {one: _filled(build, random, name, sizes[1:2]) for one in ("mean", "variance", "gamma")}
            return build.add(type, name, x=x, **given)
        case "reshape":
            total = prod(sizes)
            first = random.choice([one for one in range(1, min(total, 64) + 1) if total % one == 0])
            shape = first, total // first
            return build.add(type, name, shape, x=x, shape=build.integers(*shape))
        case "squeeze" | "expand_dims":
            shape = tuple(one for one in sizes if one != 1) if type == "squeeze" else (1, *sizes)
            return build.add(type, name, shape, x=x)
        case "transpose":
            return build.add(type, name, x=x, perm=build.integers(*random.sample(range(dims), dims)))
        case "tile":
            times = [random.choice((1, 2, random.randint(1, 50))) for _ in sizes]
            return build.add(type, name, x=x, reps=build.integers(*times))
        case "slice_by_index":
            begin = [random.randrange(one) for one in sizes]
            end = [random.randint(at + 1, one) for at, one in zip(begin, sizes, strict=True)]
            return build.add(type, name, x=x, begin=build.integers(*begin), end=build.integers(*end))
        case "concat" | "stack":
            same = [one for one in made if build.types[one] == build.types[x]]
            return build.add(
                type,
                name,
                values=tuple(random.choices([x, *same], k=2)),
                axis=number(axis, MilTypeName.INT32),
            )
        case "split":
            at = random.randint(1, sizes[axis] - 1)
            parts = [(*sizes[:axis], part, *sizes[axis + 1 :]) for part in (at, sizes[axis] - at)]
            return build.add(type, name, *parts, x=x, axis=number(axis, MilTypeName.INT32))
        case "reverse":
            return build.add(type, name, x=x, axes=build.integers(axis))
        case "pad":
            amounts = [random.choice((0, 1, random.randint(0, 50))) for _ in range(2 * dims)]
            return build.add(type, name, x=x, pad=build.integers(*amounts), constant_val=number(0.0))
        case "gather":
            indices = _filled(
                build, random, MilTypeName.INT32, tuple(_shape(random, 4096, random.randint(1, 2))), 0
            )
            return build.add(type, name, x=x, indices=indices, axis=number(axis, MilTypeName.INT32))
        case "gather_along_axis":
            shape = (*sizes[:axis], random.randint(1, 2 * sizes[axis]), *sizes[axis + 1 :])
            indices = _filled(build, random, MilTypeName.INT32, shape, 0)
            return build.add(type, name, x=x, indices=indices, axis=number(axis, MilTypeName.INT32))
        case "pixel_shuffle":
            return build.add(
                type, name, x=x, upscale_factor=number(random.choice((1, 2, 3)), MilTypeName.INT32)
            )
        case "upsample_nearest_neighbor" | "upsample_bilinear":
            factors = {f"scale_factor_{one}": number(random.choice((1, 2, 9))) for one in ("height", "width")}
            given = {"align_corners": flag(random.random() < 0.5)} if type == "upsample_bilinear" else {}
            return build.add(type, name, x=x, **factors, **given)
        case "resize_bilinear":
            given = {
                f"target_size_{one}": number(random.randint(1, 300), MilTypeName.INT32)
                for one in ("height", "width")
            }
            mode = random.choice(("UNALIGN_CORNERS", "STRICT_ALIGN_CORNERS"))
            return build.add(type, name, x=x, sampling_mode=build.constant(mode), **given)
        case "fill":
            shape = _shape(random, size)
            return build.add(type, MilTypeName.FLOAT32, shape=build.integers(*shape), value=number(1.0))
        case "shape":
            return build.add(type, MilTypeName.INT32, x=x)
        case "matmul":
            flips = [random.random() < 0.5 for _ in range(2)]
            depth = sizes[-2 if flips[0] else -1]
            last = (random.randint(1, 64), depth) if flips[1] else (depth, random.randint(1, 64))
            y = _filled(build, random, name, (*sizes[: dims - 2], *last))
            given = {f"transpose_{one}": flag(flip) for one, flip in zip("xy", flips, strict=True)}
            return build.add(type, name, x=x, y=y, **given)
        case "linear":
            rows = random.randint(1, 64)
            weight = _filled(build, random, name, (rows, sizes[-1]))
            return build.add(type, name, x=x, weight=weight, bias=_filled(build, random, name, (rows,)))
        case "conv" | "conv_transpose" | "avg_pool" | "max_pool":
            return _windowed(build, random, type, x)
        case _:
            return build.add(type, name, x=x)


def _windowed(build: CoremlBuild, random: Random, type: str, x: str) -> list[str]:
    name, (_, channels, *_) = build.types[x].name, build.types[x].shape
    kernel = [random.choice((1, 3, random.randint(1, 20))) for _ in range(2)]
    given = {
        "strides": build.integers(*(random.randint(1, 4) for _ in kernel)),
        "pad": build.integers(*(random.choice((0, random.randint(0, 30))) for _ in range(4))),
        "pad_type": build.constant("custom"),
    }
    if type.endswith("pool"):
        if type == "avg_pool":
            given["exclude_padding_from_average"] = build.constant(random.random() < 0.5, MilTypeName.BOOL)
        return build.add(type, name, x=x, kernel_sizes=build.integers(*kernel), **given)
    groups = random.choice((1, channels))
    outputs = groups * random.randint(1, max(1, 16 // groups))
    given["dilations"] = build.integers(*(random.randint(1, 4) for _ in kernel))
    given["groups"] = build.constant(groups, MilTypeName.INT32)
    shape = (outputs, channels // groups, *kernel)
    if type == "conv_transpose":
        shape = (channels, outputs // groups, *kernel)
    weight = _filled(build, random, name, shape)
    return build.add(type, name, x=x, weight=weight, bias=_filled(build, random, name, (outputs,)), **given)
