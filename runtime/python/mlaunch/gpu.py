# SPDX-License-Identifier: MIT
"""Buffers of calls in the memory of NVIDIA GPUs, as other packages' objects describe them.

    x = cupy.arange(1000.0)
    w.all_reduce(x)             # torch.Tensor, cupy.ndarray, numba's arrays, jax.Array …

An object is taken if it is a tensor of torch on a CUDA device, or has __cuda_array_interface__ or
__dlpack__. A call waits for the work in one stream before it reads the memory: torch's current
stream, or the one that the interface names; DLPack's producer is told to order its work before the
legacy default stream. Buffers whose interface names no stream, and buffers of one call with
different streams, make it wait for all work in their contexts, which is slow, but never wrong.
Work that is queued after a call, in any stream, sees its result.

mlaunch.h(3), "GPU memory", says the rest. This module is imported when a call first needs it.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
import sys

from ._argument import BFLOAT16, BufferTypeError, ERR_ARGUMENT, ERR_DEVICE, Error, _need, _type_of
from ._library import _python_function

__all__: list = []

_MOST = (1 << 62) - 1  # bytes
_LEGACY = 1  # the default stream, as a handle


class Memory:
    """Memory that an object has on a GPU. The object's memory exists as long as this does."""

    def __init__(self, keeps, address, shape, itemsize, form, kind, stream):
        self.keeps, self.shape = keeps, shape
        self.size = math.prod(shape) * itemsize
        self.address = address if self.size else None
        self.itemsize, self.format, self.type = itemsize, form, kind
        # Its handle; None: any. The default one has two names.
        self.stream = _LEGACY if stream == 0 else stream


def find(what, obj, writable):
    """The Memory of `obj`, the argument `what` of a call; None: it is not on a GPU."""
    torch = sys.modules.get("torch")
    if isinstance(obj, getattr(torch, "Tensor", ())):
        return _find_tensor(torch, what, obj, writable)
    described, memory = _described(what, obj), None
    if described is not None:
        memory = _guarded(what, obj, "__cuda_array_interface__", _find_described, described,
                          writable)
    # Types that the interface has no letter for, such as bfloat16, are known to DLPack.
    if (memory is None or memory.format[1:2] == "V") and hasattr(obj, "__dlpack_device__"):
        memory = _guarded(what, obj, "__dlpack__", _find_dlpack, writable) or memory
    return memory


def _name(obj):
    return "%s.%s" % (type(obj).__module__.split(".")[0], type(obj).__name__)


def _guarded(what, obj, protocol, function, *arguments):
    """The result of `function`. What is wrong in what the object says becomes a sentence."""
    try:
        return function(what, obj, *arguments)
    except Error:
        raise
    except (ArithmeticError, AttributeError, BufferError, LookupError, RuntimeError, TypeError,
            ValueError) as e:
        raise Error(ERR_ARGUMENT, "%s: %s does not give its GPU memory by %s: %s: %s" % (
            what, _name(obj), protocol, type(e).__name__, e)) from None


def _need_in_order(condition, what, obj, remedy):
    if not condition:
        raise BufferTypeError(ERR_ARGUMENT, "%s: %s can't be used as a contiguous buffer: its "
                              "elements don't lie one after the other in C's order: give %s" % (
                                  what, _name(obj), remedy))


def _need_writable(condition, what, obj):
    _need(condition, "%s: %s is read-only: give another array or, where the call has it, out=",
          what, _name(obj))


def _is_in_order(shape, strides, itemsize):
    """Whether elements of this size lie in C's order. strides: None, or in the unit of itemsize."""
    if strides is None or 0 in shape:
        return True
    for count, stride in zip(reversed(shape), reversed(strides)):
        if count != 1 and stride != itemsize:
            return False
        itemsize *= count
    return True


# ---- the driver ----

_TYPE, _IS_MANAGED, _ORDINAL = 2, 8, 9  # CU_POINTER_ATTRIBUTE_…
_DEVICE_TYPE = 2


