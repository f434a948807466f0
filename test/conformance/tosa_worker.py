# pyright: basic
"""Runs TOSA files on Arm's reference model, in the environment that has it.

    python tosa_worker.py PROGRAM.tosa INPUTS.npz OUTPUTS.npz
    python tosa_worker.py FOLDER

Arrays are called `0`, `1`, … in the order of the program's inputs and outputs. A folder has generated tests in it: the
results of each are written to `expected.npz` beside it, unless the model says that they are not defined. Nothing of
this project is imported.
"""

import json
import sys
from pathlib import Path

import numpy as np
import tosa_reference_model  # pyright: ignore[reportMissingImports]

VALID = tosa_reference_model.GraphStatus.TOSA_VALID


def run_one(program, inputs, outputs):
    with np.load(inputs) as given:
        arrays = [given[str(number)] for number in range(len(given.files))]
    results, status = tosa_reference_model.run(Path(program).read_bytes(), arrays, verbosity="LOW")
    if status != VALID:
        sys.exit(f"the reference model says {status}")
    save(outputs, results)


def save(path, results):
    np.savez(path, **{str(number): array for number, array in enumerate(results)})


def run_all(folder):
    for description in sorted(Path(folder).rglob("desc.json")):
        place = description.parent
        test = json.loads(description.read_text())
        arrays = [np.load(place / name) for name in test["ifm_file"]]
        try:
            results, status = tosa_reference_model.run(
                (place / test["tosa_file"]).read_bytes(), arrays, verbosity="NONE"
            )
        except Exception as error:
            print(f"{place.name}: {error}", file=sys.stderr)
            continue
        if status == VALID:
            save(place / "expected.npz", results)


if len(sys.argv) == 2:
    run_all(sys.argv[1])
else:
    run_one(*sys.argv[1:])
