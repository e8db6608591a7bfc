# SPDX-License-Identifier: MIT
"""What newer versions of torch have for groups whose members change, as far as a backend in Python
meets it: the options of reconfigure(), and the C++ that calls the backend's methods by name and
looks at what they return. A backend that lacks one does as torch's own class does."""

import dataclasses
import datetime
import typing

import torch.distributed as dist

SHRINK_DEFAULT, SHRINK_ABORT = 0, 1


@dataclasses.dataclass
class ReconfigureOptions:
    uuid: int = 0
    handles: typing.Union[list, set] = dataclasses.field(default_factory=list)
    timeout: typing.Optional[datetime.timedelta] = None
    hints: typing.Optional[typing.Dict[str, str]] = None


class Backend:
    """torch's side of the backend `python`."""

    def __init__(self, python):
        self.python = python

    def _attribute(self, name):
        value = getattr(self.python, name, False)
        assert isinstance(value, bool), "%s is a property" % name
        return value

    @property
    def supports_shrinking(self):
        return self._attribute("supports_shrinking")

    @property
    def supports_reconfigure(self):
        return self._attribute("supports_reconfigure")

    def _call(self, name, kind, *arguments):
        method = getattr(self.python, name, None)
        if method is None:
            raise RuntimeError("Backend %s does not support %s" % (self.python.name(), name))
        value = method(*arguments)
        assert isinstance(value, kind), "%s returns a %s" % (name, kind)
        return value

    def shrink(self, ranks_to_exclude, shrink_flags=SHRINK_DEFAULT, opts_override=None):
        return self._call("shrink", dist.ProcessGroup, ranks_to_exclude, shrink_flags,
                          opts_override)

    def get_reconfigure_handle(self):
        return self._call("get_reconfigure_handle", str)

    def reconfigure(self, uuid, handles, timeout=None, hints=None):
        return self._call("reconfigure", dist._Work if hasattr(dist, "_Work") else object,
                          ReconfigureOptions(uuid, handles, timeout, hints))
