"""Import paths of earlier versions."""

from __future__ import annotations

from importlib import import_module

import pytest

NAMES = {
    "coreml": "CoreMLPartitioner",
    "ethos_u": "EthosUPartitioner",
    "native": "NativePartitioner",
    "nested": "NestedPartitioner",
    "openvino": "OpenvinoPartitioner",
    "tosa": "TOSAPartitioner",
    "vgf": "VgfPartitioner",
    "vulkan": "VulkanPartitioner",
    "vulkan_graph": "VulkanGraphPartitioner",
    "xnnpack.partitioner": "XnnpackPartitioner",
}


@pytest.mark.parametrize("former", NAMES)
def test_a_former_path_is_the_same_module(former: str) -> None:
    package, _, rest = former.partition(".")
    found = import_module(f"et_ir.backends.{former}")
    present = import_module(".".join(filter(None, ("et_backends", package, "compiler", rest))))
    assert found is present
    assert found.__spec__ is not None
    assert found.__name__ == found.__spec__.name == present.__name__
    assert getattr(found, NAMES[former])


@pytest.mark.parametrize("name", ["et_ir.backends.nowhere", "et_ir.backends.native.nowhere"])
def test_other_paths_lead_nowhere(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=name):
        import_module(name)
