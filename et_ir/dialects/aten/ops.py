"""Op classes of the `aten` dialect, one per overload. Each is made when it is first used.

Editors and type checkers read `ops.pyi`, which `make stubs` writes.
"""

from __future__ import annotations

from et_ir.dialects.aten import OP_BY_NAME, AtenOp


def __getattr__(name: str) -> type[AtenOp]:
    # Kept, so that this is not asked again for a name.
    made = globals()[name] = OP_BY_NAME.of_class(name)
    return made
