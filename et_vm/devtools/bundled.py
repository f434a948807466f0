"""Programs with test cases (`.bpte`): running them on what was bundled and comparing with what was expected.

bundle = BundledProgram.load("model.bpte")
for name, index in bundle.cases():
    bundle.verify(bundle.program.load_method(name), index)      # raises Mismatch

suite = MethodTestSuite("forward", [MethodTestCase(inputs, expected_outputs)])      # as ExecuTorch writes one
data = serialize_from_bundled_program_to_flatbuffer(BundledProgram(compiled, [suite]))
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, cast

import numpy as np

from et_schema.bpte import read_bpte
from et_schema.bundled_program import (
    Bool,
    BundledMethodTestCase,
    BundledMethodTestSuite,
    Double,
    Int,
    Tensor,
    Value,
)
from et_schema.call_errors import called_as
from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_schema.program import MAX_RANK
from et_schema.scalar_type import numpy_dtype, scalar_type_of
from et_vm.interchange import to_numpy
from et_vm.load.loader import MmapDataLoader
from et_vm.program import Program, Verification
from et_vm.values import element_count

if TYPE_CHECKING:
    from et_schema.segments import OutputStream
    from et_vm.platform import Platform
    from et_vm.run.method import Method
    from et_vm.values import Array

RTOL = 1e-5
ATOL = 1e-8
"""Relative and absolute tolerance for floats, as stock's. Everything else has to be equal."""


def __getattr__(name: str) -> object:
    from et_schema.executorch_names import missing_name

    raise missing_name(__name__, name)


class Mismatch(ExecutorchError):
    """A method gave something else than what was expected."""

    def __init__(self, message: str, where: str) -> None:
        super().__init__(Error.InvalidState, message, where=where)


class CompiledProgram(Protocol):
    """A program that can be bundled: `et_ir.ExecutorchProgramManager`."""

    @property
    def buffer(self) -> bytes:
        """The bytes of its file."""
        ...


class MethodTestCase:
    """Inputs of a method, and the outputs that are expected for them."""

    def __init__(self, inputs: object, expected_outputs: object = None) -> None:
        """Arrays, torch tensors and numbers, in lists, tuples and dicts as the method takes and gives them.

        Raises InputError for a tensor that numpy cannot hold.
        """
        self.inputs: list[Any] = list(_flat(inputs))
        """The inputs, flat."""
        self.expected_outputs: list[Any] = [] if expected_outputs is None else list(_flat(expected_outputs))
        """The outputs, flat."""


@dataclass
class MethodTestSuite:
    """The test cases of a method."""

    method_name: str
    """The name of the method."""
    test_cases: Sequence[MethodTestCase]
    """Its test cases."""


