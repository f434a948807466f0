"""Random programs: made of a small grammar, compiled, and compared with eager torch."""

import sys
from pathlib import Path

# The stock runtime is that of the conformance tests; emulators and quantized programs are those of unit tests.
for folder in ("conformance", "unit/et_ir"):
    sys.path.insert(0, str(Path(__file__).parents[1] / folder))
