"""Text listing of Vulkan blobs for `et-vm info --delegates`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from et_schema.wording import count

if TYPE_CHECKING:
    from et_backends.vulkan.format.blob import VulkanProgram, VulkanTensor

__all__ = ["vulkan_lines"]


def vulkan_lines(blob: memoryview, specs: dict[str, bytes], named: Mapping[str, memoryview]) -> list[str]:
    """Decode a blob: required device features, tensors, memory, shaders, then each dispatch.

    Raises InvalidFile for a blob that makes no sense.
    """
    from et_backends.vulkan.format.blob import read_vulkan

    del specs
    program = read_vulkan(blob)
    return [*_summary(program), *_dispatches(program)]


def _summary(program: VulkanProgram) -> Iterator[str]:
    from et_backends.vulkan.format.blob import capabilities_of
    from et_backends.vulkan.format.spirv import capability_name

    names = [capability_name(one) for one in sorted(capabilities_of(program))]
    yield f"shaders of SPIR-V 1.3, needs Vulkan 1.2 and {' '.join(names)}"
    inputs, outputs = (
        ", ".join(map(_shown, tensors)) or "none" for tensors in (program.inputs, program.outputs)
    )
    yield f"inputs: {inputs}; outputs: {outputs}"
    yield f"arena: {program.arena_size:,} bytes"
    data = sum(one.nbytes for one in program.constants)
    yield f"{count(len(program.constants), 'constant')}: {data:,} bytes of named data of the program"
    uses: Counter[int] = Counter(one.shader for one in program.dispatches)
    for number, shader in enumerate(program.shaders):
        yield f"shader {shader.name}: {len(shader.code):,} bytes, dispatched {count(uses[number], 'time')}"


def _shown(tensor: VulkanTensor) -> str:
    stored = " stored as half" if tensor.is_half else ""
    return f"{tensor.scalar_type.name.lower()} {list(tensor.sizes)}{stored}"


def _dispatches(program: VulkanProgram) -> Iterator[str]:
    for number, one in enumerate(program.dispatches):
        buffers = ", ".join(
            _place(buffer.memory.name.lower(), buffer.number, buffer.offset) for buffer in one.buffers
        )
        words = f" words {list(one.words)}" if one.words else ""
        name = program.shaders[one.shader].name
        yield f"dispatch {number}: {name}({buffers}){words}, {one.invocations:,} invocations"


def _place(memory: str, number: int, offset: int) -> str:
    if memory == "arena":
        return f"arena+{offset}"
    return memory if memory == "report" else f"{memory} {number}"
