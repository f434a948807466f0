"""Programs with test cases, both ways.

Stock's devtools write what ours reads, and its runtime verifies what ours writes.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from et_ir import to_edge
from et_tools.et_compile import main as et_compile
from et_tools.et_vm import main as et_vm
from et_vm.devtools.bundled import BundledProgram, Mismatch, bundle

with warnings.catch_warnings(action="ignore"):
    from executorch.devtools import BundledProgram as StockBundledProgram
    from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
    from executorch.devtools.bundled_program.serialize import (
        serialize_from_bundled_program_to_flatbuffer,
    )
    from executorch.exir import to_edge as stock_to_edge
    from executorch.extension.pybindings.portable_lib import (
        _load_bundled_program_from_buffer,
    )

pytestmark = pytest.mark.filterwarnings("ignore")


ATOL = 1e-6
"""The outputs are sums that may cancel."""


class Net(torch.nn.Module):
    """Two outputs of different types; one input in channels-last order."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.tanh(x) * 2 + y, x.argmax(1)


def cases() -> list[tuple[list[torch.Tensor], Any]]:
    generator = torch.Generator().manual_seed(8)
    found = []
    for _ in range(3):
        inputs = [torch.randn(1, 3, 4, 5, generator=generator) for _ in range(2)]
        found.append((inputs, Net()(*inputs)))
    return found


def test_stock_bundles() -> None:
    inputs, _ = cases()[0]
    stock = stock_to_edge(torch.export.export(Net(), tuple(inputs))).to_executorch()
    suite = MethodTestSuite(
        "forward", [MethodTestCase(inputs=i, expected_outputs=list(o)) for i, o in cases()]
    )
    data = serialize_from_bundled_program_to_flatbuffer(StockBundledProgram(stock, [suite]))
    bundled = BundledProgram(bytes(data))
    assert list(bundled.cases()) == [("forward", 0), ("forward", 1), ("forward", 2)]
    method = bundled.program.load_method("forward")
    for _, case in bundled.cases():
        bundled.verify(method, case, atol=ATOL)


def test_stock_verifies_what_the_command_bundles(tmp_path: Path) -> None:
    """Expected outputs are those of eager torch; the third case has those of the run itself."""
    program = tmp_path / "net.pte"
    to_edge(torch.export.export(Net(), tuple(cases()[0][0]))).to_executorch().save(program)
    bundled = str(tmp_path / "net.bpte")
    for number, (inputs, outputs) in enumerate(cases()):
        np.savez(tmp_path / "x.npz", *[value.numpy() for value in inputs])
        np.savez(tmp_path / "y.npz", *[value.numpy() for value in outputs])
        expected = ["--expected", str(tmp_path / "y.npz")] if number < 2 else []
        file = bundled if number else str(program)
        assert et_vm(["bundle", file, "--input", str(tmp_path / "x.npz"), *expected, "-o", bundled]) == 0
    stock = _load_bundled_program_from_buffer(Path(bundled).read_bytes())
    for number in range(3):
        stock.verify_result_with_bundled_expected_output("forward", number, 1e-5, ATOL)


def test_stock_verifies_what_the_compiler_bundles(tmp_path: Path) -> None:
    bundled = tmp_path / "rectified.bpte"
    model = f"{Path(__file__).parents[2] / 'examples/debugging/model.py'}:rectified"
    assert et_compile([model, "-q", "-o", str(tmp_path / "net.pte"), "--bundle", str(bundled)]) == 0
    stock = _load_bundled_program_from_buffer(bundled.read_bytes())
    stock.verify_result_with_bundled_expected_output("forward", 0, 1e-5, ATOL)


@pytest.mark.parametrize("wrong", [False, True])
def test_stock_verifies_ours(wrong: bool) -> None:
    inputs, _ = cases()[0]
    program = to_edge(torch.export.export(Net(), tuple(inputs))).to_executorch().buffer
    written = [
        ("forward", [value.numpy() for value in i], [(value + wrong).numpy() for value in o])
        for i, o in cases()
    ]
    stream = io.BytesIO()
    bundle(program, written, stream)
    stock = _load_bundled_program_from_buffer(stream.getvalue())
    ours = BundledProgram(stream.getvalue())
    method = ours.program.load_method("forward")
    for case in range(3):
        if wrong:
            with pytest.raises(RuntimeError, match="verification failed"):
                stock.verify_result_with_bundled_expected_output("forward", case, 1e-5, ATOL)
            with pytest.raises(Mismatch):
                ours.verify(method, case, atol=ATOL)
        else:
            stock.verify_result_with_bundled_expected_output("forward", case, 1e-5, ATOL)
            ours.verify(method, case, atol=ATOL)


class Counting(torch.nn.Module):
    """State alone."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("sum", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> None:
        self.sum.add_(x)


def test_results_that_are_none(tmp_path: Path) -> None:
    """A file says so, and stock's runtime runs the case, but compares tensors and numbers alone."""
    x = torch.ones(3)
    path = tmp_path / "net.pte"
    to_edge(torch.export.export(Counting(), (x,))).to_executorch().save(path)
    bundled = tmp_path / "net.bpte"
    assert et_vm(["bundle", str(path), "--input", "ones", "-o", str(bundled)]) == 0
    ours = BundledProgram.load(bundled)
    assert ours.expected("forward", 0) == [None]
    ours.verify(ours.program.load_method("forward"), 0)
    stream = io.BytesIO()
    bundle(path.read_bytes(), [("forward", [x.numpy()], [x.numpy()])], stream)
    other = BundledProgram(stream.getvalue())
    with pytest.raises(Mismatch, match="None, expected an array"):
        other.verify(other.program.load_method("forward"), 0)
    stock = _load_bundled_program_from_buffer(bundled.read_bytes())
    with pytest.raises(RuntimeError, match="verification failed with status 16"):
        stock.verify_result_with_bundled_expected_output("forward", 0, 1e-5, ATOL)
