"""ETRecords from modules: sizes known at run time only, state, and what has no form."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from et_ir import to_edge
from et_ir.etrecord import ETRecord, NotRecordable, generate_etrecord, parse_etrecord
from et_vm.devtools.reference_values import load_tensors, node_values


class Dynamic(nn.Module):
    """Sizes of the input in an operator's arguments."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(x.shape[0] * 2, -1).relu()


class Stateful(nn.Module):
    """A buffer that is read and written, and an input that is written."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total += x
        return self.total.sum(0, keepdim=True)


class Branches(nn.Module):
    """Control flow."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))


def test_sizes_known_at_run_time_only(tmp_path):
    rows = torch.export.Dim("rows", min=2, max=16)
    inputs = (torch.randn(3, 4),)
    program = torch.export.export(Dynamic(), inputs, dynamic_shapes=({0: rows},))
    record = to_edge(program, generate_etrecord=True).to_executorch().get_etrecord()
    record.save(tmp_path / "net.etrecord")
    found = parse_etrecord(tmp_path / "net.etrecord")
    for size in (3, 5):
        x = torch.randn(size, 4)
        *_, (node, value) = node_values(found.edge_dialect_program["forward"], [x])
        assert node.operator == "aten.relu.default"
        torch.testing.assert_close(value, Dynamic()(x))


def test_state(tmp_path):
    program = torch.export.export(Stateful(), (torch.ones(3),))
    record = to_edge(program, generate_etrecord=True).to_executorch().get_etrecord()
    signature = record.edge_dialect_program["forward"].document["graph_module"]["signature"]
    assert [next(iter(one)) for one in signature["output_specs"]] == ["buffer_mutation", "user_output"]
    *_, (_, value) = node_values(record.edge_dialect_program["forward"], [torch.ones(3)])
    assert value.tolist() == [3.0]


def test_what_has_no_form():
    program = torch.export.export(Branches(), (torch.ones(3),))
    et = to_edge(program, generate_etrecord=True).to_executorch()
    with pytest.raises(NotRecordable, match=r"test_record.py:.*cannot be represented in an ETRecord"):
        et.get_etrecord()
    with pytest.raises(ValueError, match="generate_etrecord=True"):
        to_edge(program).to_executorch().get_etrecord()


def test_stages_by_hand(tmp_path):
    """`generate_etrecord` of the stages is what the compiler gives."""
    program = torch.export.export(nn.Sequential(nn.Linear(3, 2), nn.ReLU()), (torch.ones(1, 3),))
    edge = to_edge(program, generate_etrecord=True)
    et = edge.to_executorch()
    generate_etrecord(tmp_path / "one", edge, et, program, {"before": program})
    found, wanted = parse_etrecord(tmp_path / "one"), et.get_etrecord()
    assert found.debug_handle_map == wanted.debug_handle_map
    assert found.edge_dialect_program["forward"].document == wanted.edge_dialect_program["forward"].document
    assert list(found.graph_map) == ["before/forward"]
    assert load_tensors(wanted.representative_inputs)[0].shape == (1, 3)
    with pytest.raises(ValueError, match="compiled program already"):
        found.add_executorch_program(et)
    with pytest.raises(ValueError, match="reserved"):
        found.add_extra_export_modules({"exported_program": program})
    with pytest.raises(ValueError, match="before the compiled one"):
        ETRecord().add_executorch_program(et)
