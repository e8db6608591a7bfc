# SPDX-License-Identifier: MIT
"""Loops that outlive ranks, in a job of `mlaunch --elastic MIN`.

    import mlaunch.elastic

    state = {"weights": weights, "rate": 0.1}
    for step in mlaunch.elastic.steps(1000, state=state):
        with step as w:  # the group of the ranks that live
            gradients = compute(state["weights"], step.number, w.rank, w.size)
            w.all_reduce(gradients)
            state["weights"] -= state["rate"] * gradients

If a rank dies, the step of all others ends: what is in the `with` fails with ERR_PEER, which the
step takes. The ranks that live repair the group, and all get the state of one that has done the
most steps. The next step is the one after that; it may be the same step again. A process that takes
the place of a dead rank (`mlaunch --restarts N`) gets that state as it begins its first steps().
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import struct
import typing

from . import ERR_ARGUMENT, ERR_PEER, Error, Group, init
from ._buffer import _bytes_of, _has_pointers

__all__ = ["steps", "Step"]

State = typing.MutableMapping[str, typing.Any]

_ENTRY = struct.Struct("=16sQ")  # a value's hash and its size


class Step:
    """One step of steps(): `number` counts from 0, and `with step as w` gives the group. `failed`
    says afterwards whether it has to be done again. `renewed`: it is the first one in its group."""

    def __init__(self, number: int, group: Group, renewed: bool) -> None:
        self.number = number
        self.renewed = renewed
        self.failed = False
        self._group = group
        self._entered = False

    def __enter__(self) -> Group:
        self._entered = True
        return self._group

    def __exit__(self, kind, error, trace) -> bool:
        if isinstance(error, Error):
            self.failed = error.code == ERR_PEER
        else:  # torch's C++ makes one of an Error
            self.failed = isinstance(error, RuntimeError) and self._group.changed()
        return self.failed


class _Bytes:
    """A value of the state with memory of its own: an array, a bytearray, a tensor on the CPU."""

    def __init__(self, value):
        tensor = hasattr(value, "detach") and hasattr(value, "data_ptr")
        self._view = _bytes_of(_tensor_bytes(value) if tensor else value)
        self._copy = bytearray(self._view)

    def keep(self):
        self._copy[:] = self._view

    def back(self):
        self._view[:] = self._copy

    def read(self):
        return self._view

    def write(self, data):
        if len(data) != len(self._view):
            raise Error(ERR_ARGUMENT, "a value of the state has %d bytes here and %d in the rank "
                        "that has done the most steps" % (len(self._view), len(data)))
        self._view[:] = data


class _Object:
    """Any other value, as pickle has it, or what its state_dict() gives."""

    def __init__(self, state, name):
        self._state = state
        self._name = name
        self.keep()

    def _loads(self, data):
        value = self._state[self._name]
        if hasattr(value, "load_state_dict"):
            value.load_state_dict(pickle.loads(data))
        else:
            self._state[self._name] = pickle.loads(data)

    def keep(self):
        self._copy = self.read()

    def back(self):
        if self.read() != self._copy:
            self._loads(self._copy)

    def read(self):
        value = self._state[self._name]
        return pickle.dumps(value.state_dict() if hasattr(value, "state_dict") else value)

    def write(self, data):
        self._loads(bytes(data))


def _tensor_bytes(tensor):
    """The memory of a contiguous torch tensor on the CPU."""
    import torch
    return tensor.detach().reshape(-1).view(torch.uint8).numpy()


def _has_bytes(value) -> bool:
    if hasattr(value, "detach") and hasattr(value, "data_ptr"):
        return value.device.type == "cpu" and value.is_contiguous()
    try:
        view = memoryview(value)
    except TypeError:
        return False
    return not view.readonly and view.c_contiguous and not _has_pointers(value, view.format)


class _Values:
    """The state's values, in order of their names, and what they were after the last step."""

    def __init__(self, state: State) -> None:
        self._values: list[_Bytes | _Object] = []
        self._add(state)

    def _add(self, state):
        for name in sorted(state, key=repr):
            value = state[name]
            if isinstance(value, dict):
                self._add(value)
            elif _has_bytes(value):
                self._values.append(_Bytes(value))
            else:
                self._values.append(_Object(state, name))

    def keep(self):
        for value in self._values:
            value.keep()

    def back(self):
        for value in self._values:
            value.back()

    def _entries(self):
        return b"".join(_ENTRY.pack(hashlib.blake2b(data, digest_size=16).digest(), len(data))
                        for data in (value.read() for value in self._values))

    def share(self, w: Group, source: int) -> None:
        """Gives all ranks of `w` the values of rank `source`: those that differ from its."""
        count = bytearray(8 * w.size)
        w.all_gather(struct.pack("=Q", len(self._values)), count)
        counts = struct.unpack("=%dQ" % w.size, count)
        if len(set(counts)) > 1:
            raise Error(ERR_ARGUMENT, "the ranks' states have %d to %d values" % (
                min(counts), max(counts)))
        size = _ENTRY.size * len(self._values)
        every = bytearray(size * w.size)
        if size:
            w.all_gather(self._entries(), every)

        def entry(rank, at):
            return _ENTRY.unpack_from(every, rank * size + at * _ENTRY.size)

        for at, value in enumerate(self._values):
            wanted = entry(source, at)
            for rank in range(w.size):
                if entry(rank, at) == wanted:
                    continue
                if w.rank == source:
                    w.send(value.read(), rank)
                elif w.rank == rank:
                    data = bytearray(wanted[1])
                    w.recv(data, source)
                    value.write(data)


