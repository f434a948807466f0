"""Tables of a bundled program in a `.bpte` file, schema generation BP08.

Names, types and defaults are the wire format and agree with what ExecuTorch reads and writes.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from et_schema.scalar_type import ScalarType
from et_schema.tables import Aligned, Bytes, Float64, Int32, Int64, UInt32, table

FILE_IDENTIFIER = b"BP08"


@table
class Int:
    int_val: Int64 = 0


@table
class Bool:
    bool_val: bool = False


@table
class Double:
    double_val: Float64 = 0.0


@table
class Tensor:
    scalar_type: ScalarType = ScalarType.BYTE
    sizes: list[Int32] = []
    # The elements in the order of memory, which dim_order says.
    data: Annotated[Bytes, Aligned(16)] = b""
    dim_order: bytes = b""


ValueUnion: TypeAlias = Tensor | Int | Bool | Double


@table
class Value:
    val: ValueUnion | None = None


@table
class BundledMethodTestCase:
    inputs: list[Value] = []
    expected_outputs: list[Value] = []


@table
class BundledMethodTestSuite:
    method_name: str = ""
    test_cases: list[BundledMethodTestCase] = []


@table
class BundledProgram:
    version: UInt32 = 0
    method_test_suites: list[BundledMethodTestSuite] = []
    # A .pte file. Its constants and segments stay aligned to 32 bytes.
    program: Annotated[Bytes, Aligned(32)] = b""
