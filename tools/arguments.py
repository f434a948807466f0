"""Parsing command lines: help that starts with examples, `--version`, and errors as `UsageError`."""

from __future__ import annotations

import argparse
import math
import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, NoReturn, cast

from et_schema.diagnostics import did_you_mean, near_names
from et_schema.whole_numbers import MAX_WHOLE_NUMBER, shortened, whole_number
from et_tools.exit_codes import ExitCode, UsageError, request_tracebacks
from et_tools.messages import COLORS, request_color

__all__ = [
    "ALIGNMENTS",
    "WIDE",
    "CommandParser",
    "add_alignments",
    "alignment",
    "also_called",
    "natural_number",
    "near_option",
    "positive_number",
    "tolerance",
]

SHELLS = ("bash", "zsh", "fish")
"""Shells with completion."""

WIDE: dict[str, Any] = {
    "action": "store_true",
    "help": "do not cut lines to the width of the terminal (files and pipes get whole lines anyway)",
}
"""Arguments of the option `--wide`."""

MOST_ALIGNMENT = 1 << 20

MOST_NAMED = 30
"""The most values of an option that an error lists."""

_TAKERS: Final = ("--prompt", "--input")
"""Options whose value is given without them by mistake."""
_REQUIRED: Final = re.compile(r"(?:arguments are required: |is required$)")
"""The end of argparse's messages about arguments that are missing."""
_OTHER_NAMES: Final = "other_names"
"""The attribute of an option with the names that other tools have for it."""
_COMPILED: Final = "--compile"
"""The option of commands that compile a model, by options of et-compile."""

ALIGNMENTS = {
    "tensor_alignment": "of each constant (default: 16, or as stated in the input)",
    "segment_alignment": "of each segment (default: 128, or as stated in the input)",
    "delegate_alignment": "of each delegate blob (default: 16)",
}
"""Options of the commands that write programs, with what they align, in bytes."""


def positive_number(text: str) -> int:
    """The type of options that count from 1."""
    number = whole_number(text)
    if not number:
        raise argparse.ArgumentTypeError(
            f"{shortened(text)!r} is not a positive number up to {MAX_WHOLE_NUMBER}"
            if text.isdecimal()
            else f"{shortened(text)!r} is not a positive number"
        )
    return number


def natural_number(text: str) -> int:
    """The type of options that count from 0."""
    number = whole_number(text)
    if number is None:
        raise argparse.ArgumentTypeError(
            f"{shortened(text)!r} is not a whole number up to {MAX_WHOLE_NUMBER}"
        )
    return number


