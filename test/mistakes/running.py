"""Trying commands and snippets in this process, in a folder that has what a new user has."""

from __future__ import annotations

import importlib
import io
import os
import re
import shlex
import shutil
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import torch
from support.command_line import WRONG, Ran

from et_ir.delegation import backends_by_name
from mistakes.cases import Mistake

__all__ = ["entered", "make_folder", "make_template", "message_of", "try_again", "try_first"]

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
PRELUDE: Final = """
import torch
from model import net

from et_ir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from et_vm.runtime import Runtime

model, args = net()
model.eval()
program = torch.export.export(model, args)
"""
"""The beginning of a user's file."""


def _make(name: str) -> None:
    if not Path(name).exists():
        MAKERS[name]()


def _compile(line: str) -> None:
    ran = _tried(line, is_python=False, stdin="")
    if ran.code != 0:
        raise AssertionError(f"{line}\n{ran.err}")


def _export() -> None:
    from model import net

    module, inputs = net()
    torch.export.save(torch.export.export(module, inputs), "net.pt2")


def _save_weights() -> None:
    from model import net

    torch.save(net()[0].state_dict(), "net.pt")


def _compile_language_model() -> None:
    from support.language_model import compiled, tokenizer

    for name in ("lm.pte", "alone.pte"):  # one beside its tokenizer, one without
        Path(name).write_bytes(compiled())
    tokenizer(Path("lm.tokenizer"))


def _move_text() -> None:
    _make("net.mlir")
    shutil.copy("net.mlir", "moved.mlir")


def _cut_program() -> None:
    _make("net.pte")
    Path("cut.pte").write_bytes(Path("net.pte").read_bytes()[:2000])


def _write_data_files() -> None:
    """A program with its data in a file, and such a file of other weights."""
    from model import net

    from et_ir import ExecutorchBackendConfig, to_edge

    module, inputs = net()
    config = ExecutorchBackendConfig(external_constants=True)
    for shift in (1, 0):
        with torch.no_grad():
            module.head.bias += shift
            made = to_edge(torch.export.export(module, inputs)).to_executorch(config)
            made.save("outside.pte")
            made.write_tensor_data_to_file(".")
            module.head.bias -= shift
        if shift:
            Path("constants.ptd").rename("other.ptd")


COPIES: Final = {
    "external.pte": "test/fixtures/external.pte",
    "external_weights.ptd": "test/fixtures/external_weights.ptd",
    "external_biases.ptd": "test/fixtures/external_biases.ptd",
    "mypass.py": "examples/passes/double_to_add.py",
    "strips.py": "examples/backend/strips.py",
}
LINES: Final = {
    "net.pte": "et-compile model.py:net -o net.pte -q",
    "net.mlir": "et-compile model.py:net -o net.mlir --emit edge -q",
    "exec.mlir": "et-compile model.py:net -o exec.mlir --emit executorch -q",
    "vm.pte": "et-compile model.py:net -o vm.pte --target et-vm --debug-map vm.json -q",
    "native.pte": "et-compile model.py:net -o native.pte --backend native -q",
    "plan.pte": "et-compile model.py:net -o plan.pte --dump-buffers buffers.csv -q",
    "two.pte": "et-compile model.py:two -o two.pte -q",
    "sized.pte": "et-compile model.py:sized -o sized.pte -q",
    "net.bpte": "et-compile model.py:net -o plain.pte --bundle net.bpte -q",
    "loud.pte": "et-compile custom.py:loud -o loud.pte --target et-vm --load kernels.py -q",
    "strips.pte": "et-compile relu.mlir -o strips.pte --load strips.py --backend strips --target et-vm -q",
}
"""The commands by which a user has compiled programs before."""
MAKERS: Final[Mapping[str, Callable[[], None]]] = {
    **{name: partial(_compile, line) for name, line in LINES.items()},
    "net.pt2": _export,
    "net.pt": _save_weights,
    "lm.pte": _compile_language_model,
    "moved.mlir": _move_text,
    "cut.pte": _cut_program,
    "outside.pte": _write_data_files,
}
BESIDE: Final = {
    "net.safetensors": "net.mlir",
    "vm.json": "vm.pte",
    "buffers.csv": "plan.pte",
    "lm.tokenizer": "lm.pte",
    "alone.pte": "lm.pte",
    "constants.ptd": "outside.pte",
    "other.ptd": "outside.pte",
}
"""Files that are made with others."""


