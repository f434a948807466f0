"""Specification strings of TOSA targets, as ExecuTorch's Arm backends write them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from et_schema.diagnostics import did_you_mean

__all__ = ["DEFAULT_SPECIFICATION", "TosaSpecification"]

_VERSIONS: Final = ("TOSA-1.0", "TOSA-1.1")
_PROFILES: Final = ("FP", "INT")
_EXTENSIONS: Final = ("int4", "int16", "int64", "cf", "var", "bf16", "fp8e4m3", "fp8e5m2", "u55", "8k")
DEFAULT_SPECIFICATION: Final = "TOSA-1.0+INT+FP"
"""Version 1.0 with both profiles."""


@dataclass(frozen=True)
class TosaSpecification:
    """Version, profiles and extensions of a target."""

    version: tuple[int, int]
    """Major and minor number."""
    profiles: frozenset[str]
    """`FP`, `INT` or both."""
    extensions: frozenset[str] = frozenset()
    """Names of extensions, in lower case."""

    @staticmethod
    def of(text: str) -> TosaSpecification:
        """A specification such as `TOSA-1.0+INT+FP+int16`. Raises `ValueError`."""
        version, *parts = text.split("+")
        if version not in _VERSIONS:
            raise ValueError(f"unknown TOSA version '{version}'; versions are: {', '.join(_VERSIONS)}")
        for part in parts:
            _known(part, (*_PROFILES, *_EXTENSIONS))
        profiles = frozenset(part for part in parts if part in _PROFILES)
        if not profiles:
            raise ValueError(f"'{text}' names no profile: add +FP, +INT or both")
        major, minor = version.removeprefix("TOSA-").split(".")
        return TosaSpecification((int(major), int(minor)), profiles, frozenset(parts) - profiles)

    def __str__(self) -> str:
        major, minor = self.version
        profiles = [name for name in ("INT", "FP") if name in self.profiles]
        return "+".join([f"TOSA-{major}.{minor}", *profiles, *sorted(self.extensions)])

    @property
    def supports_float(self) -> bool:
        """Whether the target computes with floats."""
        return "FP" in self.profiles

    @property
    def supports_integer(self) -> bool:
        """Whether the target computes with quantized integers."""
        return "INT" in self.profiles


def _known(part: str, known: Collection[str]) -> None:
    if part not in known:
        raise ValueError(
            f"unknown TOSA profile or extension '{part}'; known are: {', '.join(known)}{did_you_mean(part, known)}"
        )
