"""Pattern rewriting driver of all rewriting passes.

xDSL's walker calls each pattern on each op and gives new ops no location. `rewrite` calls only the patterns whose
annotated op class is that of the op, and gives every op a pattern inserts the location of the op it matched, so that
source lines survive every pass. The results that a pattern puts in the place of others keep what their types say of
sizes known at run time only: a pattern need not tell the sizes of what it makes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, wraps
from types import NoneType, UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.pattern_rewriter import op_type_rewrite_pattern as _for_annotated_type
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import DiagnosticException

from et_ir.diagnostics import PassRaised, PassReport, diagnose
from et_ir.dialects.schema.tensors import with_sizes_of
from et_ir.rewrite_limit import RewriteLimit, current_limit
from et_ir.rewrite_statistics import note_rewrite
from et_schema.diagnostics import Report
from et_schema.user_code import is_library, raised, user_place

__all__ = [
    "PatternFailed",
    "op_type_rewrite_pattern",
    "rewrite",
    "root_classes",
]

_CHAIN: Final = 500
"""The rewrites of one op, and of what becomes of it, that a small module may take."""
_REWRITES: Final = 10_000
"""All rewrites that a small module may take."""
_SHOWN: Final = 16
"""The last rewrites before an end is made, whose patterns are named."""

_Pattern = TypeVar("_Pattern", bound=RewritePattern)
_Op = TypeVar("_Op", bound=Operation)


def op_type_rewrite_pattern(
    function: Callable[[_Pattern, _Op, PatternRewriter], None],
) -> Callable[[_Pattern, Operation, PatternRewriter], None]:
    """xDSL's decorator of the same name, whose result keeps the annotations: they are what dispatch goes by.

    A pattern with xDSL's own is called on every op, and looks for itself whether it is for it.
    """
    return wraps(function)(_for_annotated_type(function))


def root_classes(pattern: RewritePattern) -> tuple[type[Operation], ...]:
    """The op classes that a pattern's `match_and_rewrite` is annotated with; `(Operation,)` stands for all.

    A pattern may instead say them in an attribute `roots`, where they are computed. A class stands for its subclasses:
    `EdgeOp` for every op of that dialect. Raises `TypeError` for an annotation that names no op class.
    """
    declared: Any = getattr(pattern, "roots", None)
    return _annotated_classes(type(pattern)) if declared is None else tuple(declared)


@cache
def _annotated_classes(pattern: type[RewritePattern]) -> tuple[type[Operation], ...]:
    hints = get_type_hints(pattern.match_and_rewrite)
    # xDSL's own decorator annotates `self`, with a type variable.
    given = (hint for hint in hints.values() if not isinstance(hint, TypeVar))
    hint = next((hint for hint in given if hint not in (PatternRewriter, NoneType)), Operation)
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if not all(isinstance(option, type) and issubclass(option, Operation) for option in options):
        raise TypeError(f"{pattern.__name__} rewrites {hint}, which is not an op class")
    return tuple(options)


class PatternFailed(PassRaised):
    """A pattern raised what is no report, or does not end: `op` is the one that it was called for."""

    def __init__(self, op: Operation, pattern: str, fault: str, fix: str, of_pass: str = ""):
        self._parts = (op, pattern, fault, fix)
        self.of_pass = of_pass
        whose = f" of the pass '{of_pass}'" if of_pass else ""
        super().__init__("a pattern failed", [diagnose(op, f"the pattern {pattern}{whose} {fault}", fix)])

    def in_pass(self, name: str) -> PatternFailed:
        """The same report with the name of the pass, unless it has one."""
        return self if self.of_pass else PatternFailed(*self._parts, of_pass=name)


class _PatternRaised(BaseException):
    """Carries what a pattern raised past xDSL's walker, which would print the whole module into its message."""

    def __init__(self, op: Operation, pattern: RewritePattern, error: BaseException):
        self.op = op
        self.pattern = pattern
        self.error = error

    def unwrap(self) -> BaseException:
        """The exception to raise instead: a report with the place of the op, unless the error is one.

        What is no error of the user's may be a mistake in the pattern or arguments that no program of torch's
        has and no verifier rejects: the report says where in the pattern it was raised.
        """
        if isinstance(self.error, Report):
            return self.error
        if isinstance(self.error, (ImportError, OSError, MemoryError)) and not user_place(self.error):
            return self.error  # of the machine, not of the op
        if isinstance(self.error, DiagnosticException):
            return PassReport("a pattern failed", [diagnose(self.op, str(self.error))])
        fix = ""
        if is_library(self.pattern):
            fix = "check its arguments against its schema; if they match, the pattern is at fault"
        return PatternFailed(self.op, type(self.pattern).__name__, f"raised {raised(self.error)}", fix)


