"""Benchmark models, compiled by both toolchains and cached between runs."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from examples import models
from examples.artefacts import digest, keep, package
from examples.stages import compiler_key

FOLDER = Path("build/bench")
NAMES = models.NAMES
"""The architectures with seeded weights."""
TRAINED = ("digits", "minilm")
"""The examples with trained weights."""
LOOPING = ("translator",)
"""The examples with a loop in them."""
DECODING = ("cached_llama",)
"""The examples whose inference is one step of a decoder, which keeps its cache."""
POSITION = 64
"""Position of the decoded token, in the middle of the cache."""


@dataclass(frozen=True)
class Subject:
    """An example model with its inputs, flat."""

    name: str
    module: torch.nn.Module
    arguments: tuple[Any, ...]

    @property
    def inputs(self) -> list[Any]:
        return pytree.tree_leaves(self.arguments)

    def export(self) -> torch.export.ExportedProgram:
        return torch.export.export(self.module, self.arguments)


def subject(name: str) -> Subject:
    """The example `name`, of `NAMES`, `TRAINED`, `LOOPING` or `DECODING`; raises `KeyError` for another."""
    if name in LOOPING:
        from examples.models.translator import translator

        module, arguments, _ = translator()
        return Subject(name, module, arguments)
    if name in DECODING:
        from examples.models.cached_llama import cached_llama

        decoder = cached_llama()["decode"][0]
        return Subject(name, decoder, (torch.tensor([[5]]), torch.tensor([POSITION])))
    if name == "digits":
        from examples.digits.network import digits as factory
    elif name == "minilm":
        from examples.sentences.encoder import sentence_encoder as factory
    else:
        factory = models.factory(name)
    return Subject(name, *factory())


def compile_ours(program: torch.export.ExportedProgram, level: str = "1") -> bytes:
    """Our compiler at a level of `-O`, from an exported program to bytes that the stock runtime and et-vm take."""
    from et_ir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge

    edge = to_edge(program, compile_config=EdgeCompileConfig(level=level))
    return edge.to_executorch(ExecutorchBackendConfig(level=level)).buffer


def compile_for_vm(program: torch.export.ExportedProgram) -> bytes:
    """Our compiler with et-vm as its target."""
    from et_ir import ExecutorchBackendConfig, to_edge

    return to_edge(program).to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer


def compile_stock(program: torch.export.ExportedProgram) -> bytes:
    """The stock compiler, from an exported program to bytes."""
    with warnings.catch_warnings(action="ignore"):  # about its own use of deprecated functions
        from executorch.exir import to_edge

        return to_edge(program).to_executorch().buffer


def compile_for_xnnpack(program: torch.export.ExportedProgram) -> bytes:
    """Our compiler with our partitioner for XNNPACK."""
    from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
    from et_ir import to_edge_transform_and_lower

    return to_edge_transform_and_lower(program, partitioner=XnnpackPartitioner()).to_executorch().buffer


def compile_native(program: torch.export.ExportedProgram) -> bytes:
    """Our compiler with the native backend, for the instruction set of this machine."""
    from et_backends.codegen.object_code import INSTRUCTION_SETS
    from et_backends.native.compiler import NativePartitioner
    from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
    from et_vm.backends.cpu import cpu_features

    features = cpu_features()
    best = next(name for name, one in INSTRUCTION_SETS.items() if features.issuperset(one.cpu_flags))
    partitioner = NativePartitioner(instruction_sets=[best])
    edge = to_edge_transform_and_lower(program, partitioner=partitioner)
    return edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer


def compile_stock_for_xnnpack(program: torch.export.ExportedProgram) -> bytes:
    """The stock compiler with its partitioner for XNNPACK."""
    with warnings.catch_warnings(action="ignore"):  # about its own use of deprecated functions
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        from executorch.exir import to_edge_transform_and_lower

        # It executes writes to state when it lowers them, which autograd refuses.
        with torch.no_grad():
            lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
            return lowered.to_executorch().buffer


LEVELS = ("0", "1", "2", "s")
COMPILERS: dict[str, Callable[[torch.export.ExportedProgram], bytes]] = {
    "ours": compile_ours,
    **{f"ours-O{level}": partial(compile_ours, level=level) for level in LEVELS},
    "ours-for-vm": compile_for_vm,
    "ours-native": compile_native,
    "ours-xnnpack": compile_for_xnnpack,
    "stock": compile_stock,
    "stock-xnnpack": compile_stock_for_xnnpack,
}


def file(model: Subject, compiler: str) -> Path:
    """The `.pte` by `compiler`, one of `COMPILERS`; compiled again only if something changed."""
    toolchain = version("executorch") if compiler.startswith("stock") else compiler_key()
    key = digest(package("examples"), torch.__version__, toolchain)

    def make(path: Path) -> dict[str, Any]:
        path.write_bytes(COMPILERS[compiler](model.export()))
        return {}

    path = FOLDER / f"{model.name}.{compiler}.pte"
    keep(path, key, make)
    return path


def methods_file(name: str, methods: Callable[[], Mapping[str, Any]], target: str) -> Path:
    """The `.pte` of an example by our compiler for a target, kept like `file`.

    `methods` gives what each method is exported from: module, example arguments, dynamic shapes.
    """
    key = digest(package("examples"), torch.__version__, compiler_key())

    def make(path: Path) -> dict[str, Any]:
        from et_ir import ExecutorchBackendConfig, to_edge

        programs = {
            method: torch.export.export(module, arguments, dynamic_shapes=shapes)
            for method, (module, arguments, shapes) in methods().items()
        }
        to_edge(programs).to_executorch(ExecutorchBackendConfig(target=target)).save(path)
        return {}

    path = FOLDER / f"{name}.{target}.pte"
    keep(path, key, make)
    return path


@contextlib.contextmanager
def quiet() -> Generator[None]:
    """Send file descriptor 2 to nowhere: the stock runtime logs there from C++ whenever it loads a file."""
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


__all__ = [
    "COMPILERS",
    "NAMES",
    "TRAINED",
    "Subject",
    "compile_for_vm",
    "compile_for_xnnpack",
    "compile_native",
    "compile_ours",
    "compile_stock",
    "compile_stock_for_xnnpack",
    "file",
    "methods_file",
    "quiet",
    "subject",
]
