"""Tests of the core, chosen from all, and the copy of the tree that they run in."""

import os
import subprocess
import sys
from pathlib import Path

from dev.core import copy, lit_tests, unit_tests

ROOT = Path(__file__).parents[3]


def test_choice() -> None:
    unit, lit = unit_tests(ROOT), lit_tests(ROOT)
    assert {"test/unit/et_schema/test_pte.py", "test/unit/et_vm/devtools/test_debugger.py"} <= {*unit}
    assert "test/unit/et_ir/delegation/test_backends_by_name.py" not in unit
    assert "test/lit/passes/common/cse.mlir" in lit
    assert {
        "test/lit/passes/backend/lower-partitions.mlir",
        "test/lit/passes/raising/raise-xnnpack.mlir",
        "test/lit/dialects/tosa/ops.mlir",
    }.isdisjoint(lit)


def test_copy(tmp_path: Path) -> None:
    """Neither the tree's backends nor installed ones are found in the copy, and its commands are its own."""
    folder = tmp_path / "core"
    copy(ROOT, folder)
    code = (
        "import et_ir, et_tools; from et_schema.backend_packages import backend_packages as found; "
        "from importlib.metadata import entry_points; "
        "scripts = entry_points(group='console_scripts', module='et_tools.et_opt').names; "
        "print(found(), et_ir.__file__, *scripts)\n"
        "import et_backends.xnnpack"
    )
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert done.stdout.split() == [
        "Packages(found={},",
        "failures={})",
        str(folder / "et_ir/__init__.py"),
        "et-opt",
    ]
    assert done.stderr.endswith("ModuleNotFoundError: No module named 'et_backends'\n")
