# SPDX-License-Identifier: MIT
"""A GPU for programs in Python, by the driver alone (fake_cuda.c, or a real one), and classes whose
objects have its memory and say so by each of the protocols that other packages use.

An object's elements are written late: the copy that fills them is only queued, in `work` or in the
stream that the protocol names.
"""

import array
import ctypes
import sys
import types

_cuda = ctypes.CDLL("libcuda.so.1")
_handle, _size = ctypes.c_void_p, ctypes.c_size_t
for _name, _arguments in (
        ("cuMemAlloc_v2", [ctypes.POINTER(ctypes.c_uint64), _size]),
        ("cuMemFree_v2", [ctypes.c_uint64]),
        ("cuMemcpyAsync", [ctypes.c_uint64, ctypes.c_uint64, _size, _handle]),
        ("cuStreamCreate", [ctypes.POINTER(_handle), ctypes.c_uint]),
        ("cuStreamSynchronize", [_handle]),
        ("cuStreamBeginCapture_v2", [_handle, ctypes.c_int]),
        ("cuStreamEndCapture", [_handle, ctypes.POINTER(_handle)]),
        ("cuDevicePrimaryCtxRetain", [ctypes.POINTER(_handle), ctypes.c_int]),
        ("cuCtxGetCurrent", [ctypes.POINTER(_handle)]),
        ("cuCtxPushCurrent_v2", [_handle])):
    getattr(_cuda, _name).argtypes = _arguments

LEGACY = 1
is_fake = hasattr(_cuda, "fakeCudaCount")  # whose work is done only when it is waited for


def must(result):
    assert result == 0, result


def stream():
    made = _handle()
    must(_cuda.cuStreamCreate(ctypes.byref(made), 1))
    return made.value


_context = _handle()


def enter():
    """Makes the GPU's primary context current in this thread, as torch does."""
    current = _handle()
    must(_cuda.cuCtxGetCurrent(ctypes.byref(current)))
    if not current:
        must(_cuda.cuCtxPushCurrent_v2(_context))


must(_cuda.cuInit(0))
must(_cuda.cuDevicePrimaryCtxRetain(ctypes.byref(_context), 0))
enter()
work, reader = stream(), stream()
_sources = []  # what is queued reads them at some time


def capture(of):
    """Begins a capture of the stream; returns a function that ends it, and says if it is whole."""
    must(_cuda.cuStreamBeginCapture_v2(of, 2))
    return lambda: _cuda.cuStreamEndCapture(of, ctypes.byref(_handle())) == 0


def fill(address, values):
    """Queues it in `work`."""
    source = array.array("i", values)
    _sources.append(source)
    enter()
    must(_cuda.cuMemcpyAsync(address, source.buffer_info()[0], 4 * len(source), work))


class Memory:
    """Elements in the memory of GPU 0. `values`: what it is filled with, in the stream `at`."""

    def __init__(self, values, letter="i", at=None):
        self.letter, self.count = letter, len(values)
        self.itemsize = array.array(letter).itemsize
        self.size = self.itemsize * self.count
        address = ctypes.c_uint64()
        must(_cuda.cuMemAlloc_v2(ctypes.byref(address), max(self.size, 1)))
        self.address = address.value
        self.fill(values, at)

    def fill(self, values, at=None):
        source, self.at = array.array(self.letter, values), at or work
        _sources.append(source)
        enter()
        must(_cuda.cuMemcpyAsync(self.address, source.buffer_info()[0], self.size, self.at))

    def read(self):
        """Its elements now: work that is only queued in other streams is not waited for."""
        out = array.array(self.letter, bytes(self.size))
        enter()
        must(_cuda.cuMemcpyAsync(out.buffer_info()[0], self.address, self.size, reader))
        must(_cuda.cuStreamSynchronize(reader))
        return out.tolist()

    def __del__(self):
        _cuda.cuStreamSynchronize(self.at)
        _cuda.cuMemFree_v2(self.address)


# ---- __cuda_array_interface__ ----

