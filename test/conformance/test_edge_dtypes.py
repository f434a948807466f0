"""The table of element types is what the installed torch takes and gives."""

from dev.dtype_probe import COMMAND, header, probed
from et_ir.dialects.edge import OP_BY_NAME
from et_ir.dialects.edge.dtypes import TABLE


def test_table_is_current() -> None:
    assert TABLE.read_text(encoding="utf-8") == header() + probed(OP_BY_NAME), f"run {COMMAND}"
