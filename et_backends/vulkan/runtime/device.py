"""Vulkan compute devices: memory, pipelines, and command buffers recorded once.

The loader is called through ctypes. A device is opened when the first program needs it, and kept.
"""

from __future__ import annotations

import ctypes as c
import os
import threading
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from ctypes.util import find_library
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from et_backends.vulkan.format.spirv import ENTRY, Capability
from et_backends.vulkan.runtime import structures as s
from et_schema.errors import Error, ExecutorchError
from et_vm.values import Array

__all__ = ["Binding", "Device", "Dispatch", "Memory", "Pipeline", "Recording", "open_device"]

DEVICE_VARIABLE: Final = "ET_VM_VULKAN_DEVICE"
"""The environment variable with the number, or a part of the name, of the device to use."""
PACKAGES: Final = "install the loader and a driver; on Debian: apt-get install libvulkan1 mesa-vulkan-drivers"
API_VERSION: Final = 1 << 22 | 2 << 12
"""Vulkan 1.2."""

LLVMPIPE_STEPS: Final = 65_535
"""Iterations that Mesa's llvmpipe lets all loops of an invocation have together, and ends them after."""

_LLVMPIPE: Final = 13
_COMPUTE: Final = 2
_STORAGE_BUFFER_USAGE: Final = 0x20
_STORAGE_BUFFER: Final = 7
_COMPUTE_STAGE: Final = 0x20
_BIND_COMPUTE: Final = 1
_SHADER_STAGE, _HOST_STAGE = 0x800, 0x4000
_SHADER_READ, _SHADER_WRITE, _HOST_READ = 0x20, 0x40, 0x2000
_DEVICE_LOCAL, _HOST_VISIBLE, _HOST_COHERENT, _HOST_CACHED = 1, 2, 4, 8
_FOREVER: Final = 2**64 - 1
_DEVICE_TYPES: Final = ("other", "integrated GPU", "discrete GPU", "virtual GPU", "CPU")
_PREFERRED: Final = (2, 1, 3, 4, 0)
"""Types of devices, the best first."""

_RESULTS: Final = {
    -1: "out of host memory",
    -2: "out of device memory",
    -3: "initialization failed",
    -4: "device lost",
    -5: "memory map failed",
    -6: "layer not present",
    -7: "extension not present",
    -8: "feature not present",
    -9: "incompatible driver",
    -10: "too many objects",
    -13: "unknown error",
}
_OUT_OF_MEMORY: Final = (-1, -2)


class Memory(NamedTuple):
    """A buffer of a device, mapped into the process."""

    buffer: int
    allocation: int
    array: Array
    """Its bytes."""


class Binding(NamedTuple):
    """A range of a buffer that a descriptor points to, in bytes."""

    offset: int
    nbytes: int


class Pipeline(NamedTuple):
    """A shader, ready to be dispatched."""

    set_layout: int
    layout: int
    pipeline: int


class Dispatch(NamedTuple):
    """An execution of a shader."""

    pipeline: Pipeline
    bindings: Sequence[Binding]
    words: Sequence[int]
    groups: tuple[int, int]


class Recording(NamedTuple):
    """A command buffer of dispatches, which can be submitted repeatedly."""

    descriptors: int
    commands: int
    pool: int
    fence: int


