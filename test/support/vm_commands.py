"""Running the et-vm command in process, on small programs."""

from __future__ import annotations

from typing import Any

from et_schema.scalar_type import ScalarType
from et_tools.et_vm import main
from et_tools.exit_codes import ExitCode
from support.vm_programs import BOUND, Build


def add(
    *shape: int, dtype: ScalarType = ScalarType.FLOAT, name: str = "forward", dynamic: bool = False
) -> Build:
    """A program that adds two tensors, with an operator that kernel libraries have."""
    build = Build(name)
    options: dict[str, Any] = {"dtype": dtype, "dynamism": BOUND} if dynamic else {"dtype": dtype}
    x, y, out = (build.tensor(*shape, **options) for _ in range(3))
    one = build.scalar(1)
    build.call("aten::add.out", x, y, one, out, out)
    build.inputs(x, y)
    build.outputs(out)
    return build


def run(capsys: Any, *arguments: str, code: int = ExitCode.OK) -> str:
    """Run the command and return what it prints: its output, or its error if it is to fail."""
    assert main(list(arguments)) == code
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    if code in (ExitCode.OK, ExitCode.CHECK_FAILED) and not captured.err:
        return captured.out
    assert captured.err.startswith("et-vm: error: ")
    assert code != ExitCode.OK
    return captured.err
