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
        user=$1 container=$2 file=$3 outer=$4
        source=$(realpath "$SOURCE") build=$(realpath "$BUILD")
        shift 4
        # A build may have links to its sources, so they lie to each other as outside.
        common=$source
        until [[ $build/ = "$common"/* ]]; do common=${common%/*}; done
        SOURCE=/mnt/tree${source#"$common"} BUILD=/mnt/tree${build#"$common"}
        # What /mnt, /tmp or /dev/shm may cover is reached by its descriptor.
        exec 3< "$source" 4< "$build" &&
            mount -t tmpfs -o mode=0755 tmpfs /mnt && mkdir -m 1777 /mnt/tmp || exit 1
        # show FD DIRECTORY FILE: a tree that others may not read, as with umask 077, is copied.
        show() {
            mkdir -p "$2" && mount --no-canonicalize --bind "/proc/self/fd/$1" "$2" || return 1
            [ "$outer" != 0 ] || setpriv --reuid=65534 --regid=65534 --clear-groups -- \
                cat "$2/$3" > /dev/null 2>&1 || {
                umount "$2" && tar -C "/proc/self/fd/$1" --exclude="*.o" --exclude="*.a" \
                    --exclude="./build*" --exclude=./.git -cf - . | tar -C "$2" -xf - &&
                    chmod -R go+rX "$2"
            }
        }
        show 3 "$SOURCE" tests/lib/test.sh && show 4 "$BUILD" launcher/mlaunch &&
            exec 3<&- 4<&- || exit 1
        if [ -n "$container" ]; then
            mount --bind /mnt/tmp /tmp && mount -t tmpfs -o mode=1777 tmpfs /dev/shm || exit 1
        fi
        # A build contains its own path, which may lie below a directory that has just been covered,
        # or, like /root, is closed to the ordinary user.
        for dir in source build; do
            inside=${dir^^} closed= above=${!dir%/*}
            while [ -n "$above" ] && [ "$outer" = 0 ]; do
                case $(stat -c %A "$above" 2> /dev/null) in
                ?????????[xt] | "") ;;
                *) closed=$above ;;
                esac
                above=${above%/*}
            done
            [ -z "$closed" ] || mount -t tmpfs -o mode=0755 tmpfs "$closed" || exit 1
            [ -d "${!dir}" ] || { mkdir -p "${!dir}" && mount --bind "${!inside}" "${!dir}"; } ||
                exit 1
        done
        cd / && export SOURCE BUILD
        unset XDG_CONFIG_HOME TMPDIR
        export HOME=/mnt/tmp
        [ -z "$user" ] || set -- setpriv --reuid="$user" --regid="$user" --clear-groups --
        "$@" bash "$SOURCE/$file"' inside "${is_user:+$INSIDE_USER}" "$is_container" \
        "${file#"$(realpath "$SOURCE")"/}" "$(id -u)"
    exit
}