class Device:
    """An open device with one queue. Calls from several threads take turns."""

    def __init__(self, loader: c.CDLL, physical: int):
        self._vk = loader
        self._physical = physical
        driver = s.DriverProperties()
        both = s.PhysicalDeviceProperties2(pNext=_address(driver))
        self._vk.vkGetPhysicalDeviceProperties2(c.c_void_p(physical), c.byref(both))
        properties = both.properties
        self.most_steps = LLVMPIPE_STEPS if driver.driverID == _LLVMPIPE else None
        """Iterations of all loops of an invocation after which the driver ends loops; None for no limit."""
        self.name: str = properties.deviceName.decode(errors="replace")
        self.most_buffers: int = properties.maxPerStageDescriptorStorageBuffers
        self.most_bytes: int = properties.maxStorageBufferRange
        self._family = _compute_family(loader, physical)
        self._lock = threading.Lock()
        enabled, self.capabilities, self._kept = self._features()
        priority = c.c_float(1.0)
        queue = s.DeviceQueueCreateInfo(
            queueFamilyIndex=self._family, queueCount=1, pQueuePriorities=_address(priority)
        )
        create = s.DeviceCreateInfo(
            pNext=_address(enabled), queueCreateInfoCount=1, pQueueCreateInfos=_address(queue)
        )
        device = c.c_void_p()
        self._check(
            self._vk.vkCreateDevice(c.c_void_p(physical), c.byref(create), None, c.byref(device)),
            "open the device",
        )
        self._device = device
        self._queue = c.c_void_p()
        self._vk.vkGetDeviceQueue(device, self._family, 0, c.byref(self._queue))

    def _features(self) -> tuple[Any, frozenset[int], list[Any]]:
        """The available features that shaders may need, as a request and as capabilities."""
        bytes_, halves, small = s.Storage8BitFeatures(), s.Storage16BitFeatures(), s.Float16Int8Features()
        halves.pNext, bytes_.pNext = _address(bytes_), _address(small)
        asked = s.PhysicalDeviceFeatures2(pNext=_address(halves))
        self._vk.vkGetPhysicalDeviceFeatures2(c.c_void_p(self._physical), c.byref(asked))
        found = asked.features
        there = {
            Capability.Shader: True,
            Capability.Float64: found.shaderFloat64,
            Capability.Int64: found.shaderInt64,
            Capability.Int16: found.shaderInt16,
            Capability.Int8: small.shaderInt8,
            Capability.StorageBuffer16BitAccess: halves.storageBuffer16BitAccess,
            Capability.StorageBuffer8BitAccess: bytes_.storageBuffer8BitAccess,
        }
        # Accesses beyond a buffer are caught where all else has failed.
        enabled = s.PhysicalDeviceFeatures(
            robustBufferAccess=found.robustBufferAccess,
            shaderFloat64=found.shaderFloat64,
            shaderInt64=found.shaderInt64,
            shaderInt16=found.shaderInt16,
        )
        asked.features = enabled
        return asked, frozenset(one for one, is_there in there.items() if is_there), [bytes_, halves, small]

    def _check(self, result: int, what: str) -> None:
        if result < 0:
            text = _RESULTS.get(result, f"error {result}")
            code = Error.MemoryAllocationFailed if result in _OUT_OF_MEMORY else Error.DelegateInvalidHandle
            raise ExecutorchError(code, f"the Vulkan device {self.name} cannot {what}: {text}")

    def _create(self, function: Any, info: Any, what: str) -> int:
        made = c.c_uint64()
        self._check(function(self._device, c.byref(info), None, c.byref(made)), what)
        return made.value

    def _destroy(self, function: Any, handle: int) -> None:
        function(self._device, c.c_uint64(handle), None)

    # -- memory

    def allocate(self, nbytes: int) -> Memory:
        """A buffer, mapped. Raises ExecutorchError(MemoryAllocationFailed) if there is no room."""
        info = s.BufferCreateInfo(size=nbytes, usage=_STORAGE_BUFFER_USAGE)
        with ExitStack() as made:
            buffer = self._create(self._vk.vkCreateBuffer, info, f"make a buffer of {nbytes:,} bytes")
            made.callback(self._destroy, self._vk.vkDestroyBuffer, buffer)
            needs = s.MemoryRequirements()
            self._vk.vkGetBufferMemoryRequirements(self._device, c.c_uint64(buffer), c.byref(needs))
            request = s.MemoryAllocateInfo(
                allocationSize=needs.size, memoryTypeIndex=self._memory_type(needs.memoryTypeBits)
            )
            allocation = self._create(self._vk.vkAllocateMemory, request, f"allocate {needs.size:,} bytes")
            made.callback(self._destroy, self._vk.vkFreeMemory, allocation)
            bound = self._vk.vkBindBufferMemory(
                self._device, c.c_uint64(buffer), c.c_uint64(allocation), c.c_uint64(0)
            )
            self._check(bound, "bind memory")
            place = c.c_void_p()
            mapping = self._vk.vkMapMemory(
                self._device, c.c_uint64(allocation), c.c_uint64(0), c.c_uint64(nbytes), 0, c.byref(place)
            )
            self._check(mapping, "map memory")
            assert place.value is not None
            mapped = (c.c_uint8 * nbytes).from_address(place.value)
            made.pop_all()
            return Memory(buffer, allocation, np.frombuffer(memoryview(mapped), np.uint8))

    def free(self, memory: Memory) -> None:
        """Give a buffer back."""
        self._destroy(self._vk.vkDestroyBuffer, memory.buffer)
        self._destroy(self._vk.vkFreeMemory, memory.allocation)

    def _memory_type(self, allowed: int) -> int:
        """Memory that the process writes to, on the device if there is such."""
        properties = s.MemoryProperties()
        self._vk.vkGetPhysicalDeviceMemoryProperties(c.c_void_p(self._physical), c.byref(properties))
        visible = _HOST_VISIBLE | _HOST_COHERENT
        for wanted in (visible | _DEVICE_LOCAL | _HOST_CACHED, visible | _DEVICE_LOCAL, visible):
            for number in range(properties.memoryTypeCount):
                flags = properties.memoryTypes[number].propertyFlags
                if allowed >> number & 1 and flags & wanted == wanted:
                    return number
        raise ExecutorchError(
            Error.NotSupported, f"the Vulkan device {self.name} has no memory that the process can write to"
        )

    # -- shaders

    def pipeline(self, code: bytes | memoryview, buffers: int, words: int) -> Pipeline:
        """Compile a shader. Raises ExecutorchError(DelegateInvalidHandle) where the driver refuses it."""
        bindings = (s.DescriptorSetLayoutBinding * max(1, buffers))(
            *(
                s.DescriptorSetLayoutBinding(number, _STORAGE_BUFFER, 1, _COMPUTE_STAGE, None)
                for number in range(buffers)
            )
        )
        info = s.DescriptorSetLayoutCreateInfo(bindingCount=buffers, pBindings=_address(bindings))
        with ExitStack() as made:
            sets = c.c_uint64(self._create(self._vk.vkCreateDescriptorSetLayout, info, "describe buffers"))
            made.callback(self._destroy, self._vk.vkDestroyDescriptorSetLayout, sets.value)
            pushed = s.PushConstantRange(_COMPUTE_STAGE, 0, 4 * words)
            info = s.PipelineLayoutCreateInfo(
                setLayoutCount=1,
                pSetLayouts=_address(sets),
                pushConstantRangeCount=1 if words else 0,
                pPushConstantRanges=_address(pushed),
            )
            layout = self._create(self._vk.vkCreatePipelineLayout, info, "describe a shader's arguments")
            made.callback(self._destroy, self._vk.vkDestroyPipelineLayout, layout)
            pipeline = self._compiled(code, layout)
            made.pop_all()
            return Pipeline(sets.value, layout, pipeline)

    def _compiled(self, code: bytes | memoryview, layout: int) -> int:
        data = c.create_string_buffer(bytes(code), len(code))
        info = s.ShaderModuleCreateInfo(codeSize=len(code), pCode=_address(data))
        module = self._create(self._vk.vkCreateShaderModule, info, "read a shader")
        stage = s.PipelineShaderStageCreateInfo(stage=_COMPUTE_STAGE, module=module, pName=ENTRY.encode())
        info = s.ComputePipelineCreateInfo(stage=stage, layout=layout, basePipelineIndex=-1)
        made = c.c_uint64()
        result = self._vk.vkCreateComputePipelines(
            self._device, c.c_uint64(0), 1, c.byref(info), None, c.byref(made)
        )
        self._destroy(self._vk.vkDestroyShaderModule, module)
        self._check(result, "compile a shader")
        return made.value

    def destroy_pipeline(self, pipeline: Pipeline) -> None:
        """Give a shader back."""
        self._destroy(self._vk.vkDestroyPipeline, pipeline.pipeline)
        self._destroy(self._vk.vkDestroyPipelineLayout, pipeline.layout)
        self._destroy(self._vk.vkDestroyDescriptorSetLayout, pipeline.set_layout)

    # -- commands

    def record(self, memory: Memory, dispatches: Sequence[Dispatch]) -> Recording:
        """Record dispatches, each of which sees the writes of those before it."""
        count = sum(len(one.bindings) for one in dispatches)
        size = s.DescriptorPoolSize(_STORAGE_BUFFER, max(1, count))
        info = s.DescriptorPoolCreateInfo(maxSets=len(dispatches), poolSizeCount=1, pPoolSizes=_address(size))
        with ExitStack() as made:
            descriptors = self._create(self._vk.vkCreateDescriptorPool, info, "allocate descriptors")
            made.callback(self._destroy, self._vk.vkDestroyDescriptorPool, descriptors)
            info = s.CommandPoolCreateInfo(queueFamilyIndex=self._family)
            pool = self._create(self._vk.vkCreateCommandPool, info, "allocate commands")
            made.callback(self._destroy, self._vk.vkDestroyCommandPool, pool)
            info = s.CommandBufferAllocateInfo(commandPool=pool, commandBufferCount=1)
            commands = c.c_void_p()
            self._check(
                self._vk.vkAllocateCommandBuffers(self._device, c.byref(info), c.byref(commands)),
                "allocate commands",
            )
            info = s.CommandBufferBeginInfo()
            self._check(self._vk.vkBeginCommandBuffer(commands, c.byref(info)), "record commands")
            for one in dispatches:
                self._record(commands, memory, descriptors, one)
                self._barrier(commands, _SHADER_STAGE, _SHADER_READ | _SHADER_WRITE)
            self._barrier(commands, _HOST_STAGE, _HOST_READ)
            self._check(self._vk.vkEndCommandBuffer(commands), "record commands")
            fence = self._create(self._vk.vkCreateFence, s.FenceCreateInfo(), "make a fence")
            assert commands.value is not None
            made.pop_all()
            return Recording(descriptors, commands.value, pool, fence)

    def _record(self, commands: c.c_void_p, memory: Memory, descriptors: int, one: Dispatch) -> None:
        layout = c.c_uint64(one.pipeline.set_layout)
        info = s.DescriptorSetAllocateInfo(
            descriptorPool=descriptors, descriptorSetCount=1, pSetLayouts=_address(layout)
        )
        made = c.c_uint64()
        self._check(
            self._vk.vkAllocateDescriptorSets(self._device, c.byref(info), c.byref(made)),
            "allocate descriptors",
        )
        ranges = [s.DescriptorBufferInfo(memory.buffer, at, nbytes) for at, nbytes in one.bindings]
        writes = (s.WriteDescriptorSet * max(1, len(ranges)))(
            *(
                s.WriteDescriptorSet(
                    dstSet=made.value,
                    dstBinding=number,
                    descriptorCount=1,
                    descriptorType=_STORAGE_BUFFER,
                    pBufferInfo=_address(each),
                )
                for number, each in enumerate(ranges)
            )
        )
        self._vk.vkUpdateDescriptorSets(self._device, len(ranges), writes, 0, None)
        self._vk.vkCmdBindPipeline(commands, _BIND_COMPUTE, c.c_uint64(one.pipeline.pipeline))
        self._vk.vkCmdBindDescriptorSets(
            commands, _BIND_COMPUTE, c.c_uint64(one.pipeline.layout), 0, 1, c.byref(made), 0, None
        )
        if one.words:
            words = (c.c_int32 * len(one.words))(*one.words)
            self._vk.vkCmdPushConstants(
                commands, c.c_uint64(one.pipeline.layout), _COMPUTE_STAGE, 0, 4 * len(one.words), words
            )
        self._vk.vkCmdDispatch(commands, *one.groups, 1)

    def _barrier(self, commands: c.c_void_p, stage: int, access: int) -> None:
        """Make the writes of preceding shaders visible to the following stage."""
        barrier = s.MemoryBarrier(srcAccessMask=_SHADER_WRITE, dstAccessMask=access)
        self._vk.vkCmdPipelineBarrier(
            commands, _SHADER_STAGE, stage, 0, 1, c.byref(barrier), 0, None, 0, None
        )

    def run(self, recording: Recording) -> None:
        """Submit commands and wait for their end."""
        commands, fence = c.c_void_p(recording.commands), c.c_uint64(recording.fence)
        info = s.SubmitInfo(commandBufferCount=1, pCommandBuffers=_address(commands))
        with self._lock:
            self._check(self._vk.vkQueueSubmit(self._queue, 1, c.byref(info), fence), "take commands")
        result = self._vk.vkWaitForFences(self._device, 1, c.byref(fence), 1, c.c_uint64(_FOREVER))
        self._check(result, "finish")
        self._check(self._vk.vkResetFences(self._device, 1, c.byref(fence)), "reset a fence")

    def destroy_recording(self, recording: Recording) -> None:
        """Give commands back."""
        self._destroy(self._vk.vkDestroyFence, recording.fence)
        self._destroy(self._vk.vkDestroyCommandPool, recording.pool)
        self._destroy(self._vk.vkDestroyDescriptorPool, recording.descriptors)


