"""Targets for the names of chips and boards."""

from __future__ import annotations

import pytest

from et_backends.freestanding.compiler.microcontrollers import _FAMILIES, processor_hint
from et_backends.freestanding.compiler.targets import FREESTANDING_TARGETS


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("stm32f4", "for STM32F4 give cortex-m4"),
        ("STM32H743ZI", "for STM32H7 give cortex-m7"),
        ("stm32wba55", "for STM32WBA give cortex-m33"),
        ("stm32wb55", "for STM32WB give cortex-m4"),
        ("nrf52840", "for nRF52 give cortex-m4"),
        ("nRF5340", "for nRF53 give cortex-m33"),
        ("rp2040", "for RP2040 give cortex-m0plus"),
        ("pico", "for Pico give cortex-m0plus"),
        ("pico-2", "for Pico 2 give cortex-m33"),
        ("esp32-c3", "for ESP32-C3 give riscv32imac"),
        ("arduino-nano-33-ble", "for Arduino Nano33BLE give cortex-m4"),
        ("cortex-m3", "for Cortex-M3 give cortex-m0plus"),
        ("cortex-m4f", "for Cortex-M4 give cortex-m4"),
        ("cortex-m85", "for Cortex-M85 give cortex-m55"),
        ("cortex_a72", "for Cortex-A72 give aarch64"),
    ],
)
def test_one_target(name: str, hint: str) -> None:
    assert processor_hint(name) == f"; {hint}"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("stm32", "for STM32, by series: cortex-m0plus (C0, F0, F1, F2, G0, L0, L1, U0), cortex-m4 (F3, F4,"),
        ("stm32mp1", "for STM32, by series: cortex-m0plus (C0,"),
        ("esp32", "ESP32 has an Xtensa processor, for which there is no target; for ESP32, by series: riscv32imac"),
        ("esp32-s3", "ESP32-S3 has an Xtensa processor, for which there is no target; for ESP32, by series:"),
        ("arduino", "for Arduino, by series: cortex-m0plus (Due, MKR, Zero, Nano33IoT), cortex-m4 (Nano33BLE,"),
        ("arduino-uno", "Arduino Uno has an AVR processor, for which there is no target; for Arduino, by series:"),
        ("avr", "AVR has an 8-bit processor, for which there is no target"),
    ],
)  # fmt: skip
def test_several_targets_or_none(name: str, hint: str) -> None:
    assert processor_hint(name).startswith(f"; {hint}")


@pytest.mark.parametrize(
    "name", ["stock", "native", "gpu", "x86", "riscv64", "raspberry", "", "ram", "rpm", "sample"]
)
def test_other_names(name: str) -> None:
    assert processor_hint(name) == ""


def test_targets_are_there() -> None:
    assert {target for family in _FAMILIES for target in family.series} <= {"", *FREESTANDING_TARGETS}
    assert all(bool(family.other) == ("" in family.series) for family in _FAMILIES)