@functools.lru_cache(maxsize=1)
def _driver():
    library = ctypes.CDLL("libcuda.so.1", os.RTLD_NOLOAD | os.RTLD_LAZY)
    library.cuStreamIsCapturing  # pylint: disable=pointless-statement
    function = library.cuPointerGetAttributes
    function.argtypes = [ctypes.c_uint, ctypes.POINTER(ctypes.c_int),
                         ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint64]
    return function


def _checked(what, obj, memory, device=None):
    """`memory`, if the driver knows it as what the object says it is: elsewhere the processor would
    read it. device: the GPU that the object names, or None."""
    if not memory.size:
        return memory
    try:
        attributes = _driver()
    except (OSError, AttributeError) as e:
        raise Error(ERR_DEVICE, "%s: %s is on a GPU, whose driver this process does not have: %s"
                    % (what, _name(obj), e)) from None
    values = [ctypes.c_uint(), ctypes.c_uint(), ctypes.c_int()]
    places = (ctypes.c_void_p * 3)(*(ctypes.addressof(value) for value in values))
    result = attributes(3, (ctypes.c_int * 3)(_TYPE, _IS_MANAGED, _ORDINAL), places, memory.address)
    if result:  # the call itself says why
        return memory
    kind, is_managed, ordinal = (value.value for value in values)
    _need(kind == _DEVICE_TYPE or is_managed, "%s: %s says that its memory at %#x is on a GPU, but "
          "the driver knows no such memory: it was freed, or belongs to another process", what,
          _name(obj), memory.address)
    _need(device is None or is_managed or ordinal == device,
          "%s: %s says that its memory is on GPU %d, but it is on GPU %d", what, _name(obj),
          -1 if device is None else device, ordinal)
    return memory


# ---- torch ----

_LETTERS = {"bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B",
            "uint16": "H", "uint32": "I", "uint64": "Q", "float16": "e", "float32": "f",
            "float64": "d", "complex64": "Zf", "complex128": "Zd"}


def _kind_of(name, itemsize):
    """The format and the Type of elements of this name."""
    letter = _LETTERS.get(name)
    if letter is None:
        return name, BFLOAT16 if name == "bfloat16" else None
    return letter, _type_of(letter, itemsize)


def _find_tensor(torch, what, tensor, writable):
    place = tensor.device
    if place.type == "cpu":
        return None
    _need(place.type == "cuda" and not torch.version.hip, "%s is on %s%s: calls take memory of the "
          "host and of NVIDIA's GPUs: give %s.cpu()", what, place,
          " of ROCm" if place.type == "cuda" else "", what)
    _need(tensor.layout is torch.strided, "%s is sparse: give %s.to_dense()", what, what)
    _need_in_order(tensor.is_contiguous(), what, tensor, what + ".contiguous()")
    _need(not tensor.is_conj() and not tensor.is_neg(), "%s is a view that conjugates or negates "
          "what is in memory: give %s.resolve_conj().resolve_neg()", what, what)
    _need(not writable or not tensor.requires_grad, "%s requires grad, and autograd would not see "
          "that a call has written it: give %s.detach()", what, what)
    itemsize = tensor.element_size()
    form, kind = _kind_of(str(tensor.dtype).replace("torch.", ""), itemsize)
    memory = Memory(tensor, tensor.data_ptr(), tuple(tensor.shape), itemsize, form, kind,
                    torch.cuda.current_stream(place).cuda_stream)
    return _checked(what, tensor, memory, place.index)


# ---- __cuda_array_interface__ ----

_NAMES = {"b1": "bool", "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "u1": "uint8",
          "u2": "uint16", "u4": "uint32", "u8": "uint64", "f2": "float16", "f4": "float32",
          "f8": "float64", "c8": "complex64", "c16": "complex128"}


def _described(what, obj):
    try:
        return getattr(obj, "__cuda_array_interface__", None)
    except Exception as e:  # pylint: disable=broad-except
        raise Error(ERR_ARGUMENT, "%s: %s does not give its GPU memory: %s" % (what, _name(obj), e)
                    ) from None


