"""Chat templates: what those of published models use, and messages for what fails."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest
from support.language_model import tokenizer

from et_schema.errors import InputError
from et_vm.llm import Tokenizer, chat_template

MESSAGES = [{"role": "user", "content": "a < 'ä'"}, {"role": "assistant", "content": "b"}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tokenizer(tmp_path)
    return tmp_path


def rendered(folder: Path, template: str | bytes) -> str:
    content = template.encode() if isinstance(template, str) else template
    (folder / "chat_template.jinja").write_bytes(content)
    return Tokenizer(folder).chat(MESSAGES)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ messages[0].content | tojson }}", "\"a < 'ä'\""),
        ("{{ {'a': 1} | tojson(indent=2) }}", '{\n  "a": 1\n}'),
        ("{% for m in messages %}{{ m.role }}{% break %}{% endfor %}", "user"),
        (
            "{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}{{ m.role }}{% endfor %}",
            "assistant",
        ),
        (
            "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}",
            "a < 'ä'b",
        ),
        ("{{ bos_token }}{{ messages | length }}", "<s>2"),
    ],
)
def test_templates(folder: Path, template: str, expected: str) -> None:
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": {"content": "<s>"}}))
    assert rendered(folder, template) == expected


def test_dates(folder: Path) -> None:
    years = {str(datetime.now().year)}
    found = rendered(folder, "{{ strftime_now('%Y') }}")
    assert found in years | {str(datetime.now().year)}


def test_several_templates(folder: Path) -> None:
    """As tokenizers have them that were saved with one for tools."""
    several = [{"name": "tools", "template": "t"}, {"name": "default", "template": "d"}]
    config = folder / "tokenizer_config.json"
    config.write_text(json.dumps({"chat_template": several}))
    assert Tokenizer(folder).chat(MESSAGES) == "d"
    config.write_text(json.dumps({"chat_template": [*several[:1], "default"]}))
    with pytest.raises(InputError, match="no chat template"):
        Tokenizer(folder).chat(MESSAGES)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{% for", "refuses the messages: unexpected 'end of template'"),
        ("{{ messages[7].role.name }}", "refuses the messages: list object has no element 7"),
        ("{{ raise_exception('no system') }}", "refuses the messages: no system"),
        ("{{ 1 / 0 }}", "fails: ZeroDivisionError: division by zero"),
        ("{{ 'a' + 1 }}", "fails: TypeError"),
        ("{{ range(10 ** 9) }}", "fails: OverflowError"),
        ("{{ ''.format(1, *2) }}", "fails: TypeError"),
        ("{{ 'a'.encode('ebcdic') }}", "fails: LookupError"),
        ("{{ messages | tojson(indent=messages) }}", "fails: TypeError"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "fails: RecursionError"),
        ("{{ 'a'.center(10 ** 12) }}", "fails: MemoryError"),
        ("{{ messages | tojson(indent=10 ** 12) }}", "fails: MemoryError"),
        ("{% set s = namespace(x='ab') %}" + "{% set s.x = s.x ~ s.x %}" * 40, "fails: MemoryError"),
        (
            "{% for i in range(1000) %}{% for j in range(5000) %}a{% endfor %}{% endfor %}",
            "prompt has 5,000,000",
        ),
        (b"\xff", "not a chat template: .*can't decode"),
    ],
)
def test_templates_that_fail(folder: Path, template: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        rendered(folder, template)


@pytest.mark.parametrize(
    "template",
    [
        "{{ 9 ** (9 ** 9) }}",
        "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
    ],
)
def test_templates_without_end(folder: Path, template: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_template, "_SECONDS", 0.3)
    with pytest.raises(InputError, match=r"takes more than 0.3 s"):
        rendered(folder, template)


def test_variables_of_any_text(folder: Path) -> None:
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": "é\U0001f600\n"}))
    assert rendered(folder, "{{ bos_token }}") == "é\U0001f600\n"


def test_halves_of_characters(folder: Path) -> None:
    with pytest.raises(InputError, match="fails: UnicodeEncodeError"):
        rendered(folder, r"{{ '\ud800' }}")
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": "\ud800"}))
    with pytest.raises(InputError, match=r"not a configuration of a tokenizer: .*surrogates not allowed"):
        rendered(folder, "{{ bos_token }}")
