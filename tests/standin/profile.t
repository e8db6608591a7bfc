#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Profiles of the stand-in's network (rdma/standin/profile), and the folders that it can have.
# Expected: what is wrong is refused by one sentence with the line; nothing is left in the folder.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
FABRIC=$BUILD/rdma/standin/standin-fabric
[ -x "$FABRIC" ] || skip_all "built without RDMA"
mkdir "$T/dir"

# fabric PROFILE DIR: the end of its input ends it at once.
fabric() { : | "$FABRIC" "$1" "$2"; }

# run_lines LINE…: runs it with a profile of these lines.
run_lines() {
    printf '%s\n' "$@" > "$T/p.ini"
    run fabric "$T/p.ini" "$T/dir"
}

# refused SENTENCE NAME LINE…: the profile is. The sentence begins as is said here.
# shellcheck disable=SC2154 # status: test.sh's
refused() {
    local sentence=$1 name=$2
    run_lines "${@:3}"
    if [ "$status" = 2 ] && [ ! -s "$OUT" ] && [ "$(wc -l < "$ERR")" = 1 ] &&
        [[ $(< "$ERR") = "standin-fabric: $T/p.ini$sentence"* ]] && [ -z "$(ls -A "$T/dir")" ]; then
        pass "$name"
    else
        fail "$name" "expected status 2 and: $sentence"
        diag_run "${@:2}"
    fi
}

# taken NAME LINE…
taken() {
    local name=$1
    run_lines "${@:2}"
    if [ "$status" = 0 ] && [ "$(< "$OUT")" = ready ] && [ ! -s "$ERR" ] &&
        [ -z "$(ls -A "$T/dir")" ]; then
        pass "$name"
    else
        fail "$name"
        diag_run "${@:2}"
    fi
}

kind='[kind r]' infiniband=$'[kind i]\nlink_layer = InfiniBand'
a=$'[device a/r0]\nkind = r' b=$'[device b/r0]\nkind = r'
ai=${a/kind = r/kind = i} bi=${b/kind = r/kind = i}
both="$kind"$'\n'"$a"$'\n'"$b" # five lines
wire=$'[wire 1]\nends = a/r0:1 b/r0:1'

# The file.
allowed="what is allowed is [network], [kind NAME], [device HOST/NAME], [wire NAME] and"
refused " line 1: unknown section [foo]; $allowed" "an unknown section is refused" '[foo]' 'x = 1'
refused " line 1: unknown section [kind]; $allowed" "a kind without a name is refused" '[kind]'
refused " line 1: unknown section [network x]; $allowed" "a network with a name is refused" \
    '[network x]'
refused " line 1: the section's name is longer than the 49 characters that are allowed" \
    "a section's long name is refused" "[kind $(printf '%60s' '' | tr ' ' x)]"
refused " line 2: what is allowed is [section], key = value and ; comment" \
    "a line that is no pair is refused" "$kind" hello
refused " line 1: seed comes before any section" "a key before all sections is refused" 'seed = 1'
refused " line 2: the line is longer than the 197 characters that are allowed" \
    "a long line is refused" "$kind" "fw_ver = $(printf '%300s' '' | tr ' ' x)"
refused " line 2: there is [kind r] twice, first in line 1" \
    "a kind that is there twice is refused" "$kind" "$kind"
refused " line 4: there is [device a/r0] twice, first in line 2" \
    "a device that is there twice is refused" "$kind" "$a" "$a"
refused ": there is no [device HOST/NAME]" "a profile without devices is refused" "$kind"
printf '[kind r]\nfw_ver = a\0b\n' > "$T/p.ini"
check_error 2 'p.ini line 2: the line has a byte of value 0' "a byte of value 0 is refused" \
    fabric "$T/p.ini" "$T/dir"

# Keys and values.
refused " line 2: [kind r]: unknown key max_qps; what is allowed is one of: link_layer qp_types" \
    "an unknown key is refused" "$kind" 'max_qps = 1'