def tolerance(text: str) -> float:
    """The type of bounds on differences. An infinite one would accept any result."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"{shortened(text)!r} is not a finite, non-negative number")
    return number


def alignment(text: str) -> int:
    """An alignment in bytes from the command line."""
    number = whole_number(text) or 0
    if not 0 < number <= MOST_ALIGNMENT or number & (number - 1):
        raise argparse.ArgumentTypeError(
            f"{shortened(text)!r} is not a valid alignment: expected a power of two up to {MOST_ALIGNMENT}"
        )
    return number


def add_alignments(add: Callable[..., object]) -> None:
    """Add `--tensor-alignment`, `--segment-alignment` and `--delegate-alignment` by the `add_argument` of a parser, or
    of a group of its options.
    """
    for name, what in ALIGNMENTS.items():
        flag = f"--{name.replace('_', '-')}"
        add(flag, type=alignment, metavar="BYTES", help=f"alignment {what}")


ANY_DATA: Final[dict[str, Any]] = {
    "action": "store_true",
    "help": "accept data files with other contents than the program was compiled with",
}
"""The option `--any-data`, of every command that has `--data`."""


def also_called(action: argparse.Action, *names: str) -> None:
    """Let errors suggest an option for the `names` that other tools have for it."""
    setattr(action, _OTHER_NAMES, names)


def near_option(given: str, known: Mapping[str, argparse.Action]) -> str:
    """A suggestion to append to a message about an unknown option: one of the same or a similar name, or the only one
    that it is the first word, or the letter, of; or one that other tools call so; never one that says the opposite.
    """
    name = given.lstrip("-")
    names = {
        option.lstrip("-"): option
        for option in known
        if option.startswith("--") and option.startswith("--no-") == name.startswith("no-")
    }
    for option in known:
        for other in getattr(known[option], _OTHER_NAMES, ()):
            names.setdefault(other, option)
    begun = [one for one in names if one.startswith(name if len(name) == 1 else f"{name}-")]
    found = near_names(name, names) or (begun if len(begun) == 1 else [])
    return f", did you mean '{names[found[0]]}'?" if found else ""


class CommandParser(argparse.ArgumentParser):
    """A parser whose help begins with examples and whose errors do not end the process.

    `text` is a summary in one line, `name: what it does`, then a paragraph `examples:`, then more paragraphs. The help
    ends with the exit codes.
    """

    def __init__(self, prog: str = "", usage: str = "", text: str = ""):
        summary, _, rest = text.strip().partition("\n\n")
        examples, _, more = rest.strip().partition("\n\n")
        summary = summary.partition(": ")[2]
        super().__init__(
            prog=prog,
            usage=usage,
            description="\n\n".join(part for part in (summary[:1].upper() + summary[1:], more) if part),
            epilog="exit codes:\n"
            + "\n".join(f"  {code:<4}{code.meaning.replace('`', '')}" for code in ExitCode),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            # An abbreviation that is unique today is another option's name tomorrow.
            allow_abbrev=False,
        )
        self.examples = examples
        self.other_names: Collection[str] = ()
        """The names that other tools have for it, where it is a verb."""
        self.elsewhere: Mapping[str, str] = {}
        """What is said otherwise than by an option, by the names of options that other tools have for it."""
        self.add_argument(
            "--traceback", action=_Traceback, nargs=0, help="print the Python stack of an error"
        )
        self.add_argument(
            "--color",
            action=_Color,
            choices=COLORS,
            metavar="WHEN",
            help="color messages on stderr: auto (default: on terminals, unless NO_COLOR is set), always, or never",
        )

    @property
    def option_names(self) -> Collection[str]:
        """All spellings of the options."""
        return self._option_string_actions

    def format_help(self) -> str:
        return f"{self.examples}\n\n{super().format_help()}"

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse's, but for what is left over, which is an error of the parser, or of its verb, that has it."""
        parsed, rest = super().parse_known_args(args, namespace)
        if rest:
            hint = self._advice(rest, parsed, () if args is None else args)
            self.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
        return parsed, rest

    def _advice(self, rest: Sequence[str], parsed: argparse.Namespace, arguments: Sequence[str]) -> str:
        """What was meant by words that are no arguments."""
        known = self._option_string_actions
        option = next((text for text in rest if text.startswith("-")), None)
        if option is not None:
            name = option.partition("=")[0]
            elsewhere = self.elsewhere.get(name.lstrip("-"))
            if elsewhere is not None:
                return f": {elsewhere}"
            hint = near_option(name, known)
            if hint or _COMPILED not in known or not _is_compiling(option):
                return hint
            return f": options of et-compile are given by {_COMPILED} '{' '.join(rest)}'"
        # `-out x` gives the value `ut` to -o.
        joined = [text for text in arguments if re.fullmatch(r"-[a-z]{2,}", text) and text not in known]
        hint = next(filter(None, (near_option(text, known) for text in joined)), "")
        if hint:
            return hint
        one = self._one_more(rest[0], parsed)
        if one:
            return one
        model = str(getattr(parsed, "model", ""))
        if ".py:" in model and ".py:" in rest[0]:
            return ": one model at a time; for several methods a factory returns a dict of (module, inputs) by name"
        if model.endswith(".py") and rest[0].isidentifier():
            return f", did you mean {model}:{rest[0]}?"
        taker = next((name for name in _TAKERS if name in known), None)
        return "" if taker is None else f", did you mean {taker} {shlex.quote(rest[0])}?"

    def _one_more(self, word: str, parsed: argparse.Namespace) -> str:
        """The option that a word is a value of: given once more, or together with the value that the option has."""
        from et_tools.completion import names_of

        for option, action in self._option_string_actions.items():
            if option.startswith("--") and action.choices is None and word in names_of(action):
                given: Any = getattr(parsed, action.dest, None)
                before = given[-1] if isinstance(given, list) and given else None
                return f", did you mean {option} {word if before is None else f'{before},{word}'}?"
        return ""

    def error(self, message: str) -> NoReturn:
        example = f", as in: {self._first_example()}" if _REQUIRED.search(message) else ""
        raise UsageError(f"{message}{example} (see {self.prog} --help)")

    def _first_example(self) -> str:
        """The first of the help's examples, without its explanation."""
        return re.split(r"\s{2,}", self.examples.partition("\n")[2].strip())[0]

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            choices: Any = action.choices or ()
            hint = did_you_mean(str(value), map(str, choices)) or _verb_hint(self.prog, str(value), choices)
            raise argparse.ArgumentError(action, f"{error.message}{hint}") from None

    def _match_argument(self, action: argparse.Action, arg_strings_pattern: str) -> int:
        try:
            return super()._match_argument(action, arg_strings_pattern)
        except argparse.ArgumentError as error:
            from et_tools.completion import names_of

            names = list(map(str, action.choices or names_of(action)))
            there = f": {', '.join(names)}" if 0 < len(names) <= MOST_NAMED else self._described(action)
            raise argparse.ArgumentError(action, f"{error.message}{there}") from None

    def _described(self, action: argparse.Action) -> str:
        """The form and the meaning of the value of an option."""
        form = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
        meaning = (action.help or "") % {**vars(action), "prog": self.prog}
        return f": {form}, {meaning}" if meaning else f": {form}"

    def add_version(self) -> None:
        """Add `--version`, which prints the command's name and the version of this project, and
        `--print-completion`, which prints a script for a shell.
        """
        self.add_argument("--version", action=_Version, nargs=0, help="print name and version and exit")
        self.add_argument(
            "--print-completion",
            action=_Completion,
            choices=SHELLS,
            metavar="SHELL",
            help=f'print a completion script for {", ".join(SHELLS)}, and exit: eval "$({self.prog} --print-completion '
            'bash)"',
        )


