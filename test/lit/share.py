"""Choice of lit tests that fit into a time budget after a change, as `pytest --affected` has it of other tests.

`lit --param seconds=S --param affected=FILE --param turn=N` runs those near the change of
`dev.affected --json FILE`, and of the others a share that the turn chooses.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import lit.Test
import runs

sys.path.append(str(runs.ROOT))
from dev.shares import choose, read_durations


class Share(runs.Format):
    """Shell tests, of which only a share is found."""

    def __init__(self, folder: str, paths: Iterable[Path], params: Mapping[str, str]) -> None:
        super().__init__(folder)
        tests = {name: name for path in paths if (name := os.path.relpath(path, runs.ROOT))}
        distances = json.loads(Path(params["affected"]).read_text(encoding="utf-8"))
        layers = choose(
            tests, distances, read_durations(), float(params["seconds"]), int(params.get("turn", "0"), 0)
        )
        print(*layers, sep="\n", flush=True)
        self._chosen = {name for layer in layers for name in layer.chosen}

    def getTestsInDirectory(self, *arguments: object) -> Iterator[lit.Test.Test]:
        for test in super().getTestsInDirectory(*arguments):
            if os.path.relpath(test.getSourcePath(), runs.ROOT) in self._chosen:
                yield test
