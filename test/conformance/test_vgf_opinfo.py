"""Torch's samples of the operators that VGF files have, by Arm's scenario runner on a Vulkan device."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest
from delegated_samples import wrong_samples
from sweep.samples import entries
from vulkan_device import require_device

from et_ir.backends.tosa.rules import RULES
from et_ir.backends.vgf import VgfPartitioner

SAMPLES = {"f32": 2, "bool": 1}
"""Samples of each entry by element type."""

COMPOSED = {
    *("batch_norm", "conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d", "group_norm", "layer_norm"),
    *(
        "interpolate",
        "matmul",
        "max_pool2d",
        "narrow",
        "pad",
        "reshape",
        "upsample_bilinear",
        "upsample_nearest",
    ),
}
"""Operators of torch that become these."""
CLAIMED = {name.partition(".")[0].lstrip("_").removesuffix("_copy") for name in RULES} | COMPOSED
ENTRIES = [
    entry
    for entry in entries()
    if entry.partition("-")[0].removeprefix("nn.functional.") in CLAIMED and "complex" not in entry
]
LEFT: dict[str, str] = {}
"""Entries of which nothing is delegated, and why."""

pytestmark = pytest.mark.skipif(
    None in map(find_spec, ("model_converter", "scenario_runner", "emulation_layer"))
    and "CI" not in os.environ,
    reason="needs the converter, the scenario runner and the emulation layers, the extra 'vgf'",
)


@pytest.mark.sweep
@pytest.mark.parametrize("entry", ENTRIES)
def test_samples(entry: str) -> None:
    require_device()
    files: list[bytes] = []
    found = wrong_samples(entry, SAMPLES, VgfPartitioner(), files.append)
    assert not found, "\n".join(f"{sample}: {reason}" for sample, reason in found.items())
    assert bool(files) == (entry not in LEFT)
