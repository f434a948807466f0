"""Command streams of Ethos-U blobs as text, for `et-vm info --delegates`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from et_schema.wording import count

if TYPE_CHECKING:
    from et_backends.ethos_u.format import VelaTensor

__all__ = ["ethos_u_lines"]

_MEMORIES = {
    "sram_kib": "SRAM",
    "dram_kib": "DRAM",
    "on_chip_flash_kib": "on-chip flash",
    "off_chip_flash_kib": "off-chip flash",
}


def ethos_u_lines(blob: memoryview, specs: dict[str, bytes], named: Mapping[str, memoryview]) -> list[str]:
    """The decoder: processor, sizes, Vela's estimate if the file has it, inputs and outputs.

    Raises InvalidFile for a blob that makes no sense.
    """
    from et_backends.ethos_u.format import ESTIMATE_SPEC, read_vela

    program = read_vela(blob)
    target = specs.get("target", b"").decode(errors="replace") or "Ethos-U"
    lines = [
        f"{target}: {len(program.commands):,} bytes of commands, {len(program.weights):,} of weights, "
        f"{program.scratch_size:,} of working memory"
    ]
    lines += _estimate(specs.get(ESTIMATE_SPEC))
    for label, tensors in (("input", program.inputs), ("output", program.outputs)):
        lines += [f"{label} {number}: {_tensor(one)}" for number, one in enumerate(tensors)]
    return lines


def _tensor(tensor: VelaTensor) -> str:
    shape = list(tensor.shape)
    while len(shape) > 1 and shape[0] == 1:
        del shape[0]
    return (
        f"{shape}, {count(tensor.element_size, 'byte')} each, at {tensor.offset:,} of region {tensor.region}"
    )


def _estimate(text: bytes | None) -> Iterator[str]:
    import json

    if text is None:
        return
    try:
        found: dict[str, Any] = json.loads(text)
        cycles, clock = float(found["cycles"]), float(found["clock_hz"])
        macs = int(found.get("macs", 0))
        memories = {label: float(found[name]) for name, label in _MEMORIES.items() if name in found}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        yield "the compiler's estimate is not readable"
        return
    milliseconds = f", {cycles / clock * 1e3:.3g} ms at {clock / 1e6:.0f} MHz" if clock else ""
    yield f"estimate: {cycles:,.0f} cycles{milliseconds}, {macs:,} multiply-accumulates"
    if memories:
        yield f"estimate: {', '.join(f'{kib:,.2f} KiB of {label}' for label, kib in memories.items())}"
