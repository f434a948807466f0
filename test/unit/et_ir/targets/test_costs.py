"""Tables of costs: they can be read, cover what passes choose among, and rank it as choices rely on."""

from pathlib import Path

import pytest

from et_ir.targets.costs import KernelCost, Work, read_costs
from et_ir.targets.lookup import DEFAULT, TARGETS, find_target

FORMS = (
    "aten::convolution.out",
    "aten::convolution.out depthwise",
    "aten::max_pool2d_with_indices.out",
    "aten::mm.out",
    "aten::addmm.out",
    "aten::bmm.out",
    "aten::linear.out",
    "aten::add.out",
    "aten::as_strided_copy.out",
    "aten::constant_pad_nd.out",
    "aten::slice_copy.Tensor_out",
    "aten::cat.out",
    "aten::maximum.out",
    "aten::permute_copy.out",
    "aten::transpose_copy.int_out",
)


@pytest.mark.parametrize("target", TARGETS)
def test_every_kernel_of_a_form_has_a_cost(target: str) -> None:
    table = find_target(target).costs
    assert table is not None
    assert set(FORMS) <= set(table.kernels)
    assert {name.partition(" ")[0] for name in table.kernels} <= find_target(target).kernels


@pytest.mark.parametrize("target", TARGETS)
def test_costs_are_those_of_a_machine(target: str) -> None:
    """A measurement that noise has drowned says that a million elements take no time, or a second."""
    table = find_target(target).costs
    assert table is not None
    for name, cost in table.kernels.items():
        seconds = cost.seconds(Work(name, macs=10**7, read=10**6, written=10**6, lines=10**3))
        assert 2e-5 < seconds < 0.5, (name, seconds)


def test_what_the_choices_for_stock_rest_on() -> None:
    table = find_target(DEFAULT).costs
    assert table is not None

    def seconds(name: str, **counts: int) -> float:
        found = table.seconds(Work(f"aten::{name}", **counts))
        assert found is not None
        return found

    # 64 by 64 channels, 3 by 3 taps, 56 by 56 outputs.
    product = {"macs": 64 * 576 * 3136, "read": 576 * (64 + 3136), "written": 64 * 3136, "lines": 64}
    patches = seconds("as_strided_copy.out", written=576 * 3136, lines=576 * 56)
    assert 20 * (seconds("mm.out", **product) + patches) < seconds("convolution.out", **product)
    assert 20 * seconds("mm.out", **product) < seconds("addmm.out", **product)
    # 96 channels, a tap of 3 by 3 each.
    taps = {"macs": 96 * 9 * 3136, "read": 96 * 9 * 3137, "written": 96 * 3136, "lines": 96}
    patches = seconds("as_strided_copy.out", written=96 * 9 * 3136, lines=96 * 9 * 56)
    assert 3 * (seconds("bmm.out", **taps) + patches) < seconds("convolution.out depthwise", **taps)
    assert seconds("transpose_copy.int_out", written=1 << 16) < seconds("permute_copy.out", written=1 << 16)
    maxima = 2 * seconds("maximum.out", written=64 * 56 * 114) + 2 * seconds("maximum.out", written=64 * 3136)
    assert 3 * maxima < seconds("max_pool2d_with_indices.out", read=64 * 112 * 112)


def test_a_call_is_the_sum_of_its_parts() -> None:
    cost = KernelCost(call=100, mac=1, read=2, written=3, line=4)
    assert cost.seconds(Work("k", macs=10, read=20, written=30, lines=5)) == pytest.approx(260e-9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"aten::mm.out" = { mac = -1 }', "mac = -1"),
        ('"aten::mm.out" = { macs = 1 }', "macs = 1, expected call, mac, read, written, line"),
        ('"aten::mm.out" = { mac = "1" }', "mac = '1'"),
        ('"aten::mm.out" = 1', "aten::mm.out is not a table"),
    ],
)
def test_tables_that_are_wrong(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_costs(path)
