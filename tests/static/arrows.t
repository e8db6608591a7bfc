#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Calls between folders go one way (doc/architecture.md): each folder includes only what it may.
. "${0%/*}/../lib/test.sh"
cd "$SOURCE" || exit 1

# only FOLDER PATTERN…: every project include in FOLDER matches one of the shell patterns.
only() {
    local folder=$1 line path pattern bad=""
    shift
    while IFS= read -r line; do
        path=${line##*:}
        for pattern in "$@"; do
            # shellcheck disable=SC2254
            case $path in $pattern) continue 2 ;; esac
        done
        bad+="${line%:*}: includes $path"$'\n'
    done < <(grep -rn --include='*.[ch]' -E '^ *# *include *"' "$folder" |
        sed -E 's/^([^:]*:[0-9]*):.*"(.*)".*/\1:\2/')
    if [ -z "$bad" ]; then pass "$folder/ includes only: $*"; else fail \
        "$folder/ includes only: $*" "$bad"; fi
}

only common 'common/*' 'config.h' 'build-id.h'
only coordinator 'coordinator/*' 'common/*' 'config.h'
only launcher 'launcher/*' 'coordinator/*' 'common/*' 'config.h'
only runtime 'runtime/*' 'rdma/*' 'coordinator/client.h' 'coordinator/protocol.h' 'common/*' \
    'config.h' 'build-id.h'
[ ! -d rdma ] || only rdma 'rdma/*' 'common/*' 'config.h'
only examples 'examples/*'
done_testing
