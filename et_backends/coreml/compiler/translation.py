"""Translation of a partition to an ML program.

Values of the program are outputs of operations, which the rule of each operator creates. A rank-0 tensor becomes a
tensor of one element, as in ExecuTorch's runtime for Core ML.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f32, i1, i32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue

from et_backends.coreml.format.mil import MilOperation, MilProgram, MilType, MilTypeName, MilValue
from et_ir.delegation.dependences import is_copied, is_statement
from et_ir.dialects.program import GetOp, Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.evaluation.arrays import array_of

__all__ = ["CASTS", "Lowering", "Made", "Translation", "shape_of"]


class Made(NamedTuple):
    """A value of an ML program."""

    name: str
    type: MilType

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""
        return self.type.shape


Lowering: TypeAlias = "Callable[[Translation, SchemaOp], Made | Sequence[Made]]"
"""Makes the operations of an op, and returns what its results are: the first of them if others are not used."""

CASTS: Final = {
    MilTypeName.BOOL: "bool",
    MilTypeName.FLOAT16: "fp16",
    MilTypeName.FLOAT32: "fp32",
    MilTypeName.INT32: "int32",
}
"""Names of element types in the `dtype` parameter of `cast`."""

_ARRAYS: Final = {
    MilTypeName.BOOL: np.dtype(np.bool_),
    MilTypeName.FLOAT16: np.dtype(np.float16),
    MilTypeName.FLOAT32: np.dtype(np.float32),
    MilTypeName.INT32: np.dtype(np.int32),
}
_STRING: Final = MilType(MilTypeName.STRING)


class Translation:
    """The program of a module of the edge level with one method, under construction.

    Floats are computed in `floats`. Inputs and outputs are f32, and integers of 64 bits have 32, which the runtime
    converts; bools go in and out as floats.
    """

    def __init__(self, module: ModuleOp, method: FuncOp, floats: MilTypeName) -> None:
        self.floats = floats
        self._symbols = Globals(module)
        self._method = method
        self._values: dict[SSAValue, Made] = {}
        self._operations: list[MilOperation] = []
        self._literals: dict[tuple[object, ...], str] = {}
        self._count = 0
        self.made: list[tuple[SchemaOp, Sequence[Made]]] = []
        """The values that the results of each op are."""

    # What rules read

    def read(self, op: SchemaOp, name: str) -> Made:
        """The operand that is a schema argument."""
        return self.value(op.arg(name))

    def value(self, value: SSAValue) -> Made:
        """The ML value of a program value; constants are created at their first use."""
        found = self._values.get(value)
        if found is None:
            found = self._values[value] = self.constant(self.array(value))
        return found

    def array(self, value: SSAValue) -> np.ndarray[Any, Any]:
        """The elements of a constant, one dimension at least."""
        symbol = self._symbols.constant_of(value)
        assert symbol is not None
        assert symbol.value is not None
        return np.atleast_1d(np.asarray(array_of(tensor_type(value), symbol.value.blob), order="C"))

    def element(self, type: Attribute) -> MilTypeName:
        """The element type of values of a type of the program."""
        if type == f32:
            return self.floats
        assert type in (i1, i32, i64)
        return MilTypeName.BOOL if type == i1 else MilTypeName.INT32

    def type_of(self, value: SSAValue) -> MilType:
        """The type of a value of the program."""
        return MilType(self.element(tensor_type(value).element_type), shape_of(value))

    # What rules make

    def constant(self, array: np.ndarray[Any, Any]) -> Made:
        """A constant with the elements of an array. Raises ValueError for integers that 32 bits do not hold."""
        if array.dtype.kind == "f":
            name = self.floats
        elif array.dtype.kind == "b":
            name = MilTypeName.BOOL
        else:
            name = MilTypeName.INT32
            limits = np.iinfo(np.int32)
            if array.size and (array.min() < limits.min or array.max() > limits.max):
                raise ValueError("Core ML has integers of 32 bits; a constant has larger ones")
        with np.errstate(over="ignore"):
            data = np.ascontiguousarray(array, _ARRAYS[name])
        type = MilType(name, array.shape)
        return self._add_constant(MilValue(type, data.tobytes()))

    def make(
        self, operation: str, shape: Sequence[int], element: MilTypeName | None = None, /, **inputs: Any
    ) -> Made:
        """An operation with one output, whose element type is `element`, or that of the input `x`.

        Inputs are values, lists of values, or literals that become constants: numbers, text and lists of integers.
        """
        if element is None:
            first = inputs["x"] if "x" in inputs else inputs["values"][0]
            element = cast(Made, first).type.name
        return self.make_all(operation, [MilType(element, tuple(shape))], **inputs)[0]

    def make_all(self, operation: str, types: Sequence[MilType], /, **inputs: Any) -> list[Made]:
        """An operation with outputs of the types."""
        bound = {name: self._bound(value) for name, value in inputs.items() if value is not None}
        outputs = [Made(self._name(operation), type) for type in types]
        self._operations.append(
            MilOperation(operation, bound, tuple((one.name, one.type) for one in outputs))
        )
        return outputs

    def reshaped(self, x: Made, shape: Sequence[int]) -> Made:
        """The same elements with other sizes."""
        shape = tuple(shape)
        return x if x.shape == shape else self.make("reshape", shape, x=x, shape=list(shape))

    def converted(self, x: Made, element: MilTypeName) -> Made:
        """The same elements as another element type."""
        if x.type.name is element:
            return x
        return self.make("cast", x.shape, element, x=x, dtype=CASTS[element])

    def broadcast(self, x: Made, shape: Sequence[int]) -> Made:
        """Repeated to sizes that it can be broadcast to."""
        x = self.reshaped(x, [1] * (len(shape) - len(x.shape)) + list(x.shape))
        reps = [size // own for size, own in zip(shape, x.shape, strict=True)]
        return x if set(reps) <= {1} else self.make("tile", shape, x=x, reps=reps)

    def number(self, number: float | bool, like: Made) -> Made:
        """A number of the element type of a value, a tensor without dimensions."""
        return self.constant(np.array(number, _ARRAYS[like.type.name]))

    # The program

    def program(self, rules: Mapping[str, Lowering], metadata: Mapping[str, str]) -> MilProgram:
        """The program, of which `rules` make the operations by operator.

        Raises ValueError for an op that none makes.
        """
        block = self._method.body.block
        inputs: list[tuple[str, MilType]] = []
        for at, argument in enumerate(block.args):
            type = self.type_of(argument)
            outside = MilTypeName.INT32 if type.name is MilTypeName.INT32 else MilTypeName.FLOAT32
            made = Made(f"input{at}", MilType(outside, type.shape))
            inputs.append((made.name, made.type))
            self._values[argument] = self.converted(made, type.name)
        for op in block.ops:
            if is_copied(op) or is_statement(op) or isinstance(op, (GetOp, ReturnOp)):
                continue
            lower = rules.get(op.name.removeprefix("edge.")) if isinstance(op, SchemaOp) else None
            if lower is None or not isinstance(op, SchemaOp):
                raise ValueError(f"Core ML has no operation for {op.name}")
            made = lower(self, op)
            results = [made] if isinstance(made, Made) else list(made)
            for result, one in zip(op.results, results, strict=False):
                self._values[result] = self.reshaped(one, shape_of(result))
            self.made.append((op, results))
        end = block.last_op
        assert isinstance(end, ReturnOp)
        outputs = [self._output(at, self.value(value)) for at, value in enumerate(end.arguments)]
        return MilProgram(tuple(inputs), tuple(outputs), tuple(self._operations), metadata=metadata)

    def _output(self, at: int, x: Made) -> str:
        """The name of an output, which no other value has."""
        is_integer = x.type.name is MilTypeName.INT32
        element = MilTypeName.INT32 if is_integer else MilTypeName.FLOAT32
        name, type = f"output{at}", MilType(element, x.shape)
        inputs: dict[str, tuple[str, ...]] = {"x": (x.name,)}
        if x.type.name is element:
            operation = "identity"
        else:
            operation, inputs["dtype"] = "cast", self._bound(CASTS[element])
        self._operations.append(MilOperation(operation, inputs, ((name, type),)))
        return name

    def _bound(self, value: Any) -> tuple[str, ...]:
        if isinstance(value, Made):
            return (value.name,)
        if isinstance(value, list) and value and isinstance(value[0], Made):
            return tuple(cast(Made, one).name for one in cast("list[object]", value))
        if isinstance(value, str):
            return (self._literal(MilValue(_STRING, strings=(value,))),)
        array: np.ndarray[Any, Any] = np.array(cast(object, value))
        name = {"b": MilTypeName.BOOL, "i": MilTypeName.INT32}.get(array.dtype.kind, self.floats)
        return (self._literal(MilValue(MilType(name, array.shape), array.astype(_ARRAYS[name]).tobytes())),)

    def _literal(self, value: MilValue) -> str:
        """A constant that all who need it read."""
        key = value.type, bytes(value.data), value.strings
        found = self._literals.get(key)
        if found is None:
            found = self._literals[key] = self._add_constant(value).name
        return found

    def _add_constant(self, value: MilValue) -> Made:
        made = Made(self._name("const"), value.type)
        self._operations.append(MilOperation("const", {}, ((made.name, made.type),), value))
        return made

    def _name(self, operation: str) -> str:
        self._count += 1
        return f"{operation}_{self._count}"


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The shape of a tensor in an ML program."""
    return tuple(tensor_type(value).get_shape()) or (1,)
