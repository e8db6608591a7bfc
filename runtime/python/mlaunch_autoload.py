# SPDX-License-Identifier: MIT
"""Makes `import torch` enough for the backend "mlaunch" where pip has installed the package.

torch calls register() at the end of its own import, from 2.5 on (its entry points "torch.backends";
TORCH_DEVICE_BACKEND_AUTOLOAD=0 keeps it from that). This is a module of its own, because the
package mlaunch cannot be imported without its library, and torch would not be imported then.
"""

import os


def register():
    """Imports mlaunch.torch in the ranks of a job; elsewhere there is nothing for it to do."""
    if "MLAUNCH_RANK" not in os.environ:
        return
    try:
        import mlaunch.torch  # noqa: F401
    except Exception:  # pylint: disable=broad-except
        # `import torch` also serves other programs. Those that want the backend import it
        # themselves and see what is wrong.
        pass
