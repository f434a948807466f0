"""The switch of faults; each package of the copy has this file.

It is imported by all sources of the copy, also in commands that tests start, so it needs the standard library only. The
copies of one process share one state. Commands, and forks that know nothing of it, follow the environment.
"""

from __future__ import annotations

import os
import sys
from typing import Final

ACTIVE: Final = "MUTANT_ACTIVE"
"""The number of the fault that is on."""
RECORD: Final = "MUTANT_RECORD"
"""The file to which reached faults are appended, a line `TEST<TAB>NUMBER` each."""
TEST: Final = "MUTANT_TEST"
"""The test that is running."""
_SHARED: Final = "_mutant_switch"


class Switch:
    """The state of a process."""

    def __init__(self) -> None:
        self.reached: set[int] = set()
        self._number = -1
        self._record = ""
        self._test = ""
        self._is_known = False
        self._follow()
        self._is_known = True
        # The environment of a fork may be replaced, as by the server of lit tests.
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._is_known = False

    def _follow(self) -> None:
        self._number = int(os.environ.get(ACTIVE, "-1"))
        self._record = os.environ.get(RECORD, "")
        test = os.environ.get(TEST, "")
        if test != self._test:
            self._test = test
            self.reached.clear()

    def choose(self, number: int, record: str, test: str) -> None:
        """Set the state of this process and of the commands it starts; a negative number is no fault."""
        os.environ.update({ACTIVE: str(number), RECORD: record, TEST: test})
        self._follow()
        self.reached.clear()
        self._is_known = True

    def active(self, number: int) -> bool:
        """Whether a fault is on; records that it was reached."""
        if not self._is_known:
            self._follow()
        if number not in self.reached:
            self.reached.add(number)
            if self._record:
                with open(self._record, "a", encoding="utf-8") as file:
                    file.write(f"{self._test}\t{number}\n")
        return number == self._number

    def chosen(self, number: int) -> bool:
        """Whether a fault is on."""
        if not self._is_known:
            self._follow()
        return number == self._number


def _shared() -> Switch:
    found: Switch | None = getattr(sys, _SHARED, None)
    if found is None:
        found = Switch()
        setattr(sys, _SHARED, found)
    return found


SWITCH: Final = _shared()
active: Final = SWITCH.active
chosen: Final = SWITCH.chosen
