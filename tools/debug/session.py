"""Session of the debugger: the commands of `et-vm debug`."""

from __future__ import annotations

import cmd
import inspect
import re
import sys
from collections.abc import Iterable, Iterator

from et_schema.errors import ExecutorchError
from et_tools.debug.arguments import CommandError, breakpoint_of, literal_of, number_of, selection_of
from et_tools.debug.show import dump_lines, plot_lines, selected, value_lines
from et_tools.info.listing import instruction_texts
from et_tools.streams import fit, line_width
from et_vm.devtools.debugger import Debugger, Stop, StopReason, WatchBytes, WatchRegister

__all__ = ["Session"]

NEIGHBOURS = 2
"""Instructions shown on either side of the next one."""
MOST_BYTES = 4096
WIDTH = 120
"""Characters of a line of elements, where the width is unlimited."""
PLOT_WIDTH = 96
_POKE = re.compile(r"(%?\d+(?:\[[^\]]*\])?)(?:\s*=\s*|\s+)(.+)$")
ALIASES = {
    "s": "step",
    "n": "next",
    "c": "continue",
    "b": "break",
    "p": "print",
    "l": "list",
    "bt": "where",
    "q": "quit",
    "rc": "reverse",
    "fin": "finish",
    "EOF": "quit",
}


