"""An encoder-decoder that decodes in a loop of its program: token for token what eager gives, on both runtimes."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch
from stock import StockRuntime

from et_ir import to_edge
from et_vm.runtime import Runtime
from examples.models.translator import Translator, translator

LENGTHS = (10, 2, 5, 33, 64)
"""Of source sentences, the shortest and the longest among them."""


def sentence(length: int) -> torch.Tensor:
    return torch.randint(2, 512, (1, length), generator=torch.Generator().manual_seed(length))


@pytest.fixture(scope="module")
def wanted() -> dict[int, list[torch.Tensor]]:
    """The tokens, and how many there are, that eager gives."""
    module, _, _ = translator()
    with torch.no_grad(), warnings.catch_warnings(action="ignore"):
        return {length: list(module(sentence(length))) for length in LENGTHS}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    module, arguments, dynamic_shapes = translator()
    path = tmp_path_factory.mktemp("translator") / "translator.pte"
    with warnings.catch_warnings(action="ignore"):
        program = torch.export.export(module, arguments, dynamic_shapes=dynamic_shapes)
    to_edge(program).to_executorch().save(path)
    return path


def assert_same(found: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    assert [value.tolist() for value in found] == [value.tolist() for value in expected]


def test_sentences_end_at_different_places(wanted: dict[int, list[torch.Tensor]]) -> None:
    counts = {int(count) for _, count in wanted.values()}
    assert Translator().target in counts
    assert len(counts) > 1


@pytest.mark.parametrize("kernels", ["portable", "aten"])
@pytest.mark.parametrize("poison", [False, True])
def test_vm(file: Path, wanted: dict[int, list[torch.Tensor]], kernels: str, poison: bool) -> None:
    method = Runtime.get().load_program(file, kernels=kernels, poison=poison).load_method("forward")
    for length, expected in wanted.items():
        for _ in range(4):
            assert_same(list(method.execute([sentence(length)])), expected)


def test_stock(file: Path, wanted: dict[int, list[torch.Tensor]], stock: StockRuntime) -> None:
    for length, expected in wanted.items():
        assert_same(stock.run(file, [sentence(length)]), expected)
