"""The distribution `et-vm`: the runtime without the compiler, small, and closed under imports."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tarfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest

from dev.runtime_distribution import runtime_modules
from et_schema.backend_packages import backend_packages
from et_schema.distribution import RUNTIME_EXTRAS

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "test" / "fixtures"
PACKAGES = {"et_backends", "et_ops", "et_schema", "et_vm", "et_tools"}
REQUIRED = {"numpy", "ml_dtypes", "flatbuffers"}
MOST = 8_000_000
"""Bytes that the installed files may have, bytecode included."""
MISSING = (
    "this needs the compiler, which et-vm does not contain; "
    "install it with: pip install '.[compiler]' in the checkout of executorch-ir"
)


def checked(line: list[str]) -> None:
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def files_around(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"__pycache__"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    before = files_around(ROOT), files_around(ROOT / "runtime")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    checked([*pip, "--wheel-dir", str(folder), str(ROOT / "runtime")])
    assert (files_around(ROOT), files_around(ROOT / "runtime")) == before
    [found] = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it requires, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    checked([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    checked([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)])
    (folder / "required").mkdir()
    for package in REQUIRED:
        spec = find_spec(package)
        assert spec is not None
        assert spec.submodule_search_locations is not None
        place = Path(spec.submodule_search_locations[0])
        (folder / "required" / package).symlink_to(place)
        if place.with_name(f"{package}.libs").exists():
            (folder / "required" / f"{package}.libs").symlink_to(place.with_name(f"{package}.libs"))
    (site(folder) / "required.pth").write_text(f"{folder / 'required'}\n")
    return folder


def site(environment: Path) -> Path:
    [found] = environment.glob("lib/python*/site-packages")
    return found


def run(environment: Path, *line: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the environment, in a folder of its own."""
    folder = environment / "work"
    folder.mkdir(exist_ok=True)
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    line = (str(environment / "bin" / line[0]), *line[1:])
    return subprocess.run(line, check=False, capture_output=True, text=True, env=variables, cwd=folder)


