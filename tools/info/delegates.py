"""Delegates of a file (`--delegates`), and readers of their blobs.

A blob is its backend's own. A package that knows the format of one registers a function under the entry point group
`et_vm.delegate_decoders`, named as the backend's id: it is called with the blob (`memoryview`) and the compile
specs (`dict[str, bytes]`) and returns lines of text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from et_tools.vm_files import count

if TYPE_CHECKING:
    from et_schema.program import CompileSpec
    from et_vm.program import Program

DECODERS = "et_vm.delegate_decoders"
OWN_DECODERS = {
    "CoreMLBackend": "et_tools.info.coreml_lines:coreml_lines",
    "EthosUBackend": "et_tools.info.ethos_u_lines:ethos_u_lines",
    "NativeBackend": "et_tools.info.native_lines:native_lines",
    "SpirvBackend": "et_tools.info.vulkan_lines:vulkan_lines",
    "TOSABackend": "et_tools.info.tosa_lines:tosa_lines",
    "VgfBackend": "et_tools.info.vgf_lines:vgf_lines",
    "VulkanBackend": "et_tools.info.vkgraph_lines:vkgraph_lines",
    "XnnpackBackend": "et_tools.info.xnnpack_lines:xnnpack_lines",
}

Decoder: TypeAlias = Callable[[memoryview, dict[str, bytes]], Sequence[str]]


def facts(program: Program) -> list[dict[str, Any]]:
    """One object for each delegate of each method; `contents` are the lines of a decoder, if there is one."""
    from hashlib import sha256

    from et_schema.program import DataLocation

    decoders = _decoders()
    found: list[dict[str, Any]] = []
    for plan_index, plan in enumerate(program.pte.program.execution_plan):
        calls = Counter(
            instruction.callee
            for instruction in program.instructions(plan_index)
            if instruction.opcode.mnemonic == "delegate"
        )
        for index, delegate in enumerate(plan.delegates):
            reference = delegate.processed
            assert reference is not None, "reading the file checks that delegates have data"
            blob = program.pte.delegate_data(reference)
            delegate_facts: dict[str, Any] = {
                "method": plan.name,
                "index": index,
                "backend": delegate.id,
                "calls": calls[index],
                "nbytes": blob.nbytes,
                "sha256": sha256(blob).hexdigest(),
                "where": f"segment {reference.index}"
                if reference.location == DataLocation.SEGMENT
                else f"inline data {reference.index}",
                "compile_specs": [_spec(spec) for spec in delegate.compile_specs],
            }
            if delegate.id in decoders:
                specs = {spec.key: bytes(spec.value) for spec in delegate.compile_specs}
                delegate_facts["contents"] = _decode(decoders[delegate.id], blob, specs)
            found.append(delegate_facts)
    return found


def _spec(spec: CompileSpec) -> dict[str, Any]:
    value = bytes(spec.value)
    try:
        text = value.rstrip(b"\0").decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    shown = text if text.isprintable() and (text or not value) else value[:32].hex(" ")
    return {"key": spec.key, "nbytes": len(value), "value": shown}


def _decoders() -> dict[str, Any]:
    """The decoders by backend: those that come with the commands, and those of packages, which go first."""
    from importlib.metadata import EntryPoint, entry_points

    known = {name: EntryPoint(name, place, DECODERS) for name, place in OWN_DECODERS.items()}
    return {**known, **{entry.name: entry for entry in entry_points(group=DECODERS)}}


def _decode(entry: Any, blob: memoryview, specs: dict[str, bytes]) -> list[str]:
    """The output of a decoder, or its failure: it is foreign code, on bytes of any origin."""
    try:
        decoder: Decoder = entry.load()
        return [str(line) for line in decoder(blob, specs)]
    except Exception as error:
        return [f"{type(error).__name__}: {error} (in the decoder {entry.value})"]


def lines(delegates: list[dict[str, Any]]) -> Iterator[str]:
    """A paragraph for each delegate."""
    yield ""
    yield f"{count(len(delegates), 'delegate')}: {sum(one['nbytes'] for one in delegates):,} bytes"
    for one in delegates:
        yield (
            f"  {one['method']}, delegate {one['index']}: {one['backend']}, {count(one['calls'], 'call')}, "
            f"{one['nbytes']:,} bytes in {one['where']}"
        )
        for spec in one["compile_specs"]:
            yield f"    {spec['key']} = {spec['value']} ({count(spec['nbytes'], 'byte')})"
        for line in one.get("contents", ()):
            yield f"    {line}"
