"""Modules that `torch.export` made, exported again."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

from et_ir.frontend.exported import (
    dynamic_shapes_of,
    example_inputs_of,
    in_evaluation,
    input_names,
    is_exported,
)
from et_ir.quantization import QuantizationError, quantize


class Net(nn.Module):
    """A table, a layer and a gain, of rows whose number is not known."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table, self.layer = nn.Embedding(10, 8), nn.Linear(8, 8)

    def forward(self, ids: Tensor, x: Tensor, *, gain: Tensor) -> Tensor:
        return self.layer(self.table(ids) + x) * gain


def inputs(rows: int = 2) -> tuple[tuple[Tensor, Tensor], dict[str, Tensor]]:
    generator = torch.Generator().manual_seed(rows)
    x, gain = torch.randn(rows, 8, generator=generator), torch.rand(8, generator=generator)
    return (torch.randint(10, (rows,), generator=generator), x), {"gain": gain + 0.5}


def exported(least: int = 1) -> torch.export.ExportedProgram:
    rows = Dim("rows", min=least, max=6)
    shapes = {"ids": {0: rows}, "x": {0: rows}, "gain": None}
    return torch.export.export(Net().eval(), *inputs(4), dynamic_shapes=shapes)


def test_exported_modules_are_told_from_others() -> None:
    module = exported().module()
    assert is_exported(module)
    assert in_evaluation(module) is module
    assert input_names(module) == ["ids", "x", "gain"]
    plain = torch.fx.symbolic_trace(nn.Sequential(nn.Dropout()))
    assert not is_exported(plain)
    assert not in_evaluation(plain).training
    assert dynamic_shapes_of(plain) is None


@pytest.mark.parametrize("least", [0, 1, 2, 3])
def test_sizes_are_those_of_the_first_export(least: int) -> None:
    program = exported(least)
    module = program.module()
    shapes = dynamic_shapes_of(module, program.range_constraints)
    again = torch.export.export(module, *inputs(4), dynamic_shapes=shapes)
    bounds = [
        [(int(one.lower), int(one.upper)) for one in both.range_constraints.values()]
        for both in (program, again)
    ]
    assert bounds == [[(least, 6)], [(least, 6)]]
    of_module = torch.export.export(module, *inputs(4), dynamic_shapes=dynamic_shapes_of(module))
    (one,) = of_module.range_constraints.values()
    assert (int(one.lower), int(one.upper)) == (least if least > 2 else 0, 6)
    args, kwargs = inputs(5)
    torch.testing.assert_close(again.module()(*args, **kwargs), Net()(*args, **kwargs))
    fixed = torch.export.export(Net(), *inputs()).module()
    assert dynamic_shapes_of(fixed) is None


def test_example_inputs_are_those_of_the_first_export() -> None:
    program = exported()
    args, kwargs = example_inputs_of(program.module())
    (ids, x), gain = args, kwargs["gain"]
    assert (ids.shape, x.shape, gain.shape) == ((4,), (4, 8), (8,))
    assert (ids.dtype, x.dtype) == (torch.int64, torch.float32)


@pytest.mark.parametrize("mode", ["int8", "int8-dynamic", "int8-weights"])
@pytest.mark.parametrize("kind", ["program", "module"])
def test_quantization_of_exported_programs(kind: str, mode: str) -> None:
    """It is that of the module, but for tables."""
    program = exported()
    args, kwargs = inputs()
    data = [inputs(rows)[0] for rows in (2, 3)]
    given = program if kind == "program" else program.module()
    by_name = [{"ids": ids, "x": x} for ids, x in data]
    found = quantize(given, args, mode, kwargs=kwargs, calibration=by_name)
    rows = Dim("rows", min=1, max=6)
    shapes = {"ids": {0: rows}, "x": {0: rows}, "gain": None}
    wanted = quantize(Net(), args, mode, kwargs=kwargs, calibration=data, dynamic_shapes=shapes)
    assert [one.name for one in found.operators] == [one.name for one in wanted.operators]
    assert [one.place for one in found.operators] == [one.place for one in wanted.operators]
    others = [one for one in found.layers if one.operator != "embedding"]
    assert [one.name for one in others if one.is_quantized] == ["layer"]
    plain = Net().eval()
    with torch.no_grad():
        exact = plain(*args, **kwargs)
        error = (found.module(*args, **kwargs) - exact).square().sum()
    assert error < 1e-2 * exact.square().sum()
    tables = [one.operator for one in found.unquantized if one.reason == "a table of an exported program"]
    assert tables == ([] if mode == "int8" else ["aten.embedding.default"])


def test_modes_and_data_that_do_not_fit() -> None:
    program = exported()
    args, kwargs = inputs()
    with pytest.raises(QuantizationError, match=r"8da4w.*an exported program has none: give the module"):
        quantize(program, args, "8da4w:group=8", kwargs=kwargs)
    with pytest.raises(QuantizationError, match="calibration data 0 is of ids: expected ids, x"):
        quantize(program, args, "int8", kwargs=kwargs, calibration=[{"ids": args[0]}])


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # torch's own use
def test_programs_that_are_decomposed() -> None:
    """Layers are no layers any more, which is said."""
    program = torch.export.export(nn.Linear(4, 4), (torch.ones(2, 4),)).run_decompositions()
    found = quantize(program, (torch.ones(2, 4),), "int8", calibration=[(torch.randn(2, 4),)])
    (left,) = found.unquantized
    assert left.operator == "aten.addmm.default"
    assert left.fix == "quantize before run_decompositions, which splits layers"
