"""Reduced programs of failures, by `et-reduce`."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from et_sweep.matrix import Matrix
from et_sweep.report import failures

__all__ = ["reduce_failures"]

_LINE = "from et_tools.{0} import main; import sys; sys.exit(main())"


def reduce_failures(matrix: Matrix, rows: Sequence[Mapping[str, Any]], output: str | Path) -> dict[str, str]:
    """A reduced program for the first cell of each message that a compilation failed with, in the folder `reduced` of
    `output`; by the key of the cell its file, or why there is none.
    """
    cells = {cell.key: cell for cell in matrix.cells}
    folder = Path(output).resolve() / "reduced"
    folder.mkdir(exist_ok=True)
    found: dict[str, str] = {}
    for group in failures([row for row in rows if not row["compiled"]]):
        cell = cells[group["cells"][0]["key"]]
        file = folder / f"{len(found)}.mlir"
        found[cell.key] = _reduced(matrix, cell["model"], cell.arguments, group["message"], file)
    return found


def _reduced(matrix: Matrix, model: str, arguments: Sequence[str], message: str, file: Path) -> str:
    source = file.with_suffix(".aten.mlir")
    emitted = _run(
        "et_compile", [model, *arguments, "-q", "--emit", "aten", "-o", str(source)], matrix.folder
    )
    if emitted.returncode:
        return "it fails before there is a program"
    # Quantization was applied to the module that is in the text.
    text = [*arguments]
    if "--quantize" in text:
        at = text.index("--quantize")
        del text[at : at + 2]
    line = shlex.join([sys.executable, "-c", _LINE.format("et_compile")])
    # Messages name places and numbers, which reduction changes: their words stay.
    words = max(re.split(r"[^A-Za-z ,'-]+", message), key=len).strip()
    keep = f"{line} {{}} {shlex.join(text)} -q -o /dev/null 2>&1 | grep -qF -- {shlex.quote(words)}"
    ran = _run("et_reduce", [str(source), "--keep", keep, "-q", "-o", str(file)], matrix.folder)
    return file.name if ran.returncode == 0 else f"et-reduce: {ran.stderr.strip()}"


def _run(command: str, arguments: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _LINE.format(command), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
