"""C structures of Vulkan 1.2 needed for compute. Fields are named as in the specification."""

from __future__ import annotations

import ctypes as c
from typing import Any, ClassVar, Final

__all__ = [
    "ApplicationInfo",
    "BufferCreateInfo",
    "CommandBufferAllocateInfo",
    "CommandBufferBeginInfo",
    "CommandPoolCreateInfo",
    "ComputePipelineCreateInfo",
    "DescriptorBufferInfo",
    "DescriptorPoolCreateInfo",
    "DescriptorPoolSize",
    "DescriptorSetAllocateInfo",
    "DescriptorSetLayoutBinding",
    "DescriptorSetLayoutCreateInfo",
    "DeviceCreateInfo",
    "DeviceQueueCreateInfo",
    "DriverProperties",
    "FenceCreateInfo",
    "Float16Int8Features",
    "InstanceCreateInfo",
    "MemoryAllocateInfo",
    "MemoryBarrier",
    "MemoryProperties",
    "MemoryRequirements",
    "PhysicalDeviceFeatures",
    "PhysicalDeviceFeatures2",
    "PhysicalDeviceProperties",
    "PhysicalDeviceProperties2",
    "PipelineLayoutCreateInfo",
    "PipelineShaderStageCreateInfo",
    "PushConstantRange",
    "QueueFamilyProperties",
    "ShaderModuleCreateInfo",
    "Storage8BitFeatures",
    "Storage16BitFeatures",
    "Structure",
    "SubmitInfo",
    "WriteDescriptorSet",
]

_U32, _U64, _POINTER = c.c_uint32, c.c_uint64, c.c_void_p


class Structure(c.Structure):
    """A structure that starts with its type, a number, and a pointer to the next one."""

    type_number: ClassVar[int] = 0

    def __init__(self, **fields: Any):
        super().__init__(sType=self.type_number, **fields)


def _chained(number: int, *fields: tuple[str, Any]) -> dict[str, Any]:
    return {"type_number": number, "_fields_": [("sType", _U32), ("pNext", _POINTER), *fields]}


def _structure(name: str, number: int, *fields: tuple[str, Any]) -> type[Structure]:
    return type(name, (Structure,), _chained(number, *fields))


