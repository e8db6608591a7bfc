# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# inside.sh: for a *.t that runs as another user or in a container. Source it after test.sh:
#
#     . "${0%/*}/../lib/inside.sh"
#     inside container         # PID and mount namespaces, /tmp and /dev/shm of its own, or a skip
#     inside user              # an ordinary user, if this is root
#     inside user container    # both
#
# The file starts again in there, with sources and build mounted where that user can read them. So
# the lines above the call run twice.
INSIDE_USER=65534

# as_ordinary COMMAND…: as another user than root; for tests that are root inside.
as_ordinary() { setpriv --reuid="$INSIDE_USER" --regid="$INSIDE_USER" --clear-groups -- "$@"; }

inside() {
    [ -z "${MLAUNCH_TEST_INSIDE:-}" ] || return 0
    local is_user='' is_container='' what
    for what in "$@"; do
        case $what in
        user) is_user=1 ;;
        container) is_container=1 ;;
        esac
    done
    [ -n "$is_container" ] || [ "$(id -u)" -eq 0 ] || return 0 # that is an ordinary user already
    local make=(unshare --mount --propagation private)
    [ "$(id -u)" -eq 0 ] || make+=(--map-root-user)
    [ -z "$is_container" ] || make+=(--pid --fork --mount-proc)
    "${make[@]}" true 2> "$T/why" || skip_all "no namespaces here: $(head -n 1 "$T/why")"
    [ -d /mnt ] || skip_all "there is no /mnt to mount on"
    local file
    file=$(realpath "$0")
    TEST_DONE=1
    # shellcheck disable=SC2016 # expanded in there
    MLAUNCH_TEST_INSIDE=1 "${make[@]}" bash -c '
        user=$1 container=$2 file=$3 source=$(realpath "$SOURCE") build=$(realpath "$BUILD")
        shift 3
        mount -t tmpfs -o mode=0755 tmpfs /mnt && mkdir /mnt/source /mnt/build &&
            mkdir -m 1777 /mnt/tmp &&
            mount --bind "$SOURCE" /mnt/source && mount --bind "$BUILD" /mnt/build || exit 1
        if [ -n "$container" ]; then
            mount --bind /mnt/tmp /tmp && mount -t tmpfs -o mode=1777 tmpfs /dev/shm || exit 1
            # A build contains its own path, which may lie below a directory that has just been
            # covered.
            for dir in source build; do
                [ -d "${!dir}" ] || { mkdir -p "${!dir}" && mount --bind "/mnt/$dir" "${!dir}"; } || exit 1
            done
        fi
        cd / && export SOURCE=/mnt/source
        # A build inside the sources may have links to them, so it stays there.
        case $build in "$source"/*) BUILD=/mnt/source/${build#"$source"/} ;; *) BUILD=/mnt/build ;; esac
        export BUILD
        unset XDG_CONFIG_HOME TMPDIR
        export HOME=/mnt/tmp
        [ -z "$user" ] || set -- setpriv --reuid="$user" --regid="$user" --clear-groups --
        "$@" bash "/mnt/source/$file"' inside "${is_user:+$INSIDE_USER}" "$is_container" \
        "${file#"$(realpath "$SOURCE")"/}"
    exit
}