class BundledProgram:
    """A program and its test cases."""

    def __init__(
        self,
        data: bytes | memoryview | CompiledProgram,
        method_test_suites: Sequence[MethodTestSuite] | None = None,
        *,
        verification: Verification = Verification.InternalConsistency,
        platform: Platform | None = None,
    ) -> None:
        """`data` is a `.bpte` file; or, with `method_test_suites`, a compiled program or its `.pte` file, to which they
        are added.

        Raises InvalidFile for a malformed file, and for test cases that no method of the program fits; and with
        `method_test_suites` as `bundle`.
        """
        if not isinstance(data, (bytes, memoryview)):
            data = data.buffer
        if method_test_suites is not None:
            cases = [
                (suite.method_name, case.inputs, case.expected_outputs)
                for suite in method_test_suites
                for case in suite.test_cases
            ]
            stream = io.BytesIO()
            bundle(data, cases, stream)
            data = stream.getvalue()
        self.data = data
        """The bytes of the `.bpte` file."""
        file = read_bpte(data)
        self.program = Program.load(file.program, verification, platform=platform)
        self._suites: dict[str, list[BundledMethodTestCase]] = {}
        for at, suite in enumerate(file.suites):
            where = f"method_test_suites[{at}].method_name"
            if suite.method_name not in self.program.method_names:
                raise InvalidFile(f"the program has no method {suite.method_name!r}", where=where)
            if suite.method_name in self._suites:
                raise InvalidFile(f"method {suite.method_name!r} occurs twice", where=where)
            self._suites[suite.method_name] = suite.test_cases

    @classmethod
    def load(
        cls,
        data: str | os.PathLike[str] | bytes | memoryview,
        verification: Verification = Verification.InternalConsistency,
        *,
        platform: Platform | None = None,
    ) -> BundledProgram:
        """From a path, which is mapped, or from bytes. Raises InvalidFile, or ExecutorchError(AccessFailed)."""
        if isinstance(data, (bytes, memoryview)):
            return cls(data, verification=verification, platform=platform)
        return cls(MmapDataLoader(data).load_all(), verification=verification, platform=platform)

    def cases(self) -> Iterator[tuple[str, int]]:
        """The test cases, as name of a method and number, in the order of the file."""
        for name, cases in self._suites.items():
            for index in range(len(cases)):
                yield name, index

    def inputs(self, method: str, case: int) -> list[Any]:
        """The inputs of a test case: arrays, numbers and None.

        Raises ExecutorchError: InvalidArgument if there is no case of that number, NotSupported for a type that numpy
        lacks; InvalidFile if its data does not fit its shape.
        """
        return self._values(self._case(method, case).inputs, f"{method}, case {case}, inputs")

    def expected(self, method: str, case: int) -> list[Any]:
        """The expected outputs for these inputs. Raises as `inputs`."""
        return self._values(self._case(method, case).expected_outputs, f"{method}, case {case}, outputs")

    def verify(self, method: Method, case: int, *, rtol: float = RTOL, atol: float = ATOL) -> None:
        """Execute a method on the inputs of a test case and compare; NaN equals NaN.

        `rtol` and `atol` are for floats, which are compared by numpy's `isclose`; everything else has to be equal.

        Raises Mismatch with the first element that differs and the number of those that do, and what `inputs` and
        executing raise.
        """
        name = method.name
        inputs = self.inputs(name, case)
        for index in method.written_inputs:
            inputs[index] = inputs[index].copy()
        outputs = method.execute(inputs)
        expected = self.expected(name, case)
        if len(outputs) != len(expected):
            raise Mismatch(f"{len(outputs)} outputs, expected {len(expected)}", f"{name}, case {case}")
        for index, (found, wanted) in enumerate(zip(outputs, expected, strict=True)):
            _compare(found, wanted, rtol, atol, f"{name}, case {case}, output {index}")

    def _case(self, method: str, case: int) -> BundledMethodTestCase:
        cases = self._suites.get(method, [])
        if not 0 <= case < len(cases):
            raise ExecutorchError(
                Error.InvalidArgument, f"test case {case} is out of range of {len(cases)}", where=method
            )
        return cases[case]

    def _values(self, values: Sequence[Value], where: str) -> list[Any]:
        return [_value(value, f"{where}[{index}]") for index, value in enumerate(values)]


def _is_array(value: Any) -> TypeGuard[Array]:
    """Whether a value is a numpy array, of whatever type."""
    return isinstance(value, np.ndarray)


def _value(value: Value, where: str) -> Any:
    match value.val:
        case Int():
            return value.val.int_val
        case Bool():
            return value.val.bool_val
        case Double():
            return value.val.double_val
        case Tensor():
            return _array(value.val, where)
        case None:
            return None


def _array(tensor: Tensor, where: str) -> Array:
    if len(tensor.sizes) > MAX_RANK:
        raise InvalidFile(f"rank {len(tensor.sizes)}, the most is {MAX_RANK}", where=where)
    order = list(tensor.dim_order) or list(range(len(tensor.sizes)))
    if sorted(order) != list(range(len(tensor.sizes))):
        raise InvalidFile(f"dim order {order} of a tensor of {len(tensor.sizes)} dimensions", where=where)
    if tensor.sizes and min(tensor.sizes) < 0:
        raise InvalidFile(f"sizes {list(tensor.sizes)}", where=where)
    dtype = numpy_dtype(tensor.scalar_type)
    count = element_count(tensor.sizes)
    if element_count([max(size, 1) for size in tensor.sizes]) * dtype.itemsize >= 2**63:
        raise InvalidFile(f"shape {list(tensor.sizes)} overflows a 64-bit size", where=where)
    if count * dtype.itemsize != len(tensor.data):
        raise InvalidFile(
            f"{len(tensor.data)} bytes for {count} elements of {dtype.itemsize} bytes", where=where
        )
    if dtype == np.bool_ and bytes(tensor.data).strip(b"\0\1"):
        raise InvalidFile("bools with bytes other than 0 and 1", where=where)
    stored = np.frombuffer(tensor.data, dtype).reshape([tensor.sizes[axis] for axis in order])
    return stored.transpose(np.argsort(order)) if order else stored


