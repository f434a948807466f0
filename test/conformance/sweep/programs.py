"""Samples as modules of the aten dialect, exported and imported once for all routes.

A program depends on the types and shapes of a sample's tensors and on its other arguments, not on the elements: samples
that differ in these alone share one. Modules are kept in a folder from run to run, under a digest of all that they are
made from: the sample, torch, and the sources of the frontend and of the dialects.
"""

from __future__ import annotations

import functools
import io
import warnings
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import torch
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import et_ir
import et_ops
from et_ir import EdgeProgramManager, to_edge, to_edge_transform_and_lower
from et_ir.data.store import WeightStore
from et_ir.delegation.partitioner import Partitioner
from et_ir.driver.kept import KeptOperators
from et_ir.frontend import import_program
from et_ir.text import parse_module, print_module, resolve_weights, save_text, store_path, stored_constants
from et_tools.reading import compiler_context
from examples.artefacts import digest
from sweep.refusals import why_not_exported
from sweep.samples import Sample

__all__ = ["NotExported", "SamplePrograms"]

T = TypeVar("T")

LARGEST: Final = 64
"""Number of programs in memory: more than an entry has on all routes."""


class NotExported(Exception):
    """`torch.export` refuses the sample; the message is a line that says why."""


class SamplePrograms:
    """Programs of samples, kept in `folder` if there is one."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._modules: OrderedDict[str, ModuleOp | Exception] = OrderedDict()
        self._edges: OrderedDict[str, EdgeProgramManager | Exception] = OrderedDict()

    def module(self, sample: Sample) -> ModuleOp:
        """The imported program of a sample, for reading only.

        Raises `NotExported`, and what `import_program` raises.
        """
        key = _key(sample)
        return _remembered(self._modules, key, lambda: self._imported(key, sample))

    def edge(self, sample: Sample) -> EdgeProgramManager:
        """The sample at the edge level. Raises as `module` and `to_edge` do."""
        return _remembered(self._edges, _key(sample), lambda: to_edge(self.module(sample)))

    def lowered(self, sample: Sample, partitioner: Partitioner) -> EdgeProgramManager:
        """The sample with what the partitioner takes delegated: as by `to_edge_transform_and_lower` of the exported
        program, whose decompositions depend on the operators that the partitioner keeps.
        """
        if KeptOperators.of(partitioner).names:
            return to_edge_transform_and_lower(self.module(sample), partitioner=partitioner)
        return self.edge(sample).to_backend(partitioner)

    def _imported(self, key: str, sample: Sample) -> ModuleOp:
        path = None if self._folder is None else self._folder / f"{key}.mlir"
        if path is not None and path.exists():
            return _read(path)
        with warnings.catch_warnings(action="ignore"):
            try:
                program = torch.export.export(sample.module, sample.inputs, strict=False)
            except Exception as problem:
                raise NotExported(why_not_exported(problem)) from problem
            module = import_program(program)
        if path is not None:
            _write(path, module)
        return module


def _remembered(known: OrderedDict[str, T | Exception], key: str, make: Callable[[], T]) -> T:
    """What `make` returned or raised under this key, as long as it is among the last ones."""
    if key not in known:
        try:
            known[key] = make()
        except Exception as problem:
            known[key] = problem
        if len(known) > LARGEST:
            known.popitem(last=False)
    found = known[key]
    if isinstance(found, Exception):
        raise found
    return found


def _read(path: Path) -> ModuleOp:
    module = parse_module(_context(), path.read_text(encoding="utf-8"), path.name)
    if store_path(path).exists():
        assert not resolve_weights(module, WeightStore(store_path(path)))
    return module


def _write(path: Path, module: ModuleOp) -> None:
    """Each file appears whole, the store before the text: other processes may look for them."""
    text = io.StringIO()
    print_module(module, text, debuginfo=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_text(path, text.getvalue(), stored_constants(module))


@functools.cache
def _context() -> Context:
    return compiler_context()


@functools.cache
def _versions() -> str:
    """Of all that makes a module of a sample."""
    folders = [Path(str(et_ops.__file__)).parent, Path(str(et_ir.__file__)).parent / "frontend"]
    folders += [Path(str(et_ir.__file__)).parent / name for name in ("dialects", "data")]
    files = [
        Path(str(et_ir.__file__)).parent / "text.py",
        Path(__file__),
        Path(__file__).with_name("samples.py"),
    ]
    return digest(torch.__version__, *folders, *files)


def _key(sample: Sample) -> str:
    tensors = [(one.dtype, tuple(one.shape), one.stride()) for one in sample.inputs]
    others = [repr(leaf) for leaf in sample.module.leaves]
    return digest(_versions(), sample.entry, str(tensors), str(others), str(sample.module.spec))
