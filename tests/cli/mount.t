#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --mount: the ranks, and nobody else, see a directory in the place of another, as root and as a
# user whose ranks need a user namespace for it, which all of them share.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/job.sh"
. "${0%/*}/../lib/other-user.sh"

# The tool can only be started by the first line of its copy, which names a path that is not there.
mkdir -p "$T/server" "$T/copy/bin" "$T/shared"
ln -s /bin/sh "$T/copy/bin/interpreter"
printf '#!%s/server/bin/interpreter\necho "tool $1"\n' "$T" > "$T/copy/bin/tool"
chmod +x "$T/copy/bin/tool"
chmod 755 "$T" "$T/shared"
# Rank 1 looks at what only those may that could read rank 0's memory.
mkfifo -m 666 "$T/shared/pid" "$T/shared/seen"
cat > "$T/peers" <<'EOF'
cd "$1" || exit 1
if [ "$MLAUNCH_RANK" = 0 ]; then
    echo $$ > pid
    read -r _ < seen
    exit 0
fi
read -r pid < pid
head -c 1 "/proc/$pid/environ" > /dev/null
status=$?
echo > seen
exit $status
EOF

mounted() { job --mount "$T/copy:$T/server" "$@"; }
check_output "tool x" "a rank sees the copy" mounted -n 1 --output raw -- "$T/server/bin/tool" x
both() { mounted -n 2 -x "PATH=$T/server/bin:/usr/bin:/bin" -- tool y | sort; }
check_output $'[0] tool y\n[1] tool y' "two ranks see the copy, found in PATH" both
check_output "$T/server/bin" "the working directory may be in the copy" \
    mounted -n 1 --output raw -- sh -c "cd '$T/server/bin' && pwd"
check "a rank can write into the copy" mounted -n 1 -- touch "$T/server/written"
check "what a rank writes into the copy lasts" test -e "$T/copy/written"
check_output "" "all others see the directory that was there" ls "$T/server"
check "nothing stays mounted" sh -c "! grep -F '$T/server' /proc/self/mounts"
check "nothing is left of jobs with --mount" left_nothing

check_error 125 "cannot use $T/none: No such file" "a missing source is refused" \
    job --mount "$T/none:$T/server" -- true
check_error 125 "cannot use $T/none: No such file" "a missing directory is refused" \
    job --mount "$T/copy:$T/none" -- true
check_error 125 "$T/peers is not a directory" "a file in place of a directory is refused" \
    job --mount "$T/peers:$T/server" -- true
for bad in relative:/x /x "$T/copy:relative" /a:/b:/c; do
    check_error 125 "mount must be SOURCE:DIR" "--mount $bad is refused" job --mount "$bad" -- true
done
check "a plan with --mount is made" job --mount "$T/copy:$T/server" --dry-run -- true
check_match "^mount: $T/copy:$T/server\$" "$OUT" "the plan has source and directory"

if ! other_user || ! "${OTHER[@]}" unshare -U true 2> /dev/null; then
    skip "a user's rank sees the copy" "there is none, or users may not make namespaces"
else
    check_output "tool u" "a user's rank sees the copy" "${OTHER[@]}" \
        "$OTHERS/launcher/mlaunch" --mount "$T/copy:$T/server" -n 1 --output raw -- "$T/server/bin/tool" u
    check_output 65534 "a user's rank runs as that user" "${OTHER[@]}" \
        "$OTHERS/launcher/mlaunch" --mount "$T/copy:$T/server" -n 1 --output raw -- id -u
    check "a user's ranks may read each other's memory" "${OTHER[@]}" \
        "$OTHERS/launcher/mlaunch" --mount "$T/copy:$T/server" -n 2 --timeout 60 -- sh "$T/peers" "$T/shared"
    # In a user namespace that may have no other below it, and without the right to mount.
    cat > "$T/forbid" <<'EOF'
echo 0 > /proc/sys/user/max_user_namespaces && echo 0 > /proc/sys/user/max_mnt_namespaces && exec "$@"
EOF
    check_error 125 "does not let its users make namespaces .*: No space left on device" \
        "--mount is refused where namespaces are forbidden" \
        unshare -Ur sh "$T/forbid" "$OTHERS/launcher/mlaunch" --mount "$T/copy:$T/server" -n 1 -- true
fi
done_testing
