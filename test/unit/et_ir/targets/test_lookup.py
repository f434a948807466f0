"""Targets by name: of the compiler, of packages and of files; and passes with a custom target."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from et_ir.driver.configs import ExecutorchBackendConfig
from et_ir.driver.pipelines import executorch_passes
from et_ir.driver.stages import run_passes, run_pipeline
from et_ir.passes.verify.link_check import MissingKernels
from et_ir.targets import lookup
from et_ir.targets.lookup import DEFAULT, TARGETS, TargetError, find_target, target_names
from et_ir.targets.target import Tables, Target
from et_ir.universe import ET_UNIVERSE

ACME = """
from dataclasses import replace
from et_ir.targets.lookup import DEFAULT, find_target

TARGET = replace(
    find_target(DEFAULT),
    name="acme",
    provenance="A file of a test.",
    added_kernels=frozenset({"aten::erfc.out"}),
    added_backends=frozenset({"AcmeBackend"}),
)
NUMBER = 1
"""

TEXT = """
func.func @forward(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.erfc %x : tensor<2x3xf32>
  %1 = edge.cumsum %0 {dim = -1} : tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
"""


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    # Of another test: its module, and where that is found.
    monkeypatch.delitem(sys.modules, "acme", raising=False)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if not Path(p, "acme.py").exists()])
    path = tmp_path / "acme.py"
    path.write_text(ACME)
    yield f"{path}:TARGET"
    sys.modules.pop("acme", None)


def parsed(text: str) -> tuple[Context, Any]:
    context = Context()
    for name, dialect in ET_UNIVERSE.all_dialects.items():
        context.register_dialect(name, dialect)
    from xdsl.dialects.builtin import Builtin
    from xdsl.dialects.func import Func

    context.load_dialect(Builtin)
    context.load_dialect(Func)
    return context, Parser(context, text).parse_module()


@pytest.mark.parametrize("name", TARGETS)
def test_targets_of_the_compiler(name: str) -> None:
    target = find_target(name)
    assert target.name == str(target) == name
    assert find_target(name) is target
    assert target.provenance
    assert "aten::add.out" in target.kernels
    assert target.backends
    assert target.in_place["aten::add.out"] == {"self", "other"}
    assert target.in_place.keys() <= target.kernels
    assert target.costs is not None


def test_the_default_is_a_target() -> None:
    assert DEFAULT in TARGETS
    assert list(TARGETS) == target_names()[: len(TARGETS)]


def test_a_library_of_kernels_adds_to_a_runtime() -> None:
    base, more = find_target(DEFAULT), find_target(f"{DEFAULT}-quantized")
    assert base.kernels < more.kernels
    assert (base.in_place, base.refused_types, base.backends) == (
        more.in_place,
        more.refused_types,
        more.backends,
    )


def test_a_target_in_a_file(acme: str) -> None:
    target, stock = find_target(acme), find_target(DEFAULT)
    assert target.kernels - stock.kernels == {"aten::erfc.out"}
    assert target.backends - stock.backends == {"AcmeBackend"}
    assert target.legalizations == stock.legalizations


def test_a_program_for_a_target_in_a_file(acme: str) -> None:
    context, module = parsed(TEXT)
    run_passes(module, executorch_passes(ExecutorchBackendConfig(target=acme)), ctx=context)
    assert '"aten::erfc.out"' in str(module)
    context, module = parsed(TEXT)
    with pytest.raises(MissingKernels, match="'bare' has no kernel for it"):
        run_passes(module, executorch_passes(ExecutorchBackendConfig(target=_installed_bare())), ctx=context)


def _installed_bare() -> str:
    return f"{Path(__file__).with_name('bare_target.py')}:BARE"


def test_a_target_of_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def offer(*names: str) -> None:
        points = [SimpleNamespace(name=name, value="bare_target:BARE") for name in names]
        monkeypatch.setattr(lookup, "entry_points", lambda group: points if group == lookup.GROUP else [])

    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    find_target.cache_clear()
    offer("bare")
    try:
        assert find_target("bare").kernels == {"aten::cumsum.out"}
        assert target_names() == [*TARGETS, "bare"]
        find_target.cache_clear()
        offer("bare", "bare")
        with pytest.raises(TargetError, match="two packages install a target named 'bare'"):
            find_target("bare")
    finally:
        find_target.cache_clear()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "stock",
            "unknown target 'stock', expected one of stock-1.5, stock-1.5-quantized, et-vm, et-vm-aten, stock-1.4",
        ),
        ("et-wm", "did you mean 'et-vm'"),
        ("stm32", "compile_program makes objects for processors; for STM32, by series: cortex-m0plus"),
        ("cortex-m4", "compile_program makes objects for processors; for Cortex-M4 give cortex-m4"),
        ("android", "stock-1.4-quantized; for Android give stock-1.5, the default"),
        ("no_such_module:TARGET", "cannot be loaded: no_such_module: no module named 'no_such_module'"),
        ("et_ir.targets.stock:NONE", "cannot be loaded: AttributeError"),
        ("et_ir.targets.lookup:DEFAULT", "is a str, not a Target"),
        ("nowhere.py:TARGET", "cannot be loaded: nowhere.py: no such file"),
    ],
)
def test_targets_that_there_are_not(name: str, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        find_target(name)


@pytest.mark.parametrize(
    "name", ["legalize", "kernel-limits", "in-place", "link-check", "decompose-quantized"]
)
def test_passes_name_a_target_that_there_is_not(name: str) -> None:
    _, module = parsed(TEXT)
    with pytest.raises(PassFailedException, match=f"{name}: unknown target 'gpu'"):
        run_pipeline(module, f'{name}{{target="gpu"}}')


def test_a_family_that_there_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = replace(find_target(DEFAULT), name="wrong", legalizations=("emtpy",))
    monkeypatch.setitem(TARGETS, "wrong", f"{__name__}:WRONG")
    monkeypatch.setattr(lookup, "_loaded", lambda _name, _place: wrong)
    _, module = parsed(TEXT)
    with pytest.raises(
        PassFailedException,
        match="'wrong' requests unknown legalization 'emtpy', expected one of arguments, bags",
    ):
        run_pipeline(module, 'legalize{target="wrong"}')
    find_target.cache_clear()


def test_a_target_without_tables() -> None:
    target = Target("nothing", "a test")
    assert (target.kernels, target.backends, target.in_place, target.costs) == (set(), set(), {}, None)
    assert target.refused_types == {}


def test_tables_are_those_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("# a comment\naten::add.out\n\naten::mul.out # with a reason\n")
    (tmp_path / "mine-in-place.txt").write_text(
        "# a comment\naten::add.out | self,other\naten::mul.out | - | why\n"
    )
    target = Target("mine", "a test", tables=Tables.in_folder(tmp_path, "mine"))
    assert target.kernels == {"aten::add.out", "aten::mul.out"}
    assert target.in_place == {"aten::add.out": {"self", "other"}}
    assert target.not_in_place == {"aten::mul.out": "why"}
    assert target.tables.backends is None