def _find_described(what, obj, about, writable):
    order, itemsize = about["typestr"][0], int(about["typestr"][2:])
    address, is_read_only = about["data"]
    shape, strides, stream = tuple(about["shape"]), about.get("strides"), about.get("stream")
    form, kind = _kind_of(_NAMES.get(about["typestr"][1:], about["typestr"]), itemsize)
    if itemsize > 1 and order in (">" if sys.byteorder == "little" else "<"):
        form, kind = order + form, None
    if min(shape, default=0) < 0 or itemsize < 1 or math.prod(shape) > _MOST // itemsize:
        raise ValueError("shape %s of %s" % (shape, about["typestr"]))
    if stream == 0:
        raise ValueError("the stream 0 is ambiguous, so the interface forbids it")
    _need(about.get("mask") is None, "%s: its mask would not count: give its data", what)
    _need_in_order(_is_in_order(shape, strides, itemsize), what, obj,
                   "cupy.ascontiguousarray(%s)" % what)
    _need_writable(not (writable and is_read_only), what, obj)
    return _checked(what, obj, Memory(obj, address, shape, itemsize, form, kind, stream))


# ---- DLPack ----

class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [("data", ctypes.c_void_p), ("device", _Device), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("ctx", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


_READ_ONLY, _IS_COPIED = 1, 2  # flags
_HOST, _CUDA, _CUDA_HOST, _CUDA_MANAGED = 1, 2, 3, 13
_DEVICES = {4: "an OpenCL device", 7: "a Vulkan device", 8: "a Metal device", 10: "a ROCm device",
            14: "a oneAPI device", 15: "a WebGPU device"}
_CODES = {0: "int%d", 1: "uint%d", 2: "float%d", 3: "P", 4: "bfloat%d", 5: "complex%d", 6: "bool"}

_capsule_is = _python_function("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_capsule_at = _python_function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object,
                               ctypes.c_char_p)


def _exported(obj):
    """The capsule of an object, which frees what it has when nothing refers to it."""
    try:
        return obj.__dlpack__(stream=_LEGACY, max_version=(1, 0))
    except TypeError:  # before DLPack 1.0
        return obj.__dlpack__(stream=_LEGACY)


def _tensor_of(capsule):
    """The DLTensor in a capsule, and its flags."""
    if _capsule_is(capsule, b"dltensor_versioned"):
        made = _Versioned.from_address(_capsule_at(capsule, b"dltensor_versioned"))
        if made.major != 1:
            raise ValueError("it has DLPack %d.%d, not 1" % (made.major, made.minor))
        return made.tensor, made.flags
    return _Tensor.from_address(_capsule_at(capsule, b"dltensor")), 0


def _find_dlpack(what, obj, writable):
    device = int(obj.__dlpack_device__()[0])
    if device in (_HOST, _CUDA_HOST):
        return None
    where = _DEVICES.get(device, "a device of the kind %d" % device)
    _need(device in (_CUDA, _CUDA_MANAGED), "%s: %s is on %s: calls take memory of the host and of "
          "NVIDIA's GPUs", what, _name(obj), where)
    capsule = _exported(obj)
    tensor, flags = _tensor_of(capsule)
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else None
    itemsize, rest = divmod(tensor.bits * tensor.lanes, 8)
    if rest or not itemsize or min(shape, default=0) < 0 or math.prod(shape) > _MOST // itemsize:
        raise ValueError("shape %s of elements of %d bits" % (shape, tensor.bits * tensor.lanes))
    _need_in_order(_is_in_order(shape, strides, 1), what, obj, "a copy in that order")
    _need_writable(not (writable and flags & (_READ_ONLY | _IS_COPIED)), what, obj)
    name = _CODES.get(tensor.code, "type%d_%%d" % tensor.code)
    form, kind = _kind_of(name % tensor.bits if "%" in name else name, itemsize)
    if tensor.lanes != 1:
        form, kind = "%s x %d" % (form, tensor.lanes), None
    memory = Memory(capsule, (tensor.data or 0) + tensor.byte_offset, shape, itemsize, form, kind,
                    _LEGACY)
    return _checked(what, obj, memory, None if device == _CUDA_MANAGED else tensor.device.id)
