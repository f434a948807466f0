"""Lists of operators in the format of the selective build, and the kernels that they choose."""

import re

import pytest

from et_ir.targets.lookup import TARGETS, find_target
from et_schema.errors import Error, ExecutorchError, MissingOperator
from et_schema.scalar_type import ScalarType
from et_vm.kernels.prims import PRIMS
from et_vm.micro.kernels import KERNELS, parameter_masks
from et_vm.micro.selection import Selection, select, selected_of_yaml
from et_vm.micro.sources import WITHOUT, runtime_sources

F32 = (ScalarType.FLOAT, (0, 1))
ADD = "aten::add.out"
OURS = """build_features: []
et_kernel_metadata:
  "aten::add.out":
  - "v1/6;0,1|6;0,1|6;0,1|6;0,1"
include_all_operators: false
operators:
  "aten::add.out":
    debug_info:
    - "a.pte"
    is_root_operator: true
"""
STOCK = """include_all_non_op_selectives: false
include_all_operators: false
operators:
  aten::add.out:
    debug_info:
    - a.pte
    include_all_overloads: false
    is_root_operator: true
    is_used_for_training: true
et_kernel_metadata:
  aten::add.out:
    - v1/6;0,1|6;0,1|6;0,1|6;0,1
"""


@pytest.mark.parametrize("text", [OURS, STOCK], ids=["ours", "stock"])
def test_yaml(text):
    assert selected_of_yaml(text).keys == {ADD: {(F32,) * 4}}


def test_all_keys():
    chosen = select(selected_of_yaml("et_kernel_metadata:\n  aten::add.out:\n  - default\n"))
    assert [(kernel.name, keys) for kernel, keys in chosen] == [("add_f32", None)]
    assert selected_of_yaml("operators:\n  aten::add.out:\n    is_root_operator: true\n").keys == {ADD: None}


def test_json():
    assert selected_of_yaml('{"et_kernel_metadata": {"aten::add.out": ["default"]}}').keys == {ADD: None}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("include_all_operators: true\n", "the file includes all operators"),
        ("operators:\n  - aten::add.out\n", "operators are names with their properties"),
        ("et_kernel_metadata:\n  aten::add.out:\n  - v2/6;0\n", "'v2/6;0' is not a kernel key"),
        ("et_kernel_metadata:\n  aten::add.out:\n  - v1/77;0\n", "'v1/77;0' is not a kernel key"),
        ("operators:\n    aten::add.out\n", "cannot parse line 2"),
        ("et_kernel_metadata:\n  aten::add.out:\n  - v1/6;0,300\n", "'v1/6;0,300' is not a kernel key"),
        ("{broken", "neither YAML nor JSON"),
        ('{"operators": ' + "[" * 100_000, "nested too deeply"),
        ("".join(" " * depth + "a:\n" for depth in range(2_000)), "nested too deeply"),
        ("et_kernel_metadata:\n  aten::add.out: 3\n", "kernel keys are a list"),
        ('{"et_kernel_metadata": {"aten::add.out": 3}}', "kernel keys are a list"),
    ],
)
def test_other_texts(text, message):
    with pytest.raises(ExecutorchError, match=re.escape(message)) as caught:
        selected_of_yaml(text)
    assert caught.value.code in (Error.InvalidArgument, Error.NotSupported)


def test_missing_kernels():
    long = (ScalarType.LONG, (0,))
    with pytest.raises(MissingOperator) as caught:
        select(Selection({"aten::fft.out": None, ADD: {(long,) * 4}, "aten::relu.out": None}))
    assert caught.value.operators == ("aten::add.out [int64 int64 int64 int64]", "aten::fft.out")


def test_only_what_is_selected():
    sources = runtime_sources(Selection({ADD: {(F32,) * 4}, "executorch_prim::add.Scalar": None}))
    defined = re.findall(r"#define (ET_KERNEL_\w+)", sources["et_selected.h"])
    assert defined == ["ET_KERNEL_ADD_F32"]
    assert re.findall(r"#define (ET_PRIM_\w+)", sources["et_prims.h"]) == [
        "ET_PRIM_ADD_SCALAR",
        "ET_PRIM_ARITHMETIC",
    ]
    assert "keys_add_f32[] = {3, 6, 2, 0, 1, 6, 2, 0, 1, 6, 2, 0, 1}" in sources["et_selected.c"]


def test_prims_without_a_function():
    with pytest.raises(MissingOperator, match=r"executorch_prim::ceil\.Scalar"):
        runtime_sources(Selection({"executorch_prim::ceil.Scalar": None}))


def test_tables():
    """Each kernel says what it takes as et-vm does, and each function in C has its row."""
    for kernel in KERNELS:
        assert parameter_masks(kernel.operator)
    sources = runtime_sources(Selection({})).values()
    compiled = {name for text in sources for name in re.findall(r"(?:#ifdef|defined) ET_KERNEL_(\w+)", text)}
    assert compiled == {kernel.name.upper() for kernel in KERNELS}
    prims = [name for name in PRIMS if name.partition("::")[2] not in WITHOUT]
    text = runtime_sources(Selection(dict.fromkeys(prims)))["et_selected.c"]
    assert text.count(", et_prim_") == len(prims)


@pytest.mark.parametrize("target", TARGETS)
def test_kernels_that_work_in_place(target: str):
    """What planners give one memory for, the kernels in C accept."""
    table = find_target(target).in_place
    own = {kernel.operator: kernel.in_place for kernel in KERNELS}
    assert [name for name in own if name in table and not own[name]] == []
