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

SAMPLES = {"f32": 16, "bool": 8}
"""The most samples of each entry that are tried, by element type."""
DELEGATED = 2
"""The number of delegated samples that run of each entry and element type."""

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
LEFT = {
    "partitions that only copy are not made": {
        *(
            "clone",
            "expand",
            "nn.functional.pixel_shuffle",
            "permute",
            "reshape",
            "squeeze",
            "squeeze-multiple",
        ),
        *("t", "transpose", "unsqueeze", "view"),
    },
    "there is no rule for it": {
        *("div-floor_rounding", "div-trunc_rounding", "nn.functional.interpolate-nearest-exact"),
        *("nn.functional.pad-reflect", "nn.functional.pad-replicate", "nn.functional.pad-replicate_negative"),
    },
    "i64 is not in the profiles": {"index_select", "max-reduction_with_dim", "min-reduction_with_dim"},
    "TOSA has no f64": {"log_softmax-with_dtype", "softmax-with_dtype"},
    "the weight is not a constant": {
        *("nn.functional.conv1d", "nn.functional.conv_transpose1d", "nn.functional.conv_transpose2d"),
    },
    "all results have rank 0": {"max-reduction_no_dim", "min-reduction_no_dim", "var-unbiased"},
    "windows of several sizes": {"nn.functional.adaptive_avg_pool2d"},
    "torch has no samples without CUDA": {"nn.functional.batch_norm-without_cudnn"},
}
"""Entries of which nothing is delegated, by the reason."""

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
    found = wrong_samples(entry, SAMPLES, VgfPartitioner(), files.append, DELEGATED)
    assert not found, "\n".join(f"{sample}: {reason}" for sample, reason in found.items())
    assert bool(files) == all(entry not in names for names in LEFT.values())
