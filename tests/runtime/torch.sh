# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# torch.sh: a python3 with torch, in $PYTHON, for a *.t, behind test.sh; or the file is skipped.
# shellcheck disable=SC2034 # for the files that source this one
[ "$SANITIZE" = no ] || skip_all "a sanitized library beside torch's own"
PYTHON=
for p in $(command -v python3) /usr/bin/python3; do
    if "$p" -c 'import torch.distributed as d; d.Backend' 2> /dev/null; then PYTHON=$p; fi
done
[ -n "$PYTHON" ] || skip_all "no torch here (python3-torch)"
export PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore OMP_NUM_THREADS=1
CALLS=$SOURCE/tests/runtime/torch_calls.py
DDP=$SOURCE/tests/runtime/torch_ddp.py
