"""Raising of compiled programs: from the bytes of a `.pte` file to a program at the edge level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from et_ir.delegation.why_not import DelegationReport
from et_ir.driver.managers import EdgeProgramManager
from et_ir.driver.presets import DEFAULT, preset
from et_ir.driver.stages import Stage, run_stages
from et_ir.verification import verify_module
from et_schema.backend_packages import backend_packages
from et_schema.wording import worded

if TYPE_CHECKING:
    from et_schema.pte import PteFile

__all__ = ["import_file", "raise_program", "raising_passes", "raising_stage"]

_KNOWN: Final = frozenset({"aten", "executorch_prim"})
"""Namespaces of operators that no user registers."""


def raising_passes(level: str = DEFAULT) -> list[ModulePass]:
    """The passes from executorch-level plans to edge programs. Raises `ValueError` for an unknown level."""
    from et_ir.passes import load_pass
    from et_ir.passes.common.canonicalize import CanonicalizePass
    from et_ir.passes.common.constant_fold import ConstantFoldPass
    from et_ir.passes.common.cse import CsePass
    from et_ir.passes.common.dce import DcePass
    from et_ir.passes.core_to_edge.remove_redundant_copies import RemoveRedundantCopiesPass
    from et_ir.passes.raising.raise_plans import RaisePlansPass
    from et_ir.passes.verify.verify_backend import VerifyBackendPass

    delegates = [name for package in backend_packages().found.values() for name in package.raising]
    simplify: list[ModulePass] = []
    if preset(level).simplify:
        simplify = [RemoveRedundantCopiesPass(), CanonicalizePass(), ConstantFoldPass(), CsePass()]
    return [
        RaisePlansPass(),
        *(load_pass(name)() for name in delegates),
        *simplify,
        DcePass(),
        VerifyBackendPass(),
    ]


def raising_stage(level: str = DEFAULT) -> Stage:
    """The stage from a file's plans to the edge level. Raises `ValueError` for an unknown level."""
    return Stage("edge", raising_passes(level))


def import_file(
    file: PteFile, data_files: Mapping[str, bytes | memoryview] | None = None, *, any_data: bool = False
) -> ModuleOp:
    """The module of a file at the executorch level; `data_files` are its `.ptd` files by name.

    Raises `ExecutorchError` for a file that is damaged, for constants that no data file has, and, unless `any_data`,
    for a data file with other contents than the program was compiled with; `InvalidModule` for instructions that the
    dialect does not allow.
    """
    from et_ir.dialects.program import BufferOp, GlobalOp
    from et_ir.emit import attach_data_file, disassemble
    from et_schema.errors import Error, InvalidFile
    from et_schema.ptd import read_ptd

    module = disassemble(file)
    verify_module(module)
    _declare_operators(module)
    for name, data in (data_files or {}).items():
        attach_data_file(module, name, read_ptd(data), any_data=any_data)
    missing = [
        op.key
        for op in module.body.block.ops
        if isinstance(op, GlobalOp) and op.value is None and not isinstance(op, BufferOp)
    ]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InvalidFile(
            f'the bytes of the constant "{missing[0]}"{more} are in a data file (.ptd), which was not given',
            code=Error.NotFound,
            hint="give it: "
            + worded(python="import_file(…, {name: data})", command="--data FILE.ptd, for each of its files"),
        )
    return module


def _declare_operators(module: ModuleOp) -> None:
    """Declare the registered operators of users that the kernels of a module compute, and those of ExecuTorch's library
    for language models.
    """
    from et_ir.dialects.executorch import KernelCallOp
    from et_ir.dialects.program import DeclareOperatorOp
    from et_ops.conventions import is_in_place
    from et_ops.library import operator_of_kernel

    kernels = dict.fromkeys(op.key for op in module.walk() if isinstance(op, KernelCallOp))
    unknown = [one for one in kernels if one.partition("::")[0] not in _KNOWN and not is_in_place(one)]
    unknown = [one for one in unknown if operator_of_kernel(one) is None]
    if not unknown:
        return
    # Imported here because no other file needs torch.
    from et_ir.frontend.custom_operators import find_operator

    if any(one.startswith("llama::") for one in unknown):
        from et_ir.language_models.custom_attention import register

        register()
    found = dict.fromkeys(filter(None, map(find_operator, unknown)))
    first = module.body.block.first_op
    declared = [DeclareOperatorOp(*schemas) for schemas in found]
    if first is None:
        module.body.block.add_ops(declared)
    else:
        module.body.block.insert_ops_before(declared, first)


def raise_program(
    data: bytes | memoryview,
    data_files: Mapping[str, bytes | memoryview] | None = None,
    *,
    level: str = DEFAULT,
    any_data: bool = False,
) -> EdgeProgramManager:
    """A program at the edge level from the bytes of a `.pte` file, of this compiler or of another.

    `data_files` are the contents of the `.ptd` files that belong to it, by their names. Graphs for XNNPACK become
    edge ops; delegates of other backends stay calls. Methods, the order of their inputs and outputs, names and state
    are those of the file.

    Raises `TypeError` for what is no bytes, `ExecutorchError` for a file that is damaged, whose data files are missing,
    or, unless `any_data`, have other contents than it was compiled with, and `PassFailedException` for instructions
    that have no counterpart at the edge level, all of which it lists.
    """
    from et_schema.pte import read_pte

    if not isinstance(data, bytes | bytearray | memoryview):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"the bytes of a program (.pte) are expected, not {type(data).__name__}; as in Path('net.pte').read_bytes()"
        )
    module = import_file(read_pte(data), data_files, any_data=any_data)
    run_stages(module, [raising_stage(level)])
    return EdgeProgramManager(module, _delegation(module))


def _delegation(module: ModuleOp) -> DelegationReport | None:
    """An empty report for a program that calls delegates, which makes it one at the level of backends."""
    has_calls = any(op.name.startswith("backend.") for op in module.walk())
    return DelegationReport() if has_calls else None
