"""The kernels in numpy: every operator that inference reaches, imported family by family on first use.

A family of the operator library (`pointwise.binary`) is a module here.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping

from et_ops.families import families
from et_vm.kernels.registry import KernelRegistry, Prepare


def register(registry: KernelRegistry) -> None:
    """Add the library to `registry`. A family's module is imported when one of its operators is first
    looked up.
    """
    for family, packets in families().items():
        names = (f"aten::{packet}" if "." not in packet else packet.replace(".", "::") for packet in packets)
        registry.register_family(names, functools.partial(load_family, family))


def load_family(family: str) -> Mapping[str, Prepare]:
    """Import a family's module. Returns the kernels of all families imported so far, by operator name."""
    importlib.import_module(f"et_vm.kernels.portable.{family}")
    from et_vm.kernels.portable.declare import KERNELS

    return KERNELS
