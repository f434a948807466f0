"""A method whose blob is damaged, in a file with another that is not."""

import io

import numpy as np
import pytest

from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_ir.backends import delegate_module
from et_ir.driver.pipelines import executorch_passes
from et_ir.driver.stages import run_passes
from et_ir.emit import write
from et_schema.errors import Error, InvalidFile
from et_schema.pte import read_pte
from et_vm.runtime import Runtime

TEXT = """
func.func @negates(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = edge.neg %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @squares(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = edge.mul.Tensor %x, %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""


@pytest.fixture
def file(parse):
    module = parse(TEXT)
    delegate_module(module, XnnpackPartitioner())
    run_passes(module, executorch_passes())
    stream = io.BytesIO()
    write(module, stream)
    return bytearray(stream.getvalue())


def blob_at(file, plan):
    pte = read_pte(bytes(file))
    (delegate,) = pte.program.execution_plan[plan].delegates
    return file.find(bytes(pte.delegate_data(delegate.processed)))


@pytest.mark.parametrize(
    ("offset", "data", "where"),
    [
        (4, b"XH99", r"execution_plan\[0\]\.delegates\[0\], header, byte 0x4"),
        (10, b"\xff\xff\xff\x7f", r"execution_plan\[0\]\.delegates\[0\], header, byte 0xa"),
        (32, b"\xff\xff\xff\x7f", r"execution_plan\[0\]\.delegates\[0\]"),
    ],
)
def test_the_other_method_is_usable(file, offset, data, where):
    start = blob_at(file, 0) + offset
    file[start : start + len(data)] = data
    program = Runtime().load_program(bytes(file))
    with pytest.raises(InvalidFile, match=where) as caught:
        program.load_method("negates")
    assert caught.value.code == Error.DelegateInvalidCompatibility
    (found,) = program.load_method("squares").execute([np.arange(4, dtype=np.float32)])
    assert found.tolist() == [0, 1, 4, 9]
