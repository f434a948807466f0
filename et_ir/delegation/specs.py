"""Compile specs, delegation specs and partition results of backends.

They hold the settings of a backend, and which parts of a program go to it with which settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from et_ir.diagnostics import Diagnostic, PassReport
from et_ir.dialects.backend import CompileSpecAttr

__all__ = ["CompileSpec", "DelegationSpec", "PartitionResult"]


@dataclass(frozen=True)
class CompileSpec:
    """A setting: bytes under a key. The backend gets it when it compiles, and its runtime part when it loads."""

    key: str
    """The name of the setting."""
    value: bytes
    """Its value, in whatever encoding the backend reads."""

    @property
    def attribute(self) -> CompileSpecAttr:
        """Representation in the IR."""
        return CompileSpecAttr.of(self.key, self.value)


@dataclass(frozen=True)
class DelegationSpec:
    """Destination of a partition: a backend with settings. Raises `TypeError` for what is no id."""

    backend_id: str
    """The name of the backend, as files have it: that of its `BackendDetails`."""
    compile_specs: tuple[CompileSpec, ...] = ()
    """The settings, which are part of the file."""

    def __post_init__(self) -> None:
        given = cast(object, self.backend_id)
        if isinstance(given, str) and given:
            return
        found = getattr(given, "backend_id", None)
        way = f"; give {getattr(given, '__name__', 'its class')}.backend_id" if isinstance(found, str) else ""
        raise TypeError(f"backend_id: expected the id of a backend, got {given!r}{way}")


@dataclass(frozen=True)
class PartitionResult:
    """Decision of a partitioner for a method.

    Ops with one `delegation_tag` (`et_ir.delegation.tags`) are one partition.
    """

    tagged: FuncOp
    """The method, whose ops have tags."""
    partition_tags: Mapping[str, DelegationSpec]
    """The delegation spec of the partition of each tag."""
    refusals: Mapping[Operation, Diagnostic] = field(default_factory=dict[Operation, Diagnostic])
    """Why ops that have no tag have none, as far as the partitioner says."""
    failures: Sequence[PassReport] = ()
    """What the partitioner raised of single ops, which have no tag then."""