def _address(structure: Any) -> int:
    return c.addressof(structure)


@cache
def open_device() -> Device:
    """The device selected by the environment variable `ET_VM_VULKAN_DEVICE`, or the best one available.

    Raises ExecutorchError(NotFound) without a loader, a driver, or such a device, with what to install.
    """
    loader = _loader()
    name = b"et-vm"
    application = s.ApplicationInfo(pApplicationName=name, apiVersion=API_VERSION)
    create = s.InstanceCreateInfo(pApplicationInfo=_address(application))
    instance = c.c_void_p()
    result = loader.vkCreateInstance(c.byref(create), None, c.byref(instance))
    if result < 0:
        text = _RESULTS.get(result, f"error {result}")
        raise ExecutorchError(Error.NotFound, f"no Vulkan driver: {text}", hint=PACKAGES)
    count = c.c_uint32()
    loader.vkEnumeratePhysicalDevices(instance, c.byref(count), None)
    physical = (c.c_void_p * max(1, count.value))()
    loader.vkEnumeratePhysicalDevices(instance, c.byref(count), physical)
    return Device(loader, _chosen(loader, [one for one in physical[: count.value] if one is not None]))


def _loader() -> c.CDLL:
    for name in ("libvulkan.so.1", find_library("vulkan"), "vulkan-1.dll", "libvulkan.1.dylib"):
        if name is None:
            continue
        try:
            return c.CDLL(name)
        except OSError:
            continue
    raise ExecutorchError(
        Error.NotFound, "the Vulkan loader (libvulkan.so.1) is not installed", hint=PACKAGES
    )


