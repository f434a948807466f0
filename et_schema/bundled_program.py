"""The program and its test cases in a ``.bpte`` file.

Generated from bundled_program.fbs by `python -m et_schema.generate`; do not edit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import copysign
from typing import Any, TypeAlias

from et_schema.errors import InvalidFile
from et_schema.flatbuffer import Bytes, Reader, Slot, TableType, Writer
from et_schema.scalar_type import ScalarType

__all__ = [
    "FILE_IDENTIFIER",
    "Bool",
    "BundledMethodTestCase",
    "BundledMethodTestSuite",
    "BundledProgram",
    "Double",
    "Int",
    "Tensor",
    "Value",
    "ValueUnion",
    "read",
    "write",
]

FILE_IDENTIFIER = b"BP08"


@dataclass(slots=True)
class Int:
    int_val: int = 0


@dataclass(slots=True)
class Bool:
    bool_val: bool = False


@dataclass(slots=True)
class Double:
    double_val: float = 0.0


@dataclass(slots=True)
class Tensor:
    scalar_type: ScalarType = ScalarType.BYTE
    sizes: list[int] = field(default_factory=list[int])
    data: Bytes = b""
    dim_order: bytes = b""


@dataclass(slots=True)
class Value:
    val: ValueUnion | None = None


@dataclass(slots=True)
class BundledMethodTestCase:
    inputs: list[Value] = field(default_factory=list["Value"])
    expected_outputs: list[Value] = field(default_factory=list["Value"])


@dataclass(slots=True)
class BundledMethodTestSuite:
    method_name: str = ""
    test_cases: list[BundledMethodTestCase] = field(default_factory=list["BundledMethodTestCase"])


@dataclass(slots=True)
class BundledProgram:
    version: int = 0
    method_test_suites: list[BundledMethodTestSuite] = field(default_factory=list["BundledMethodTestSuite"])
    program: Bytes = b""


ValueUnion: TypeAlias = Tensor | Int | Bool | Double

_SCALAR_TYPE = {int(member): member for member in ScalarType}
_TENSOR = TableType(
    "Tensor",
    0,
    [
        Slot("scalar_type", "b", 1),
        Slot("sizes", "", 4),
        Slot("data", "", 4),
        Slot("dim_order", "", 4),
    ],
)
_INT = TableType("Int", 1, [Slot("int_val", "q", 8)])
_BOOL = TableType("Bool", 2, [Slot("bool_val", "?", 1)])
_DOUBLE = TableType("Double", 3, [Slot("double_val", "d", 8)])
_VALUE = TableType("Value", 4, [Slot("val_type", "B", 1), Slot("val", "", 4)])
_BUNDLED_METHOD_TEST_CASE = TableType(
    "BundledMethodTestCase",
    5,
    [
        Slot("inputs", "", 4),
        Slot("expected_outputs", "", 4),
    ],
)
_BUNDLED_METHOD_TEST_SUITE = TableType(
    "BundledMethodTestSuite",
    6,
    [
        Slot("method_name", "", 4),
        Slot("test_cases", "", 4),
    ],
)
_BUNDLED_PROGRAM = TableType(
    "BundledProgram",
    7,
    [
        Slot("version", "I", 4),
        Slot("method_test_suites", "", 4),
        Slot("program", "", 4),
    ],
)


def _read_tensor(r: Reader, at: int) -> Tensor:
    f0, f1, f2, f3 = r.table(at, _TENSOR)
    scalar_type = _SCALAR_TYPE.get(r.i8[at + f0]) if f0 else ScalarType.BYTE
    if scalar_type is None:
        raise r.unknown("ScalarType", r.i8[at + f0], at + f0, "scalar_type")
    sizes = r.i32_vector(at + f1, "sizes") if f1 else []
    data = r.blob(at + f2, "data") if f2 else b""
    dim_order = r.u8_vector(at + f3, "dim_order") if f3 else b""
    value = Tensor(scalar_type, sizes, data, dim_order)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_int(r: Reader, at: int) -> Int:
    (f0,) = r.table(at, _INT)
    int_val = r.i64[(at + f0) >> 3] if f0 else 0
    value = Int(int_val)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_bool(r: Reader, at: int) -> Bool:
    (f0,) = r.table(at, _BOOL)
    bool_val = r.boolean(at + f0, "bool_val") if f0 else False
    value = Bool(bool_val)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_double(r: Reader, at: int) -> Double:
    (f0,) = r.table(at, _DOUBLE)
    double_val = r.f64[(at + f0) >> 3] if f0 else 0.0
    value = Double(double_val)
    if r.offsets is not None:
        r.place(value, at)
    return value


_VALUE_UNION_READERS: dict[int, Callable[[Reader, int], ValueUnion]] = {
    1: _read_tensor,
    2: _read_int,
    3: _read_bool,
    4: _read_double,
}


def _read_value(r: Reader, at: int) -> Value:
    f0, f1 = r.table(at, _VALUE)
    val_type = r.u8[at + f0] if f0 else 0
    val = None
    if val_type:
        reader = _VALUE_UNION_READERS.get(val_type)
        if reader is None:
            raise r.unknown("ValueUnion", val_type, at + f0, "val")
        if not f1:
            raise r.fault("union has a type but no value", at, "val")
        try:
            val = reader(r, at + f1 + r.u32[(at + f1) >> 2])
        except InvalidFile as error:
            error.nest("val")
            raise
    value = Value(val)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_bundled_method_test_case(r: Reader, at: int) -> BundledMethodTestCase:
    f0, f1 = r.table(at, _BUNDLED_METHOD_TEST_CASE)
    inputs: list[Value] = []
    if f0:
        first, count = r.table_vector(at + f0, "inputs")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            try:
                inputs.append(_read_value(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"inputs[{len(inputs)}]"
                inputs.append(r.substitute(Value(), item, path, error))
    expected_outputs: list[Value] = []
    if f1:
        first, count = r.table_vector(at + f1, "expected_outputs")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            try:
                expected_outputs.append(_read_value(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"expected_outputs[{len(expected_outputs)}]"
                expected_outputs.append(r.substitute(Value(), item, path, error))
    value = BundledMethodTestCase(inputs, expected_outputs)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_bundled_method_test_suite(r: Reader, at: int) -> BundledMethodTestSuite:
    f0, f1 = r.table(at, _BUNDLED_METHOD_TEST_SUITE)
    method_name = r.string(at + f0, "method_name") if f0 else ""
    test_cases: list[BundledMethodTestCase] = []
    if f1:
        first, count = r.table_vector(at + f1, "test_cases")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            known = len(r.lost)
            try:
                test_cases.append(_read_bundled_method_test_case(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"test_cases[{len(test_cases)}]"
                test_cases.append(r.substitute(BundledMethodTestCase(), item, path, error, known))
            else:
                if len(r.lost) > known:
                    r.within(f"test_cases[{len(test_cases) - 1}]", known)
    value = BundledMethodTestSuite(method_name, test_cases)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _read_bundled_program(r: Reader, at: int) -> BundledProgram:
    f0, f1, f2 = r.table(at, _BUNDLED_PROGRAM)
    version = r.u32[(at + f0) >> 2] if f0 else 0
    method_test_suites: list[BundledMethodTestSuite] = []
    if f1:
        first, count = r.table_vector(at + f1, "method_test_suites")
        u32 = r.u32
        for item in range(first, first + 4 * count, 4):
            known = len(r.lost)
            try:
                method_test_suites.append(_read_bundled_method_test_suite(r, item + u32[item >> 2]))
            except InvalidFile as error:
                path = f"method_test_suites[{len(method_test_suites)}]"
                method_test_suites.append(r.substitute(BundledMethodTestSuite(), item, path, error, known))
            else:
                if len(r.lost) > known:
                    r.within(f"method_test_suites[{len(method_test_suites) - 1}]", known)
    program = r.blob(at + f2, "program") if f2 else b""
    value = BundledProgram(version, method_test_suites, program)
    if r.offsets is not None:
        r.place(value, at)
    return value


def _write_tensor(w: Writer, value: Tensor) -> int:
    present = 0xE
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.u8_vector(value.dim_order))
    offsets.append(w.blob(value.data, 16, "Tensor"))
    offsets.append(w.i32_vector(value.sizes))
    if value.scalar_type != ScalarType.BYTE:
        present |= 0x1
        scalars.append(value.scalar_type)
    return w.table(_TENSOR, present, offsets, scalars)


def _write_int(w: Writer, value: Int) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.int_val:
        present |= 0x1
        scalars.append(value.int_val)
    return w.table(_INT, present, offsets, scalars)


def _write_bool(w: Writer, value: Bool) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.bool_val:
        present |= 0x1
        scalars.append(value.bool_val)
    return w.table(_BOOL, present, offsets, scalars)


def _write_double(w: Writer, value: Double) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    if value.double_val or copysign(1.0, value.double_val) < 0:
        present |= 0x1
        scalars.append(value.double_val)
    return w.table(_DOUBLE, present, offsets, scalars)


_VALUE_UNION_WRITERS: dict[type, tuple[int, Callable[[Writer, Any], int]]] = {
    Tensor: (1, _write_tensor),
    Int: (2, _write_int),
    Bool: (3, _write_bool),
    Double: (4, _write_double),
}


def _write_value(w: Writer, value: Value) -> int:
    present = 0x0
    offsets: list[int] = []
    scalars: list[int | float] = []
    val_type = 0
    if value.val is not None:
        present |= 0x3
        val_type, writer = _VALUE_UNION_WRITERS[type(value.val)]
        offsets.append(writer(w, value.val))
    if val_type:
        scalars.append(val_type)
    return w.table(_VALUE, present, offsets, scalars)


def _write_bundled_method_test_case(w: Writer, value: BundledMethodTestCase) -> int:
    present = 0x3
    offsets: list[int] = []
    scalars: list[int | float] = []
    items = [_write_value(w, item) for item in reversed(value.expected_outputs)]
    offsets.append(w.tables(items))
    items = [_write_value(w, item) for item in reversed(value.inputs)]
    offsets.append(w.tables(items))
    return w.table(_BUNDLED_METHOD_TEST_CASE, present, offsets, scalars)


def _write_bundled_method_test_suite(w: Writer, value: BundledMethodTestSuite) -> int:
    present = 0x3
    offsets: list[int] = []
    scalars: list[int | float] = []
    items = [_write_bundled_method_test_case(w, item) for item in reversed(value.test_cases)]
    offsets.append(w.tables(items))
    offsets.append(w.string(value.method_name))
    return w.table(_BUNDLED_METHOD_TEST_SUITE, present, offsets, scalars)


def _write_bundled_program(w: Writer, value: BundledProgram) -> int:
    present = 0x6
    offsets: list[int] = []
    scalars: list[int | float] = []
    offsets.append(w.blob(value.program, 32, "BundledProgram"))
    items = [_write_bundled_method_test_suite(w, item) for item in reversed(value.method_test_suites)]
    offsets.append(w.tables(items))
    if value.version:
        present |= 0x1
        scalars.append(value.version)
    return w.table(_BUNDLED_PROGRAM, present, offsets, scalars)


def read(reader: Reader, identifier: bytes = FILE_IDENTIFIER) -> BundledProgram:
    """Decode a whole buffer. Raises ``InvalidFile`` with the table path and the byte."""
    return reader.root(identifier, _read_bundled_program)


def write(writer: Writer, value: BundledProgram) -> int:
    """Encode ``value``; the result is the root for ``Writer.finish``."""
    return _write_bundled_program(writer, value)
