# pyright: basic
"""Runs a TOSA file on Arm's reference model, in the environment that has it.

    python tosa_worker.py PROGRAM.tosa INPUTS.npz OUTPUTS.npz

Arrays are called `0`, `1`, … in the order of the program's inputs and outputs. Nothing of this project is imported.
"""

import sys

import numpy as np
import tosa_reference_model  # pyright: ignore[reportMissingImports]

program, inputs, outputs = sys.argv[1:]
with np.load(inputs) as given:
    arrays = [given[str(number)] for number in range(len(given.files))]
with open(program, "rb") as stream:
    results, status = tosa_reference_model.run(stream.read(), arrays, verbosity="LOW")
if status != tosa_reference_model.GraphStatus.TOSA_VALID:
    sys.exit(f"the reference model says {status}")
np.savez(outputs, **{str(number): array for number, array in enumerate(results)})
