"""The reference backend, from torch to the VM and back to source lines."""

import numpy as np
import pytest
import torch

from et_backends.nested.compiler import NestedPartitioner
from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_ir import to_edge, to_edge_transform_and_lower
from et_ir.driver.managers import ExecutorchBackendConfig
from et_schema.errors import Trap
from et_schema.pte import read_pte
from et_vm import RecordingTracer
from et_vm.runtime import Runtime

ET_VM = ExecutorchBackendConfig(target="et-vm")


class Model(torch.nn.Module):
    """Has state, sizes that the caller tells, and an op in the middle that is not taken."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(16, 16)
        self.register_buffer("total", torch.zeros(16))

    def forward(self, x):
        y = self.layer(x)
        self.total += 1.5
        z = torch.erf(y)
        return self.layer(z) + self.total


def export(model=None):
    rows = torch.export.Dim("rows", min=1, max=8)
    return torch.export.export(model or Model(), (torch.randn(2, 16),), dynamic_shapes=({0: rows},))


def run(data, inputs, kernels="portable", tracer=None):
    method = Runtime().load_program(data, kernels=kernels, poison=True, tracer=tracer).load_method("forward")
    return [method.execute([one])[0] for one in inputs]


@pytest.mark.parametrize("kernels", ["portable", "aten"])
@pytest.mark.parametrize("share", [False, True])
def test_results_are_the_same(kernels, share):
    torch.manual_seed(0)
    model = Model()
    program = to_edge_transform_and_lower(
        export(model), partitioner=[NestedPartitioner(without=["erf"], share=share)]
    ).to_executorch(ET_VM)
    inputs = [torch.randn(rows, 16) for rows in (2, 8, 1)]
    model.total.zero_()
    wanted = [model(one) for one in inputs]
    for found, right in zip(run(program.buffer, inputs, kernels), wanted, strict=True):
        torch.testing.assert_close(found, right)


def test_shared_weights_are_in_the_file_once():
    model = Model()
    programs = {"one": export(model), "two": export(model)}
    sizes = {}
    for share in (False, True):
        edge = to_edge(programs).to_backend(NestedPartitioner(without=["erf"], share=share))
        assert len(edge.delegation.partitions) == 4
        file = read_pte(edge.to_executorch(ET_VM).buffer)
        sizes[share] = sum(len(segment) for segment in file.segments)
        keys = [entry.key for entry in file.program.named_data if entry.key.startswith("sha256:")]
        assert len(keys) == (2 if share else 0)  # weight and bias
    # Equal partitions of the two methods are one blob either way; two of a method have the weight.
    assert sizes[False] - sizes[True] > 0.9 * 16 * 16 * 4


def test_equal_blobs_are_one_segment():
    class Twice(torch.nn.Module):
        def forward(self, x):
            return torch.erf(x.relu()).relu()

    program = to_edge_transform_and_lower(
        torch.export.export(Twice(), (torch.randn(4),)), partitioner=[NestedPartitioner(only=["relu"])]
    ).to_executorch(ET_VM)
    file = read_pte(program.buffer)
    (plan,) = file.program.execution_plan
    assert len(plan.delegates) == 2
    assert len({delegate.processed.index for delegate in plan.delegates}) == 1


@pytest.mark.parametrize("partitioner", [NestedPartitioner(without=["erf"]), XnnpackPartitioner()])
def test_events_lead_to_source_lines(partitioner):
    program = to_edge_transform_and_lower(export(), partitioner=[partitioner]).to_executorch(ET_VM)
    tracer = RecordingTracer()
    run(program.buffer, [torch.randn(2, 16)], tracer=tracer)
    assert {event.index for event in tracer.delegates} == set(program.delegate_map["forward"])
    from et_ir.emit import origins

    rows = origins(program.module)["forward"]
    lines = set()
    for event in tracer.delegates:
        (place,) = rows[event.index].delegate.places[str(event.identifier)]
        assert place.handle in program.delegate_map["forward"][event.index]["delegate_map"][event.identifier]
        assert event.start <= event.end
        lines.add(place.frames[-1].context)
    assert {"y = self.layer(x)", "self.total += 1.5", "return self.layer(z) + self.total"} <= lines


def test_a_failure_inside_is_one_of_the_call():
    class Picks(torch.nn.Module):
        def forward(self, x, i):
            return torch.index_select(x, 0, i).relu()

    program = to_edge_transform_and_lower(
        torch.export.export(Picks(), (torch.randn(4, 4), torch.tensor([1]))),
        partitioner=[NestedPartitioner()],
    ).to_executorch(ET_VM)
    method = Runtime().load_program(program.buffer).load_method("forward")
    with pytest.raises(Trap, match="of the nested program") as caught:
        method.execute([np.zeros((4, 4), np.float32), np.array([9])])
    assert caught.value.operator == "NestedProgramBackend"
    (found,) = method.execute([np.ones((4, 4), np.float32), np.array([3])])
    assert found.tolist() == [[1.0] * 4]


def test_control_flow_and_methods():
    class Branches(torch.nn.Module):
        def forward(self, x, p):
            return torch.cond(p, lambda x: x.relu() + 1, lambda x: torch.erf(x).neg(), (x,)) * 2

    exported = torch.export.export(Branches(), (torch.randn(4), torch.tensor(True)))
    for without in ((), ("erf",)):
        edge = to_edge({"m": exported, "n": exported}).to_backend({"m": NestedPartitioner(without=without)})
        assert {method for method, _, _ in edge.delegation.partitions} == {"m"}
        program = Runtime().load_program(edge.to_executorch(ET_VM).buffer, poison=True)
        for method in ("m", "n"):
            for p in (True, False):
                x = torch.randn(4)
                (found,) = program.load_method(method).execute([x, torch.tensor(p)])
                torch.testing.assert_close(found, Branches()(x, torch.tensor(p)))


def test_two_backends_in_one_file():
    class Mixed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(16, 16)

        def forward(self, x, p):
            def yes(y):
                return self.layer(y).relu()

            def no(y):
                return torch.erfinv(y.tanh() * 0.5)

            return torch.cond(p, yes, no, (torch.erfinv(self.layer(x).tanh() * 0.5),)) + 1

    torch.manual_seed(0)
    model = Mixed().requires_grad_(False)
    exported = torch.export.export(model, (torch.randn(2, 16), torch.tensor(True)))
    edge = to_edge_transform_and_lower(
        exported, partitioner=[XnnpackPartitioner(), NestedPartitioner(without=["control"])]
    )
    assert {backend for _, backend, _ in edge.delegation.partitions} == {
        "XnnpackBackend",
        "NestedProgramBackend",
    }
    program = Runtime().load_program(edge.to_executorch(ET_VM).buffer, poison=True)
    method = program.load_method("forward")
    for p in (True, False, True):
        x = torch.randn(2, 16)
        (found,) = method.execute([x, torch.tensor(p)])
        torch.testing.assert_close(found, model(x, torch.tensor(p)), rtol=1e-4, atol=1e-4)


def test_a_program_is_left_as_it_was():
    edge = to_edge(export())
    text = str(edge.module)
    lowered = edge.to_backend(NestedPartitioner())
    assert str(edge.module) == text
    assert lowered.delegation.left_out == []
    assert "backend.call" in str(lowered.transform([]).module)
