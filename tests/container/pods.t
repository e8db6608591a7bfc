#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The pods of a Job that mlaunch batch kubernetes has written, run by podman as the file says: as
# user 1000 without rights, the key from a Secret, /dev/shm in memory, each with a network of its
# own and from an image that has mlaunch and little else. podman 4.3 knows no Job, and with no
# registry no pod either: pod_words.py makes `podman run` of each. Expected: the pods form one job,
# whose output is pod 0's; a pod that is killed or taken away ends all, and no process is left.
# shellcheck disable=SC2016 # words for the ranks' shell
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/podman.sh"
[ "$SANITIZE" = no ] || skip_all "the image has no sanitizers"
[ "$(id -u)" = 0 ] || skip_all "only root can give containers networks of their own"
python=/usr/bin/python3
"$python" -c 'import yaml' 2> /dev/null || skip_all "/usr/bin/python3 has no PyYAML (python3-yaml)"
NETNS_SSHD='ListenAddress 127.0.0.1' hosts_up 3
mark=$(new_mark pods)

# The image: what `make install` gives, a shell, and the libraries of both.
IMAGE=$T/image
make_image() {
    local prefix file library
    prefix=$(sed -n 's/^prefix = //p' "$BUILD/Makefile")
    make -C "$BUILD" -s install DESTDIR="$T/dest" > "$T/install" 2>&1 || return 1
    mkdir -p "$IMAGE$prefix" "$IMAGE"/{bin,etc,proc,sys,dev,run} "$IMAGE/srv"
    mkdir -m 1777 "$IMAGE/tmp"
    mkdir -p "$IMAGE$prefix"/{bin,lib,share}
    cp -a "$T/dest$prefix/bin/mlaunch" "$IMAGE$prefix/bin"
    cp -a "$T/dest$prefix"/lib/{libmlaunch.so*,mlaunch} "$IMAGE$prefix/lib"
    cp -a "$T/dest$prefix/libexec" "$IMAGE$prefix"
    cp -a "$T/dest$prefix/share/mlaunch" "$IMAGE$prefix/share"
    cp "$(type -P sh)" "$(type -P sleep)" "$(type -P cat)" "$IMAGE/bin"
    cp "$BUILD/tests/runtime/.libs/collectives" "$IMAGE/srv" 2> /dev/null ||
        cp "$BUILD/tests/runtime/collectives" "$IMAGE/srv"
    while read -r file; do
        for library in $(ldd "$file" 2> /dev/null | grep -o '/[^ ]*'); do
            [[ $library != "$BUILD"* ]] || continue
            mkdir -p "$IMAGE${library%/*}"
            cp -L "$library" "$IMAGE$library"
        done
    done < <(find "$IMAGE" -type f -perm -u+x)
    find "$IMAGE" -type f -perm -u+x -exec strip -g {} + 2> /dev/null
    tar -C "$IMAGE" -c . | "${PODMAN[@]}" import -q --change "ENV PATH=$prefix/bin:/bin" - pods:1
}
check "podman gets an image from a directory" make_image
"${PODMAN[@]}" run --rm "${LIMITS[@]}" --network none pods:1 /bin/sh -c : 2> "$T/why" ||
    skip_all "podman cannot run here: $(tail -n 1 "$T/why")"
HOSTS=("$H1" "$H2" "$H3")

# pods_start NAME OPTION… -- PROGRAM…: three pods in the background, the first one last.
pods_start() {
    local name=$1 i pid
    shift
    "$MLAUNCH" batch kubernetes --image pods:1 --job-name "$name" --nodes 3 --ntasks-per-node 2 run \
        --oversubscribe --output raw "$@" > "$T/$name.yaml" || return 1
    for i in 2 1 0; do
        pid=$(cat "$NETNS_DIR/${HOSTS[i]}.pid")
        "$SOURCE/tests/container/pod_words.py" "$T/$name.yaml" "$i" "$T/$name.key.$i" \
            "/proc/$pid/ns/net" "$A1" > "$T/words" || return 1
        mapfile -d '' -t words < "$T/words"
        : > "$T/$i.out" # at once: all_say reads it, and the job before has left its own there
        "${PODMAN[@]}" run "${LIMITS[@]}" --env "$mark" "${words[@]}" > "$T/$i.out" 2> "$T/$i.err" &
        pods[i]=$!
    done
}
# pods_end NAME STATUS…: how each has ended.
pods_end() {
    local i got=()
    for i in 0 1 2; do
        wait "${pods[i]}"
        got[i]=$?
    done
    check_output "${*:2}" "$1" echo "${got[@]}"
    no_survivors "$1: no process is left" "$mark"
    "${PODMAN[@]}" rm -a > /dev/null
}
all_say() { wait_for "[ \"\$(grep -c '$1' '$T/0.out')\" -eq 6 ] || ! kill -0 ${pods[0]} 2> /dev/null"; }

must pods_start heat -- sh -c '
    echo "rank $MLAUNCH_RANK of $MLAUNCH_SIZE on $(cat /proc/sys/kernel/hostname), $1"
    while read -r word a b c d; do
        case $word in Uid: | CapEff:) echo "$word $a" ;; esac
    done < /proc/self/status' sh 'it $(works)'
pods_end "three pods of a Job end well" 0 0 0
check_output 'rank 0 of 6 on heat-0, it $(works)
rank 1 of 6 on heat-0, it $(works)
rank 2 of 6 on heat-1, it $(works)
rank 3 of 6 on heat-1, it $(works)
rank 4 of 6 on heat-2, it $(works)
rank 5 of 6 on heat-2, it $(works)' \
    "three pods are one job, whose output is pod 0's" sh -c 'grep rank "$1" | sort' sh "$T/0.out"
check_output "CapEff: 0000000000000000
Uid: 1000" "ranks in pods are user 1000 without rights" \
    sh -c 'grep -v rank "$1" | sort -u' sh "$T/0.out"
check_no_match . "$T/1.out" "the other pods have no output"
check_no_match 'warning|error' "$T/0.err" "pod 0 has nothing to complain of"

must pods_start sums -- /srv/collectives --program --diagonal
pods_end "six ranks in three pods make all collective calls" 0 0 0
must pods_start fails -- sh -c '[ "$MLAUNCH_RANK" != 4 ] || exit 7; exec sleep 600'
pods_end "all pods have the status of the program" 7 7 7
check_match "^mlaunch: rank 4 on host fails-2 .*exited with status 7" "$T/0.err" \
    "pod 0 says why the program's status is 7"

must pods_start killed -- sh -c 'echo up; exec sleep 600'
all_say up
must "${PODMAN[@]}" kill -s KILL killed-1 > /dev/null
pods_end "a pod that is killed ends all" 125 137 125
check_match "^mlaunch: host killed-1 was lost: its connection was lost" "$T/0.err" \
    "the pod that was killed is named"

must pods_start taken -- sh -c 'trap "echo asked" TERM; echo up; while :; do sleep 0.1; done'
all_say up
must "${PODMAN[@]}" stop -t 100 taken-2 > /dev/null
pods_end "a pod that is taken away ends all" 143 143 143
check_output 6 "a pod that is taken away sends SIGTERM to each rank" grep -c asked "$T/0.out"
check_match "ended by SIGTERM to mlaunch join on host taken-2" "$T/0.err" \
    "the pod that was taken away is named"
done_testing
