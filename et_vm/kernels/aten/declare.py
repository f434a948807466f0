"""Declaration of specialized aten kernels.

They take the place of the generic kernel.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from et_vm.kernels.aten.out_variant import OutVariant
from et_vm.kernels.aten.schema import operator
from et_vm.kernels.registry import Prepare, PrepareContext
from et_vm.step import Step

SPECIAL: dict[str, Prepare] = {}
"""The declared kernels by operator name."""


def special(*names: str) -> Callable[[Prepare], Prepare]:
    """A decorator: the prepare function is the kernel of these operators."""

    def declare(prepare: Prepare) -> Prepare:
        SPECIAL.update(dict.fromkeys(names, prepare))
        return prepare

    return declare


@functools.cache
def _generic(name: str) -> OutVariant:
    return OutVariant(operator(name))


def checked(ctx: PrepareContext, name: str, *values: Any) -> Step:
    """The generic step, after its checks and with the outputs in shape; the kernel returns it when its own
    way does not apply.
    """
    return _generic(name)(ctx, *values)
