#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# How programs are served: by PMIx where they need it, by a PMI socket where nothing speaks against
# it. A program of an MPI that cannot be served is warned of before the start. What is no program of
# this machine is left alone.
# shellcheck disable=SC2154 # status: of test.sh
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"

# library NAME [NEEDED…]: a library of that name in $T/lib, without anything in it.
mkdir "$T/lib"
echo 'int nothing_at_all;' > "$T/empty.c"
echo '#include <stdio.h>
#include <stdlib.h>
int main(void) { char *socket = getenv("PMI_FD"), *pmix = getenv("PMIX_RANK");
printf("%s\n", socket && pmix ? "both" : socket ? "socket" : pmix ? "pmix" : "none");
return 0; }' > "$T/ask.c"
library() {
    gcc -shared -o "$T/lib/$1" -Wl,-soname,"$1" "$T/empty.c" -L"$T/lib" -Wl,--no-as-needed \
        -Wl,-rpath,'$ORIGIN' "${@:2}" || skip_all "gcc cannot make a library"
}
# program NAME FLAG…: prints how it is served.
program() {
    gcc -o "$T/$1" "$T/ask.c" -L"$T/lib" -Wl,--no-as-needed,--allow-shlib-undefined "${@:2}"
}
library libmpi.so.40
library libpmix.so.2
library libmpich.so.12
# What mlaunch does not serve: Open MPI 1 and 2, Cray's, and MPICH built for srun's server.
foreign="libmpi.so.1 libmpi.so.20 libmpi_cray.so.12 libpmi2.so.0"
for name in $foreign; do library "$name"; done
library libmpi_abi.so.0
library libmpi.so.12
library libmpich.so.10
library libmiddle.so -l:libmpi.so.40
library libcircle.so -l:libmiddle.so
rpath=-Wl,-rpath,'$ORIGIN/lib'

program plain
program static -static
program mpich -l:libmpich.so.12 "$rpath"
program open -l:libmpi.so.40 "$rpath"
program pmix -l:libpmix.so.2 "$rpath"
for name in $foreign libmpi_abi.so.0 libmpi.so.12 libmpich.so.10; do
    program "uses-$name" "-l:$name" "$rpath"
done
program for_srun -l:libmpich.so.12 -l:libpmi2.so.0 "$rpath"
program abi_of_open -l:libmpi_abi.so.0 -l:libpmix.so.2 "$rpath"
program indirect -l:libcircle.so "$rpath" -Wl,-rpath-link,"$T/lib"
program by_path -l:libcircle.so -Wl,-rpath-link,"$T/lib"

