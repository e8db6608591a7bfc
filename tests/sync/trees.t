#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch sync gives one, two and four hosts a tree as it is here: contents, modes, times, links,
# holes, any names; at the same place or elsewhere. What is there already is not copied again.
TEST_TIER=quick
. "${0%/*}/trees.sh"
sync_hosts_up 4

S=$T/d/src
mkdir -p "$S/empty" "$S/read-only" "$S/many" "$S/a b/c"
echo one > "$S/-rf"
echo two > "$S/with space"
echo three > "$S/"$'line\nbreak'
echo four > "$S/ünïcödé 漢"
echo five > "$S/"$'latin\xe9'
: > "$S/nothing"
echo six > "$S/read-only/file"
ln -s nowhere "$S/dangling"
ln -s /etc "$S/absolute"
ln "$S/with space" "$S/a b/other name"
head -c 3000000 /dev/urandom > "$S/a b/c/big"
truncate -s 40M "$S/hole"
echo middle | dd of="$S/hole" bs=1 seek=20000000 conv=notrunc status=none
head -c 600000 /dev/zero > "$S/zeros"
for ((i = 0; i < 2000; i++)); do echo "$i" > "$S/many/$i"; done
touch -h -d '2001-02-03 04:05:06.789' "$S/dangling" "$S/nothing" "$S/many/7" "$S/empty"
chmod 0400 "$S/nothing"
chmod 0755 "$S/-rf"
chmod 0555 "$S/read-only"
chmod 0700 "$S/empty"

check "a tree comes to one host, the same place" sync -H "$H1" "$S"
same_tree "the tree is the same on one host" "$S" "$S" "$H1"
check "a tree comes to two hosts, elsewhere" sync -H "$H1,$H2" --to "$D/new/place" "$S"
same_tree "the tree is the same on two hosts" "$S" "$D/new/place/src" "$H1" "$H2"
check "a tree comes to four hosts, of which one has it" sync -v -H "$ALL" "$S"
check_match "^20[0-9]* files, 4[0-9.]* MB, to 4 of 4 hosts in " "$OUT" "what was done is said"
same_tree "the tree is the same on four hosts" "$S" "$S" "$H1" "$H2" "$H3" "$H4"
check_output "0 blocks too many" "holes stay holes" on "$H4" \
    sh -c "n=\$(stat -c %b '$S/hole'); echo \$((n > 2000 ? n : 0)) blocks too many"
check_output "4 hosts are already equal" "a second run has nothing to do" sync -H "$ALL" "$S"
check_output "" "a second run with -q says nothing" sync -q -H "$ALL" "$S"

echo changed > "$S/with space"
chmod 0640 "$S/ünïcödé 漢"
rm "$S/dangling" && ln -s somewhere "$S/dangling"
check "what was changed is copied" sync --json -H "$ALL" "$S"
check_output "8 4 equal" "nothing but what was changed is copied" json_show \
    '(j["hosts"][0]["bytes"], len(j["hosts"]), *{h["state"] for h in j["hosts"]})' "$SAID"
same_tree "the tree is the same after a change" "$S" "$S" "$H1" "$H4"

check "one file is copied to two hosts" sync -H "$H1,$H2" --to "$D/one" "$S/a b/c/big"
check_output "$(sha256sum < "$S/a b/c/big")" \
    "the one file has come" on "$H2" sh -c "sha256sum < $D/one/big"
# Millions of bytes that each host has received and sent.
traffic() {
    for h in $NETNS_HOSTS; do
        on "$h" awk '$1 == "eth0:" { print $2, $10 }' /proc/net/dev
    done
}
mapfile -t before < <(traffic)
head -c 8000000 /dev/urandom > "$S/large"
check "8 MB are copied to four hosts" sync -H "$ALL" "$S"
mapfile -t after < <(traffic)
check_output "8 8 8 8 8 8 8 0" "each host receives 8 MB once, and sends them once to the next" awk '
    { printf("%s%.0f %.0f", NR == 1 ? "" : " ", ($3 - $1) / 1e6, ($4 - $2) / 1e6) }' \
    <(paste -d' ' <(printf '%s\n' "${before[@]}") <(printf '%s\n' "${after[@]}"))
cd "$S/a b" || exit 1
check "a PATH with .. is copied beside another" sync -H "$H1,$H2" --to "$D/one" ../-rf -- \
    ../nothing c
check_output "-rf big c nothing" \
    "both files of a PATH with .. have come" on "$H2" sh -c "echo \$(ls $D/one)"
check "a tree comes to this machine, another place" sync -H "localhost,$H1" --to "$D/here" "$S/a b"
check_output "big" "this machine has the tree at another place" ls "$D/here/a b/c"
check_output "the only host is this machine, which has these files; name others with -H or --hostfile" \
    "a copy to this machine, the same place, has nothing to do" sync -H localhost "$S"

check_error 125 "which files\?" "a command without PATH is refused" sync -H "$H1"
check_error 125 "cannot read $D/absent: No such file" \
    "a PATH that is not there is refused" sync -H "$H1" "$D/absent"
check_error 125 "two PATHs would both become big" "two PATHs of one name are refused" \
    sync -H "$H1" --to "$D" "$S/a b/c/big" "$D/here/a b/c/../c/big"
check_error 125 "/ cannot be copied as a whole" \
    "a copy of the whole machine is refused" sync -H "$H1" /
done_testing
