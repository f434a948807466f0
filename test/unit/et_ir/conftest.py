"""Makes the test-only modules of this folder importable by the tests below it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
