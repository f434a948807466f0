"""Write the manifests of target runtimes, from the runtimes: kernels, `et_ir/targets/<target>.txt`, and
backends, `<target>-backends.txt`.

python -m dev.targets            # write
python -m dev.targets --check    # exit 1 if one is out of date

Those of the stock runtime are asked of the installed `executorch`; those of earlier versions stay as they are.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path

import et_ir.targets
from et_ir.targets.lookup import DEFAULT

FOLDER = Path(et_ir.targets.__file__).parent
COMMAND = "python -m dev.targets"


def stock_operators() -> Iterable[str]:
    """Operators registered by the stock runtime of the Python wheel."""
    from executorch.runtime import Runtime

    return Runtime.get().operator_registry.operator_names


def quantized_stock_operators() -> Iterable[str]:
    """Operators registered once the library of quantized kernels is loaded, which a process cannot undo."""
    code = (
        "import executorch.kernels.quantized; from executorch.runtime import Runtime;"
        "print(*Runtime.get().operator_registry.operator_names, sep='\\n', file=open(__import__('sys').argv[1], 'w'))"
    )
    with tempfile.TemporaryDirectory() as folder:
        names = Path(folder) / "names"
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code, str(names)], check=True, capture_output=True
        )
        return names.read_text(encoding="utf-8").split()


def vm_operators() -> Iterable[str]:
    """The kernels of the VM's own library and its primitive operators."""
    from et_vm.kernels.libraries import load_library
    from et_vm.kernels.prims import PRIMS

    return {*load_library("portable").names(), *PRIMS}


def torch_operators() -> Iterable[str]:
    """The kernels of torch that programs can call, and the VM's primitive operators.

    Torch knows more out variants than that: those of operators that no program holds are left out.
    """
    from et_ops import OPERATORS
    from et_vm.kernels.libraries import load_library
    from et_vm.kernels.prims import PRIMS

    called = {one.kernel for one in OPERATORS.values() if one.is_exported and one.out is not None}
    return {*called.union(vm_operators()).intersection(load_library("aten").names()), *PRIMS}


def stock_backends() -> Iterable[str]:
    """The backends of the stock runtime of the Python wheel. Whether one can run is for the machine to say."""
    from executorch.runtime import Runtime

    return Runtime.get().backend_registry.registered_backend_names


def vm_backends() -> Iterable[str]:
    """The backends that come with the VM."""
    from et_schema.backend_packages import backend_packages

    return backend_packages().places("runtime")


TARGETS: dict[str, tuple[str, Callable[[], Iterable[str]]]] = {
    DEFAULT: ("Operators that the executorch {wheel} wheel registers.", stock_operators),
    f"{DEFAULT}-quantized": (
        "Operators that the executorch {wheel} wheel registers with its library of quantised kernels.",
        quantized_stock_operators,
    ),
    "et-vm": ("Operators that et-vm has portable kernels for, and its primitive operators.", vm_operators),
    "et-vm-aten": (
        "Operators that et-vm with the kernels of torch has, and its primitive operators.",
        torch_operators,
    ),
    f"{DEFAULT}-backends": ("Backends of the executorch {wheel} wheel for Linux.", stock_backends),
    "et-vm-backends": ("Backends that come with et-vm.", vm_backends),
}


def manifest(target: str) -> str:
    """The text of a manifest."""
    summary, names = TARGETS[target]
    summary = summary.format(wheel=version("executorch"))
    return "\n".join([f"# {summary}", f"# Regenerate: {COMMAND}", *sorted(set(names()))]) + "\n"


def main(arguments: list[str]) -> int:
    """Write or check; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args(arguments)
    stale = 0
    for target in TARGETS:
        path, text = FOLDER / f"{target}.txt", manifest(target)
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if options.check:
            print(f"{path} is out of date: {COMMAND}", file=sys.stderr)
            stale += 1
        else:
            path.write_text(text, encoding="utf-8")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
