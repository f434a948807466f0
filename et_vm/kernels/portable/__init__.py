"""The kernels in numpy: every operator that inference reaches, registered by name and imported family by
family on first use.
"""

from __future__ import annotations

import functools
import importlib

from et_vm.kernels.portable.families import FAMILIES
from et_vm.kernels.registry import KernelRegistry, Prepare


def register(registry: KernelRegistry) -> None:
    """Add the library to ``registry``. A family's module is imported when one of its operators is first
    looked up.
    """
    for family, names in FAMILIES.items():
        for name in names:
            registry.register_lazy(name, functools.partial(_load, family, name))


def _load(family: str, name: str) -> Prepare:
    importlib.import_module(f"et_vm.kernels.portable.{family}")
    from et_vm.kernels.portable.declare import KERNELS

    return KERNELS[name]