def _chosen(loader: c.CDLL, devices: Iterable[int]) -> int:
    """A device of Vulkan 1.2 with a queue that computes."""
    fitting: list[tuple[int, str, int]] = []
    seen: list[str] = []
    for number, physical in enumerate(devices):
        properties = s.PhysicalDeviceProperties()
        loader.vkGetPhysicalDeviceProperties(c.c_void_p(physical), c.byref(properties))
        name = properties.deviceName.decode(errors="replace")
        kind = min(properties.deviceType, len(_DEVICE_TYPES) - 1)
        version = f"{properties.apiVersion >> 22}.{properties.apiVersion >> 12 & 0x3FF}"
        seen.append(f"{number}: {name} ({_DEVICE_TYPES[kind]}, Vulkan {version})")
        wanted = os.environ.get(DEVICE_VARIABLE, "")
        asked = wanted in ("", str(number)) or (not wanted.isdecimal() and wanted in name)
        if asked and properties.apiVersion >= API_VERSION and _compute_family(loader, physical) >= 0:
            fitting.append((_PREFERRED.index(kind), name, physical))
    if fitting:
        return min(fitting, key=lambda one: one[0])[2]
    there = "; ".join(seen) or "none"
    wanted = (
        f" matching {DEVICE_VARIABLE}={os.environ[DEVICE_VARIABLE]}" if DEVICE_VARIABLE in os.environ else ""
    )
    raise ExecutorchError(
        Error.NotFound,
        f"no Vulkan device{wanted} with compute support and Vulkan 1.2 or later; available: {there}",
        hint=PACKAGES,
    )


def _compute_family(loader: c.CDLL, physical: int) -> int:
    """The number of a family of queues that compute; -1 where there is none."""
    count = c.c_uint32()
    loader.vkGetPhysicalDeviceQueueFamilyProperties(c.c_void_p(physical), c.byref(count), None)
    families = (s.QueueFamilyProperties * max(1, count.value))()
    loader.vkGetPhysicalDeviceQueueFamilyProperties(c.c_void_p(physical), c.byref(count), families)
    for number in range(count.value):
        if families[number].queueFlags & _COMPUTE:
            return number
    return -1
