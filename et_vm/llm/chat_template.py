"""Chat templates: prompts of conversations, by the dialect of jinja2 that transformers has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from et_schema.errors import Error, ExecutorchError, InputError

__all__ = ["render_chat"]


def render_chat(
    template: str,
    messages: Sequence[Mapping[str, str]],
    names: Mapping[str, str],
    *,
    where: str,
    install: str,
) -> str:
    """The prompt of messages of a `role` and its `content`; `names` are other variables of the template.

    Raises InputError at `where` for a template that is malformed or fails, or refuses the messages,
    ExecutorchError(NotSupported) if jinja2 is not installed.
    """
    try:
        from jinja2 import TemplateError, nodes
        from jinja2.ext import Extension
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError:
        raise ExecutorchError(
            Error.NotSupported, "the package jinja2 is not installed", hint=install
        ) from None

    class Generation(Extension):
        """`{% generation %}`, which marks what a model is trained on: its content."""

        tags = {"generation"}  # noqa: RUF012 -- jinja2 declares it as an instance variable

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return nodes.Scope(body, lineno=line)

    def refuse(message: str) -> None:
        raise TemplateError(message)

    def now(form: str) -> str:
        return datetime.now().strftime(form)

    def as_json(value: Any, ensure_ascii: bool = False, **options: Any) -> str:
        return json.dumps(value, ensure_ascii=ensure_ascii, **options)

    environment: Any = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = as_json
    environment.globals |= {"raise_exception": refuse, "strftime_now": now}
    try:
        return cast(
            str,
            environment.from_string(template).render(
                messages=list(messages), add_generation_prompt=True, **names
            ),
        )
    except TemplateError as error:
        raise InputError(f"the chat template refuses the messages: {error}", where=where) from None
    # What expressions of a template raise, as those of Python.
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(f"the chat template fails: {type(error).__name__}: {error}", where=where) from None
