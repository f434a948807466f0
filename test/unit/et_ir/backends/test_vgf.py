"""The VGF backend: files that Arm's converter makes, settings, and errors."""

from __future__ import annotations

import os
import warnings
from importlib.util import find_spec
from typing import Any

import pytest
import torch
from torch import nn

from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.backends import make_partitioner
from et_ir.backends.vgf import VgfCompileSpec, VgfPartitioner, converter
from et_ir.delegation.errors import BackendError
from et_schema.errors import Error, InvalidFile
from et_schema.pte import read_pte
from et_schema.vgf import read_vgf
from et_tools.info.vgf_lines import vgf_lines

needs_converter = pytest.mark.skipif(
    find_spec("model_converter") is None and "CI" not in os.environ,
    reason="needs the package ai_ml_sdk_model_converter, the extra 'vgf'",
)


def net() -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    layers = nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5), nn.Softmax(-1)
    return nn.Sequential(*layers).eval(), torch.randn(1, 3, 8, 8)


def file_of(module: nn.Module, x: torch.Tensor, **options: Any) -> Any:
    with warnings.catch_warnings(action="ignore"):
        program = torch.export.export(module, (x,))
    edge = to_edge_transform_and_lower(program, partitioner=VgfPartitioner(VgfCompileSpec(**options)))
    config = ExecutorchBackendConfig(target="et-vm", extra_backends=["VgfBackend"])
    return read_pte(edge.to_executorch(config).buffer)


@needs_converter
def test_a_network() -> None:
    module, x = net()
    pte = file_of(module, x, tosa_spec="TOSA-1.0+FP", compiler_flags=["--emit-debug-info"])
    (delegate,) = pte.program.execution_plan[0].delegates
    specs = {spec.key: bytes(spec.value) for spec in delegate.compile_specs}
    assert delegate.id == "VgfBackend"
    assert specs == {
        "tosa_spec": b"TOSA-1.0+FP",
        "compile_flags": b"--emit-debug-info",
        "output_format": b"vgf",
    }
    blob = pte.delegate_data(delegate.processed)
    file = read_vgf(blob)
    weights = module[0].weight.detach().permute(0, 2, 3, 1).contiguous().numpy().tobytes()
    assert weights in bytes(file.sections["constants"])
    assert vgf_lines(blob, specs)[0] == f"VGF {'.'.join(map(str, file.version))}, of TOSA-1.0+FP"


@needs_converter
def test_what_the_converter_refuses() -> None:
    module, x = net()
    with pytest.raises(Exception, match="the model converter cannot convert it"):
        file_of(module, x, compiler_flags=["--no-such-flag"])
    with pytest.raises(ValueError, match="the model converter cannot convert it"):
        converter.convert_tosa(b"nothing", ())


@needs_converter
def test_options() -> None:
    made = make_partitioner("vgf:spec=TOSA-1.0+INT,without=relu")
    assert isinstance(made, VgfPartitioner)
    assert str(made.compile_spec.tosa_spec) == "TOSA-1.0+INT"


def test_settings() -> None:
    assert str(VgfCompileSpec().tosa_spec) == "TOSA-1.0+INT+FP+int16+int4"
    with pytest.raises(ValueError, match="has a space"):
        VgfCompileSpec(compiler_flags=["a b"])
    with pytest.raises(ValueError, match="TOSA-9"):
        VgfCompileSpec("TOSA-9")


def test_a_converter_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(converter, "find_spec", lambda name: None)
    with pytest.raises(BackendError, match="pip install ai_ml_sdk_model_converter, or the extra 'vgf'"):
        make_partitioner("vgf")


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        (b"VGF1", "4 bytes, the header has 128"),
        (b"VGF2" + bytes(124), "does not begin with VGF1"),
        (b"VGF1" + bytes(4) + b"\1" + bytes(119), "version 1.0.0; versions 0.x"),
        (b"VGF1" + bytes(124), "0 bytes at 0 of 128 at modules"),
        (b"VGF1" + bytes(12) + b"\x80" + bytes(7) + b"\1" + bytes(103), "1 bytes at 128 of 128 at modules"),
    ],
)
def test_files_that_make_no_sense(blob: bytes, message: str) -> None:
    with pytest.raises(InvalidFile, match=message) as caught:
        read_vgf(memoryview(blob))
    assert caught.value.code is Error.DelegateInvalidCompatibility
