"""How a kernel of this library is declared: ``@kernel("aten::add.out")`` on its prepare function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from et_vm.kernels.registry import Prepare

Scalar: TypeAlias = int | float | bool
"""A torch ``Scalar``. Which of the three it is takes part in type promotion."""

KERNELS: dict[str, Prepare] = {}
"""Every kernel of the families imported so far, by operator name."""

_P = TypeVar("_P", bound=Prepare)


def kernel(*names: str) -> Callable[[_P], _P]:
    """Declare the decorated prepare function as the kernel of the operators ``names``."""

    def declare(prepare: _P) -> _P:
        for name in names:
            if name in KERNELS:
                raise ValueError(f"{name} is declared twice")
            KERNELS[name] = prepare
        return prepare

    return declare
