"""The import of torchao, and which of its messages are dropped."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from et_ir.quantization.quiet_torchao import without_known_messages

KNOWN = (
    ("torchao", "Failed to load /lib/torchao/_C_mxfp8.cpython-311-x86_64-linux-gnu.so: no such library"),
    (
        "torch.utils._pytree",
        "<enum 'Kernel'> is an Enum subclass and is now natively supported by torch.compile as an opaque value type.",
    ),
)
OTHERS = (
    ("torchao", "Failed to load /lib/torchao/_C.abi3.so: undefined symbol"),
    ("torchao", "the version of torch is too old"),
    ("torch.utils._pytree", "<class 'Cache'> is registered twice"),
)


def test_nothing_is_printed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import et_ir.quantization"], capture_output=True, check=True, text=True
    )
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize(("name", "message"), KNOWN)
def test_known_messages(caplog: pytest.LogCaptureFixture, name: str, message: str) -> None:
    logger = logging.getLogger(name)
    handlers = [*logger.filters]
    with caplog.at_level(logging.WARNING), without_known_messages():
        logger.addHandler(caplog.handler)
        logger.warning(message)
        assert caplog.messages == []
    logger.warning(message)
    logger.removeHandler(caplog.handler)
    assert set(caplog.messages) == {message}
    assert logger.filters == handlers


@pytest.mark.parametrize(("name", "message"), OTHERS)
def test_other_messages(caplog: pytest.LogCaptureFixture, name: str, message: str) -> None:
    logger = logging.getLogger(name)
    logger.addHandler(caplog.handler)
    with caplog.at_level(logging.WARNING), without_known_messages():
        logger.warning(message)
    logger.removeHandler(caplog.handler)
    assert set(caplog.messages) == {message}
