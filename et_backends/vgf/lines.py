"""Text listing of VGF blobs for `et-vm info --delegates`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from et_backends.vgf.format import VgfTensor

__all__ = ["vgf_lines"]


def vgf_lines(blob: memoryview, specs: dict[str, bytes], named: Mapping[str, memoryview]) -> list[str]:
    """Decode a blob: version, source TOSA version, section sizes, and types of the arguments.

    Raises InvalidFile for a blob that makes no sense.
    """
    from et_backends.vgf.format import read_vgf

    file = read_vgf(blob)
    source = specs.get("tosa_spec", b"").decode(errors="replace")
    version = ".".join(map(str, file.version))
    sizes = ", ".join(f"{len(data):,} bytes of {name}" for name, data in file.sections.items())
    arguments = "; ".join(
        f"{name}: {', '.join(map(_type, tensors))}"
        for name, tensors in (("inputs", file.inputs), ("outputs", file.outputs))
    )
    return [f"VGF {version}{f', of {source}' if source else ''}", sizes, arguments]


def _type(tensor: VgfTensor) -> str:
    from et_backends.vgf.format import FORMATS

    return f"{FORMATS.get(tensor.format, f'format {tensor.format}')} {list(tensor.shape)}"
