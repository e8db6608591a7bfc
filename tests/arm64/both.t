#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A job over hosts of both kinds: this machine's, and one of arm64, whose agent, ranks and library
# are those of the build in $MLAUNCH_ARM64 (tests/arm64/check). Both are this machine; the second
# one runs under qemu-user.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
[ -n "${MLAUNCH_ARM64:-}" ] || skip_all "only make check-arm64 makes a build for arm64"
native=$BUILD arm=$MLAUNCH_ARM64/build

cat > "$T/agent" << EOF
#!/bin/sh
host=\$1
shift 2
[ "\$host" = there ] || exec "$AGENT" "\$@"
export SOURCE="$SOURCE" BUILD="$arm" INSIDE_NETWORK=machine
exec "$SOURCE/tests/arm64/inside" "$MLAUNCH_ARM64/root" "$arm/launcher/agent/mlaunch-agent" "\$@"
EOF
cat > "$T/program" << EOF
#!/bin/sh
case \$(uname -m) in aarch64) build=$arm ;; *) build=$native ;; esac
exec "\$build/examples/\$1" "\$2"
EOF
chmod +x "$T/agent" "$T/program"
ml() { "$MLAUNCH" --agent-command "$T/agent {host}" -H here,there --ppn 2 "$@"; }

check "ranks start on hosts of two kinds" ml --output raw -- uname -m
sort "$OUT" > "$T/lines"
check_output "$(printf '%s\n' aarch64 aarch64 "$(uname -m)" "$(uname -m)" | sort)" \
    "each rank has its own host's processor" cat "$T/lines"
"$native/examples/kmeans" "$SOURCE/examples/iris.csv" > "$T/one" 2>&1
check "ranks on hosts of two kinds compute together" ml --output raw -- "$T/program" kmeans \
    "$SOURCE/examples/iris.csv"
cp "$OUT" "$T/lines"
check_output "$(grep -o 'checksum.*' "$T/one")" \
    "ranks on two kinds of hosts find what one rank finds" grep -o 'checksum.*' "$T/lines"
for call in all_reduce all_gather broadcast put; do
    check "bench $call checks its results" "$MLAUNCH" bench "$call" --check --sizes 8,64K \
        --agent-command "$T/agent {host}" -H here,there --ppn 1
done
check_error 125 "host there: its processor is aarch64, this machine's is .*what --stage copies" \
    "--stage copies no program to another kind of host" ml --stage -- "$native/examples/kmeans"
check_error 126 "it is not a program for this host's processor, $(uname -m)" \
    "a program for arm64 is refused on this machine" ml -- "$arm/examples/kmeans"
done_testing
