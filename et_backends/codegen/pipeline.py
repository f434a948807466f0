"""Lowering of a partition to machine code: the passes, in order."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Generator, Hashable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import Final, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from et_backends.codegen.kernels.host import Packed, code_of
from et_backends.codegen.object_code import (
    INSTRUCTION_SETS,
    InstructionSet,
    data_layout,
    llvm_text,
    object_code,
)
from et_backends.codegen.passes.assign_layouts import AssignLayoutsPass
from et_backends.codegen.passes.choose_algorithms import ChooseAlgorithmsPass
from et_backends.codegen.passes.convert_to_llvm import ConvertToLlvmPass, empty_function
from et_backends.codegen.passes.convert_to_loops import Loops, loops_of
from et_backends.codegen.passes.distribute_loops import DistributeLoopsPass
from et_backends.codegen.passes.expand_math import ExpandMathPass
from et_backends.codegen.passes.form_kernels import FormKernelsPass
from et_backends.codegen.passes.fuse_attention import FuseAttentionPass
from et_backends.codegen.passes.fuse_bands import CACHE, FuseBandsPass
from et_backends.codegen.passes.fuse_concatenations import FuseConcatenationsPass
from et_backends.codegen.passes.fuse_normalization import FuseNormalizationPass
from et_backends.codegen.passes.lower_vectors import LowerVectorsPass
from et_backends.codegen.passes.merge_kernels import merge_kernels
from et_backends.codegen.passes.plan_buffers import plan_buffers
from et_backends.codegen.passes.recompute_masks import RecomputeMasksPass
from et_backends.codegen.passes.sink_scales import SinkScalesPass
from et_backends.codegen.state_updates import results_in_place
from et_ir.analysis.choices import is_explained
from et_ir.cache.dependences import compiler_digest, versions
from et_ir.cache.store import Key, current_store
from et_ir.data import Blob
from et_ir.passes.to_executorch.look_up_integers import LookUpIntegersPass
from et_ir.passes.to_executorch.share_matrices import ShareMatricesPass
from et_ir.text import module_text

__all__ = [
    "MACHINE_LEVELS",
    "Compiled",
    "Memory",
    "compile_partition",
    "machine_passes",
    "make_kernels",
    "observed",
]

MACHINE_LEVELS: Final = ("loops", "vector", "llvm")
"""The levels of a partition below `edge`: loops over buffers, vectors of the machine, the `llvm` dialect."""

Listener: TypeAlias = Callable[[str, InstructionSet, ModuleOp], None]
_LISTENER: Final[ContextVar[Listener | None]] = ContextVar("listener", default=None)
_KEPT: Final = 8
"""Partitions whose object code is kept: as many as differ in turn."""
_OBJECTS: Final[OrderedDict[Hashable, bytes]] = OrderedDict()
"""Object code by what it is compiled from, the latest last: layers of a model differ in their constants only."""
_OBJECTS_LOCK: Final = Lock()
"""Held while object code is looked up or kept: several threads may compile."""


@contextmanager
def observed(listener: Listener) -> Generator[None]:
    """Within, `listener` is called with each level that a partition reaches, what it is for, and the module there."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def _reached(level: str, target: InstructionSet, module: ModuleOp) -> None:
    listener = _LISTENER.get()
    if listener is not None:
        listener(level, target, module)


@dataclass(frozen=True)
class Memory:
    """Memory that the code of all instruction sets reads and writes, beside inputs and outputs."""

    arena_size: int
    constants: list[tuple[str, Blob]]
    """Keys and bytes in the order of the arguments."""
    derived: list[int]
    """Bytes of the derived constants, in that order."""
    values: list[tuple[int, SSAValue, int]]
    """Results that are kept: number of the kernel, and bytes."""
    in_place: list[tuple[int, int]]
    """The outputs whose memory holds an input that some elements of are replaced: numbers of both."""


@dataclass(frozen=True)
class Compiled:
    """Object code of a partition, for each instruction set."""

    objects: dict[str, bytes]
    cpu_flags: dict[str, tuple[str, ...]]
    """Of each instruction set: the features that a processor must have to run the code."""
    calls: dict[str, list[tuple[str, int]]]
    """Of each instruction set: the kernels that are called in turn, by name and number; several may be one function."""
    memory: Memory
    messages: list[str]
    """Messages that the code reports, by number."""


def machine_passes(lanes: int) -> list[ModulePass]:
    """From loops over buffers to the `llvm` dialect, for vectors of `lanes` elements."""
    return [DistributeLoopsPass(), ExpandMathPass(), LowerVectorsPass(lanes), ConvertToLlvmPass()]


def make_kernels(
    context: Context,
    module: ModuleOp,
    *,
    bands: int | None = CACHE,
    algorithm: str | None = None,
    tune: Callable[[ModuleOp], None] | None = None,
    concatenations: bool = True,
) -> None:
    """From a module of edge ops with one method to kernels, with the layouts of what is between them.

    `concatenations` says whether these are fused with convolutions; the other options are those of `compile_partition`.
    """
    LookUpIntegersPass().apply(context, module)
    ShareMatricesPass().apply(context, module)
    SinkScalesPass().apply(context, module)
    RecomputeMasksPass().apply(context, module)
    FuseAttentionPass().apply(context, module)
    FuseNormalizationPass().apply(context, module)
    FormKernelsPass().apply(context, module)
    if bands is not None:
        FuseBandsPass(bands).apply(context, module)
    if concatenations:
        FuseConcatenationsPass().apply(context, module)
    if tune is not None:
        tune(module)
    ChooseAlgorithmsPass(algorithm).apply(context, module)
    AssignLayoutsPass().apply(context, module)


