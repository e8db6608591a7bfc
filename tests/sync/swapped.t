#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Another user of this machine owns a part of the tree that mlaunch sync copies, and puts links to a
# private file, or that file itself, into it behind the scan. Nothing of the private file is read,
# and the file that was replaced counts as changed. The command that starts the agent makes the
# swap: by then the scan has ended, and no file was opened for its contents.
TEST_TIER=quick
. "${0%/*}/trees.sh"

other() { "$@"; }
if [ "$(id -u)" = 0 ]; then
    chmod 711 "$T"
    other() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
fi
export E=$T/other P=$T/private S=$T/other/a/src SWAP
mkdir "$E"
[ "$(id -u)" != 0 ] || chown 65534:65534 "$E"
cat > "$T/start" << END
#!/usr/bin/env bash
$(declare -f other)
other sh -ec "\$SWAP" || exit
shift # the host
exec "\$@"
END
chmod +x "$T/start"
sync() { "$MLAUNCH" sync --agent-command "$T/start {host}" -H x --to "$T/there" "$@" "$S"; }

# private_make FILE SIZE: its times say whether it was read.
private_make() {
    head -c "$2" /dev/zero | tr '\0' P > "$1"
    chmod 600 "$1"
    touch -d '2001-02-03 04:05:06.789' "$1"
    touch -a -d 2000-01-01 "$1"
}
private_make "$T/probe" 10
cat "$T/probe" > "$T/out"
has_atime=$([ "$(date -d "@$(stat -c %X "$T/probe")" +%Y)" = 2000 ] || echo yes)

# prepare SIZE: private files, and one of the tree that looks the same from outside.
prepare() {
    rm -rf "$P" "$T/there"
    other rm -rf "$E/a" "$E/shared"
    mkdir -p "$P/src/sub"
    other mkdir -p "$S/sub" "$E/shared"
    private_make "$P/key" "$1"
    private_make "$P/src/sub/key" "$1"
    private_make "$E/shared/key" "$1"
    head -c "$1" /dev/zero | tr '\0' d | other sh -c 'cat > "$S/sub/key" && echo good > "$S/top"'
    other touch -r "$P/key" "$S/sub/key"
}
# nothing_read NAME FILE…: nothing of a private file has come, and these were not read.
nothing_read() {
    local f name=$1
    check_output "" "nothing of a private file comes where $name" \
        sh -c 'grep -rlE PPPP "$1" || [ $? -eq 1 ]' sh "$T/there"
    for f in "$P/key" "$P/src/sub/key" "${@:2}"; do
        if [ "$has_atime" ]; then
            check_output 2000 "${f#"$T"/} is not read where $name" date -d "@$(stat -c %X "$f")" +%Y
        else
            skip "${f#"$T"/} is not read where $name" "here reading a file leaves its time"
        fi
    done
}
# swapped SIZE NAME [FILE]: copies with the swap of $SWAP; FILE is where a private file is then.
swapped() {
    local size=$1 name=$2 options what
    shift 2
    for options in "" --checksum; do
        what="$name${options:+, with $options}"
        prepare "$size"
        if [ "$size" -gt 1048576 ]; then # a part has come before
            mkdir -p "$T/there/src/sub"
            head -c 2000000 "$S/sub/key" > "$T/there/src/sub/$(temporary_of key)"
        fi
        # shellcheck disable=SC2086
        check_error 1 "mlaunch: error: $S/sub/key was changed while it was copied: sync again$" \
            "$what: the change is an error" sync $options
        nothing_read "$what" "$@"
        check_output good "all else comes where $what" cat "$T/there/src/top"
    done
}

for size in 100 3000000; do
    SWAP='mv "$S/sub" "$S/old" && ln -s "$P" "$S/sub"'
    swapped $size "a directory becomes a link, $size bytes"
    SWAP='ln -sf "$P/key" "$S/sub/key"'
    swapped $size "the file becomes a link, $size bytes"
    SWAP='mv -f "$E/shared/key" "$S/sub/key"'
    swapped $size "a private file is moved there, $size bytes" "$S/sub/key"
done
SWAP='head -c 100 /dev/zero | tr "\0" x > "$S/sub/key" && touch -r "$P/key" "$S/sub/key"'
swapped 100 "other contents have the same size and time"

# The directory that PATH is in is the one that the scan has opened, whatever has its name now.
SWAP='mv "$E/a" "$E/old" && ln -s "$P" "$E/a"'
prepare 100
check "a link in place of PATH's directory is no error" sync
nothing_read "PATH's directory becomes a link"
check_output dddd "what was in PATH's directory before comes" head -c 4 "$T/there/src/sub/key"
other rm -rf "$E/old"

# Before anything is copied, the contents are read for --checksum alone.
SWAP=:
prepare 100
check "a copy without a swap succeeds" sync --checksum
check_output dddd "the file comes without a swap" head -c 4 "$T/there/src/sub/key"
done_testing
