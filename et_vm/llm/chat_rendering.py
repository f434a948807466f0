"""The process that renders a chat template: reads a request from standard input, writes the answer to standard output.

Templates are programs of the files that they are in. jinja2's sandbox keeps them from Python's objects, but not from
loops without end, numbers without end, or strings of any length: this process has limits of time and memory, past which
the system ends it. It imports nothing of this project, as it runs as a script.
"""

from __future__ import annotations

import json
import signal
import sys
from datetime import datetime
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment


class _Generation(Extension):
    """`{% generation %}`, which marks what a model is trained on: its content."""

    tags = {"generation"}  # noqa: RUF012 -- jinja2 declares it as an instance variable

    def parse(self, parser: Any) -> Any:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


def _refuse(message: str) -> None:
    raise TemplateError(message)


def _now(form: str) -> str:
    return datetime.now().strftime(form)


def _as_json(value: Any, ensure_ascii: bool = False, **options: Any) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, **options)


def _limit(seconds: float, memory: int) -> None:
    """Have the system end the process after `seconds` of processor time, and refuse memory beyond `memory` bytes."""
    try:
        import resource
    except ImportError:  # not a system with limits of processes
        return
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    signal.setitimer(signal.ITIMER_PROF, seconds)


def _answer(request: dict[str, Any]) -> dict[str, str]:
    environment: Any = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, "jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _as_json
    environment.globals |= {"raise_exception": _refuse, "strftime_now": _now}
    try:
        text = environment.from_string(request["template"]).render(
            messages=request["messages"], add_generation_prompt=True, **request["names"]
        )
        # Strings of a template can be halves of characters, which no text has.
        text.encode()
    except TemplateError as error:
        return {"refused": str(error)}
    except MemoryError:
        return {"failed": "MemoryError: it needs too much memory"}
    # What expressions of a template raise, as those of Python.
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        return {"failed": f"{type(error).__name__}: {error}"}
    if len(text) > request["characters"]:
        return {"failed": f"the prompt has {len(text):,} characters, more than {request['characters']:,}"}
    return {"text": text}


def _main() -> None:
    request = json.load(sys.stdin)
    _limit(request["seconds"], request["memory"])
    json.dump(_answer(request), sys.stdout)


if __name__ == "__main__":
    _main()
