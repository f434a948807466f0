"""Text listing of VGF blobs for `et-vm info --delegates`."""

from __future__ import annotations

__all__ = ["vgf_lines"]


def vgf_lines(blob: memoryview, specs: dict[str, bytes]) -> list[str]:
    """Decode a blob: version, source TOSA version, and section sizes.

    Raises InvalidFile for a blob that makes no sense.
    """
    from et_schema.vgf import read_vgf

    file = read_vgf(blob)
    source = specs.get("tosa_spec", b"").decode(errors="replace")
    version = ".".join(map(str, file.version))
    sizes = ", ".join(f"{len(data):,} bytes of {name}" for name, data in file.sections.items())
    return [f"VGF {version}{f', of {source}' if source else ''}", sizes]