served() { check_output "socket
socket" "$1 gets a socket" "$MLAUNCH" --output raw -n 2 "${@:2}"; }
served "a program without MPI" "$T/plain"
served "a static program" "$T/static"
served "a program of MPICH" "$T/mpich"
served "a script" sh -c "$T/plain"
for name in libmpi_abi.so.0 libmpi.so.12 libmpich.so.10; do
    served "a program of $name" "$T/uses-$name"
    check_no_match warning "$ERR" "a program of $name starts without a warning"
done

# by_pmix: a program that needs it. by_both: Python, which asks for it, and may start others that
# need the socket.
# later_by_pmix: one that starts others that do.
missing='mlaunch-pmix is not built yet: \./bootstrap'
unserved="runs a program of Open MPI, which cannot be served: $missing"
own="is a job of its own if it uses Open MPI's mpi4py"
lost="warning: .*if the program uses MPI, each rank is a job of its own: $missing"
if [ -x "$BUILD/launcher/pmix/mlaunch-pmix" ]; then
    by_pmix() {
        check_output "pmix
pmix" "$1 is served by PMIx" "$MLAUNCH" --output raw -n 2 "${@:2}"
    }
    by_both() {
        check_output "both
both" "$1 is served by both" "$MLAUNCH" --output raw -n 2 "${@:2}"
    }
    later_by_pmix() { by_pmix "$@"; }
else
    by_pmix() {
        check_error 125 "$missing" "$1 is refused" "$MLAUNCH" --output raw -n 2 "${@:2}"
    }
    by_both() {
        check_error 0 "$own: $missing" "$1 starts with a warning" "$MLAUNCH" --output raw -n 2 "${@:2}"
    }
    later_by_pmix() {
        check_error 1 "$unserved" "$1 ends the job" "$MLAUNCH" --output raw -n 2 "${@:2}"
    }
fi
by_pmix "a program of Open MPI" "$T/open"
by_pmix "a program of PMIx" "$T/pmix"
by_pmix "the ABI's library that needs PMIx" "$T/abi_of_open"
by_pmix "one that needs it through others" "$T/indirect"
by_pmix "one that LD_LIBRARY_PATH leads to" -x "LD_LIBRARY_PATH=$T/lib" "$T/by_path"
by_pmix "one in PATH" -x "PATH=$T:$PATH" open
by_pmix "one in a directory" --cwd "$T" ./open
by_pmix "a program that is asked to be" --mpi pmix "$T/plain"
later_by_pmix "a wrapper's program" env A=1 "$T/open"
later_by_pmix "a shell's program" sh -c "$T/open"
served "a script with --mpi auto" --mpi auto sh -c "exec $T/plain"
# Python, of which mpi4py says what it needs: two that only have the name.
mkdir -p "$T/python/bin" "$T/python/lib/python3.99/site-packages/mpi4py" "$T/modules/mpi4py"
gcc -shared -o "$T/python/lib/python3.99/site-packages/mpi4py/MPI.x.so" "$T/empty.c" -L"$T/lib" \
    -Wl,--no-as-needed -l:libmpi.so.40
gcc -shared -o "$T/modules/mpi4py/MPI.x.so" "$T/empty.c" -L"$T/lib" -Wl,--no-as-needed \
    -l:libmpich.so.12
cp "$T/plain" "$T/python/bin/python3"
ln -s "$T/python/bin/python3" "$T/python3"
by_both "a Python with an mpi4py of Open MPI" "$T/python/bin/python3" script.py
by_both "one that a link names" "$T/python3" script.py
by_both "one behind env in PATH" -x "PATH=$T/python/bin:$PATH" env python3 script.py
served "a Python with an mpi4py of MPICH" -x "PYTHONPATH=$T/modules" "$T/python/bin/python3" a.py
# pyenv's script in PATH starts a Python that files or a variable choose.
versions=$T/pyenv/versions
mkdir -p "$T/pyenv/shims" "$versions/3.99.1/bin" "$versions/3.98.0/bin" "$T/project/sub"
cp -r "$T/python/lib" "$versions/3.99.1"
cp "$T/plain" "$versions/3.99.1/bin/python3"
cp "$T/plain" "$versions/3.98.0/bin/python3"
printf '#!/usr/bin/env bash\nexec "%s/3.99.1/bin/python3" "$@"\n' "$versions" \
    > "$T/pyenv/shims/python3"
chmod +x "$T/pyenv/shims/python3"
echo 3.98.0 > "$T/pyenv/version"
pyenv=(-x "PATH=$T/pyenv/shims:$PATH")
served "pyenv's Python without mpi4py" "${pyenv[@]}" python3 a.py
by_both "one that PYENV_VERSION chooses" "${pyenv[@]}" -x PYENV_VERSION=3.99.1 python3 a.py
echo 3.99 > "$T/project/.python-version"
by_both "one that .python-version chooses" "${pyenv[@]}" --cwd "$T/project/sub" python3 a.py
both="$T/python/bin/python3"
check_no_match . <("$MLAUNCH" -n 2 --elastic 1 "$both" a.py 2>&1 > "$T/elastic") \
    "Python in a job that outlives ranks is not warned of MPI"
check_output "socket
socket" "Python in a job that outlives ranks has the socket alone" sed 's/^.*] //' "$T/elastic"
by_pmix "a program beside one" -n 1 "$T/open" : -n 1 "$T/plain"

warned() {
    check_error 0 "warning: .*needs $2, an MPI that mlaunch cannot serve" "$1 is named" \
        "$MLAUNCH" --output raw -n 2 "${@:3}"
    check_match '^none$' "$OUT" "$1 gets no socket"
    if [ "$(grep -c warning "$ERR")" = 1 ]; then
        pass "$1 is warned of once"
    else
        fail "$1 is warned of once"
    fi
}
for name in $foreign; do warned "a program of $name" "$name" "$T/uses-$name"; done
warned "a program of MPICH for srun" libpmi2.so.0 "$T/for_srun"
old=$T/uses-libmpi.so.20
warned "a program that stands twice" libmpi.so.20 "$old" : -n 1 "$old"
check_output none "one rank alone is a job of its own" "$MLAUNCH" "$old"
check_no_match warning "$ERR" "one rank alone is not warned of"
check_output "none
none" "--mpi none serves no program" "$MLAUNCH" --output raw -n 2 --mpi none "$T/open"
check_no_match warning "$ERR" "--mpi none has no warning"
check_output "socket
socket" "--mpi pmi1 is obeyed" "$MLAUNCH" --output raw -n 2 --mpi pmi1 "$T/open"

# The loader's cache leads to a library whose directory nothing else names.
if mkdir "$T/etc" && unshare -m true 2> "$T/err" && [ -e /etc/ld.so.cache ]; then
    cp /etc/ld.so.conf "$T/etc/"
    echo "$T/lib" >> "$T/etc/ld.so.conf"
    /sbin/ldconfig -C "$T/etc/cache" -f "$T/etc/ld.so.conf"
    by_cache() {
        unshare -m --propagation private sh -c 'mount --bind "$0" /etc/ld.so.cache && exec "$@"' \
            "$T/etc/cache" "$@"
    }
    run by_cache "$MLAUNCH" --output raw "$T/by_path"
    cat "$OUT" "$ERR" > "$T/said"
    check_match '^pmix$|mlaunch-pmix is not built' "$T/said" "a library that only the cache names is found"
else
    skip "a library that only the cache names is found" "needs root"
fi
# As --disable-pmix leaves it.
if [ -x "$BUILD/launcher/pmix/mlaunch-pmix" ] && unshare -m true 2> "$T/err"; then
    without() {
        unshare -m --propagation private sh -c 'mount --bind /dev/null "$0" && exec "$@"' \
            "$BUILD/launcher/pmix/mlaunch-pmix" "$@"
    }
    check_error 125 "$missing" "without mlaunch-pmix a program of Open MPI is refused" \
        without "$MLAUNCH" -n 2 "$T/open"
    check_error 0 "$lost" "what may start a program of Open MPI is warned of" \
        without "$MLAUNCH" -n 2 sh -c 'exit 0' "$T/open"
    check_error 1 "$unserved" "a wrapper that starts a program of Open MPI ends the job" \
        without "$MLAUNCH" -n 2 env A=1 "$T/open"
    check "programs of MPICH do not need mlaunch-pmix" without "$MLAUNCH" -n 2 "$T/mpich"
    check_no_match . "$ERR" "programs of MPICH have no warning without mlaunch-pmix"

    # A job of two hosts, one without mlaunch-pmix.
    cat > "$T/agent" << EOF
#!/bin/sh
host=\$1
shift 2
[ "\$host" = lacks ] || exec "$AGENT" "\$@"
exec unshare -m --propagation private sh -c 'mount --bind /dev/null "\$0" && exec "\$@"' \
    "$BUILD/launcher/pmix/mlaunch-pmix" "$AGENT" "\$@"
EOF
    chmod +x "$T/agent"
    two() { "$MLAUNCH" --agent-command "$T/agent {host}" -H has,lacks --output raw "$@"; }
    # each_is WORDS RANKS: how the two were served.
    each_is() {
        sort "$OUT" > "$T/served"
        check_output "$1" "$2: each host serves what it can" cat "$T/served"
    }
    check_error 0 "host lacks: rank 1 runs Python, and $own: $missing" "Python may do without it on one of two hosts" \
        two -n 2 "$T/python/bin/python3" script.py
    each_is "both
socket" "ranks of Python"
    printf '#!/bin/sh\n"%s"; true\n' "$T/python/bin/python3" > "$T/script"
    printf '#!/bin/sh\n"%s"\n' "$T/open" > "$T/open-script"
    chmod +x "$T/script" "$T/open-script"
    check_error 0 "warning: host lacks: rank 1 runs Python, and $own: $missing" \
        "a script's Python may do without it on one of two hosts" two -n 2 "$T/script"
    each_is "both
socket" "scripts with Python"
    check "Python with an mpi4py of MPICH needs it on no host" two -x "PYTHONPATH=$T/modules" -n 1 \
        -x "PYTHONPATH=" "$T/python/bin/python3" a.py : -n 1 "$T/plain"
    check_error 125 "host lacks: .*$missing" \
        "a program of Open MPI may not lack it on one host" two -n 2 "$T/open"
    check_error 125 "host lacks was lost: $missing" \
        "a host without it is lost if another has the program" two -n 1 "$T/open" : -n 1 "$T/plain"
    check_error 1 "host lacks .*$unserved" \
        "a script's program of Open MPI may not lack it" two -n 2 "$T/open-script"
fi

# Programs that have their MPI in themselves are known, once they use it, by their symbols.
linked() {
    gcc "${@:3}" "-DINNER=$2" -o "$T/$1" "$SOURCE/tests/mpi/linked_program.c"
}
apart() { check_error 1 "rank [01] on .* runs an MPI program apart from the job: process .*$1" "${@:2}"; }
linked linked_mpich MPID_Init -static
linked linked_open ompi_mpi_init
apart "\(linked_mpich\) has MPICH linked into it, and an environment without" \
    "a static program of MPICH that has lost its environment is named, and the job fails" \
    "$MLAUNCH" --timeout "$HANG_SECONDS" -n 2 env -i "$T/linked_mpich"
apart "has MPICH linked into it, and is not served by PMI-1.*--mpi pmi1" \
    "a static program of MPICH that PMI-1 does not serve is named, and the job fails" \
    "$MLAUNCH" --timeout "$HANG_SECONDS" -n 2 env -u PMI_RANK "$T/linked_mpich"
apart "\(linked_open\) has Open MPI linked into it, and is not served by PMIx.*--mpi pmix" \
    "a program with Open MPI in itself that PMIx does not serve is named, and the job fails" \
    "$MLAUNCH" --timeout "$HANG_SECONDS" -n 2 sh -c '"$0"; true' "$T/linked_open"

# Files that only look like programs, cut at every place that matters.
for size in 4 40 63 64 100 500 800 2000 8000; do
    head -c "$size" "$T/open" > "$T/cut"
    chmod +x "$T/cut"
    run "$MLAUNCH" -n 2 "$T/cut"
    [ "$status" -ne 0 ] || fail "a program of $size bytes" "status $status"
done
pass "programs that are cut fail by themselves"
mkfifo "$T/fifo"
chmod +x "$T/fifo"
check_status 126 "a FIFO is not waited for" "$MLAUNCH" -n 2 "$T/fifo"
check_status 127 "a program that is missing is said to be" "$MLAUNCH" -n 2 "$T/missing"
done_testing
