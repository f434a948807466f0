"""Constants of XNNPACK graphs: those of several graphs that look alike."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Region

from et_backends.xnnpack.compiler.constants import array_blob
from et_backends.xnnpack.dialect import GraphOp
from et_backends.xnnpack.format.graph import (
    ConstantDataOffset,
    PerChannelQuant,
    XNNDatatype,
    XNNGraph,
    XNNTensorValue,
)
from et_backends.xnnpack.format.nodes import NO_OFFSET
from et_backends.xnnpack.raising.constants import GraphConstants, ProgramConstants
from et_ir.dialects.backend import NamedDataOp
from et_ir.dialects.program import DataAttr, GetOp, Globals
from et_ir.dialects.schema.literals import ui8
from et_ir.evaluation.arrays import array_of


def test_biases_of_the_same_integers_with_other_scales() -> None:
    """Named data is shared by graphs, but the number of a constant is that of one graph."""
    stored = {
        "bias": np.array([4, 8], np.int32),
        "scales of one": np.array([0.5, 0.5], np.float32),
        "scales of two": np.array([2, 3], np.float32),
    }
    module = ModuleOp(
        [NamedDataOp(key, DataAttr.of(ui8, array_blob(key, array))) for key, array in stored.items()]
    )
    program = ProgramConstants(module)
    tensor = XNNTensorValue(XNNDatatype.qcint32, 1, [2], constant_buffer_idx=1)
    how = PerChannelQuant(scale_buffer_idx=2, num_scales=2)

    def sums(name: str) -> GetOp:
        places = [ConstantDataOffset(NO_OFFSET, 8, key) for key in ("bias", f"scales of {name}")]
        tables = XNNGraph(constant_data=[ConstantDataOffset(), *places])
        graph = GraphOp({"sym_name": StringAttr(name)}, Region())
        return GraphConstants(graph, tables, program).sums(tensor, how)

    found: list[list[float]] = []
    for get in (sums("one"), sums("two")):
        symbol = Globals(module).by_name[get.symbol.string_value()]
        assert symbol.value is not None
        found.append(array_of(symbol.type, symbol.value.blob).tolist())
    assert found == [[2, 4], [8, 24]]