refused " line 2: [kind r]: max_qp = 0: what is allowed is a number from 1 to 1048576" \
    "a number below its range is refused" "$kind" 'max_qp = 0'
refused " line 2: [kind r]: max_inline = 1M: what is allowed is a number from 0 to 4096" \
    "a size above its range is refused" "$kind" 'max_inline = 1M'
refused " line 2: [network]: seed = x: what is allowed is a number" \
    "a word for a number is refused" '[network]' 'seed = x'
refused " line 2: [kind r]: max_mtu = 1500: what is allowed is one of: 256 512 1024 2048 4096" \
    "an unknown word is refused" "$kind" 'max_mtu = 1500'
refused " line 2: [kind r]: qp_types = xrc: what is allowed is some of: rc uc ud" \
    "an unknown word in a list is refused" "$kind" 'qp_types = rc xrc'
refused " line 2: [kind r]: fw_ver = : what is allowed is a text of 1 to 63 bytes" \
    "an empty text is refused" "$kind" 'fw_ver ='
refused " line 2: [kind r]: board_id = xxxxxx" "a long text is refused" "$kind" \
    "board_id = $(printf '%40s' '' | tr ' ' x)"
refused " line 3: [kind r]: max_qp is given twice, first in line 2" \
    "a key that is given twice is refused" "$kind" 'max_qp = 1' 'max_qp = 2'
refused " line 4: [device a/r0]: node_guid = 1:2:3:4: what is allowed is a number of 64 bits" \
    "a short GUID is refused" "$kind" "$a" 'node_guid = 1:2:3:4'
refused " line 4: [device a/r0]: gids = 10.0.0: what is allowed is an address of IPv4 (Ethernet" \
    "half an address is refused" "$kind" "$a" 'gids = ::1 10.0.0'
refused " line 4: [device a/r0]: gids = ::: what is allowed is an address" \
    "the address of zeros is refused" "$kind" "$a" 'gids = ::'
refused " line 4: [device a/r0]: gids: a port has at most 8 addresses" \
    "a ninth address is refused" "$kind" "$a" "gids = $(seq -f ::%g -s ' ' 9)"
refused " line 8: [wire 1]: rate = 10: what is allowed is a number and bit, kbit, mbit or gbit" \
    "a rate without a unit is refused" "$both" "$wire" 'rate = 10'
refused " line 8: [wire 1]: delay = 200s: what is allowed is a number and ns, us, ms or s up to" \
    "a delay above 100 s is refused" "$both" "$wire" 'delay = 200s'
refused " line 8: [wire 1]: loss = -1%: what is allowed is a share of all packets from 0% to 100%" \
    "a negative loss is refused" "$both" "$wire" 'loss = -1%'

# Contradictions.
refused " line 2: [kind r]: active_mtu 1024 is above max_mtu 512" \
    "an MTU above the greatest one is refused" "$kind" 'max_mtu = 512' "$a"
refused " line 2: [kind r]: read is an opcode of qp_types rc, which the kind does not have" \
    "an opcode of a missing type is refused" "$kind" 'qp_types = uc' "$a"
refused " line 2: [kind r]: opcodes has write_imm without write" \
    "an opcode without the plain one is refused" "$kind" 'opcodes = send write_imm' "$a"
refused " line 2: [kind r]: qp_types has ud, and opcodes has no send" \
    "datagrams that cannot be sent are refused" "$kind" 'opcodes = write' "$a"
refused " line 1: [device a/r0]: kind is missing" "a device of no kind is refused" '[device a/r0]'
refused " line 2: [device a/r0]: kind = r: there is no [kind r]" \
    "a device of an unknown kind is refused" "$a"
for name in a a/r/0 control/r ../r; do
    refused " line 1: [device $name]: what is allowed is HOST/NAME, each 1 to 63 letters" \
        "a device called $name is refused" "[device $name]"
done
refused " line 4: [device a/r0]: gids2 is for port 2, and kind r has one port" \
    "addresses of a missing port are refused" "$kind" "$a" 'gids2 = ::1'