ApplicationInfo: Final = _structure(
    "ApplicationInfo",
    0,
    ("pApplicationName", c.c_char_p),
    ("applicationVersion", _U32),
    ("pEngineName", c.c_char_p),
    ("engineVersion", _U32),
    ("apiVersion", _U32),
)
InstanceCreateInfo: Final = _structure(
    "InstanceCreateInfo",
    1,
    ("flags", _U32),
    ("pApplicationInfo", _POINTER),
    ("enabledLayerCount", _U32),
    ("ppEnabledLayerNames", _POINTER),
    ("enabledExtensionCount", _U32),
    ("ppEnabledExtensionNames", _POINTER),
)
DeviceQueueCreateInfo: Final = _structure(
    "DeviceQueueCreateInfo",
    2,
    ("flags", _U32),
    ("queueFamilyIndex", _U32),
    ("queueCount", _U32),
    ("pQueuePriorities", _POINTER),
)
DeviceCreateInfo: Final = _structure(
    "DeviceCreateInfo",
    3,
    ("flags", _U32),
    ("queueCreateInfoCount", _U32),
    ("pQueueCreateInfos", _POINTER),
    ("enabledLayerCount", _U32),
    ("ppEnabledLayerNames", _POINTER),
    ("enabledExtensionCount", _U32),
    ("ppEnabledExtensionNames", _POINTER),
    ("pEnabledFeatures", _POINTER),
)
SubmitInfo: Final = _structure(
    "SubmitInfo",
    4,
    ("waitSemaphoreCount", _U32),
    ("pWaitSemaphores", _POINTER),
    ("pWaitDstStageMask", _POINTER),
    ("commandBufferCount", _U32),
    ("pCommandBuffers", _POINTER),
    ("signalSemaphoreCount", _U32),
    ("pSignalSemaphores", _POINTER),
)
MemoryAllocateInfo: Final = _structure(
    "MemoryAllocateInfo", 5, ("allocationSize", _U64), ("memoryTypeIndex", _U32)
)
FenceCreateInfo: Final = _structure("FenceCreateInfo", 8, ("flags", _U32))
BufferCreateInfo: Final = _structure(
    "BufferCreateInfo",
    12,
    ("flags", _U32),
    ("size", _U64),
    ("usage", _U32),
    ("sharingMode", _U32),
    ("queueFamilyIndexCount", _U32),
    ("pQueueFamilyIndices", _POINTER),
)
ShaderModuleCreateInfo: Final = _structure(
    "ShaderModuleCreateInfo", 16, ("flags", _U32), ("codeSize", c.c_size_t), ("pCode", _POINTER)
)
PipelineShaderStageCreateInfo: Final = _structure(
    "PipelineShaderStageCreateInfo",
    18,
    ("flags", _U32),
    ("stage", _U32),
    ("module", _U64),
    ("pName", c.c_char_p),
    ("pSpecializationInfo", _POINTER),
)
ComputePipelineCreateInfo: Final = _structure(
    "ComputePipelineCreateInfo",
    29,
    ("flags", _U32),
    ("stage", PipelineShaderStageCreateInfo),
    ("layout", _U64),
    ("basePipelineHandle", _U64),
    ("basePipelineIndex", c.c_int32),
)
PipelineLayoutCreateInfo: Final = _structure(
    "PipelineLayoutCreateInfo",
    30,
    ("flags", _U32),
    ("setLayoutCount", _U32),
    ("pSetLayouts", _POINTER),
    ("pushConstantRangeCount", _U32),
    ("pPushConstantRanges", _POINTER),
)
DescriptorSetLayoutCreateInfo: Final = _structure(
    "DescriptorSetLayoutCreateInfo", 32, ("flags", _U32), ("bindingCount", _U32), ("pBindings", _POINTER)
)
DescriptorPoolCreateInfo: Final = _structure(
    "DescriptorPoolCreateInfo",
    33,
    ("flags", _U32),
    ("maxSets", _U32),
    ("poolSizeCount", _U32),
    ("pPoolSizes", _POINTER),
)
DescriptorSetAllocateInfo: Final = _structure(
    "DescriptorSetAllocateInfo",
    34,
    ("descriptorPool", _U64),
    ("descriptorSetCount", _U32),
    ("pSetLayouts", _POINTER),
)
WriteDescriptorSet: Final = _structure(
    "WriteDescriptorSet",
    35,
    ("dstSet", _U64),
    ("dstBinding", _U32),
    ("dstArrayElement", _U32),
    ("descriptorCount", _U32),
    ("descriptorType", _U32),
    ("pImageInfo", _POINTER),
    ("pBufferInfo", _POINTER),
    ("pTexelBufferView", _POINTER),
)
CommandPoolCreateInfo: Final = _structure(
    "CommandPoolCreateInfo", 39, ("flags", _U32), ("queueFamilyIndex", _U32)
)
CommandBufferAllocateInfo: Final = _structure(
    "CommandBufferAllocateInfo", 40, ("commandPool", _U64), ("level", _U32), ("commandBufferCount", _U32)
)
CommandBufferBeginInfo: Final = _structure(
    "CommandBufferBeginInfo", 42, ("flags", _U32), ("pInheritanceInfo", _POINTER)
)
MemoryBarrier: Final = _structure("MemoryBarrier", 46, ("srcAccessMask", _U32), ("dstAccessMask", _U32))


DriverProperties: Final = _structure(
    "DriverProperties",
    1000196000,
    ("driverID", _U32),
    ("driverName", c.c_char * 256),
    ("driverInfo", c.c_char * 256),
    ("conformanceVersion", _U32),
)


