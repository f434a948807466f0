"""The frontend: programs of `torch.export` as modules of the `aten` dialect.

Importing this package does not import torch: the importer is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from et_ir.frontend.unsupported import UnsupportedProgram

if TYPE_CHECKING:
    from et_ir.frontend.importer import import_program

__all__ = ["UnsupportedProgram", "import_program"]


def __getattr__(name: str) -> Any:
    if name == "import_program":
        from et_ir.frontend import importer

        return importer.import_program
    raise AttributeError(f"module 'et_ir.frontend' has no attribute '{name}'")
