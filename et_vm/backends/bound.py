"""Arguments that a delegate is bound to."""

from __future__ import annotations

from collections.abc import Sequence

from et_vm.values import VERSIONS, Tensor

__all__ = ["BoundArguments"]


class BoundArguments:
    """The arguments of the call that a delegate was made ready for.

    A call of the same tuple, since when no tensor of the process has got another array, is recognised without a look at
    each argument: between two calls of machine code these are no longer in a cache of the processor.
    """

    __slots__ = ("_args", "_key", "_latest")

    def __init__(self) -> None:
        self.release()

    def release(self) -> None:
        """Be bound to no arguments."""
        self._args: object = None
        self._latest = -1
        self._key: tuple[object, ...] | None = None

    def bind(self, args: Sequence[object]) -> None:
        """Be bound to `args` with the arrays that tensors have now."""
        self._note(args, VERSIONS.latest, _key(args))

    def match(self, args: Sequence[object]) -> bool:
        """Whether `args` are those of `bind`: the same numbers, and tensors with the same arrays."""
        if args is self._args and self._latest == VERSIONS.latest:
            return True
        latest = VERSIONS.latest
        key = _key(args)
        if key != self._key:
            return False
        self._note(args, latest, key)
        return True

    def _note(self, args: Sequence[object], latest: int, key: tuple[object, ...]) -> None:
        """`latest` is from before `key` was made: threads may go on giving tensors of other methods new arrays."""
        self._key = key
        self._latest = latest
        # The content of a list may change.
        self._args = args if isinstance(args, tuple) else None


def _key(args: Sequence[object]) -> tuple[object, ...]:
    """Versions of tensors, and numbers as they are."""
    return tuple([arg.version if isinstance(arg, Tensor) else arg for arg in args])