refused " line 4: [device a/r0]: lid is for InfiniBand, and kind r is Ethernet" \
    "a LID of Ethernet is refused" "$kind" "$a" 'lid = 1'
refused " line 5: [device a/r0]: netdev is for Ethernet, and kind i is InfiniBand" \
    "a network device of InfiniBand is refused" "$infiniband" "$ai" 'netdev = ib0'
refused " line 5: [device a/r0]: an address of IPv4 is for Ethernet" \
    "an IPv4 address of InfiniBand is refused" "$infiniband" "$ai" 'gids = 10.0.0.1'

# Wires.
refused " line 4: [device a/r0]: the port has the GID ::1 twice" \
    "a port's address twice is refused" "$kind" "$a" 'gids = ::1 ::1'
refused " line 7: [device b/r0]: the GID ::1 is there twice in one network: a/r0:1 has it too" \
    "an address twice in a network is refused" "$kind" "$a" 'gids = ::1' "$b" 'gids = ::1' "$wire"
refused " line 8: [device b/r0]: the LID 7 is there twice in one network: a/r0:1 has it too" \
    "a LID twice in a network is refused" "$infiniband" "$ai" 'lid = 7' \
    "$bi" 'lid = 7' "$wire"
refused " line 7: [wire 1]: c/r0:1 does not exist, as there is no [device c/r0]" \
    "an end at no device is refused" "$both" '[wire 1]' 'ends = a/r0:1 c/r0:1'
refused " line 7: [wire 1]: b/r0:2 does not exist, as kind r has 1 port" \
    "an end at no port is refused" "$both" '[wire 1]' 'ends = a/r0:1 b/r0:2'
refused " line 7: [wire 1]: ends = a/r0: what is allowed is HOST/DEVICE:PORT" \
    "an end without a port is refused" "$both" '[wire 1]' 'ends = a/r0 b/r0'
refused " line 6: [wire 1]: ends has 0, and a wire has 2 ends" "a wire without ends is refused" \
    "$both" '[wire 1]' 'rate = 1gbit'
refused " line 7: [wire 1]: ends has 1, and a wire has 2 ends" "a wire with one end is refused" \
    "$both" '[wire 1]' 'ends = a/r0:1'
refused " line 7: [wire 1]: a/r0:1 is in [wire 1] already, in line 7" \
    "a wire from a port to itself is refused" "$both" '[wire 1]' 'ends = a/r0:1 a/r0:1'
refused " line 9: [switch s]: b/r0:1 is in [wire 1] already, in line 7" \
    "a port in two places is refused" "$both" "$wire" '[switch s]' 'ports = b/r0:1'
refused " line 10: [wire 1]: a/r0:1 and b/r0:1 are not both Ethernet, nor both InfiniBand" \
    "a wire between unlike ports is refused" "$kind" "$infiniband" "$a" "$bi" \
    '[wire 1]' 'ends = a/r0:1' 'ends = b/r0:1'
refused " line 6: [switch s]: ports has 0, and a switch has a port at least" \
    "a switch without ports is refused" "$both" '[switch s]'

# What is taken.
taken "an empty kind is enough" "$both"
taken "one address in two networks is taken" "$kind" "$a" 'gids = ::1' "$b" 'gids = ::1'
taken "comments and blanks are taken" '; x' '# y' '' '[kind r] ; z' '  max_qp = 5 ; five' "$a" \
    "$b" "$wire" 'rate = 2.5gbit' 'delay = 1.5us' 'loss = 0.1%'
taken "sizes and hexadecimal numbers are taken" "$kind" 'max_mr_size = 2G' 'vendor_id = 0x15b3' "$a"
taken "a list in several lines is taken" "$kind" "$a" 'gids = ::1' 'gids=::2, ::3'
taken "lines of Windows are taken" $'\xef\xbb\xbf[kind r]\r' $'[device a/r0]\r' $'kind = r\r'
printf '%s' "$kind"$'\n'"$a" > "$T/p.ini"
check_output ready "a last line without its end is taken" fabric "$T/p.ini" "$T/dir"

