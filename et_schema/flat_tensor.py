"""Tables of the named tensors in a `.ptd` file, schema generation FT01.

Names, types and defaults are the wire format and agree with what ExecuTorch reads and writes.
"""

from __future__ import annotations

from et_schema.scalar_type import ScalarType
from et_schema.tables import Int32, UInt32, UInt64, table

FILE_IDENTIFIER = b"FT01"


@table
class TensorLayout:
    scalar_type: ScalarType = ScalarType.BYTE
    # Logical axis order, one entry per axis.
    sizes: list[Int32] = []
    # Axes from outermost to innermost in memory.
    dim_order: bytes = b""


@table
class DataSegment:
    """Bytes after the flatbuffer; offset counts from the header's segment base."""

    offset: UInt64 = 0
    size: UInt64 = 0


@table
class NamedData:
    key: str = ""
    segment_index: UInt32 = 0
    # Absent: the data is not a tensor.
    tensor_layout: TensorLayout | None = None


@table
class FlatTensor:
    version: UInt32 = 0
    # Ordered by offset.
    segments: list[DataSegment] = []
    named_data: list[NamedData] = []
