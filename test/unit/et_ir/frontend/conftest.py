"""Programs to import, and the comparison of what was imported with eager torch."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from support.aten_interpreter import Interpreter
from torch.utils._pytree import tree_leaves
from xdsl.dialects.builtin import ModuleOp

from et_ir.frontend import import_program

Importer = Callable[..., ModuleOp]


@pytest.fixture
def imported() -> Importer:
    """Export, import, verify, and check against eager on the example inputs."""

    def run(
        module: torch.nn.Module,
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None = None,
        *,
        train: bool = False,
    ) -> ModuleOp:
        module.train(train)
        program = torch.export.export(module, args, kwargs or {})
        result = import_program(program)
        result.verify()
        inputs = [x.clone() if isinstance(x, torch.Tensor) else x for x in tree_leaves((args, kwargs or {}))]
        got = Interpreter(result).run(*inputs)
        with torch.no_grad():
            want = tree_leaves(module(*args, **(kwargs or {})))
        assert len(got) == len(want)
        for mine, theirs in zip(got, want, strict=True):
            if isinstance(theirs, torch.Tensor):
                torch.testing.assert_close(mine, theirs, equal_nan=True)
            else:
                assert mine == theirs
                assert type(mine) is type(theirs)
        return result

    return run
