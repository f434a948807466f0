"""Chat templates: prompts of conversations, by the dialect of jinja2 that transformers has."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Final

from et_schema.errors import Error, ExecutorchError, InputError
from et_schema.processes import python

__all__ = ["render_chat"]

_SECONDS: Final = 5.0
"""Processor time of a template."""
_MEMORY: Final = 512 << 20
"""Bytes of a template's process."""
_CHARACTERS: Final = 1 << 22
"""Characters of a prompt: more than any model reads."""
_SCRIPT: Final = "et_vm.llm.chat_rendering"


def render_chat(
    template: str,
    messages: Sequence[Mapping[str, str]],
    names: Mapping[str, str],
    *,
    where: str,
    install: str,
) -> str:
    """The prompt of messages of a `role` and its `content`; `names` are other variables of the template.

    A process of its own renders it, as templates are programs: 5 s, 512 MB and a prompt of 4 million characters are
    what one may take. Raises InputError at `where` for a template that is malformed or fails, takes more than that, or
    refuses the messages, ExecutorchError(NotSupported) if jinja2 is not installed.
    """
    if find_spec("jinja2") is None:
        raise ExecutorchError(Error.NotSupported, "the package jinja2 is not installed", hint=install)
    script = find_spec(_SCRIPT)
    assert script is not None
    request = {
        "template": template,
        "messages": [dict(message) for message in messages],
        "names": dict(names),
        "seconds": _SECONDS,
        "memory": _MEMORY,
        "characters": _CHARACTERS,
    }
    try:
        done = subprocess.run(
            python(str(script.origin)),
            input=json.dumps(request).encode(),
            capture_output=True,
            timeout=20 * _SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        done = None
    if done is None or done.returncode in (-signal.SIGPROF, -signal.SIGKILL):
        raise InputError(f"the chat template takes more than {_SECONDS:g} s", where=where)
    if done.returncode:
        raise InputError("the chat template fails: its process ended without a result", where=where)
    answer: dict[str, str] = json.loads(done.stdout)
    if "refused" in answer:
        raise InputError(f"the chat template refuses the messages: {answer['refused']}", where=where)
    if "failed" in answer:
        raise InputError(f"the chat template fails: {answer['failed']}", where=where)
    return answer["text"]
