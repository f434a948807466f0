"""Target runtimes as objects.

A `Target` holds what the compiler knows of one runtime: its kernels and backends, the element types and the forms of
calls that kernels refuse, the arguments that results may be written over, what calls cost, and the legalizations that
a program needs. Passes take a target by name and ask `et_ir.targets.lookup.find_target` for it once.

A custom runtime is one file:

    from dataclasses import replace
    from et_ir.targets.lookup import find_target

    TARGET = replace(
        find_target("stock-1.5"),
        name="acme-2",
        provenance="The firmware of release 2, built with selective kernels.",
        added_kernels=frozenset({"acme::softmax.out"}),
    )

which is named `--target acme.py:TARGET`, or by an entry point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from et_ir.targets.costs import CostTable, read_costs
from et_ir.targets.tables import NOT_IN_PLACE, names_in, read_in_place, read_refused_types

if TYPE_CHECKING:
    from xdsl.pattern_rewriter import RewritePattern

    from et_ir.dialects.edge import EdgeOp

__all__ = ["Tables", "Target"]


@dataclass(frozen=True)
class Tables:
    """The files with the facts of a runtime, each read when it is first asked for; `None` says nothing."""

    kernels: Path | None = None
    """An operator on each line, as runtimes name it: `aten::add.out`."""
    backends: Path | None = None
    """A backend id on each line."""
    refused_types: Path | None = None
    """`aten::sin.out | self | complex<f32> complex<f64>`: kernel, arguments, element types."""
    in_place: Path | None = None
    """`aten::add.out | self,other`: kernel and arguments; `aten::mm.out | - | …` with a reason why it may not."""
    costs: Path | None = None
    """Times of kernels: see `et_ir.targets.costs`."""

    @staticmethod
    def in_folder(folder: Path, name: str) -> Tables:
        """The files that are there of `<name>.txt`, `<name>-backends.txt`, `<name>-types.txt`, `<name>-in-place.txt`
        and `<name>-costs.toml`.
        """
        paths = [
            folder / f"{name}{ending}"
            for ending in (".txt", "-backends.txt", "-types.txt", "-in-place.txt", "-costs.toml")
        ]
        return Tables(*(path if path.exists() else None for path in paths))


@dataclass(frozen=True, eq=False)
class Target:
    """A runtime that programs are compiled for. Two are the same if they are one object."""

    name: str
    """Name in `--target NAME`."""
    provenance: str
    """Provenance of the facts: a release, and how it was queried."""
    tables: Tables = field(default_factory=Tables)
    """Files with kernels, backends and measured costs."""
    added_kernels: frozenset[str] = frozenset()
    """Kernels beside those of the table."""
    added_backends: frozenset[str] = frozenset()
    """Backend ids beside those of the table."""

    # -- what becomes of a program

    legalizations: tuple[str | type[RewritePattern], ...] = ()
    """The rewrites of `legalize`, in order: names of its families, and custom patterns."""
    quantized_as_torch: Callable[[EdgeOp], bool] | None = None
    """Whether the kernel of an op of `quantized_decomposed` computes what torch does, where not all of them do: the
    others are decomposed, as those without a kernel are. `None`: no quantized operator is decomposed.
    """
    limits: Callable[[EdgeOp], Iterator[str]] | None = None
    """Limits of the kernel of an op, apart from element types: the end of a sentence whose subject is the kernel."""
    splits_channels: bool = False
    """Whether chains of convolutions are split at the peak of memory: not where kernels need few bytes anyway."""

    # -- how the runtime behaves

    allocates: bool = True
    """Whether it finds memory while it runs, for tensors without an upper bound."""
    general_index_put: bool = True
    """Whether `aten::index_put_` takes several indices of any shape and accumulates. Without, an update in place is
    given one index of one dimension, counted from the front, and values of the shape of what is written.
    """
    vm_kernels: str | None = None
    """For et-vm, to which users add kernels and backends in Python (`--load FILE`): what `et-vm run --kernels` says."""
    runtime: str = "the runtime"
    """Display name."""

    def __str__(self) -> str:
        return self.name

    @cached_property
    def kernels(self) -> frozenset[str]:
        """The operators that it has kernels for."""
        return _names(self.tables.kernels) | self.added_kernels

    @cached_property
    def backends(self) -> frozenset[str]:
        """The ids of its backends."""
        return _names(self.tables.backends) | self.added_backends

    @cached_property
    def refused_types(self) -> Mapping[str, Mapping[str, frozenset[str]]]:
        """The element types that kernels refuse, by kernel and argument."""
        path = self.tables.refused_types
        return {} if path is None else read_refused_types(path)

    @cached_property
    def in_place(self) -> dict[str, frozenset[str]]:
        """For each kernel that may, the arguments of its own type and layout that its first result may be written
        over.
        """
        return {
            kernel: frozenset(arguments.split(","))
            for kernel, arguments, _ in self._in_place_rows
            if arguments != NOT_IN_PLACE
        }

    @cached_property
    def not_in_place(self) -> dict[str, str]:
        """The kernels that may not write over an argument, where the table says so, and why."""
        return {kernel: why for kernel, arguments, why in self._in_place_rows if arguments == NOT_IN_PLACE}

    @cached_property
    def _in_place_rows(self) -> tuple[tuple[str, str, str], ...]:
        path = self.tables.in_place
        return () if path is None else read_in_place(path)

    @cached_property
    def costs(self) -> CostTable | None:
        """The cost table of its kernels, `None` if they have not been measured.

        Raises `ValueError` for a table with anything but times that are not negative.
        """
        path = self.tables.costs
        return None if path is None else CostTable(self.name, read_costs(path))


def _names(path: Path | None) -> frozenset[str]:
    return frozenset() if path is None else names_in(path)