def _compare(found: Any, wanted: Any, rtol: float, atol: float, where: str) -> None:
    if not _is_array(wanted):
        equal = type(found) is type(wanted)
        if equal and isinstance(wanted, float):
            equal = bool(np.isclose(found, wanted, rtol, atol, equal_nan=True))
        elif equal:
            equal = found == wanted
        if not equal:
            raise Mismatch(f"{found!r}, expected {wanted!r}", where)
        return
    if not _is_array(found):
        raise Mismatch(f"{found!r}, expected an array", where)
    expected, actual = wanted, found
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        raise Mismatch(
            f"{actual.dtype} {list(actual.shape)}, expected {expected.dtype} {list(expected.shape)}", where
        )
    if scalar_type_of(expected.dtype).is_floating or expected.dtype.kind == "c":
        wide = np.complex128 if expected.dtype.kind == "c" else np.float64
        close = np.isclose(actual.astype(wide), expected.astype(wide), rtol, atol, equal_nan=True)
    else:
        close = actual == expected
    if not close.all():
        at = tuple(int(index) for index in np.argwhere(~close)[0])
        raise Mismatch(
            f"{actual[at]!s}, expected {expected[at]!s} at {list(at)}; "
            f"{int((~close).sum())} of {close.size} elements differ",
            where,
        )


@called_as("called as bundle(program, [('forward', inputs, outputs), …], stream)")
def bundle(
    program: bytes | memoryview,
    cases: Sequence[tuple[str, Sequence[Any], Sequence[Any]]],
    stream: OutputStream,
) -> int:
    """Write a `.pte` file with test cases (method, inputs, expected outputs: arrays, numbers and None) as a `.bpte`.

    Returns its size in bytes. Needs the package `flatbuffers`, of the extra `compiler`. Raises
    ExecutorchError(InvalidType) for a value that such a file cannot have, and TypeError for arguments of other kinds.
    """
    from et_schema.bpte import write_bpte

    _check_arguments(program, cases, stream)
    suites: dict[str, BundledMethodTestSuite] = {}
    for method, inputs, outputs in cases:
        suite = suites.setdefault(method, BundledMethodTestSuite(method_name=method, test_cases=[]))
        suite.test_cases.append(
            BundledMethodTestCase([_stored(value) for value in inputs], [_stored(value) for value in outputs])
        )
    # In this order stock's runtime finds them, too.
    return write_bpte(program, [suites[name] for name in sorted(suites)], stream)


def _check_arguments(program: object, cases: object, stream: object) -> None:
    """Raise TypeError for what is no program, no test cases or no file to write into."""
    if not isinstance(program, bytes | bytearray | memoryview):
        way = f"; as in Path({program!r}).read_bytes()" if isinstance(program, str) else ""
        raise TypeError(f"the bytes of a program (.pte) are expected, not {type(program).__name__}{way}")
    is_listed = hasattr(cases, "__getitem__") and not isinstance(cases, Mapping)
    for case in cast("Sequence[object]", cases if is_listed else [cases]):
        fields = cast("Sequence[object]", case) if isinstance(case, tuple | list) else ()
        if len(fields) != 3:
            raise TypeError(
                "test cases are a list of ('forward', inputs, outputs), the method's name and two lists, "
                f"not of {type(cast('object', case)).__name__}"
            )
    if not hasattr(stream, "write"):
        way = f": open({stream!r}, 'wb')" if isinstance(stream, str) else ""
        raise TypeError(f"a file that is open for writing is expected, not {type(stream).__name__}{way}")


def serialize_from_bundled_program_to_flatbuffer(bundled_program: BundledProgram) -> bytes:
    """The `.bpte` file of a program with test cases."""
    return bytes(bundled_program.data)


def _flat(value: object) -> Iterator[Any]:
    """The arrays and numbers in lists, tuples and dicts."""
    if isinstance(value, Mapping):
        value = list(cast("Mapping[object, object]", value).values())
    if isinstance(value, list | tuple):
        for one in cast("Sequence[object]", value):
            yield from _flat(one)
        return
    array = to_numpy(value)
    yield value if array is None else array


def _stored(value: Any) -> Value:
    if value is None:
        return Value()
    if isinstance(value, bool):
        return Value(Bool(value))
    if isinstance(value, int):
        return Value(Int(value))
    if isinstance(value, float):
        return Value(Double(value))
    if not _is_array(value):
        raise ExecutorchError(
            Error.InvalidType, f"a {type(value).__name__} cannot be bundled", hint="give arrays and numbers"
        )
    array = value
    return Value(
        Tensor(
            scalar_type=scalar_type_of(array.dtype),
            sizes=list(array.shape),
            data=np.ascontiguousarray(array).tobytes(),
            dim_order=bytes(range(array.ndim)),
        )
    )
