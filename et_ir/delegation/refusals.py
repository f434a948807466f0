"""Why an op is left out of all partitions: a reason that counts can be made of, and what is special about the op."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Refusal"]


@dataclass(frozen=True)
class Refusal:
    """Why a backend does not take an op."""

    reason: str
    """In words that are the same for all ops it holds for: `no such operator`, `element type`."""
    detail: str = ""
    """What it is about this op: `i64, it takes f32 and f16`."""

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else self.reason