class Described(Memory):
    """Names its stream, as version 3 can. `changes`: other members of the interface."""

    stream, version, changes = work, 3, {}

    @property
    def __cuda_array_interface__(self):
        about = {"shape": (self.count,), "typestr": "<%s%d" % (
            {"i": "i", "d": "f", "B": "u", "q": "i"}[self.letter], self.itemsize),
                 "data": (self.address, False), "version": self.version}
        if self.version == 3:
            about.update(strides=None, stream=self.stream)
        about.update(self.changes)
        return about


class DescribedBefore(Described):
    """Has an interface without streams."""

    version = 2


# ---- DLPack ----

class _Exported(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("ctx", _handle),
                ("deleter", _handle), ("flags", ctypes.c_uint64), ("data", _handle),
                ("device", ctypes.c_int32), ("number", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", _handle), ("strides", _handle), ("offset", ctypes.c_uint64)]


_Destructor = ctypes.CFUNCTYPE(None, _handle)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, _handle, ctypes.c_char_p, _handle)(
    ("PyCapsule_New", ctypes.pythonapi))
_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, _handle)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule_at = ctypes.PYFUNCTYPE(_handle, _handle, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))
_names = (b"dltensor", b"dltensor_versioned")
exports = {}  # by address: what capsules that are alive have


def _free_export(capsule):
    del exports[_capsule_at(capsule, _capsule_name(capsule))]


_free_export = _Destructor(_free_export)


class Exporting(Memory):
    """Is filled in the stream that it is given when it is exported, and counts exports."""

    versions, device, number, flags, major = (1, 0), 2, 0, 0, 1
    kind, shape, strides, offset = None, None, None, 0

    def fill(self, values, at=None):
        self.values, self.at = values, LEGACY

    def __dlpack_device__(self):
        return (self.device, self.number)

    def _capsule(self, stream, is_versioned):
        assert stream == LEGACY
        if self.values is not None:
            Memory.fill(self, self.values, stream)
        self.values = None
        shape, strides = (array.array("q", v or ()) for v in (self.shape or [self.count],
                                                                self.strides))
        kind = self.kind or ({"i": 0, "q": 0, "B": 1, "d": 2}[self.letter], 8 * self.itemsize)
        made = _Exported(self.major, 0, None, None, self.flags, self.address - self.offset,
                         self.device, self.number, len(shape), *kind, 1, shape.buffer_info()[0],
                         strides.buffer_info()[0] if strides else None, self.offset)
        at = ctypes.addressof(made) + (0 if is_versioned else _Exported.data.offset)
        exports[at] = (made, shape, strides, self)
        return _new_capsule(at, _names[is_versioned], ctypes.cast(_free_export, _handle))

    def __dlpack__(self, *, stream=None, max_version=None):
        return self._capsule(stream, max_version is not None)


class ExportingBefore(Exporting):
    """Is of a time before DLPack 1.0."""

    def __dlpack__(self, stream=None):
        return self._capsule(stream, False)


# ---- torch ----

class Device(types.SimpleNamespace):
    def __str__(self):
        return self.type


class Tensor(Memory):
    """As much of torch.Tensor as the library asks for."""

    requires_grad, is_right = False, True
    layout, element_type, place = "strided", None, "cuda"

    @property
    def device(self):
        return Device(type=self.place, index=0 if self.place == "cuda" else None)

    @property
    def dtype(self):
        return "torch." + (self.element_type or {"i": "int32", "q": "int64", "d": "float64",
                                                 "B": "uint8"}[self.letter])

    @property
    def shape(self):
        return (self.count,)

    def is_contiguous(self):
        return self.is_right

    def is_conj(self):
        return False

    is_neg = is_conj

    def element_size(self):
        return self.itemsize

    def data_ptr(self):
        return self.address


def current_stream(device):
    assert device.type == "cuda"
    return types.SimpleNamespace(cuda_stream=work)


def pretend_torch():
    """Puts a module torch where programs import it from."""
    torch = types.ModuleType("torch")
    torch.Tensor, torch.strided = Tensor, "strided"
    torch.version = types.SimpleNamespace(hip=None)
    torch.cuda = types.SimpleNamespace(current_stream=current_stream)
    sys.modules["torch"] = torch