class Session(cmd.Cmd):
    """Reads commands and carries them out on a debugger. The docstring of a command is its help."""

    prompt = "(et-vm) "

    def __init__(self, debugger: Debugger) -> None:
        super().__init__()
        self._debugger = debugger
        self.texts = instruction_texts(debugger.plan, debugger.instructions)
        """The instructions as text."""
        self.failures = 0
        """Commands that could not be carried out."""

    # Reading commands

    def run(self, commands: Iterable[str], *, interactive: bool) -> None:
        """Carry out commands, then read more from standard input if `interactive`; otherwise the first that fails is
        the last.
        """
        for command in commands:
            if command.strip() and self.onecmd(command):
                return
            if self.failures and not interactive:
                return
        while interactive:
            try:
                self.cmdloop()
                return
            except KeyboardInterrupt:
                print("interrupted; quit ends the session")

    def onecmd(self, line: str) -> bool:
        """Carry out one command; returns whether the session is over."""
        name, _, rest = line.strip().partition(" ")
        if name.startswith("#"):
            return False
        line = f"{ALIASES.get(name, name)} {rest}".strip()
        try:
            return bool(super().onecmd(line))
        except CommandError as error:
            self._fail(str(error))
        except ExecutorchError as error:
            self._fail(error.message + (f" ({error.hint})" if error.hint else ""))
        except IndexError as error:
            self._fail(str(error))
        return False

    def emptyline(self) -> bool:
        """Repeat the last command, as debuggers do."""
        return self.onecmd(self.lastcmd) if self.lastcmd else False

    def default(self, line: str) -> None:
        """Unknown commands."""
        self._fail(f"unknown command {line.split(maxsplit=1)[0]!r}; help lists the commands")

    def completenames(self, text: str, *ignored: object) -> list[str]:
        """Commands that start with `text`."""
        return [name for name in super().completenames(text, *ignored) if name != "EOF"]

    def _fail(self, message: str) -> None:
        self.failures += 1
        print(f"error: {message}", file=sys.stderr)

    # Execution

    def do_step(self, text: str) -> None:
        """step [N]: execute N instructions, 1 by default (s)"""
        self._stop(self._debugger.step(number_of(text, "a number of steps", 1)))

    def do_next(self, text: str) -> None:
        """next: execute up to the next source line, or module if lines are not known (n)"""
        self._stop(self._debugger.next_line())

    def do_finish(self, text: str) -> None:
        """finish: execute until the current module is left (fin)"""
        self._stop(self._debugger.finish())

    def do_continue(self, text: str) -> None:
        """continue: execute up to the next breakpoint, watchpoint or trap, or to the end (c)"""
        self._stop(self._debugger.resume())

    def do_run(self, text: str) -> None:
        """run: the same as continue"""
        self.do_continue(text)

    def do_back(self, text: str) -> None:
        """back [N]: go back by N instructions, 1 by default"""
        self._stop(self._debugger.back(number_of(text, "a number of steps", 1)))

    def do_reverse(self, text: str) -> None:
        """reverse: go back to the last breakpoint or watchpoint, or to the start (rc)"""
        self._stop(self._debugger.reverse())

    def do_goto(self, text: str) -> None:
        """goto STEP: go to the point after so many instructions, forward or back"""
        self._stop(self._debugger.go_to(number_of(text, "a number of steps")))

    def do_restart(self, text: str) -> None:
        """restart: go back to the start and undo all changes; breakpoints stay"""
        self._stop(self._debugger.restart())

    # Breakpoints

    def do_break(self, text: str) -> None:
        """break 12 | aten::add* | model.py:30 | module encoder.* | nan | inf: stop there (b); without one: list them

        nan and inf stop behind the instruction that makes one out of operands without. An operator and a module may
        be shell patterns; modules need --debug-map, lines that or a file compiled with --emit-stacktrace.
        """
        if not text.strip():
            self._list_breakpoints()
            return
        chosen = breakpoint_of(text)
        number = self._debugger.add(chosen)
        print(f"breakpoint {number}: {chosen}")

    def do_watch(self, text: str) -> None:
        """watch %12 | watch ARENA START END: stop when the register, or a byte of the arena, changes"""
        words = text.replace(",", " ").split()
        if len(words) == 1:
            register = selection_of(words[0]).register
            self._debugger.value(register)
            chosen = WatchRegister(register)
        else:
            chosen = WatchBytes(*self._range(words))
        number = self._debugger.add(chosen)
        print(f"watchpoint {number}: {chosen}")

    def do_delete(self, text: str) -> None:
        """delete N: remove a breakpoint or watchpoint"""
        self._debugger.delete(number_of(text, "the number of a breakpoint"))

    def _list_breakpoints(self) -> None:
        if not self._debugger.breakpoints:
            print("no breakpoints")
        for number, chosen in self._debugger.breakpoints.items():
            print(f"{number:>4}  {chosen}")

    # Looking

    def do_list(self, text: str) -> None:
        """list [N]: show the instructions around the next one, or around instruction N (l)"""
        current = self._debugger.instruction
        at = len(self._debugger.instructions) - 1 if current is None else current.index
        self._print(self._listing(number_of(text, "an instruction", at), 3 * NEIGHBOURS))

    def do_where(self, text: str) -> None:
        """where: show step, module and source lines of the next instruction (bt)"""
        instruction = self._debugger.instruction
        print(f"step {self._debugger.step_count:,}")
        if instruction is None:
            print("at the end")
            return
        module = self._debugger.module(instruction)
        if module is not None:
            print(f"module {module}")
        for frame in instruction.frames:
            print(f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.context.strip()}")
        place = self._debugger.place(instruction)
        if place.line and not instruction.frames:
            print(place.line)
        if self._debugger.trap is not None:
            print(self._debugger.trap)

    def do_print(self, text: str) -> None:
        """print %12 | %12[0, 2:4]: show a register, or elements of its tensor (p)"""
        chosen = selection_of(text)
        self._print(
            value_lines(self._debugger.value(chosen.register), chosen.index, min(self._width(), WIDTH))
        )

    def do_plot(self, text: str) -> None:
        """plot %12 | %12[0, 2:4]: draw the elements of a tensor, and their histogram"""
        chosen = selection_of(text)
        array = selected(self._debugger.value(chosen.register), chosen.index)
        if array is None:
            raise CommandError(f"%{chosen.register} holds no tensor")
        self._print(plot_lines(array, min(self._width(), PLOT_WIDTH)))

    def do_registers(self, text: str) -> None:
        """registers: show the registers of the next instruction"""
        instruction = self._debugger.instruction
        for register in dict.fromkeys(() if instruction is None else instruction.args):
            first = next(iter(value_lines(self._debugger.value(register), ..., self._width())))
            print(fit(f"%{register:<5} {first}", self._width()))

    def do_memory(self, text: str) -> None:
        """memory ARENA START END: show bytes of an arena"""
        arena, start, end = self._range(text.replace(",", " ").split())
        shown = min(end, start + MOST_BYTES)
        self._print(dump_lines(self._debugger.arena(arena)[start:shown], start))
        if shown < end:
            print(f"… {end - shown:,} bytes more")

    def do_who(self, text: str) -> None:
        """who %12: show which instructions write and read a register, and what shares its bytes"""
        register = selection_of(text).register
        for access in self._debugger.accesses(register):
            kind = {(True, True): "updates", (False, True): "writes", (True, False): "reads"}
            times = f"{access.executed:,}×" if access.executed else "not yet"
            what = kind[access.reads, access.writes]
            line = f"{access.index:>5}  {what:<8} {times:<8} {self.texts[access.index]}"
            print(fit(line, self._width()))
        last = self._debugger.last_writer(register)
        if last is None:
            print(f"%{register} holds what it had at the start")
        else:
            print(
                f"%{register} was last written at step {last:,}, by instruction {self._debugger.history[last]}"
            )
        shared = self._debugger.overlapping(register)
        if shared:
            print(f"in the same bytes of the arena: {', '.join(f'%{other}' for other in shared)}")

    def do_outputs(self, text: str) -> None:
        """outputs: show the outputs, at the end of the execution"""
        self._debugger.outputs()
        for at, register in enumerate(self._debugger.plan.outputs):
            print(f"output {at}, %{register}")
            self._print(value_lines(self._debugger.value(register), ..., self._width()))

    # Changing

    def do_poke(self, text: str) -> None:
        """poke %12[0, 3] 1.5: change elements of a tensor, or a number that instructions compute"""
        match = _POKE.match(text.strip())
        if match is None:
            raise CommandError("expected a register and a value, such as %12[0, 3] 1.5")
        place, value = match.groups()
        chosen = selection_of(place)
        self._debugger.poke(chosen.register, literal_of(value), chosen.index)

    def do_help(self, arg: str) -> None:
        """help [COMMAND]: list the commands, or describe one"""
        name = arg.strip()
        if name:
            found = self._commands().get(ALIASES.get(name, name))
            if found is None:
                raise CommandError(f"unknown command {name!r}; help lists the commands")
            print(inspect.cleandoc(found))
            return
        for text in self._commands().values():
            print(text.splitlines()[0])
        print("At a terminal, an empty line repeats the last command.")

    def _commands(self) -> dict[str, str]:
        """The description of each command."""
        found: dict[str, str] = {}
        for name in type(self).__dict__:
            text = getattr(self, name).__doc__ if name.startswith("do_") else None
            if text and name != "do_EOF":
                found[name.removeprefix("do_")] = text
        return found

    def do_quit(self, text: str) -> bool:
        """quit: end the session (q)"""
        return True

    def do_EOF(self, text: str) -> bool:
        """End the session at the end of standard input."""
        print()
        return True

    # Display

    def start(self) -> None:
        """Print where the execution stands."""
        self._stop(self._debugger.last)

    def _stop(self, stop: Stop) -> None:
        if stop.detail:
            print(f"trap: {stop.detail}" if stop.reason is StopReason.TRAP else stop.detail)
        if stop.instruction is None:
            print(f"end of the execution, after {stop.step:,} steps")
            return
        notes = [f"step {stop.step:,}"]
        module = self._debugger.module(stop.instruction)
        if module is not None:
            notes.append(f"module {module}")
        if stop.instruction.frames:
            frame = stop.instruction.frames[-1]
            notes.append(f"{frame.filename}:{frame.lineno}: {frame.context.strip()}".rstrip(": "))
        elif self._debugger.place(stop.instruction).line:
            notes.append(self._debugger.place(stop.instruction).line)
        print(fit(", ".join(notes), self._width()))
        self._print(self._listing(stop.instruction.index, NEIGHBOURS))

    def _listing(self, index: int, neighbours: int) -> Iterator[str]:
        current = self._debugger.instruction
        if index >= len(self.texts):
            raise CommandError(f"no instruction {index}: the method has {len(self.texts)}")
        for at in range(max(index - neighbours, 0), min(index + neighbours + 1, len(self.texts))):
            mark = "->" if current is not None and at == current.index else "  "
            yield f"{mark} {at:>5}  {self.texts[at]}"

    def _print(self, lines: Iterator[str]) -> None:
        for line in lines:
            print(fit(line, self._width()))

    def _width(self) -> int:
        return line_width(sys.stdout)

    def _range(self, words: list[str]) -> tuple[int, int, int]:
        if len(words) != 3:
            raise CommandError("expected ARENA START END, three numbers")
        arena, start, end = (number_of(word, "a number of bytes") for word in words)
        size = self._debugger.arena(arena).nbytes
        if not start < end <= size:
            raise CommandError(f"expected bytes within arena {arena}, which has {size:,}")
        return arena, start, end
