#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The agent starts under any login shell, whatever the shell's start-up files print. If the shell
# runs nothing, mlaunch says so.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
hosts_up 1

ml() { "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" -H "$H1" -n 1 --output raw "$@"; }
shell_set() { sed "s|^\(root:.*:\)[^:]*$|\1$1|" /etc/passwd > "$T/passwd" &&
    netns exec "$H1" cp "$T/passwd" /run/passwd; }

# A file name that each shell would split or expand differently.
odd="$T/it's a \"dir\" with \$HOME; \`x\` !! \\n *? #% ü"
mkdir "$odd"
cp "$AGENT" "$odd/mlaunch-agent"
cp -r "$BUILD/runtime/libmlaunch.so.0" "$BUILD/runtime/mlaunch-runtime.so" \
    "$SOURCE/runtime/python" "$odd"

netns exec "$H1" cp /etc/passwd /run/passwd
must netns exec "$H1" mount --bind /run/passwd /etc/passwd
for shell in sh dash bash zsh tcsh csh fish ksh mksh; do
    path=$(command -v "$shell") || continue
    shell_set "$path"
    check_output "/$shell" "an agent starts under $shell" ml -- sh -c "echo /$shell"
    check_output "/$shell" "an agent with an odd path starts under $shell" \
        ml --backend none --agent "$odd/mlaunch-agent" -- sh -c "echo /$shell"
done

shell_set /bin/bash
home=$(awk -F: '$3 == 0 { print $6; exit }' /etc/passwd)
printf 'echo Welcome to %s; echo "Have a lot of fun" >&2; seq 1000\n' "$H1" > "$T/bashrc"
must netns exec "$H1" sh -c \
    "[ -e $home/.bashrc ] || : > $home/.bashrc && mount --bind $T/bashrc $home/.bashrc"
check_output "quiet" "start-up files may print" ml -- echo quiet
printf 'yes | head -c 1000000\n' > "$T/bashrc"
check_error 125 "host $H1: .*start-up files print endlessly" \
    "start-up files that print endlessly are told of" ml -- true
: > "$T/bashrc"

shell_set /usr/sbin/nologin
check_error 125 "host $H1: the login shell there did not run .*not available" \
    "an account that is closed is told of" ml -- true
shell_set /no/shell
check_error 125 "host $H1: " "a login shell that is not there is told of" ml -- true
shell_set /bin/bash
printf 'exec sleep 30\n' > "$T/bashrc"
printf '[ssh]\nconnect-timeout = 2\n' > "$T/ini"
check_error 125 "host $H1: logged in, but .*sent nothing for too long" \
    "start-up files that hang are told of" \
    "$MLAUNCH" --config "$T/ini" --ssh-config "$NETNS_SSH_CONFIG" -H "$H1" -- true
done_testing
