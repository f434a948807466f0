"""Torch's samples of the operators that graphs for ExecuTorch's Vulkan runtime have, on et-vm."""

from __future__ import annotations

import pytest
from delegated_samples import wrong_samples
from sweep.samples import entries

from et_ir.backends.vulkan_graph import VulkanGraphPartitioner
from et_ir.backends.vulkan_graph.operators import RULES

COMPOSED = {
    *(
        "avg_pool2d",
        "conv1d",
        "conv2d",
        "conv_transpose2d",
        "layer_norm",
        "log_softmax",
        "matmul",
        "max_pool2d",
    ),
    *(
        "pad",
        "softmax",
        "split",
        "split_with_sizes",
        "squeeze",
        "unsqueeze",
        "upsample_bilinear",
        "upsample_nearest",
    ),
    *("permute", "view", "reshape", "expand", "select", "narrow", "transpose", "mean", "sum", "addmm", "bmm"),
}
"""Operators of torch that become these."""
CLAIMED = {name.partition(".")[0].lstrip("_").removesuffix("_copy") for name in RULES} | COMPOSED
ENTRIES = [entry for entry in entries() if entry.rpartition(".")[2] in CLAIMED]


@pytest.mark.sweep
@pytest.mark.parametrize("entry", ENTRIES)
def test_samples(entry: str) -> None:
    found = wrong_samples(entry, {"f32": 2}, VulkanGraphPartitioner())
    assert not found, "\n".join(f"{sample}: {reason}" for sample, reason in found.items())
