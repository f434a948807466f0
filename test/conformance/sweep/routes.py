"""The registry of routes: the ways of torch's samples of operators from the exported program to results.

A route says which entries it takes, how many samples of which element types, and what is expected to be left or
refused. A new backend is one more row of `ROUTES`.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol
from zlib import crc32

import pytest
from vulkan_device import check_shaders, require_device

from et_backends.coreml.compiler import CoreMLPartitioner
from et_backends.openvino.compiler import OpenvinoPartitioner
from et_backends.tosa.compiler import TosaCompileSpec, TOSAPartitioner
from et_backends.tosa.compiler.rules import RULES as TOSA_RULES
from et_backends.vgf.compiler import VgfPartitioner
from et_backends.vulkan.compiler import VulkanPartitioner
from et_backends.vulkan.format.blob import BACKEND as VULKAN
from et_backends.vulkan.format.blob import read_vulkan
from et_backends.vulkan_graph.compiler import VulkanGraphPartitioner
from et_backends.vulkan_graph.compiler.operators import RULES as VULKAN_GRAPH_RULES
from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_schema.pte import read_pte
from sweep.delegates import Delegates
from sweep.freestanding import FreestandingObjects
from sweep.native import MachineCode
from sweep.programs import SamplePrograms

__all__ = ["ROUTES", "Route"]


class Route(Protocol):
    """A way of samples to results."""

    def takes(self, entry: str) -> bool:
        """Whether samples of the entry are run."""
        ...

    def wrong(self, entry: str, programs: SamplePrograms, folder: Path) -> list[str]:
        """The samples of the entry that are not computed as expected, each with the reason; `folder` is empty."""
        ...


# -- shaders

OTHERS = 4
"""One in so many entries has samples of integers and of bools too: shaders convert all entries' in the same way."""


def _shader_limits(entry: str) -> dict[str, int]:
    others = ("i64", "bool") if crc32(entry.encode()) % OTHERS == 0 else ()
    return dict.fromkeys(("f32", *others), 1)


def _check_shaders(file: bytes, folder: Path) -> None:
    """The standard's validator takes each shader of a file."""
    pte = read_pte(file)
    for delegate in pte.program.execution_plan[0].delegates:
        if delegate.id == VULKAN:
            assert delegate.processed is not None
            check_shaders(read_vulkan(pte.delegate_data(delegate.processed)), folder)


# -- graphs for ExecuTorch's Vulkan runtime

VULKAN_GRAPH_COMPOSED = {
    *("avg_pool2d", "conv1d", "conv2d", "conv_transpose2d", "layer_norm", "log_softmax", "matmul"),
    *("max_pool2d", "pad", "softmax", "split", "split_with_sizes", "squeeze", "unsqueeze"),
    *("upsample_bilinear", "upsample_nearest", "permute", "view", "reshape", "expand", "select", "narrow"),
    *("transpose", "mean", "sum", "addmm", "bmm"),
}
"""Operators of torch that become those of the graphs."""
VULKAN_GRAPH_CLAIMED = {
    name.partition(".")[0].lstrip("_").removesuffix("_copy") for name in VULKAN_GRAPH_RULES
} | VULKAN_GRAPH_COMPOSED


def _is_in_vulkan_graphs(entry: str) -> bool:
    return entry.rpartition(".")[2] in VULKAN_GRAPH_CLAIMED


# -- VGF files, by Arm's scenario runner on a Vulkan device

VGF_COMPOSED = {
    *("batch_norm", "conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d", "group_norm", "layer_norm"),
    *("interpolate", "matmul", "max_pool2d", "narrow", "pad", "reshape", "upsample_bilinear"),
    "upsample_nearest",
}
"""Operators of torch that become those of TOSA."""
VGF_CLAIMED = {name.partition(".")[0].lstrip("_").removesuffix("_copy") for name in TOSA_RULES} | VGF_COMPOSED
VGF_LEFT = {
    "partitions that only copy are not made": frozenset(
        {
            *("clone", "expand", "nn.functional.pixel_shuffle", "permute", "reshape", "squeeze"),
            *("squeeze-multiple", "t", "transpose", "unsqueeze", "view"),
        }
    ),
    "there is no rule for it": frozenset(
        {
            *("div-floor_rounding", "div-trunc_rounding", "nn.functional.interpolate-nearest-exact"),
            *("nn.functional.pad-reflect", "nn.functional.pad-replicate"),
            "nn.functional.pad-replicate_negative",
        }
    ),
    "i64 is not in the profiles": frozenset(
        {"index_select", "max-reduction_with_dim", "min-reduction_with_dim"}
    ),
    "TOSA has no f64": frozenset({"log_softmax-with_dtype", "softmax-with_dtype"}),
    "the weight is not a constant": frozenset(
        {"nn.functional.conv1d", "nn.functional.conv_transpose1d", "nn.functional.conv_transpose2d"}
    ),
    "all results have rank 0": frozenset({"max-reduction_no_dim", "min-reduction_no_dim", "var-unbiased"}),
    "windows of several sizes": frozenset({"nn.functional.adaptive_avg_pool2d"}),
    "torch has no samples without CUDA": frozenset({"nn.functional.batch_norm-without_cudnn"}),
}
"""Entries of which nothing is delegated, by the reason."""


def _is_in_vgf(entry: str) -> bool:
    return entry.partition("-")[0].removeprefix("nn.functional.") in VGF_CLAIMED and "complex" not in entry


def _require_vgf() -> None:
    """Skip the test without Arm's packages; in CI, fail."""
    if None in map(find_spec, ("model_converter", "scenario_runner", "emulation_layer")):
        assert "CI" not in os.environ, "needs the extra 'vgf'"
        pytest.skip("needs the converter, the scenario runner and the emulation layers, the extra 'vgf'")
    require_device()


LARGE = "has integers that int32 does not hold"
"""The refusal of a Core ML program that fills in the least integer of 64 bits: Core ML's have 32."""

ROUTES: dict[str, Route] = {
    "native": MachineCode(),
    "freestanding": FreestandingObjects(),
    "xnnpack": Delegates(XnnpackPartitioner, {"f32": 2}),
    "coreml": Delegates(
        CoreMLPartitioner,
        {"f32": 2, "bool": 1, "i64": 1},
        refused={("masked.argmax", "i64"): LARGE, ("masked.logsumexp", "i64"): LARGE},
    ),
    "openvino": Delegates(OpenvinoPartitioner, {"f32": 2, "bool": 1}),
    "tosa": Delegates(
        lambda: TOSAPartitioner(TosaCompileSpec("TOSA-1.0+FP+INT")), {"f32": 2, "bool": 1, "i32": 1}
    ),
    "vgf": Delegates(
        VgfPartitioner,
        {"f32": 16, "bool": 8},
        is_claimed=_is_in_vgf,
        delegated=2,
        left=VGF_LEFT,
        require=_require_vgf,
    ),
    "vulkan": Delegates(
        VulkanPartitioner, {}, limits_of=_shader_limits, check=_check_shaders, require=require_device
    ),
    "vulkan-graph": Delegates(VulkanGraphPartitioner, {"f32": 2}, is_claimed=_is_in_vulkan_graphs),
}
