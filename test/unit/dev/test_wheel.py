"""The wheel that `python -m build` makes: what users install, and no more."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from email import message_from_string
from email.message import Message
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[3]
PACKAGES = {"et_backends", "et_ops", "et_schema", "et_ir", "et_sweep", "et_vm", "et_tools"}
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "*.pyi", "build", "dist", "test")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made through the source distribution, in a copy: what lies around in a checkout must not get in."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, folder / "checkout", ignore=LEFT_OUT)
    line = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
    done = subprocess.run([*line, str(folder / "checkout")], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    [found] = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def names(wheel: Path) -> list[str]:
    return ZipFile(wheel).namelist()


@pytest.fixture(scope="module")
def metadata(wheel: Path, names: list[str]) -> Message:
    [name] = [name for name in names if name.endswith(".dist-info/METADATA")]
    return message_from_string(ZipFile(wheel).read(name).decode())


def test_packages(names: list[str]) -> None:
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == PACKAGES


def test_every_module_and_table_is_there(names: list[str]) -> None:
    """All that the packages' folders hold but the examples, which are for tests and documentation."""
    wanted: set[str] = set()
    for package in PACKAGES:
        folder = ROOT / package.replace("et_tools", "tools")
        for pattern in (
            "*.py",
            "*.txt",
            "*.toml",
            "*.ll",
            "*.c",
            "*.h",
            "*.html",
            "*.css",
            "*.js",
            "py.typed",
        ):
            wanted |= {f"{package}/{file.relative_to(folder).as_posix()}" for file in folder.rglob(pattern)}
    wanted.remove("et_ir/dialects/schema/examples.txt")
    assert {name for name in names if ".dist-info/" not in name} == wanted


def test_no_development_files(names: list[str]) -> None:
    unwanted = re.compile(
        r"(^|/)(dev|test|tests|bench)/|/(examples\.txt|generat|document_|\w*probe|conftest)"
    )
    assert [name for name in names if unwanted.search(name)] == []


def test_description_stands_alone(metadata: Message) -> None:
    """Where it is shown, there are no files of the repository to follow links to."""
    text = metadata.get_payload()
    assert isinstance(text, str)
    assert text.startswith("# executorch-ir\n")
    assert metadata["Description-Content-Type"] == "text/markdown"
    targets = re.findall(r"\]\(([^)\s]*)\)", text)
    assert targets
    assert all(target.startswith("https://") for target in targets)
    assert "| `pip install .` | the runtime: `et-vm` and `et_vm.runtime`, with numpy and ml_dtypes |" in text


def test_metadata(metadata: Message) -> None:
    assert metadata["License-Expression"] == "BSD-3-Clause"
    classifiers = metadata.get_all("Classifier") or []
    assert "Topic :: Software Development :: Compilers" in classifiers
    assert "Typing :: Typed" in classifiers
    assert {"compiler", "scipy", "lit", "test"} <= set(metadata.get_all("Provides-Extra") or [])
    extra = [line for line in metadata.get_all("Requires-Dist") or [] if line.endswith('extra == "lit"')]
    assert [line.split(">")[0] for line in extra] == ["lit", "filecheck"]


def test_it_compiles_and_runs(wheel: Path, tmp_path: Path) -> None:
    """From the files of the wheel alone."""
    (tmp_path / "installed").mkdir()
    ZipFile(wheel).extractall(tmp_path / "installed")
    (tmp_path / "relu.mlir").write_text(
        "func.func @forward(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"
        "  %0 = aten.relu %x : tensor<2x3xf32>\n"
        "  func.return %0 : tensor<2x3xf32>\n"
        "}\n"
    )
    script = """
import sys
sys.path.insert(0, "installed")
import et_ir, et_vm
from et_ir.dialects.aten import OP_BY_NAME
from et_tools.et_compile import main as compile
from et_tools.et_vm import main as run
assert {module.__file__.split("/")[-3] for module in (et_ir, et_vm)} == {"installed"}
assert OP_BY_NAME["relu"].__doc__
assert compile(["-q", "relu.mlir", "-o", "relu.pte"]) == 0
assert run(["run", "relu.pte", "--input", "ones"]) == 0
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "aten::relu.out" in done.stdout or "float32 [2, 3]" in done.stdout