def _verb_hint(prog: str, value: str, choices: object) -> str:
    """What was meant by a verb that there is not: the file that a verb takes, or an option of one."""
    if not isinstance(choices, dict):
        return ""
    verbs = cast("dict[str, CommandParser]", choices)
    if "." in value:
        return f", did you mean {prog} {next(iter(verbs))} {shlex.quote(value)}?"
    called = next((name for name, parser in verbs.items() if value in parser.other_names), None)
    if called is not None:
        return f", did you mean '{called}'?"
    found = next((name for name, parser in verbs.items() if f"--{value}" in parser.option_names), None)
    return "" if found is None else f", did you mean {prog} {found} --{value}?"


def _is_compiling(option: str) -> bool:
    """Whether et-compile has an option."""
    from et_tools.compile_parser import compile_parser

    return option.partition("=")[0] in compile_parser("", "et-compile").option_names


class _Traceback(argparse.Action):
    """Asks for the Python stack of errors."""

    def __call__(self, *_: object) -> None:
        request_tracebacks()


class _Color(argparse.Action):
    """Says when messages have colour, also that of a mistake later on the command line."""

    def __call__(self, parser: object, namespace: object, values: Any, *_: object) -> None:
        request_color(values)


class _Completion(argparse.Action):
    """Prints a completion script; its library is imported only here."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: object, values: Any, *_: object
    ) -> NoReturn:
        from et_tools.completion import completion_script

        print(completion_script(parser, values))
        parser.exit()


class _Version(argparse.Action):
    """Looks the version up when it is asked for: reading package metadata takes its time."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        from et_schema.distribution import NAME

        print(f"{parser.prog} {version(NAME)}")
        parser.exit()
