"""Families of the operator library as modules of kernels, imported lazily."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import et_vm.kernels.portable
from et_ops.families import families, family_of
from et_ops.library import operator_of_kernel
from et_vm.kernels.portable import register
from et_vm.kernels.portable.declare import KERNELS, kernel
from et_vm.kernels.registry import KernelRegistry, parameters_of


def _import_all() -> None:
    package = et_vm.kernels.portable
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)


def _packet(name: str) -> str:
    namespace, _, overload = name.partition("::")
    packet = overload.partition(".")[0]
    return packet if namespace == "aten" else f"{namespace}.{packet}"


def test_a_family_is_a_module() -> None:
    _import_all()
    for name, prepare in KERNELS.items():
        assert prepare.__module__ == f"et_vm.kernels.portable.{family_of(_packet(name))}", name
    packets = [packet for names in families().values() for packet in names]
    assert sorted(packets) == sorted({_packet(name) for name in KERNELS})


def test_a_record_knows_its_family() -> None:
    _import_all()
    for name in KERNELS:
        record = operator_of_kernel(name)
        assert record is None or record.family == family_of(_packet(name)), name


SELF_CHECKING = {
    "indexing.index": {"aten::index.Tensor_out"},
    "indexing.scatter": {"aten::index_put.out", "aten::index_put_"},
    "movement.copy": {"aten::copy_"},
    "movement.join": {"aten::cat.out"},
}
"""Kernels that check their arguments themselves, by family; `docs/design.md` says why."""

WHOLLY_SELF_CHECKING = {
    "attention.cached_attention",
    "pointwise.activation",
    "pointwise.binary",
    "pointwise.comparison",
    "pointwise.pairwise",
    "pointwise.unary",
    "reduction.reduce",
    "special.polynomials",
    "special.special",
}
"""Families whose kernels broadcast or reduce in one place, which checks them, and those of operators that no program of
the compiler has, and so no rule."""


def test_kernels_have_a_shape_rule() -> None:
    """All but those listed are `inferred`: their rule checks the arguments and shapes the results."""
    _import_all()
    found: dict[str | None, set[str]] = {}
    for name, prepare in KERNELS.items():
        if not hasattr(prepare, "rule"):
            found.setdefault(family_of(_packet(name)), set()).add(name)
    assert set(found) >= WHOLLY_SELF_CHECKING
    assert {
        family: names for family, names in found.items() if family not in WHOLLY_SELF_CHECKING
    } == SELF_CHECKING


def test_every_kernel_states_its_parameters() -> None:
    """The verifier rejects calls by them."""
    _import_all()
    for name, prepare in KERNELS.items():
        parameters = parameters_of(prepare)
        assert parameters, name
        assert all(parameter.kinds for parameter in parameters), name


def test_kernels_look_up_lazily() -> None:
    registry = KernelRegistry([register])
    prepare = registry.lookup("aten::add.out", ())
    assert prepare is KERNELS["aten::add.out"]
    assert next(iter(inspect.signature(prepare).parameters)) == "ctx"
    assert registry.lookup("aten::no_such_op.out", ()) is None


def test_a_name_is_declared_once() -> None:
    importlib.import_module("et_vm.kernels.portable.pointwise.binary")
    with pytest.raises(ValueError, match="declared twice"):
        kernel("aten::add.out")(lambda ctx: (print, ()))


def test_registering_imports_no_family_and_no_torch() -> None:
    code = (
        "import sys; from et_vm.kernels.registry import KernelRegistry;"
        "import et_vm.kernels.portable as p; r = KernelRegistry([p.register]);"
        "r.lookup('aten::add.out', ());"
        "loaded = {m.rpartition('.')[2] for m in sys.modules if m.startswith('et_vm.kernels.portable.')};"
        "assert 'binary' in loaded and not loaded & {'convolution', 'resample', 'reduce'}, loaded;"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
