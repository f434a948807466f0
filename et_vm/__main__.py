"""`python -m et_vm`, which is the command `et-vm`."""

from __future__ import annotations

import sys

from et_tools.et_vm import main

sys.exit(main())
