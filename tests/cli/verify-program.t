#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch verify --program finds the program on each host as a job there does: what verify says of
# it and whether the job starts are one.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
hosts_up 2
SSH=(--ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2")

# What verify finds of the program, with the job's exit status behind it.
# agree EXPECTED NAME [OPTION…] PROGRAM
agree() {
    local program=${*: -1} options=("${@:3:$#-3}")
    "$MLAUNCH" verify --quick "${SSH[@]}" "${options[@]}" --program "$program" > "$T/all" 2> "$T/err"
    "$MLAUNCH" "${SSH[@]}" "${options[@]}" -- "$program" > "$T/job" 2>&1
    echo "job $?" >> "$T/all"
    sed -nE '/ same .*host '"$H1"': /{s/ in PATH \(.*\)/ in PATH (...)/;s/.* host [^:]*: (.*); copy .*/\1/p};/^job/p' \
        "$T/all" > "$T/said"
    check_output "$1" "verify and the job agree about $2" cat "$T/said"
    [ "$(cat "$T/said")" = "$1" ] || diag_file "$T/all"
}
mkdir "$T/here" "$T/here/inner" "$T/bin"
cd "$T/here" || exit 1
printf '#!/bin/sh\nexit 0\n' > prog
printf 'import sys\nsys.exit(0)\n' > script.py
cp prog data
chmod +x prog
cp prog inner/below
cp prog "$T/bin/special"

agree "job 0" "a path in the caller's directory" ./prog
agree "job 0" "a name in PATH" hostname
agree "nowhere: not found in PATH (...)
job 127" "a name that PATH lacks" nowhere
agree "prog: not found in PATH (...)
job 127" "a file here that is not in PATH" prog
agree "./data: Permission denied
job 126" "a file that is not executable" ./data
command -v python3 > /dev/null && agree "job 0" "a script of Python" script.py
agree "./missing: No such file or directory
job 127" "a path that is missing" ./missing

# The hostfile's directory and PATH.
cat > "$T/hosts.json" << END
{"envs": ["PATH=$T/bin:/usr/bin:/bin"],
 "hosts": [{"ssh": "$H1", "cwd": "$T/here/inner", "ips": ["$A1"]},
           {"ssh": "$H2", "cwd": "$T/here/inner", "ips": ["$A2"]}]}
END
SSH=(--ssh-config "$NETNS_SSH_CONFIG" --hostfile "$T/hosts.json")
agree "job 0" "a path below the hostfile's directory" ./below
agree "job 0" "a name in the hostfile's PATH" special
sed 's/inner/gone/' "$T/hosts.json" > "$T/gone.json"
SSH=(--ssh-config "$NETNS_SSH_CONFIG" --hostfile "$T/gone.json")
agree "./below: cannot use the working directory $T/here/gone: No such file or directory
job 125" "a path below a hostfile's directory that is missing" ./below

# Without the caller's directory there, both take the home directory.
must mv "$T/here" "$T/moved"
must mkdir "$T/here"
cd "$T/here" || exit 1
cp "$T/moved/prog" .
must netns exec "$H1" mount -t tmpfs t "$T/here"
SSH=(--ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2")
agree "./prog: No such file or directory
job 127" "a path that one of two hosts lacks" ./prog
done_testing