def make_template(folder: Path) -> None:
    """Fill an empty folder for `make_folder`, which makes what is missing there."""
    for name in ("sources", "made"):
        shutil.copytree(HERE / "folder", folder / name)
        _write_data(folder / name)


def make_folder(folder: Path, template: Path, mistake: Mistake) -> None:
    """Make the folder of a user: with sources and data, and the programs that a mistake and its next try name, which
    are compiled once for all mistakes.
    """
    shutil.copytree(template / "sources", folder)
    text = f"{mistake.tried} {mistake.then}"
    named = {
        BESIDE.get(name, name) for name in (*MAKERS, *BESIDE) if re.search(rf"\b{re.escape(name)}\b", text)
    }
    made = template / "made"
    with entered(made):
        for name in sorted(named):
            _make(name)
    for name in named.union(beside for beside, name in BESIDE.items() if name in named):
        copy = shutil.copytree if (made / name).is_dir() else shutil.copy
        copy(made / name, folder / name)


def _write_data(folder: Path) -> None:
    for name, source in COPIES.items():
        shutil.copy(ROOT / source, folder / name)
    (folder / "wrong.py").write_text(WRONG, encoding="utf-8")
    np.save(folder / "x.npy", np.ones((2, 16), np.float32))
    np.save(folder / "double.npy", np.ones((2, 16)))
    np.save(folder / "wide.npy", np.ones((2, 20), np.float32))
    np.save(folder / "large.npy", np.ones((9, 16), np.float32))
    np.savez(folder / "data.npz", x=np.ones((4, 2, 16), np.float32))
    np.savez(folder / "other.npz", image=np.ones((4, 2, 20), np.float32))


@contextmanager
def entered(folder: Path) -> Iterator[None]:
    """Within, `folder` is the current one, and modules are imported from it; they and the backends that they register
    are forgotten afterwards. So are modules of other tests that have their names.
    """
    before = Path.cwd()
    os.chdir(folder)
    _give_way(path.name for path in folder.iterdir())
    try:
        with patch.object(sys, "path", [str(folder), *sys.path]), patch.dict(backends_by_name._registered):
            yield
    finally:
        os.chdir(before)
        _forget(folder)


def try_first(mistake: Mistake) -> Ran:
    """The mistake, in the current folder."""
    _write(mistake.files)
    return _tried(mistake.tried, mistake.is_python, mistake.stdin)


def try_again(mistake: Mistake) -> Ran:
    """The next try, in the same folder."""
    _forget(Path.cwd())
    _write(mistake.write)
    return _tried(mistake.then, mistake.is_python, mistake.stdin)


def message_of(ran: Ran) -> str:
    """What a user reads."""
    return ran.err.strip() or ran.out.strip()


def _give_way(files: Iterable[str]) -> None:
    """Forget modules of the names that files have."""
    for name in files:
        if name.endswith(".py"):
            sys.modules.pop(name.removesuffix(".py"), None)


def _write(files: Mapping[str, str]) -> None:
    _give_way(files)
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")


def _forget(folder: Path) -> None:
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(f"{folder}{os.sep}"):
            del sys.modules[name]
    importlib.invalidate_caches()


def _tried(text: str, is_python: bool, stdin: str) -> Ran:
    streams = [io.TextIOWrapper(io.BytesIO(data), encoding="utf-8") for data in (stdin.encode(), b"", b"")]
    with (
        patch.multiple(sys, stdin=streams[0], stdout=streams[1], stderr=streams[2]),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default")
        code = _run_snippet(text) if is_python else _run_line(text)
        for stream in streams[1:]:
            stream.flush()
    out, err = (stream.buffer.getvalue().decode() for stream in streams[1:])
    return Ran(code, out, err)


def _run_line(line: str) -> int:
    name, *arguments = shlex.split(line)
    return int(importlib.import_module(f"et_tools.{name.replace('-', '_')}").main(arguments))


def _run_snippet(text: str) -> int:
    """Run a snippet, and print the exception that ends it as Python does, without its stack."""
    names: dict[str, Any] = {"__name__": "snippet"}
    try:
        exec(compile(PRELUDE + text, "snippet.py", "exec"), names)
    except Exception as error:
        print("".join(traceback.format_exception_only(error)), file=sys.stderr, end="")
        return 1
    return 0