class DescriptorSetLayoutBinding(c.Structure):
    _fields_ = (
        ("binding", _U32),
        ("descriptorType", _U32),
        ("descriptorCount", _U32),
        ("stageFlags", _U32),
        ("pImmutableSamplers", _POINTER),
    )


class DescriptorPoolSize(c.Structure):
    _fields_ = (("type", _U32), ("descriptorCount", _U32))


class DescriptorBufferInfo(c.Structure):
    _fields_ = (("buffer", _U64), ("offset", _U64), ("range", _U64))


class PushConstantRange(c.Structure):
    _fields_ = (("stageFlags", _U32), ("offset", _U32), ("size", _U32))


class MemoryRequirements(c.Structure):
    _fields_ = (("size", _U64), ("alignment", _U64), ("memoryTypeBits", _U32))


class _MemoryType(c.Structure):
    _fields_ = (("propertyFlags", _U32), ("heapIndex", _U32))


class _MemoryHeap(c.Structure):
    _fields_ = (("size", _U64), ("flags", _U32))


class MemoryProperties(c.Structure):
    _fields_ = (
        ("memoryTypeCount", _U32),
        ("memoryTypes", _MemoryType * 32),
        ("memoryHeapCount", _U32),
        ("memoryHeaps", _MemoryHeap * 16),
    )


class QueueFamilyProperties(c.Structure):
    _fields_ = (
        ("queueFlags", _U32),
        ("queueCount", _U32),
        ("timestampValidBits", _U32),
        ("minImageTransferGranularity", _U32 * 3),
    )


class PhysicalDeviceProperties(c.Structure):
    """Properties of a device; only the first of its limits are named."""

    _fields_ = (
        ("apiVersion", _U32),
        ("driverVersion", _U32),
        ("vendorID", _U32),
        ("deviceID", _U32),
        ("deviceType", _U32),
        ("deviceName", c.c_char * 256),
        ("pipelineCacheUUID", c.c_uint8 * 16),
        ("_padding", _U32),
        ("_imageLimits", _U32 * 7),
        ("maxStorageBufferRange", _U32),
        ("maxPushConstantsSize", _U32),
        ("_allocationLimits", _U32 * 3),
        ("_granularities", _U64 * 2),
        ("_setLimits", _U32 * 3),
        ("maxPerStageDescriptorStorageBuffers", _U32),
        ("_otherLimits", c.c_uint8 * 512),
    )


PhysicalDeviceProperties2: Final = _structure(
    "PhysicalDeviceProperties2", 1000059001, ("properties", PhysicalDeviceProperties)
)


class PhysicalDeviceFeatures(c.Structure):
    """Features of Vulkan 1.0: 55 of them, of which computing needs these."""

    _fields_ = (
        ("robustBufferAccess", _U32),
        ("_graphics", _U32 * 38),
        ("shaderFloat64", _U32),
        ("shaderInt64", _U32),
        ("shaderInt16", _U32),
        ("_others", _U32 * 13),
    )


PhysicalDeviceFeatures2: Final = _structure(
    "PhysicalDeviceFeatures2", 1000059000, ("features", PhysicalDeviceFeatures)
)
Float16Int8Features: Final = _structure(
    "Float16Int8Features", 1000082000, ("shaderFloat16", _U32), ("shaderInt8", _U32)
)
Storage16BitFeatures: Final = _structure(
    "Storage16BitFeatures",
    1000083000,
    ("storageBuffer16BitAccess", _U32),
    ("uniformAndStorageBuffer16BitAccess", _U32),
    ("storagePushConstant16", _U32),
    ("storageInputOutput16", _U32),
)
Storage8BitFeatures: Final = _structure(
    "Storage8BitFeatures",
    1000177000,
    ("storageBuffer8BitAccess", _U32),
    ("uniformAndStorageBuffer8BitAccess", _U32),
    ("storagePushConstant8", _U32),
)
