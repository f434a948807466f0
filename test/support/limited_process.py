"""Runs programs under limits and prints the most memory that the process has had resident, in bytes beside what it had
before: `python limited_process.py MEMORY_LIMIT WORK_LIMIT FILE…`. For each file, how it ended: the code of an error.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

import numpy as np

from et_schema.errors import Error, ExecutorchError
from et_schema.scalar_type import numpy_dtype
from et_vm.platform import Platform
from et_vm.program import Program


def run(path: str, memory_limit: int, work_limit: int) -> str:
    """Load and run a program on zeros; the name of the error's code, or `ran`."""
    platform = Platform(memory_limit=memory_limit, work_limit=work_limit)
    try:
        program = Program.load(path, platform=platform)
        method = program.load_method("forward")
        meta = program.method_meta("forward")
        infos = map(meta.input_tensor_meta, range(meta.num_inputs()))
        method.execute([np.zeros(info.sizes(), numpy_dtype(info.dtype())) for info in infos])
    except ExecutorchError as error:
        if error.code == Error.Internal:
            raise
        return error.code.name
    return "ran"


def resident() -> int:
    """The most bytes that were resident."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def main() -> None:
    """Run the files of the command line, the first of them once before anything is measured, under a limit of 1 byte:
    it imports what it needs.
    """
    memory_limit, work_limit = map(int, sys.argv[1:3])
    for path in sys.argv[3:]:
        run(path, 1 << 16, 1 << 16)
    before = resident()
    for path in sys.argv[3:]:
        started = time.process_time()
        outcome = run(path, memory_limit, work_limit)
        print(Path(path).stem, outcome, resident() - before, time.process_time() - started)


if __name__ == "__main__":
    main()
