"""Random quantized programs on emulated processors: what they say of real numbers, but for ties."""

from __future__ import annotations

import pytest
from property.freestanding import run_quantized

SEEDS = {
    "cortex-m4": (3, 6, 7, 8, 11),
    "cortex-m0plus": (13,),
    "riscv64gc": (15,),
    "cortex-m55": (3,),
    "riscv64gcv": (6,),
}
"""Of programs that have kernels for all of their operators."""


@pytest.mark.parametrize(
    ("target", "seed"), [(name, seed) for name, seeds in SEEDS.items() for seed in seeds]
)
def test_random_programs(target: str, seed: int):
    assert run_quantized(seed, target)