def compile_partition(
    module: ModuleOp,
    instruction_sets: tuple[str, ...],
    mark: Callable[[Memory], str],
    *,
    bands: int | None = CACHE,
    algorithm: str | None = None,
    tune: Callable[[ModuleOp], None] | None = None,
    keep: bool = False,
) -> Compiled:
    """Compile a module of edge ops with one method, which becomes kernels.

    The objects define a function named as `mark` says for the memory that they need. Convolutions with an image of more
    than `bands` bytes between them are fused by bands; None for no fusion. `algorithm` is one of convolutions, which
    the cheapest is taken of unless it is given. `tune` gives kernels measured times by which it is chosen. With `keep`,
    each result of a kernel has memory of its own.
    """
    context = Context()
    make_kernels(context, module, bands=bands, algorithm=algorithm, tune=tune)
    for name in instruction_sets:
        # LLVM serves one thread at a time: it is not asked for this while it compiles.
        for target in (INSTRUCTION_SETS[name], INSTRUCTION_SETS[name].with_dot_products()):
            data_layout(target)
    in_place = results_in_place(next(op for op in module.body.block.ops if isinstance(op, FuncOp)))
    arena = 0
    facts: list[tuple[list[str], list[int]]] = []
    packed: Packed = {}
    loops: dict[str, Loops] = {}
    for name in instruction_sets:
        made = loops[name] = loops_of(
            module, INSTRUCTION_SETS[name], packed, keep=keep, in_place=[output for output, _ in in_place]
        )
        for function in made.module.body.block.ops:
            if isinstance(function, FuncOp) and function.sym_visibility is None:
                arena = max(arena, plan_buffers(function).size)
        facts.append(([key for key, _ in made.host.constants], made.host.derived_sizes))
        if facts[0] != facts[-1]:
            raise AssertionError(f"{name} packs constants unlike the instruction sets before it")
    host = loops[instruction_sets[0]].host
    memory = Memory(arena, host.constants, host.derived_sizes, loops[instruction_sets[0]].values, in_place)
    calls: dict[str, list[tuple[str, int]]] = {}
    for name, made in loops.items():
        merge_kernels(made.module)
        calls[name] = made.calls
    with ThreadPoolExecutor(1) as executor:
        objects = _compiled(context, loops, mark(memory), executor)
    flags = {name: _target(name, made).cpu_flags for name, made in loops.items()}
    return Compiled(objects, flags, calls, memory, host.messages)


def _target(name: str, loops: Loops) -> InstructionSet:
    """An instruction set, with the instructions that the kernels need."""
    target = INSTRUCTION_SETS[name]
    return target.with_dot_products() if loops.host.multiplies_bytes else target


def _compiled(context: Context, loops: dict[str, Loops], mark: str, executor: Executor) -> dict[str, bytes]:
    """Lower loops for each instruction set. LLVM compiles one in a thread while passes lower the next."""
    objects: dict[str, Future[bytes]] = {}
    keys: dict[str, Hashable] = {}
    new: dict[str, Key] = {}
    store = current_store() if _LISTENER.get() is None else None
    for name, made in loops.items():
        target = _target(name, made)
        keys[name] = (target, mark, code_of(made.module.body.block))
        known = _known(keys[name]) if _LISTENER.get() is None else None
        if known is None and store is not None:
            key = _store_key(made.module, mark, target)
            entry = store.find(key, f"machine code for {name}", explain=is_explained())
            if entry is None:
                new[name] = key
            else:
                known = bytes(entry.contents[0])
        if known is not None:
            objects[name] = Future()
            objects[name].set_result(known)
            continue
        _reached("loops", target, made.module)
        for one in machine_passes(target.lanes):
            one.apply(context, made.module)
            if isinstance(one, LowerVectorsPass):
                _reached("vector", target, made.module)
        made.module.body.block.add_op(empty_function(mark))
        _reached("llvm", target, made.module)
        objects[name] = executor.submit(object_code, llvm_text(made.module, target), target)
    found = {name: future.result() for name, future in objects.items()}
    if store is not None:
        for name, key in new.items():
            store.keep(key, {}, [found[name]])
    with _OBJECTS_LOCK:
        for name, code in found.items():
            _OBJECTS[keys[name]] = code
            _OBJECTS.move_to_end(keys[name])
        while len(_OBJECTS) > _KEPT * len(found):
            _OBJECTS.popitem(last=False)
    return found


def _store_key(module: ModuleOp, mark: str, target: InstructionSet) -> Key:
    """What object code depends on: layers of other weights have the same."""
    return Key(
        "code",
        {
            "loops": sha256(module_text(module).encode()).hexdigest(),
            "interface": mark,
            "target": repr(target),
            "source of the compiler": compiler_digest(),
        }
        | {f"version of {name}": version for name, version in versions().items()},
    )


def _known(key: Hashable) -> bytes | None:
    """Object code that is kept."""
    with _OBJECTS_LOCK:
        return _OBJECTS.get(key)
