"""The VM of this project as a target: with kernels of its own, and with those of torch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from et_ir.targets.target import Tables, Target

__all__ = ["ET_VM", "ET_VM_ATEN"]

_FOLDER: Final = Path(__file__).parent

ET_VM: Final = Target(
    name="et-vm",
    provenance="The registries of this version of et-vm: portable kernels, primitive operators and backends.",
    tables=Tables.in_folder(_FOLDER, "et-vm"),
    vm_kernels="portable",
    runtime="et-vm",
)

ET_VM_ATEN: Final = replace(
    ET_VM,
    name="et-vm-aten",
    provenance="The registry of this version of et-vm with the out variants of torch.",
    tables=replace(Tables.in_folder(_FOLDER, "et-vm-aten"), backends=ET_VM.tables.backends),
    vm_kernels="aten",
)
