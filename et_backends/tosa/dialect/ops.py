"""One op for each operator of TOSA that is known here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import numpy as np
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from et_backends.tosa.dialect.attributes import (
    ShapeType,
    attribute_of,
    constant_array,
    dtype_of,
    element_type_of,
    index_elements,
    table_of,
    type_of,
)
from et_backends.tosa.format.graph import DType
from et_backends.tosa.format.operators import ATTRIBUTES, DEFAULTS, Op, TosaType, numpy_name, result_of
from et_ir.data import Blob
from et_ir.dialects.program import DataAttr
from et_ir.dialects.schema.literals import ELEMENT_TYPES as DATA_TYPES
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_schema.tables import fields_of

__all__ = ["INLINE_ELEMENTS", "OP_CLASSES", "ConstOp", "ConstShapeOp", "TosaOp"]

INLINE_ELEMENTS: Final = 64
"""Constants of more elements are data of the program, which texts name by their hash."""

_CONSTANTS: Final = (Op.CONST, Op.CONST_SHAPE)


class TosaOp(IRDLOperation):
    """An operator of TOSA, as the specification has it; sizes are known.

    ```mlir
    %1 = "tosa.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    ```

    Syntax: MLIR's generic form.

    Rules: `tosa_c1` it has the attributes of its operator; `tosa_c2` the result is what the operator makes of its
    operands.
    """

    inputs = var_operand_def(AnyAttr())
    """Operands, in the order of the specification."""
    output = result_def(AnyAttr())
    """The result."""

    traits = traits_def(Pure())

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        attributes: Mapping[str, object] | None = None,
        *,
        result: DType | None = None,
    ):
        """`attributes` are numbers and members of enumerations by the names of the specification; the `result` has
        this element type where operands do not say it. Raises `ValueError` for operands it does not take.
        """
        element = ELEMENT_OF_SHAPE
        for value in inputs:
            if is_tensor(value.type):
                element = value.type.element_type
                break
        properties = {
            name: attribute_of(self.op, name, value, element) for name, value in (attributes or {}).items()
        }
        for name, default in DEFAULTS.items():
            if name in ATTRIBUTES[self.op].__dataclass_fields__ and name not in properties:
                properties[name] = attribute_of(self.op, name, default, element)
        types = [type_of(value) for value in inputs]
        made = result_of(self.op, table_of(self.op, properties), types, result or DType.UNKNOWN)
        super().__init__(operands=[inputs], result_types=[_type(made)], properties=properties)

    @property
    def op(self) -> Op:
        """The number of the operator."""
        return self.op_number()

    @classmethod
    def op_number(cls) -> Op:
        """The number of the operator."""
        return _NUMBERS[cls.name]

    def table(self) -> Any:
        """The attributes as files have them. Raises `VerifyException`."""
        return table_of(self.op, dict(self.properties))

    def verify_(self) -> None:
        table = self.table()
        try:
            declared = type_of(self.output)
            made = result_of(self.op, table, [type_of(value) for value in self.inputs], declared.dtype)
        except ValueError as error:
            raise VerifyException(f"[tosa_c2] {error}") from None
        if made[:2] != declared[:2]:
            raise VerifyException(f"[tosa_c2] the result is {_type(made)}, not {self.output.type}")


def tensor_of(dtype: DType, shape: Sequence[int]) -> TensorType[Attribute]:
    """The type of a tensor."""
    return TensorType(element_type_of(dtype), shape)


def _type(made: TosaType) -> Attribute:
    return tensor_of(made.dtype, made.shape)


ELEMENT_OF_SHAPE: Final = element_type_of(DType.INT32)


@irdl_op_definition
class ConstOp(IRDLOperation):
    """A constant tensor: elements in the text, or data of the program.

    ```mlir
    %0 = "tosa.const"() <{values = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
    ```

    Syntax: MLIR's generic form.

    Rules: `const_c1` there are as many bytes as the type has.
    """

    name = "tosa.const"
    values = prop_def(AnyAttr())
    """The elements."""
    output = result_def(AnyAttr())
    """The tensor."""
    traits = traits_def(Pure())

    def __init__(self, values: Attribute, type: TensorType[Attribute]):
        super().__init__(properties={"values": values}, result_types=[type])

    @staticmethod
    def of(array: np.ndarray[Any, np.dtype[Any]], dtype: DType, key: str = "constant") -> ConstOp:
        """A constant of the elements of an array. A large one is data of the program, called `key`."""
        stored = np.ascontiguousarray(array, np.dtype(numpy_name(dtype))).reshape(array.shape)
        element = element_type_of(dtype)
        type = TensorType(element, array.shape)
        if stored.size > INLINE_ELEMENTS and element in _DATA_TYPES:
            blob = Blob.of(key, stored.reshape(-1).view(np.uint8).data)
            return ConstOp(DataAttr.of(element, blob), type)
        return ConstOp(_dense(stored, type), type)

    def array(self) -> np.ndarray[Any, np.dtype[Any]]:
        """The elements. Raises `MissingData` where their bytes are not loaded."""
        return constant_array(self.values, tensor_type(self.output))

    def dense(self) -> Attribute:
        """The elements as an attribute of the builtin dialect."""
        if not isinstance(self.values, DataAttr):
            return self.values
        return _dense(self.array(), tensor_type(self.output))

    def verify_(self) -> None:
        if not is_tensor(self.output.type) or not self.output.type.has_static_shape():
            raise VerifyException("[const_c1] the result is not a tensor of known sizes")
        count = int(np.prod(self.output.type.get_shape(), dtype=np.int64))
        try:
            dtype_of(self.output.type.element_type)
        except ValueError as error:
            raise VerifyException(f"[const_c1] {error}") from None
        if isinstance(self.values, DataAttr):
            size = np.dtype(numpy_name(dtype_of(self.output.type.element_type))).itemsize
            fits = self.values.blob.nbytes == count * size
        else:
            values = cast("DenseIntOrFPElementsAttr[Any]", self.values)
            fits = isinstance(self.values, DenseIntOrFPElementsAttr) and values.type == self.output.type
        if not fits:
            raise VerifyException(f"[const_c1] the values are not those of {self.output.type}")


_DATA_TYPES: Final = frozenset(DATA_TYPES.values())


def _dense(array: np.ndarray[Any, np.dtype[Any]], type: TensorType[Attribute]) -> DenseIntOrFPElementsAttr:
    any_type = cast("Any", type)
    flat = array.reshape(-1)
    if flat.size > 1 and flat.dtype.kind != "b" and (flat == flat[0]).all() and flat.dtype.kind != "f":
        return DenseIntOrFPElementsAttr.from_list(any_type, [flat[0].item()])
    if array.dtype.kind == "f" or flat.size > INLINE_ELEMENTS:
        return DenseIntOrFPElementsAttr(any_type, BytesAttr(np.ascontiguousarray(array).tobytes()))
    return DenseIntOrFPElementsAttr.from_list(any_type, flat.tolist())


@irdl_op_definition
class ConstShapeOp(IRDLOperation):
    """Constant sizes, positions or counts of dimensions.

    ```mlir
    %0 = "tosa.const_shape"() <{values = dense<[3, 4]> : tensor<2xindex>}> : () -> !tosa.shape<2>
    ```

    Syntax: MLIR's generic form.

    Rules: `shape_c1` there are as many numbers as the type has.
    """

    name = "tosa.const_shape"
    values = prop_def(DenseIntOrFPElementsAttr)
    """The numbers."""
    output = result_def(ShapeType)
    """The shape."""
    traits = traits_def(Pure())

    def __init__(self, numbers: Sequence[int]):
        super().__init__(
            properties={"values": index_elements(numbers)}, result_types=[ShapeType.of(len(numbers))]
        )

    def verify_(self) -> None:
        if len(self.values) != self.output.type.rank.data:
            raise VerifyException(f"[shape_c1] {len(self.values)} numbers of {self.output.type}")


def _op_class(op: Op) -> type[TosaOp]:
    name = op.name.lower()
    body: dict[str, Any] = {
        "name": f"tosa.{name}",
        "__doc__": f"The operator {op.name} of TOSA; see `TosaOp`.",
        "__module__": __name__,
    }
    for item in fields_of(ATTRIBUTES[op]):
        define = opt_prop_def if item.name in DEFAULTS else prop_def
        body[item.name] = define(AnyAttr())
    title = "".join(part.capitalize() for part in name.split("_"))
    return irdl_op_definition(type(f"{title}Op", (TosaOp,), body))


OP_CLASSES: Final[dict[Op, type[TosaOp]]] = {op: _op_class(op) for op in ATTRIBUTES if op not in _CONSTANTS}
"""The op of each operator but constants."""

_NUMBERS: Final = {cls.name: op for op, cls in OP_CLASSES.items()}