# This process takes the place of a dead rank, and has done no steps yet.
_is_newcomer = os.environ.get("MLAUNCH_RESTART", "0") != "0"


def _ranks() -> int:
    """How many ranks the job has had: `mlaunch grow` adds some."""
    with open(os.path.join(os.environ["MLAUNCH_JOB_DIR"], "job.json"), "rb") as f:
        return int(json.load(f)["size"])


def _recover(w: Group, done: int, values: _Values, repair: typing.Callable[[Group], Group],
             is_newcomer: bool = False) -> tuple[Group, int]:
    """The next group, and how many steps are done: the most that a rank has done. A newcomer's
    group is the next one already; its state is the last that others should get."""
    while True:
        try:
            if not is_newcomer:
                w = repair(w)
            every = bytearray(8 * w.size)
            values.back()
            w.all_gather(struct.pack("=q", -1 if is_newcomer else done), every)
            all_done = struct.unpack("=%dq" % w.size, every)
            values.share(w, all_done.index(max(all_done)))
            values.keep()
            return w, max(0, *all_done)
        except Error as e:
            if e.code != ERR_PEER:
                raise
            if is_newcomer:
                is_newcomer, done = False, -1


def _is_done_by_all(w: Group) -> bool:
    """Whether all ranks that live have done the last step; one that has failed in it needs the
    others for the repair."""
    try:
        w.agree(1)
    except Error as e:
        if e.code != ERR_PEER:
            raise
        return False
    return True


def steps(count: int, state: State | None = None,
          group: Group | None = None,
          repair: typing.Callable[[Group], Group] = Group.repair) -> typing.Iterator[Step]:
    """Steps 0 to count - 1, each of which the body does in a `with`; see the module.

    `state` is what all ranks have the same of, by name: arrays, bytearrays and torch tensors, which
    are written in place; objects with state_dict() and load_state_dict(), such as torch's modules
    and optimizers; dictionaries of these; and all that can be pickled, which is replaced in the
    dictionary. After each step a copy of it is kept, which is what a rank returns to when a step
    fails. The loop ends for all ranks together: who has done the last step waits for those that may
    fail in it. `group` is that of init() by default, and `repair` gets it and returns the next one.

    Error ends the loop if it is none of a rank that is gone; ERR_STATE: the job was started without
    --elastic."""
    global _is_newcomer
    w = init() if group is None else group
    values = _Values({} if state is None else state)
    done, renewed = 0, True
    if _is_newcomer:
        w, done = _recover(w, done, values, repair, True)
        _is_newcomer = False
    while True:
        if done >= count:
            if _is_done_by_all(w):
                return
            w, done = _recover(w, done, values, repair)
            renewed = True
            continue
        if w.changed() and w.size < _ranks():
            w, done = _recover(w, done, values, repair)  # a newcomer waits, perhaps
            renewed = True
            continue
        step = Step(done, w, renewed)
        yield step
        if not step._entered:
            raise RuntimeError("each step of mlaunch.elastic.steps() is done in a `with`")
        if step.failed:
            w, done = _recover(w, done, values, repair)
        else:
            values.keep()
            done += 1
        renewed = step.failed