def module_of(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.AST, package: list[str], is_deferred: bool = False) -> Iterator[tuple[str, bool]]:
    """What a file may import, `module` or `module.name`, each with whether it is deferred."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for other in node.orelse:
                yield from imported(other, package, is_deferred)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, is_deferred) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            base = [*base, *([node.module] if node.module else [])]
            yield from ((".".join([*base, alias.name]), is_deferred) for alias in node.names)
        else:
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from imported(node, package, is_deferred or is_function)


@pytest.fixture(scope="module")
def left_out(environment: Path) -> list[tuple[str, str, bool]]:
    """What the files import of the project that is not there: importer, module, and whether it is deferred."""
    return [*imports_left_out(site(environment))]


def imports_left_out(installed: Path) -> Iterator[tuple[str, str, bool]]:
    modules = {module_of(path.relative_to(installed)) for path in installed.glob("et_*/**/*.py")}
    ours = {module_of(path.relative_to(ROOT)) for path in ROOT.glob("et_*/**/*.py")}
    ours |= {f"et_{module_of(path.relative_to(ROOT))}" for path in ROOT.glob("tools/**/*.py")}
    for path in sorted(installed.glob("et_*/**/*.py")):
        name = module_of(path.relative_to(installed))
        package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
        for module, is_deferred in imported(ast.parse(path.read_bytes()), package):
            needed = module if module in ours else module.rpartition(".")[0]
            if needed in ours and needed not in modules:
                yield name, needed, is_deferred


def test_size(environment: Path) -> None:
    """The wheel, installed, with the bytecode that pip makes of it."""
    sizes = Counter[str]()
    for path in site(environment).rglob("*"):
        if path.is_file() and path.name != "required.pth":
            sizes[path.relative_to(site(environment)).parts[0]] += path.stat().st_size
    assert any(site(environment).glob("et_vm/__pycache__/*.pyc"))
    assert sizes.total() <= MOST, sizes


def test_contents(wheel: Path) -> None:
    """The runtime, and the tables that it reads; no compiler, no documentation, no C sources."""
    found = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert {name.partition("/")[0] for name in found} == PACKAGES
    assert {"et_tools/vm_run.py", "et_vm/kernels/portable/__init__.py", "et_ops/schemas.txt.gz"} <= found
    assert {"et_tools/et_compile.py", "et_vm/kernels/aten/__init__.py", "et_ops/summaries.txt"}.isdisjoint(
        found
    )
    data = {Path(name) for name in found if not name.endswith(".py")}
    assert {path.suffix for path in data} == {".gz", ".typed"}
    folders = {str(path.parent) for path in data}
    assert folders == {"et_ops", "et_schema", "et_vm", "et_tools/report"}


def test_metadata(wheel: Path, environment: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert wheel.name == f"et_vm-{project['version']}-py3-none-any.whl"
    script = "import json, importlib.metadata as m; print(json.dumps(m.metadata('et-vm').json))"
    metadata = json.loads(run(environment, "python", "-I", "-c", script).stdout)
    assert metadata["requires_python"] == project["requires-python"]
    assert metadata["provides_extra"] == list(RUNTIME_EXTRAS)
    required = {line.split(";")[0].split(">")[0] for line in metadata["requires_dist"] if "extra" not in line}
    assert {name.split("<")[0] for name in required} == REQUIRED
    assert metadata["license_expression"] == project["license"]


def test_imports_are_closed(left_out: list[tuple[str, str, bool]]) -> None:
    """What is left out is imported by the commands alone, when it is needed: `guarded` says what to install."""
    assert [one for one in left_out if not one[2]] == []
    assert {importer.partition(".")[0] for importer, *_ in left_out} == {"et_tools"}


def test_every_module_can_be_imported(environment: Path) -> None:
    modules = [
        module_of(path.relative_to(site(environment))) for path in site(environment).glob("et_*/**/*.py")
    ]
    assert len(modules) > 300
    # What renders templates is a program of its own, run where there is jinja2.
    script = f"for one in {sorted(set(modules) - {'et_vm.__main__', 'et_vm.llm.chat_rendering'})}: import_module(one)"
    script = f"from importlib import import_module\n{script}\nimport sys\nprint(sorted(sys.modules))"
    done = run(environment, "python", "-I", "-W", "error", "-c", script)
    assert done.stderr == ""
    assert {"et_ir", "torch", "xdsl"}.isdisjoint(ast.literal_eval(done.stdout))


def test_what_is_left_out_is_answered(environment: Path, left_out: list[tuple[str, str, bool]]) -> None:
    modules = sorted({module for _, module, _ in left_out})
    assert {"et_tools.failures", "et_ir.planning.banks"} <= set(modules)
    script = "from importlib import import_module\nfrom et_tools.exit_codes import guarded\n"
    script += (
        f"for one in {modules}: print(guarded(lambda line: import_module(line[0]) and 0, [one], 'et-vm'))"
    )
    done = run(environment, "python", "-I", "-c", script)
    assert done.stdout.split() == ["2"] * len(modules)
    assert done.stderr.splitlines() == [f"et-vm: error: {MISSING}"] * len(modules)


@pytest.mark.parametrize(
    "line",
    [
        ("et-vm", "compare", "two_methods.pte", "two_methods.pte"),
        ("et-vm", "build", "--target", "host", "--ops", "two_methods.pte", "-o", "out"),
        ("et-vm", "run", "edge.mlir"),
        ("et-vm", "report", "net.py:net", "-o", "report.html"),
        ("et-vm", "info", "--ops", "two_methods.pte"),
        ("et-compile", "net.py:net", "-o", "net.pte"),
        ("et-opt", "--help"),
    ],
    ids=" ".join,
)
def test_the_compiler_is_named(environment: Path, line: tuple[str, ...]) -> None:
    named = [str(FIXTURES / word) if word.endswith("two_methods.pte") else word for word in line]
    done = run(environment, *named)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{line[0]}: error: {MISSING}\n")
    assert not (environment / "work" / "out").exists()


@pytest.mark.parametrize(
    "line",
    [
        "run control_flow.pte",
        "info --size --plan --instructions two_methods.pte",
        "validate two_methods.pte",
        "verify test_cases.bpte",
        "profile --repeat 1 external.pte --data external_weights.ptd --data external_biases.ptd",
        "ops two_methods.pte",
        "diff two_methods.pte two_methods.pte",
        "debug control_flow.pte --command registers",
        "report two_methods.pte -o report.html",
        "bundle control_flow.pte -o made.bpte",
        "--help",
    ],
)
def test_commands_without_the_compiler(environment: Path, line: str) -> None:
    words = [str(FIXTURES / word) if (FIXTURES / word).is_file() else word for word in line.split()]
    done = run(environment, "et-vm", *words)
    assert (done.returncode, done.stderr) == (0, "")


def test_backends(environment: Path) -> None:
    """All that have a runtime, each of which can be loaded."""
    script = (
        "import json\nfrom et_schema.backend_packages import backend_packages, load_part\n"
        "found = backend_packages()\nassert not found.failures\n"
        "for part in ('runtime', 'decoder', 'constants'):\n    print(json.dumps(found.places(part)))\n"
        "    for place in found.places(part).values(): load_part(place)"
    )
    done = run(environment, "python", "-I", "-c", script)
    assert done.stderr == ""
    packages = backend_packages()
    expected = [packages.places(part) for part in ("runtime", "decoder", "constants")]
    assert [*map(json.loads, done.stdout.splitlines())] == expected


def test_names_of_the_runtime(environment: Path) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert run(environment, "et-vm", "--version").stdout == f"et-vm {version}\n"
    done = run(environment, "python", "-I", "-c", "import et_vm; print(et_vm.__version__)")
    assert (done.stdout, done.stderr) == (f"{version}\n", "")
    done = run(environment, "et-vm", "--print-completion", "bash")
    assert done.stderr.endswith("pip install './runtime[completion]' in the checkout of executorch-ir\n")
    done = run(environment, "et-vm", "run", str(FIXTURES / "control_flow.pte"), "--kernels", "aten")
    assert done.returncode == 2
    assert "the aten kernels need the package 'et_vm.kernels.aten', which is not installed" in done.stderr
    assert "pip install '.[compiler]' in the checkout of executorch-ir" in done.stderr


def test_source_distribution(wheel: Path, tmp_path: Path) -> None:
    """It has all that is in the wheel, and builds without the checkout."""
    build = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(tmp_path)]
    checked([*build, str(ROOT / "runtime")])
    [archive] = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
        [project] = [name for name in file.getnames() if name.endswith("/pyproject.toml")]
        text = file.extractfile(project)
        assert text is not None
        assert tomllib.loads(text.read().decode())["build-system"]["build-backend"] == "setuptools.build_meta"
    assert {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name} <= names


def test_modules_that_need_the_compiler_are_left_out(tmp_path: Path) -> None:
    """At load, also by way of others; what only these import goes with them, with its tables."""
    verbs = ("run", "ops", "compare", "vm_build")
    texts = {
        "et_vm/__init__.py": "",
        "et_vm/torch_kernels.py": "import torch",
        "et_vm/micro/__init__.py": "",
        "et_vm/micro/keys.py": "",
        "et_vm/micro/sources.py": "",
        "et_schema/__init__.py": "",
        "et_schema/words.py": "",
        "et_schema/unused.py": "",
        "et_ops/__init__.py": "",
        "tools/__init__.py": "",
        "tools/et_vm.py": "import et_tools.verbs",
        "tools/compiler_missing.py": "",
        "tools/verbs.py": "VERBS = " + " + ".join(f"'et_tools.{one}:main'" for one in verbs),
        "tools/ops.py": "from et_vm.micro.keys import key",
        "tools/run.py": "def run():\n    from et_schema import words\n    from et_tools import text\n    import et_ir",
        "tools/compare.py": "from et_tools import text",
        "tools/text.py": "from et_ir import x\nimport et_tools.modules",
        "tools/modules.py": "",
        "tools/vm_build.py": "from et_vm.micro import sources",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert [*runtime_modules(tmp_path)] == [
        *("et_schema", "et_schema.words", "et_vm", "et_vm.micro", "et_vm.micro.keys"),
        *("tools", "tools.compiler_missing", "tools.et_vm", "tools.ops", "tools.run", "tools.verbs"),
    ]


def test_the_compiler_refuses_the_runtime_of_the_other() -> None:
    """Where `et-vm` was installed last, the modules beside `et_ir` may be those of another version."""
    message = (
        "et-vm has replaced modules of executorch-ir, which contains all of it: pip uninstall et-vm, "
        "then install executorch-ir again\n"
    )
    mixed = "import et_schema.distribution as d; d.NAME = d.RUNTIME; "
    line = [sys.executable, "-c", f"{mixed}import et_ir"]
    assert subprocess.run(line, capture_output=True, text=True, check=False).stderr.endswith(
        f"ImportError: {message}"
    )
    line[-1] = f"{mixed}from et_tools.et_vm import main; sys.exit(main(['compare', 'a.pte', 'b.pte']))"
    line[-1] = f"import sys; {line[-1]}"
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"et-vm: error: {message}")


def test_operators_of_the_compressed_table(environment: Path) -> None:
    script = "from et_ops import operator; print(operator('add.Tensor').schema.text)"
    done = run(environment, "python", "-I", "-c", script)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("add.Tensor(Tensor self, ")
