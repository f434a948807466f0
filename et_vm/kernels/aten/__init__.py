"""The kernels of torch itself: every operator by its out variant, on tensors that alias the method's
memory.

Importing this package imports torch. Any operator that torch's registry knows by an out variant (or an
in-place form) has a kernel, so the library is as complete as the torch that is installed; `special`
and `convolution` hold the few that have a faster way than their out variant. Operators of a user's own are called
as torch has them registered (`custom`) when a program asks for one.
"""

from __future__ import annotations

import functools

import torch

from et_ops.families import families
from et_vm.kernels.aten import convolution, special
from et_vm.kernels.aten.custom import custom_kernel
from et_vm.kernels.aten.declare import SPECIAL
from et_vm.kernels.aten.out_variant import out_variant_kernel
from et_vm.kernels.aten.quantized import PACKETS, quantized_kernels
from et_vm.kernels.aten.schema import operators
from et_vm.kernels.portable import load_family
from et_vm.kernels.registry import KernelRegistry

DECLARING = (convolution, special)
"""The modules whose import fills `SPECIAL`."""


def register(registry: KernelRegistry) -> None:
    """Add the library to `registry`, and torch's inference mode around its executions."""
    for name, prepare in SPECIAL.items():
        registry.register(name, prepare)
    for name in operators():
        if name not in SPECIAL:
            registry.register_lazy(name, functools.partial(out_variant_kernel, name))
    registry.register_family(PACKETS, quantized_kernels)
    for family, packets in families().items():
        if family.startswith(("attention.", "integer.")):  # operators that torch's registry does not have
            registry.register_family(
                (packet.replace(".", "::") for packet in packets), functools.partial(load_family, family)
            )
    registry.finders.append(custom_kernel)
    registry.guard = torch.inference_mode
    registry.compiled = True
