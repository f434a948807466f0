"""The kernels of torch itself: each operator of the operator library by its out variant, on tensors that alias the
method's memory.

Importing this package imports torch. What torch's registry has beside the operator library is no kernel: some of it
reads files, or takes addresses. Operators whose kernels in torch trust their operands (`et_ops/unchecked.txt`), and
those that torch does not have, are computed in numpy; `special` and `convolution` hold the few that have a faster way
than their out variant. Operators of a user's own are called as torch has them registered (`custom`) when a program
asks for one.
"""

from __future__ import annotations

import functools

import torch

from et_vm.kernels import portable
from et_vm.kernels.aten import convolution, special
from et_vm.kernels.aten.custom import custom_kernel
from et_vm.kernels.aten.declare import SPECIAL
from et_vm.kernels.aten.out_variant import out_variant_kernel
from et_vm.kernels.aten.quantized import PACKETS, quantized_kernels
from et_vm.kernels.aten.schema import operators
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
    portable.register(registry)
    registry.register_family(PACKETS, quantized_kernels)
    registry.finders.append(custom_kernel)
    registry.guard = torch.inference_mode
    registry.compiled = True