class _Dispatch(RewritePattern):
    """Calls the patterns of an op's own class, in the order they were given, until one has changed something."""

    def __init__(self, patterns: Iterable[RewritePattern], limit: RewriteLimit | None):
        self.limit = limit
        self.current: Operation | None = None
        self._inserted: set[Operation] = set()
        self._known: list[tuple[SSAValue, Attribute]] = []
        self.roots = [(pattern, frozenset(root_classes(pattern))) for pattern in patterns]
        self.by_class: dict[type[Operation], list[RewritePattern]] = {}

    def keep_sizes(self, op: Operation, results: Sequence[SSAValue | None]) -> None:
        """Note the types of results that are being replaced, where they are not those of the new values."""
        for old, new in zip(op.results, results, strict=True):
            if new is not None and new.type != old.type:
                self._known.append((new, old.type))

    def _refine(self) -> None:
        """Give the values that a pattern has made the sizes of those that they have replaced."""
        while self._known:
            value, type = self._known.pop()
            owner, refined = value.owner, with_sizes_of(value.type, type)
            if refined != value.type and isinstance(owner, Operation) and owner in self._inserted:
                if owner.parent is not None and any(value is result for result in owner.results):
                    Rewriter.replace_value_with_new_type(value, refined)
                continue
            # A value that was there before may be needed where the sizes are others: its type stays.
            for use in value.uses:
                method = use.operation.parent_op() if isinstance(use.operation, ReturnOp) else None
                if isinstance(method, FuncOp):
                    method.update_function_type()
        self._inserted.clear()

    def patterns(self, cls: type[Operation]) -> list[RewritePattern]:
        """The patterns for a class: those that name it or a base class of it, then those for all operations."""
        known = self.by_class.get(cls)
        if known is None:
            bases = {base for base in cls.__mro__ if base is not Operation}
            known = [pattern for pattern, roots in self.roots if not roots.isdisjoint(bases)]
            known += [pattern for pattern, roots in self.roots if Operation in roots]
            self.by_class[cls] = known
        return known

    def locate(self, op: Operation) -> None:
        """Give an inserted op, and those inside of it, the location of the op being rewritten."""
        self._inserted.add(op)
        if self.current is None:
            return
        for inner in op.walk() if op.regions else (op,):
            if inner.location == UNKNOWN_LOC:
                inner.location = self.current.location

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        patterns = self.patterns(type(op))
        if not patterns:
            return
        self.current = op
        for pattern in patterns:
            if self.limit is not None and self.limit.is_reached:
                return
            try:
                pattern.match_and_rewrite(op, rewriter)
            except (Exception, SystemExit) as error:
                raise _PatternRaised(op, pattern, error) from None
            if rewriter.has_done_action:
                note_rewrite(type(pattern).__name__)
                if self.limit is not None:
                    self.limit.count(f"the pattern {type(pattern).__name__}", op)
                self.rewritten(op, pattern)
                self._refine()
                return

    def rewritten(self, op: Operation, pattern: RewritePattern) -> None:
        """Note that a pattern has rewritten an op."""


