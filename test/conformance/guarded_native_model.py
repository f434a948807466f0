"""Runs a model as machine code with inaccessible pages around all that it reads and writes.

    python guarded_native_model.py FOLDER

FOLDER has `model.pte`, `inputs.pt` and `expected.pt`. Arenas, weights and scratch memory stand between guard pages: an
access outside ends the process with SIGSEGV. The exit code is 1 if the results are not the ones expected.
"""

from __future__ import annotations

import faulthandler
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from support.guarded_memory import GuardedPlatform, guarded_bytes

from et_backends.native.runtime.backend import NativeBackend
from et_vm.backend import BackendInitContext, BackendRegistry, Handle
from et_vm.runtime import Runtime

if TYPE_CHECKING:
    from et_schema.program import CompileSpec


class Guarded(NativeBackend):
    """Gives the code its weights beside guard pages."""

    at_end = True

    def init(
        self, context: BackendInitContext, processed: memoryview, compile_specs: Sequence[CompileSpec]
    ) -> Handle:
        constants: dict[str, memoryview] = {}
        for key, data in context.named_data.items():
            memory = guarded_bytes(data.nbytes, at_end=self.at_end)
            memory[:] = np.frombuffer(data, np.uint8)
            constants[key] = memoryview(memory)
        return super().init(context._replace(named_data=constants), processed, compile_specs)


def main() -> int:
    faulthandler.enable()
    folder = Path(sys.argv[1])
    inputs, expected = torch.load(folder / "inputs.pt"), torch.load(folder / "expected.pt")
    for at_end in (True, False):
        Guarded.at_end = at_end
        backends = BackendRegistry({"NativeBackend": Guarded()})
        runtime = Runtime(threads=2, platform=GuardedPlatform(at_end=at_end), backends=backends)
        program = runtime.load_program(folder / "model.pte", allow_native=True)
        found = program.load_method("forward").execute(inputs)
        for got, wanted in zip(found, expected, strict=True):
            torch.testing.assert_close(torch.as_tensor(got), wanted, rtol=1e-4, atol=1e-4)
        print("guard pages", "behind" if at_end else "before", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
