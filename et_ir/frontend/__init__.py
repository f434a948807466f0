"""The frontend: programs of `torch.export` as modules of the `aten` dialect."""

from et_ir.frontend.importer import import_program
from et_ir.frontend.unsupported import Reason, UnsupportedProgram

__all__ = ["Reason", "UnsupportedProgram", "import_program"]