class _Worklist(_Dispatch):
    """Dispatch that stops patterns which do not end.

    Rewrites form chains: an op that a rewrite inserted, or the same op again, is rewritten in turn. Patterns that end
    make short ones: of as many links as there are ops where one moves across a whole program. So a chain of a multiple
    of that does not end, nor do more rewrites than if all ops did so, of patterns that multiply ops.
    """

    def __init__(self, patterns: Iterable[RewritePattern], limit: RewriteLimit | None, size: int):
        super().__init__(patterns, limit)
        self._longest = _CHAIN + 4 * size
        self._most = _REWRITES + size * size
        self._count = 0
        self._chains: dict[Operation, int] = {}
        self._latest: deque[str] = deque(maxlen=_SHOWN)

    def rewritten(self, op: Operation, pattern: RewritePattern) -> None:
        links = self._chains.get(op, 0) + 1
        made = (inner for new in self._inserted for inner in (new.walk() if new.regions else (new,)))
        for one in (op, *made):
            if self._chains.get(one, 0) < links:
                self._chains[one] = links
        self._count += 1
        self._latest.append(type(pattern).__name__)
        if links > self._longest or self._count > self._most:
            others = sorted({*self._latest} - {self._latest[-1]})
            turn = f", in turn with {', '.join(others)}" if others else ""
            what = f"{links} rewrites of this op or its replacements"
            if links <= self._longest:
                what = f"{self._count} rewrites"
            fault = f"does not end: it still applies after {what}{turn}"
            fix = "a recursive pattern must not match what it makes: test for that, or rewrite without recursive=True"
            raise _Endless(PatternFailed(op, type(pattern).__name__, fault, fix))


class _Endless(BaseException):
    """Carries the report of an endless pattern past xDSL's walker."""


def rewrite(
    target: ModuleOp | Region, patterns: Iterable[RewritePattern], *, recursive: bool = False
) -> bool:
    """Apply patterns to every op of a module or region; returns whether anything changed.

    With `recursive`, new and changed ops are visited again until nothing changes: for patterns that enable
    each other and are known to end. Without, each op that was there at the start is visited once, which is what
    a lowering wants.

    Raises the reports that patterns raise; anything else that one raises becomes a `PassReport` that names the op it
    was raised for, with the exception as its cause.
    """
    limit = current_limit()
    if limit is not None and limit.is_reached:
        return False
    region = target.body if isinstance(target, ModuleOp) else target
    if recursive:
        dispatch: _Dispatch = _Worklist(patterns, limit, sum(1 for _ in region.walk()))
    else:
        dispatch = _Dispatch(patterns, limit)
    listener = PatternRewriterListener(
        operation_insertion_handler=[dispatch.locate], operation_replacement_handler=[dispatch.keep_sizes]
    )
    try:
        if recursive:
            return PatternRewriteWalker(dispatch, listener=listener).rewrite_region(region)
        return _rewrite_once(region, dispatch, listener)
    except _Endless as endless:
        (error,) = endless.args
        cause = error
    except _PatternRaised as carried:
        error, cause = carried.unwrap(), carried.error
    raise error from (None if error is cause else cause)


def _operations(region: Region) -> Iterator[Operation]:
    """The ops of a region in order, as `walk` gives them, without a generator for each."""
    for block in region.blocks:
        op = block.first_op
        while op is not None:
            yield op
            for inner in op.regions:
                yield from _operations(inner)
            op = op.next_op


def _rewrite_once(region: Region, dispatch: _Dispatch, listener: PatternRewriterListener) -> bool:
    """Visit each op that is there now and that a pattern is for, in order, unless it goes before.

    xDSL's walker prepares a rewriter for each op of a region, which most patterns are not for.
    """
    gone: set[Operation] = set()

    def note(op: Operation) -> None:
        gone.update(op.walk() if op.regions else (op,))

    listener.operation_removal_handler.append(note)
    changed = False
    for op in [op for op in _operations(region) if dispatch.patterns(type(op))]:
        if op in gone:
            continue
        rewriter = PatternRewriter(op)
        rewriter.extend_from_listener(listener)
        dispatch.match_and_rewrite(op, rewriter)
        changed = changed or rewriter.has_done_action
    return changed
