"""Cost tables of kernels, in seconds of one processor.

A table is `<target>-costs.toml`, which `python -m bench.target_costs` measures. A kernel's time is taken to be linear
in the work of a call: a fixed part, and so much per multiplication, per element read, per element written and per
line of these, which is a run along the last dimension. Kernels that compute some of their calls in another way have an
entry for each, such as `aten::convolution.out depthwise`.

Figures are of f32 and of one machine. What choices rest on is how calls compare, not how long they take elsewhere.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from et_ops.library import Operator
from et_ops.work import Sizes, is_transposed, multiply_adds

__all__ = ["TERMS", "CostTable", "KernelCost", "Work", "read_costs", "work_of_call"]


@dataclass(frozen=True, slots=True)
class Work:
    """Work of a call: multiplications, elements read, elements and lines written."""

    kernel: str
    """The entry of the table."""
    macs: int = 0
    read: int = 0
    written: int = 0
    lines: int = 0


def work_of_call(
    operator: Operator,
    argument: Callable[[str], object],
    sizes: Sizes,
    *,
    read: int,
    written: int,
    lines: int,
) -> Work:
    """The work of a call of an operator's kernel.

    Args:
        operator: the operator.
        argument: the value of an argument, by name.
        sizes: the sizes of a tensor, by the argument's name.
        read: the number of elements of its operands.
        written: the number of elements of its results.
        lines: the number of their lines.
    """
    filters = operator.facts.convolves and sizes(operator.facts.convolves)
    if not filters:
        return Work(operator.kernel, multiply_adds(operator, sizes, written) or 0, read, written, lines)
    products = multiply_adds(operator, sizes, written, transposed=is_transposed(operator, argument))
    is_depthwise = argument("groups") != 1 and filters[1] == 1
    name = f"{operator.kernel} depthwise" if is_depthwise else operator.kernel
    return Work(name, products or 0, read, written, lines)


@dataclass(frozen=True, slots=True)
class KernelCost:
    """Nanoseconds of a kernel: for each call, multiplication, element read, element and line written."""

    call: float = 0.0
    mac: float = 0.0
    read: float = 0.0
    written: float = 0.0
    line: float = 0.0

    def seconds(self, work: Work) -> float:
        """Time of a call with this work."""
        return 1e-9 * (
            self.call
            + self.mac * work.macs
            + self.read * work.read
            + self.written * work.written
            + self.line * work.lines
        )


TERMS: Final = ("call", "mac", "read", "written", "line")
"""The parts of a kernel's cost, in the order of `KernelCost`."""


@dataclass(frozen=True)
class CostTable:
    """The costs of a target's kernels."""

    target: str
    kernels: Mapping[str, KernelCost]

    def seconds(self, work: Work) -> float | None:
        """Time of a call; None for a kernel that has not been measured."""
        cost = self.kernels.get(work.kernel)
        return None if cost is None else cost.seconds(work)


def read_costs(path: Path) -> dict[str, KernelCost]:
    """The kernels of a table. Raises `ValueError` for one with anything but times that are not negative."""
    kernels: dict[str, KernelCost] = {}
    for name, times in tomllib.loads(path.read_text(encoding="utf-8")).items():
        if not isinstance(times, dict):
            raise ValueError(f"{path.name}: {name} is not a table of times")
        terms: dict[str, float] = {}
        for term, value in times.items():  # pyright: ignore[reportUnknownVariableType] (of tomllib)
            if term not in TERMS or not isinstance(value, float | int) or value < 0:
                raise ValueError(
                    f"{path.name}: {name} has {term} = {value!r}, expected {', '.join(TERMS)} ≥ 0"
                )
            terms[term] = float(value)
        kernels[name] = KernelCost(**terms)
    return kernels
