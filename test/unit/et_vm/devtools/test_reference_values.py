"""Values of recorded graphs, which may be of anyone: what they can call."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from et_schema.errors import Error, ExecutorchError
from et_schema.etrecord import RecordedProgram
from et_vm.devtools.reference_values import node_values

torch = pytest.importorskip("torch")


def calling(target: str, *arguments: dict[str, Any]) -> RecordedProgram:
    """A graph of one node."""
    inputs = [{"name": "", "arg": one, "kind": 1} for one in arguments]
    node: dict[str, Any] = {"name": "y", "target": target, "inputs": inputs, "outputs": [], "metadata": {}}
    graph: dict[str, Any] = {"nodes": [node], "tensor_values": {}}
    return RecordedProgram({"graph_module": {"graph": graph, "signature": {"input_specs": []}}})


@pytest.mark.parametrize(
    "target",
    [
        "torch.os.system",
        "torch.hub.load",
        "torch.load",
        "torch.ops.load_library",
        "torch.ops.aten.from_file",
        "torch.ops.aten.from_file.default",
        "torch.ops.aten.save.default",
        "torch.ops.inductor._reinterpret_tensor.default",
        "torch.ops.profiler._record_function_enter_new.default",
        "torch.ops.aten.sparse_coo_tensor.size",
        "torch.ops.load_library.__call__.__call__",
        "executorch.exir.dialects.edge.ops.inductor._reinterpret_tensor.default",
        "torch.ops..",
        "_operator.attrgetter",
        "_operator.__spec__",
        "posix.system",
    ],
)
def test_only_operators_are_called(target: str, tmp_path: Path) -> None:
    made = tmp_path / "made"
    with pytest.raises(ExecutorchError, match="is not an operator that torch has") as caught:
        list(node_values(calling(target, {"as_string": f"touch {made}"}), []))
    assert caught.value.code == Error.NotSupported
    assert not made.exists()


@pytest.mark.parametrize(
    ("target", "expected"), [("_operator.floordiv", 3), ("torch.sym_max", 7)], ids=["operator", "torch"]
)
def test_arithmetic(target: str, expected: int) -> None:
    ((_, value),) = node_values(calling(target, {"as_int": 7}, {"as_int": 2}), [])
    assert value == expected


def test_tensors_are_not_pickles_of_anything() -> None:
    class Anything:
        def __reduce__(self) -> Any:
            return print, ("called",)

    stream = io.BytesIO()
    torch.save([Anything()], stream)
    program = calling("_operator.pos", {"as_int": 1})
    damaged = RecordedProgram(program.document, state_dict=stream.getvalue())
    with pytest.raises(ExecutorchError, match="cannot be read") as caught:
        list(node_values(damaged, []))
    assert caught.value.code == Error.InvalidExternalData


@pytest.mark.parametrize(
    "argument", [{"as_tensor": {"name": "z"}}, {"as_scalar_type": 99}, {"as_tensors": 1}, {}]
)
def test_a_damaged_graph(argument: dict[str, Any]) -> None:
    with pytest.raises(ExecutorchError, match="the reference graph is damaged") as caught:
        list(node_values(calling("_operator.pos", argument), []))
    assert caught.value.code == Error.InvalidExternalData


def test_operands_are_checked_before_torch_computes() -> None:
    """The quotient that torch leaves to the machine ends the process on some."""

    def node(target: str, result: str, **inputs: dict[str, Any]) -> dict[str, Any]:
        given = [{"name": name, "arg": value, "kind": 1} for name, value in inputs.items()]
        outputs = [{"as_tensor": {"name": result}}]
        return {"name": result, "target": target, "inputs": given, "outputs": outputs, "metadata": {}}

    program = calling("_operator.pos", {"as_int": 1})
    program.document["graph_module"]["graph"]["nodes"] = [
        node("torch.ops.aten.full.default", "x", size={"as_ints": [1]}, fill_value={"as_int": -(2**63)}),
        node(
            "torch.ops.aten.div.Scalar_mode",
            "y",
            self={"as_tensor": {"name": "x"}},
            other={"as_int": -1},
            rounding_mode={"as_string": "trunc"},
        ),
    ]
    with pytest.raises(ExecutorchError, match="divisors other than -1") as caught:
        list(node_values(program, []))
    assert caught.value.code == Error.NotSupported
