import subprocess
import sys
from importlib.metadata import version

import pytest

import et_ir
import et_vm


def test_every_name_is_there():
    assert et_vm.__all__ == sorted(et_vm._MODULES)
    for name in et_vm.__all__:
        assert getattr(et_vm, name).__name__ == name


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        et_vm.nonsense  # noqa: B018  reading is the test


def test_version():
    assert et_vm.__version__ == et_ir.__version__ == version("executorch-ir")


def test_run_as_a_module():
    run = subprocess.run(
        [sys.executable, "-m", "et_vm", "--version"], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, f"et-vm {et_vm.__version__}\n", "")


def test_importing_imports_nothing_else():
    code = (
        "import sys, et_vm; print(any(name in sys.modules for name in ('numpy', 'et_schema.pte', 'torch')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
