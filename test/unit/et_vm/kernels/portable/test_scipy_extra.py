"""Kernels that need scipy where it is not installed: an error with the kernel and the extra, and all others run."""

from __future__ import annotations

import subprocess
import sys

import pytest

BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "scipy":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())

import numpy as np
from et_schema.errors import Error, Trap
from et_schema.scalar_type import ScalarType
from et_vm.kernels.libraries import load_library
from et_vm.kernels.registry import PrepareContext
from et_vm.values import Tensor

def double(*sizes):
    storage = np.zeros(8 * max(1, int(np.prod(sizes))), np.uint8)
    return Tensor(ScalarType.DOUBLE, sizes, storage=storage)

def prepared(name, *arguments):
    operator = f"aten::{name}"
    return load_library("portable").lookup(operator, ())(PrepareContext(operator), *arguments)
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", BLOCKED + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("digamma.out", "double(2), double(2)"),
        ("erfc.out", "double(2), double(2)"),
        ("special_bessel_j0.out", "double(2), double(2)"),
        ("polygamma.out", "1, double(2), double(2)"),
        ("special_zeta.out", "double(2), double(2), double(2)"),
        ("special_hermite_polynomial_h.n_scalar_out", "double(2), 3, double(2)"),
        ("linalg_matrix_exp.out", "double(2, 2), double(2, 2)"),
    ],
)
def test_names_the_kernel_and_the_extra(name: str, arguments: str) -> None:
    printed = run(f"""
try:
    prepared({name!r}, {arguments})
except Trap as error:
    assert error.code is Error.OperatorMissing
    assert error.operator == "aten::{name}"
    print(error)
""")
    assert f"the kernel 'aten::{name}' needs the package scipy, which is not installed" in printed
    assert "pip install '.[scipy]' in the checkout of executorch-ir" in printed


def test_common_functions_need_no_scipy() -> None:
    run("""
for name in ("lgamma.out", "erf.out", "exp.out", "log1p.out"):
    out = double(3)
    step, args = prepared(name, double(3), out)
    step(*args)
out = double(3)
step, args = prepared("gelu.out", double(3), "none", out)
step(*args)
assert "scipy" not in sys.modules
""")


def test_nothing_imports_scipy_before_such_a_kernel_is_prepared() -> None:
    code = """
import sys
from et_vm.kernels.libraries import load_library
library = load_library("portable")
library.lookup("aten::digamma.out", ()), library.lookup("aten::linalg_ldl_solve.out", ())
assert "scipy" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
