"""Snapshots of modules from which ETRecords are written."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from et_ir.driver.observer import Observer

if TYPE_CHECKING:
    from torch.export import ExportedProgram

__all__ = ["Snapshot"]


@dataclass
class Snapshot(Observer):
    """Copies of a program's module at the levels `aten` and `edge`, taken when reached. Weights are shared."""

    modules: dict[str, ModuleOp] = field(default_factory=dict[str, ModuleOp])
    """The copies by level."""
    inputs: list[Any] | None = None
    """Example inputs of `forward`, flat."""

    @classmethod
    def of(cls, programs: ExportedProgram | Mapping[str, ExportedProgram]) -> Snapshot:
        """A snapshot to be filled, with the example inputs of `forward`, if the program has any."""
        from torch.utils import _pytree as pytree

        program = programs.get("forward") if isinstance(programs, Mapping) else programs
        examples = None if program is None else program.example_inputs
        return cls(inputs=None if examples is None else copy.deepcopy(pytree.tree_leaves(examples)))

    def reached(self, level: str, module: ModuleOp) -> None:
        """A level is reached."""
        if level in ("aten", "edge"):
            self.modules[level] = module.clone()
