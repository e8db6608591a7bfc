#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every command of README.md's blocks works as it is typed, in a shell that has evaluated what
# `mlaunch env` prints, with nothing installed. The hosts a and b are network namespaces; kubectl
# and sbatch are stand-ins. Commands that need RDMA are not run.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
[ "$SANITIZE" = no ] || skip_all "strangers' programs cannot open a sanitized library by themselves"

# block LANGUAGE N: README's block number N of that language.
block() {
    awk -v start="\`\`\`$1" -v n="$2" '$0 == start { at++; inside = 1; next }
        /^```/ { inside = 0 } inside && at == n' "$SOURCE/README.md"
}

# README's folder, as it is for its reader.
mkdir "$T/work" "$T/bin"
cd "$T/work" || exit 1
ln -s "$BUILD" build
block c 1 > sum.c
block python 1 > sum.py
block python 2 > train.py
for name in prog master worker; do
    printf '#!/bin/sh\necho "%s rank $MLAUNCH_RANK"\n' $name > $name
    chmod +x $name
done
sed -n 's/^    \(\[{"ssh": "a"}, .*\)/\1/p' "$SOURCE/README.md" > hosts.json
check "README has a hostfile" test -s hosts.json
# kubectl exec -i POD -- COMMAND…, kubectl create -f FILE, kubectl logs -f job/NAME
cat > "$T/bin/kubectl" << 'EOF'
#!/bin/sh
case $1 in
exec) shift 4 && exec "$@" ;;
create) exec test -s "$3" ;;
logs) [ "$2" = -f ] && exec test "${3%/*}" = job ;;
esac
EOF
printf '#!/bin/sh\ncat > job.submitted\necho 7\n' > "$T/bin/sbatch"
chmod +x "$T/bin/kubectl" "$T/bin/sbatch"
# torch is a package of the system's Python, which may not be the first in PATH.
has_torch=yes
python3 -c 'import torch' 2> "$T/torch" ||
    if /usr/bin/python3 -c 'import torch' 2>> "$T/torch"; then
        ln -s /usr/bin/python3 "$T/bin/python3"
    else
        has_torch=
    fi

has_hosts=
if netns usable > /dev/null 2>&1; then
    hosts_up 2
    has_hosts=yes
    {
        printf 'Host a\n  HostName %s\n  HostKeyAlias %s\n' "$A1" "$H1"
        printf 'Host b\n  HostName %s\n  HostKeyAlias %s\n' "$A2" "$H2"
        cat "$NETNS_SSH_CONFIG"
    } > "$T/ssh_config"
    export MLAUNCH_OPT_SSH_CONFIG=$T/ssh_config
fi

# typed COMMAND: as a reader types it, after the line that README begins with.
PATH=$T/bin:$PATH
export PYTHONDONTWRITEBYTECODE=1 MANPAGER=cat MANWIDTH=80
typed() { bash -c 'eval "$(build/launcher/mlaunch env)"; eval "$1"' bash "$1"; }

check_match '^ {4}eval "\$\(build/launcher/mlaunch env\)"' "$SOURCE/README.md" \
    "README says how a shell finds mlaunch"
check "mlaunch needs no installation" typed 'mlaunch --version'
mkdir "$T/it's here"
cp "$BUILD/launcher/mlaunch" "$T/it's here/"
check_output "$T/it's here/mlaunch" "the directory of mlaunch may have any name" bash -c \
    'eval "$("$1" env)"; command -v mlaunch' bash "$T/it's here/mlaunch"
check_error 125 'mlaunch run env' "mlaunch env with a command is refused with what to write" \
    "$MLAUNCH" env A=1 sh

# For ps JOB and kill JOB.
"$MLAUNCH" -n 2 --output raw -- sh -c 'echo $MLAUNCH_JOB; exec sleep 600' > "$T/job.out" 2>&1 &
sleeper=$!
sleeper_end() { kill $sleeper 2> /dev/null; }
at_exit sleeper_end
wait_for '[ -s "$T/job.out" ]'
job=$(head -n 1 "$T/job.out")

commands=0
while IFS= read -r line; do
    commands=$((commands + 1))
    case $line in
    "mlaunch metrics --listen"* | "mlaunch metrics -o"*)
        skip "$line" "serves until it is ended: tests/cli/metrics.t" && continue ;;
    "mlaunch top"*"live:"*) skip "$line" "needs a terminal: tests/cli/top.t" && continue ;;
    *dpkg-buildpackage* | *.deb | *rpmbuild*)
        skip "$line" "makes packages: tests/packaging/packages.t, rpm.t" && continue ;;
    "mlaunch clean "[!-]*) skip "$line" "would remove what other tests look at" && continue ;;
    "mlaunch sync"*) skip "$line" "the hosts of this test have one file system" && continue ;;
    *--probe* | *"--backend rdma"*) skip "$line" "needs RDMA" && continue ;;
    "mlaunch join --"[hf]*) skip "$line" "needs several hosts: tests/fault/join.t" && continue ;;
    *--gdb*) skip "$line" "waits for its user: tests/cli/attach.t" && continue ;;
    *strace*) is_here strace || { skip "$line" "$LACKS" && continue; } ;;
    *train.py) [ "$has_torch" ] || { skip "$line" "needs torch" && continue; } ;;
    *"-H a"* | *hosts.json*) [ "$has_hosts" ] || { skip "$line" "needs root" && continue; } ;;
    esac
    case $line in # all sizes take long, and tests/cli/bench*.t is about them
    *" --tune"* | "mlaunch bench put"*) line="${line%% \#*} --sizes 64,16K" ;;
    esac
    check "${line%% \#*}" typed "${line/ JOB/ $job}" < /dev/null
    case $line in
    cc*) check_output "rank 0 of 1: 1" "the program in C runs alone" ./sum ;;
    *./sum) check_match '^\[3\] rank 3 of 4: 4$' "$OUT" "the sum of the program in C is right" ;;
    *sum.py) check_match "^\[3\] 3 array\('d', \[6.0, 4.0\]\)$" "$OUT" \
        "the sums of the program in Python are right" ;;
    *"echo \$?") check_match '^139$' "$OUT" "the status after a crash is that of README's table" ;;
    *LEVEL=3*) check_match '^\[1\] rank 1: 3$' "$OUT" "rank 1 sees LEVEL=3" ;;
    *--stacks*) check_match '^rank 1 on host' "$OUT" "ps --stacks shows the ranks" ;;
    *"> job.sh") check_match '^#SBATCH --nodes=3' job.sh "mlaunch batch writes a script" ;;
    *--submit*) check_match '^#SBATCH --nodes=3' job.submitted \
        "mlaunch batch --submit submits a script" ;;
    esac
done < <(sed -n 's/^    \$ //p' "$SOURCE/README.md")
check "README has many commands" test "$commands" -gt 20

check_output "1" "python3 imports the module by itself" typed \
    'python3 -c "import mlaunch; print(mlaunch.init().size)"'
for page in mlaunch ml_send; do
    check "man $page shows a page" typed "man $page"
done
check_match 'ml_recv' "$OUT" "man ml_send shows the page of all calls"
check "the system's manual pages are still found" typed 'man -w man'
cp "$SOURCE/examples/kmeans.c" "$SOURCE/examples/iris.csv" .
while IFS= read -r line; do
    check "$line" typed "$line"
done < <(sed -n 's/^    \(cc \|mlaunch \)/\1/p' "$SOURCE/examples/README.md")
done_testing
