"""Targets for the names of chips, boards, computers and operating systems."""

from __future__ import annotations

import pytest

from et_backends.freestanding.compiler.targets import FREESTANDING_TARGETS
from et_ir.delegation.backends_by_name import backend_names
from et_ir.targets.devices import (
    _ACCELERATORS,
    _FAMILIES,
    _MACHINES,
    _OLDER,
    accelerator_backends,
    device_hint,
    processor_hint,
)
from et_ir.targets.lookup import DEFAULT, target_names
from et_tools.vm_options import BUILD_TARGETS


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
        ("m4", "for M4 give cortex-m4"),
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


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cortex-m85", "; for Cortex-M85 give cortex-m33"),
        ("stm32n6", "; for STM32N6 give cortex-m33"),
        ("stm32f4", "; for STM32F4 give cortex-m4"),
        ("cortex-a72", ""),
    ],
)
def test_targets_among_some(name: str, hint: str) -> None:
    assert processor_hint(name, BUILD_TARGETS) == hint


@pytest.mark.parametrize(
    ("name", "machine", "processor"),
    [
        ("android", "Android", "aarch64"),
        ("iPhone-15", "iOS", "aarch64"),
        ("Raspberry Pi 5", "Raspberry Pi", "aarch64"),
        ("arm64-v8a", "Arm", "aarch64"),
        ("x86", "x86", "x86-64"),
        ("linux-x64", "Linux", ""),
        ("cpu", "a CPU", ""),
    ],
)
def test_machines_with_an_operating_system(name: str, machine: str, processor: str) -> None:
    hint = f"; for {machine} give stock-1.5, the default: a .pte runs on any processor"
    assert device_hint(name, DEFAULT) == hint + (
        f"; or for an object without a runtime, {processor}" if processor else ""
    )
    assert processor_hint(name) == ""


@pytest.mark.parametrize("name", ["stock", "mars", "stm32", "armadillo", "winter", "abacus", ""])
def test_no_machines(name: str) -> None:
    assert device_hint(name, DEFAULT) == ""


def test_backends_of_accelerators() -> None:
    assert accelerator_backends("GPU") == ("vulkan",)
    assert accelerator_backends("mars") == ()
    assert {name for names in _ACCELERATORS.values() for name in names} <= set(backend_names())


def test_targets_have_no_hint() -> None:
    assert [name for name in target_names() if device_hint(name, DEFAULT) or accelerator_backends(name)] == []


def test_targets_are_there() -> None:
    assert {machine.processor for machine in _MACHINES} <= {"", *FREESTANDING_TARGETS}
    assert {*_OLDER.values()} <= set(BUILD_TARGETS)
    assert {target for family in _FAMILIES for target in family.series} <= {"", *FREESTANDING_TARGETS}
    assert all(bool(family.other) == ("" in family.series) for family in _FAMILIES)
