"""Arm's own conformance generator for TOSA: its tests of each operator on et-vm, beside the reference model.

The generator is `tosa_verif_build_tests` of `tosa-tools`, for version 1.0 without extensions. Integers are to be equal;
floats within a tolerance, as sums and elementary functions are computed in another order.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tosa_reference import generated_tests

from et_backends.tosa.format.blob import read_tosa
from et_backends.tosa.format.graph import Op
from et_backends.tosa.runtime.program import MAKERS, TosaProgram
from et_schema.errors import ExecutorchError

TOLERANCE = 1e-4
"""Of floats, relative to the greatest of a result."""
BOOLEANS_LATER = ("gather", "scatter")
"""Operators that take bools since version 1.0.1 of the specification, of which files of 1.0 have no sign."""
NAMES = sorted(op.name.lower() for op in MAKERS)
GROUPS = 8
"""How many times the tools are started."""


@pytest.mark.sweep
@pytest.mark.parametrize("group", range(GROUPS))
def test_operators(group: int, tmp_path: Path) -> None:
    names = NAMES[group::GROUPS]
    compared: set[Op] = set()
    for folder in generated_tests(names, tmp_path):
        if folder.name.startswith(BOOLEANS_LATER) and "_b_" in folder.name:
            continue
        expected = folder / "expected.npz"
        if not expected.exists():
            continue  # the specification does not define the result
        test = json.loads((folder / "desc.json").read_text())
        inputs = [np.load(folder / one) for one in test["ifm_file"]]
        try:
            results = TosaProgram(read_tosa((folder / test["tosa_file"]).read_bytes())).run(inputs)
        except ExecutorchError as error:
            raise AssertionError(f"{folder.name}: {error}") from error
        with np.load(expected) as wanted:
            for number, made in enumerate(results):
                _check(made, wanted[str(number)], folder.name)
        compared.add(Op[test["test_details"]["operator"]])
    assert {op.name.lower() for op in compared} == set(names)


def _check(made: np.ndarray, wanted: np.ndarray, name: str) -> None:
    assert made.shape == wanted.shape, name
    if wanted.dtype.kind != "f":
        np.testing.assert_array_equal(made, wanted, err_msg=name)
        return
    finite = np.abs(wanted[np.isfinite(wanted)].astype(np.float64))
    scale = float(finite.max()) if finite.size else 1.0
    tolerance = TOLERANCE if wanted.dtype == np.float32 else 1e-2
    np.testing.assert_allclose(made, wanted, rtol=tolerance, atol=tolerance * scale, err_msg=name)
