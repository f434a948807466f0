"""Move constants into data files (`.ptd`) that are loaded beside the program.

```mlir
program.parameter @"fc.weight" : tensor<4x3xf32> = #program.data<…>
%w = executorch.constant @"fc.weight" : tensor<4x3xf32>
// becomes
program.parameter @"fc.weight" : tensor<4x3xf32> = #program.data<…> {executorch.data_file = "weights.ptd"}
%w = executorch.constant external @"fc.weight" : tensor<4x3xf32>
```

The program then finds them by name: programs that share weights can share a data file, and weights can be replaced
without compiling again. Run it more than once, with other names, for several files: what is in one file stays there.
Data that backends find by name (`backend.named_data`) is moved as constants are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from et_ir.dialects.backend import NamedDataOp
from et_ir.dialects.executorch import ConstantOp, PlanOp
from et_ir.dialects.executorch.attributes import DATA_FILE, DATA_FILES
from et_ir.dialects.executorch.layout import nbytes
from et_ir.dialects.program import Globals
from et_ir.passes.plans import plans_of
from et_schema.files import is_bare_name

__all__ = ["ExternalizeConstantsPass", "externalize"]


def externalize(module: ModuleOp, choose: Callable[[str, int], str | None]) -> None:
    """Move each constant to the data file that `choose` names for its name and size in bytes; where that is None it
    stays.

    Constants without bytes, and those in a data file already, are not asked about.
    """
    for op in module.body.block.ops:
        if isinstance(op, NamedDataOp) and DATA_FILE not in op.attributes:
            file = choose(op.key, op.value.blob.nbytes)
            if file is not None:
                op.attributes[DATA_FILE] = StringAttr(file)
    symbols = Globals(module).by_name
    for plan in module.body.block.ops:
        if not isinstance(plan, PlanOp):
            continue
        for register in plan.registers:
            if not isinstance(register, ConstantOp) or register.external is not None:
                continue
            symbol = symbols.get(register.key)
            if symbol is None or symbol.value is None:
                continue
            file = choose(register.key, nbytes(register.type))
            if file is None:
                continue
            register.properties["external"] = UnitAttr()
            # The name is how the data is found.
            register.properties.pop("anonymous", None)
            symbol.attributes.setdefault(DATA_FILE, StringAttr(file))


@dataclass(frozen=True)
class ExternalizeConstantsPass(ModulePass):
    """Move constants into data files."""

    name = "externalize-constants"

    file: str = "constants.ptd"
    """The data file, which is written beside the program."""
    match: str = "*"
    """The names of the constants to move, as a glob."""
    min_bytes: int = 1
    """The size in bytes from which a constant is moved."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not is_bare_name(self.file):
            raise PassFailedException(
                f"externalize-constants: '{self.file}' is not a file name without folders"
            )

        plans_of(op, self)

        def choose(key: str, size: int) -> str | None:
            return self.file if fnmatchcase(key, self.match) and size >= self.min_bytes else None

        externalize(op, choose)
        used = (one.attributes.get(DATA_FILE) for one in op.body.block.ops)
        if StringAttr(self.file) not in used:
            # Whoever asked for the file will load it: one that another program has left there is not of this program.
            there = op.attributes.get(DATA_FILES)
            files = tuple(cast("ArrayAttr[Attribute]", there)) if isinstance(there, ArrayAttr) else ()
            op.attributes[DATA_FILES] = ArrayAttr((*files, StringAttr(self.file)))
