"""Delegates of a file (`--delegates`), and readers of their blobs.

A blob is its backend's own: a backend package (`et_schema.backend_packages`) may have a decoder of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from et_schema.wording import count

if TYPE_CHECKING:
    from et_schema.program import CompileSpec
    from et_vm.program import Program

Decoder: TypeAlias = Callable[[memoryview, dict[str, bytes], Mapping[str, memoryview]], Sequence[str]]


def facts(program: Program) -> list[dict[str, Any]]:
    """One object for each delegate of each method; `contents` are the lines of a decoder, if there is one."""
    from hashlib import sha256

    from et_schema.backend_packages import backend_packages
    from et_schema.program import DataLocation

    decoders = backend_packages().places("decoder")
    named = program.pte.named_data()
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
                delegate_facts["contents"] = _decode(decoders[delegate.id], blob, specs, named)
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


def _decode(
    place: str, blob: memoryview, specs: dict[str, bytes], named: Mapping[str, memoryview]
) -> list[str]:
    """The output of a decoder, or its failure: it may be foreign code, and bytes are of any origin."""
    from et_schema.backend_packages import load_part

    try:
        decoder: Decoder = load_part(place)
        return [str(line) for line in decoder(blob, specs, named)]
    except Exception as error:
        return [f"{type(error).__name__}: {error} (in the decoder {place})"]


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