# Where it runs. From here on the profile is right.
printf '%s\n' "$both" > "$T/p.ini"
check_error 2 '^usage: standin-fabric PROFILE DIR$' "a call without a folder is refused" "$FABRIC" x
check_error 2 "cannot read the profile $T/none: No such file or directory" \
    "a profile that is not there is refused" fabric "$T/none" "$T/dir"
check_error 2 "cannot read the profile $T: Is a directory" "a folder for a profile is refused" \
    fabric "$T" "$T/dir"
check_error 2 'standard input has to be a pipe, a socket or a terminal, whose end ends the fabric' \
    "an input that has no end is refused" "$FABRIC" "$T/p.ini" "$T/dir"
check_error 2 "cannot open the folder $T/none: No such file or directory" \
    "a folder that is not there is refused" fabric "$T/p.ini" "$T/none"
check_error 2 "cannot open the folder $T/p.ini: Not a directory" "a file for a folder is refused" \
    fabric "$T/p.ini" "$T/p.ini"
mkdir "$T/used"
touch "$T/used/x"
check_error 2 "the folder $T/used is not empty: it has x; what is allowed is an empty one" \
    "a folder that is not empty is refused" fabric "$T/p.ini" "$T/used"
check_output x "a folder that is not empty keeps what it has" ls -A "$T/used"
long=$T/$(printf '%200s/' '' | tr ' ' y)
for ((i = 0; i < 18; i++)); do long+=$(printf '%200s/' '' | tr ' ' y); done
mkdir -p "$long"
check_error 2 "the folder's path is longer than the 3800 bytes that are allowed" \
    "a folder with a long path is refused" fabric "$T/p.ini" "$long"
to_full() { fabric "$T/p.ini" "$T/dir" > /dev/full; }
check_error 1 'cannot write to standard output: No space left on device' \
    "an output that is full is an error" to_full

# mounted NAME SENTENCE MOUNT-OPTION…: the folder is a file system of its own.
mounted() {
    if ! unshare -m mount -t tmpfs standin "$T/dir" 2> /dev/null; then
        skip "$1" "no file system can be mounted here"
        return
    fi
    # shellcheck disable=SC2016
    check_error 1 "$2" "$1" unshare -m sh -c 'mount -t tmpfs "$@" standin "$0" || exit
        : | "$FABRIC" "${0%/*}/p.ini" "$0"; status=$?
        [ -z "$(ls -A "$0")" ] && exit $status' "$T/dir" "${@:3}"
}
export FABRIC
mounted "a folder that is read-only is an error" \
    "cannot make the folder $T/dir/a: Read-only file system" -o ro
mounted "a folder without room is an error and is left empty" \
    "cannot write $T/dir/.*: No space left on device" -o size=32k
mounted "a folder without room for one file is an error" \
    "cannot make the folder $T/dir/a/dev: No space left on device" -o nr_inodes=2

# Somebody without rights.
cp "$FABRIC" "$T/standin-fabric"
chmod 755 "$T"
chmod 555 "$T/dir"
other=()
[ "$(id -u)" != 0 ] || other=(setpriv --reuid 65534 --regid 65534 --clear-groups)
other_fabric() { : | "${other[@]}" "$T/standin-fabric" "$1" "$T/dir"; }
if "${other[@]}" test -x "$T/standin-fabric" 2> /dev/null; then
    check_error 1 "cannot make the folder $T/dir/a: Permission denied" \
        "a folder of somebody else is an error" other_fabric "$T/p.ini"
    chmod 000 "$T/p.ini"
    check_error 2 "cannot read the profile $T/p.ini: Permission denied" \
        "a profile that may not be read is refused" other_fabric "$T/p.ini"
else
    skip "files of somebody else are refused" "there is no other user"
fi
check_output "" "nothing is left in the folder" ls -A "$T/dir"
done_testing
