"""`et-vm info --delegates` and `et-vm validate` of graphs of ExecuTorch's Vulkan backend."""

import pytest
from support.vm_commands import run
from support.vm_programs import Build as Program
from support.vulkan_graphs import Build, D, linear

from et_backends.vulkan_graph.format import tables as v
from et_backends.vulkan_graph.lines import vkgraph_lines
from et_schema.errors import InvalidFile
from et_tools.et_vm import main
from et_tools.exit_codes import ExitCode

LINES = [
    "4 operator calls: 2 et_vk.prepack.default, 1 aten.linear.default, 1 aten.relu.default",
    "7 tensors: 7 float32; 1 input, 1 output",
    "2 shared memory objects",
    "2 constants: 64 bytes",
    "0: %2:4x3xfloat32 = et_vk.prepack.default(@1:4x3xfloat32)",
    "1: %4:4xfloat32 = et_vk.prepack.default(@3:4xfloat32)",
    "2: %5:2x4xfloat32 = aten.linear.default(%0:2x3xfloat32, %2:4x3xfloat32, %4:4xfloat32)",
    "3: %6:2x4xfloat32 = aten.relu.default(%5:2x4xfloat32)",
]


def file(blob: bytes) -> bytes:
    build = Program()
    x, out = build.tensor(2, 3), build.tensor(2, 4)
    build.delegate("VulkanBackend", blob, x, out)
    build.inputs(x)
    build.outputs(out)
    return build.file()


def test_lines():
    assert vkgraph_lines(memoryview(linear().blob()), {}, {}) == LINES


def test_all_kinds_of_values():
    build = Build()
    build.graph.constants.append(v.VkBytes(v.NO_OFFSET, 4, "weight"))
    placed = {
        "storage_type": v.VkStorageType.TEXTURE_3D,
        "memory_layout": v.VkMemoryLayout.TENSOR_CHANNELS_PACKED,
    }
    x = build.input(1, datatype=D.FLOAT16, **placed)
    values = [build.literal(one) for one in (None, 2, 0.5, True, "relu", [1, 2], [0.5])]
    weight = build.tensor(constant_id=0)
    number = build.symint()
    build.graph.input_ids.append(number)
    results = build.values(build.output(1), build.tensor(1, mem_obj_id=4))
    build.call("et_vk.any.default", x, *values, build.values(weight, number), results)
    assert vkgraph_lines(memoryview(build.blob()), {}, {}) == [
        "1 operator call: 1 et_vk.any.default",
        "4 tensors: 3 float32, 1 float16; 2 inputs, 1 output",
        "1 shared memory object",
        "1 constant: 4 bytes, 1 of them named data of the program",
        "0: %10:1xfloat32, %11:1xfloat32 = et_vk.any.default(%0:1xfloat16 texture_3d/tensor_channels_packed, "
        "None, 2, 0.5, True, 'relu', [1, 2], [0.5], [@8:float32, %9:int])",
    ]


def test_blobs_that_make_no_sense():
    with pytest.raises(InvalidFile, match="too short for a header"):
        vkgraph_lines(memoryview(b"VK"), {}, {})


def test_the_commands(capsys, tmp_path):
    path = tmp_path / "model.pte"
    path.write_bytes(file(linear().blob()))
    shown = run(capsys, "info", "--delegates", str(path))
    assert all(f"    {line}\n" in shown for line in LINES)
    run(capsys, "validate", str(path))
    build = linear()
    build.graph.input_ids[0] = 9
    path.write_bytes(file(build.blob()))
    assert main(["validate", str(path)]) == ExitCode.INVALID_INPUT
    assert "execution_plan[0].delegates[0], input_ids[0]" in "".join(capsys.readouterr())
