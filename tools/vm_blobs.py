"""Verification of delegate blobs in known formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from et_schema.errors import ExecutorchError
    from et_vm.kernels.registry import KernelRegistry

__all__ = ["blob_problems"]


_Check: TypeAlias = "Callable[[memoryview, KernelRegistry | None], Iterator[ExecutorchError]]"


def blob_problems(file: memoryview, kernels: KernelRegistry | None) -> Iterator[ExecutorchError]:
    """The problems of the blobs in a file that is a good one besides, with their places in the file and in the blob.
    Each blob is looked at once; a program that is one runs with `kernels`.
    """
    from et_schema.pte import read_pte

    pte = read_pte(file)
    seen: set[tuple[int, int]] = set()
    for index, plan in enumerate(pte.program.execution_plan):
        for at, delegate in enumerate(plan.delegates):
            check, reference = _CHECKS.get(delegate.id), delegate.processed
            if check is None or reference is None or (reference.location, reference.index) in seen:
                continue
            seen.add((reference.location, reference.index))
            for problem in check(pte.delegate_data(reference), kernels):
                inside = f", {problem.where}" if problem.where else ""
                problem.where = f"execution_plan[{index}].delegates[{at}]{inside}"
                yield problem


def _xnnpack(blob: memoryview, kernels: KernelRegistry | None) -> Iterator[ExecutorchError]:
    from et_backends.xnnpack.format.blob import read_xnnpack
    from et_schema.errors import InvalidFile

    del kernels
    try:
        read_xnnpack(blob)
    except InvalidFile as error:
        yield error


def _coreml(blob: memoryview, kernels: KernelRegistry | None) -> Iterator[ExecutorchError]:
    from et_backends.coreml.format.blob import read_coreml
    from et_schema.errors import InvalidFile

    del kernels
    try:
        read_coreml(blob)
    except InvalidFile as error:
        yield error


def _ethos_u(blob: memoryview, kernels: KernelRegistry | None) -> Iterator[ExecutorchError]:
    from et_backends.ethos_u.format import read_vela
    from et_schema.errors import InvalidFile

    del kernels
    try:
        read_vela(blob)
    except InvalidFile as error:
        yield error


_DERIVED: Final = 64
"""Bytes, and units of work, for each byte of a blob whose operators derive data from constants of their own."""
_LEAST: Final = 1 << 29
"""These for any blob."""


def _tosa(blob: memoryview, kernels: KernelRegistry | None) -> Iterator[ExecutorchError]:
    """What operators derive of constants that they share may be any multiple of the blob, so that it is limited."""
    from et_backends.tosa.format.blob import read_tosa
    from et_backends.tosa.runtime.program import TosaProgram
    from et_schema.errors import ExecutorchError
    from et_vm.backends.accounting import Accountant
    from et_vm.platform import Platform
    from et_vm.work import WorkMeter

    del kernels
    most = _LEAST + _DERIVED * len(blob)
    try:
        TosaProgram(read_tosa(blob), Accountant(Platform(memory_limit=most), WorkMeter(most)))
    except ExecutorchError as error:
        yield error


def _vgf(blob: memoryview, kernels: KernelRegistry | None) -> Iterator[ExecutorchError]:
    from et_backends.vgf.format import read_vgf
    from et_schema.errors import InvalidFile

    del kernels
    try:
        read_vgf(blob)
    except InvalidFile as error:
        yield error


def _vulkan(blob: memoryview, kernels: KernelRegistry | None) -> Iterator[ExecutorchError]:
    """Tables, and that shaders are whole; what these compute is for a driver to say."""
    from et_backends.vulkan.format.blob import read_vulkan
    from et_schema.errors import InvalidFile

    del kernels
    try:
        read_vulkan(blob)
    except InvalidFile as error:
        yield error


def _vkgraph(blob: memoryview, kernels: KernelRegistry | None) -> Iterator[ExecutorchError]:
    """Tables, values and calls; whether there are kernels is for whoever loads the method."""
    from et_backends.vulkan_graph.format.blob import read_vkgraph
    from et_schema.errors import InvalidFile

    del kernels
    try:
        read_vkgraph(blob)
    except InvalidFile as error:
        yield error


def _native(blob: memoryview, kernels: KernelRegistry | None) -> Iterator[ExecutorchError]:
    """Every object is linked, for whichever machine it is, and none is run; the portable program is verified."""
    from et_backends.codegen.format import CALL, ENTRY, PREPARE, SERVE
    from et_backends.native.format import read_native
    from et_schema.errors import InvalidFile
    from et_vm.backends.elf import link_object, machine_of

    try:
        program = read_native(blob)
    except InvalidFile as error:
        yield error
        return
    functions = (ENTRY, CALL, SERVE, PREPARE) if program.derived else (ENTRY, CALL, SERVE)
    for index, one in enumerate(program.objects):
        try:
            code = memoryview(one.code)
            image = link_object(code, machine_of(code))
            for function in functions:
                image.place(function)
        except InvalidFile as error:
            error.nest(f"objects[{index}]")
            yield error
    if program.fallback:
        for problem in _nested(memoryview(program.fallback), kernels):
            problem.where = f"fallback, {problem.where}" if problem.where else "fallback"
            yield problem


def _nested(blob: memoryview, kernels: KernelRegistry | None) -> Iterator[ExecutorchError]:
    from et_vm.run.validation import validate

    found = validate(blob, kernels)
    yield from found.problems
    yield from found.clashes


_CHECKS: Final[dict[str, _Check]] = {
    "CoreMLBackend": _coreml,
    "EthosUBackend": _ethos_u,
    "NativeBackend": _native,
    "NestedProgramBackend": _nested,
    "SpirvBackend": _vulkan,
    "TOSABackend": _tosa,
    "VgfBackend": _vgf,
    "VulkanBackend": _vkgraph,
    "XnnpackBackend": _xnnpack,
}
