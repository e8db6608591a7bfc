#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A program that the base system lacks is asked for before it is called: lib/programs.list agrees
# with bootstrap's lists and with the packages, and every script asks for what it calls.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
programs() { python3 -B "$SOURCE/tests/static/programs.py" "$@"; }

check_output "" "the list agrees with bootstrap and the packages" programs list "$SOURCE"

# wrong TEXT NAME FILE SED-COMMAND: of a changed copy of the lists, one line is said.
wrong() {
    rm -rf "$T/lists"
    for file in bootstrap debian/control packaging/rpm/mlaunch.spec tests/lib/programs.list; do
        install -D -m 644 "$SOURCE/$file" "$T/lists/$file"
    done
    sed -i -E "$4" "$T/lists/$3"
    check_output "$1" "$2" programs list "$T/lists"
}
wrong "tests/lib/programs.list: curl: curl is of step check, but in bootstrap of none" \
    "a package that bootstrap does not install is found" bootstrap "s/ c:curl=curl//"
wrong "bootstrap: needs_check has ps=procps, which tests/lib/programs.list does not say
bootstrap: needs_check_all has ps=procps, which tests/lib/programs.list does not say" \
    "a program that the list lacks is found" tests/lib/programs.list "/^ps /d"
wrong "tests/lib/programs.list: tmux: tmux is of step none, but in bootstrap of all" \
    "a package that bootstrap installs all the same is found" tests/lib/programs.list \
    "s/^(tmux +tmux +)all/\1none/"
wrong "debian/control: mlaunch does not name gdb, whose gdb it calls" \
    "a package that Debian's do not suggest is found" debian/control "/^ gdb,$/d"
wrong "debian/control: mlaunch names tmux, which tests/lib/programs.list does not say
packaging/rpm/mlaunch.spec: tmux is named, which tests/lib/programs.list does not say" \
    "a suggested package that nothing calls is found" tests/lib/programs.list "s/^(tmux .*) mlaunch/\1/"
wrong "packaging/rpm/mlaunch.spec: no package names git, which mlaunch calls" \
    "a program that the RPM does not suggest is found" packaging/rpm/mlaunch.spec "/bin.git$/d"

command -v dpkg > /dev/null || {
    skip "scripts ask for what they call" "only dpkg knows here what the base system has"
    done_testing
}
mapfile -t scripts < <(cd "$SOURCE" && grep -rnIE -m 1 '^#!.*\b((ba)?sh|python3)\b' bootstrap .ci \
    debian doc examples launcher packaging tests 2> /dev/null | sed -n 's/:1:.*//p' | sort)
check "all scripts are looked at" test "${#scripts[@]}" -gt 300
check_output "" "scripts ask for what they call" programs calls "$SOURCE" "${scripts[@]}"

# A script that calls what it has not asked for, at each place where a command can stand.
mkdir -p "$T/tree/tests/lib"
cp "$SOURCE"/tests/lib/{programs.list,programs.sh,test.sh} "$T/tree/tests/lib"
cat > "$T/tree/tests/places.t" << 'END'
#!/usr/bin/env bash
. "${0%/*}/lib/test.sh"
gdb --version
frobnicate
if ! gdb -batch; then true; elif gdb; then :; fi
x=$(echo "$(gdb)") y=`gdb`
case $x in a | b) gdb ;; *) echo c ;; esac
A=1 timeout -k 1 5 env -u B C=2 gdb | sed s/x/y/ | xargs -n 1 gdb
check "a name" gdb -p 1
check_output "" "a name" sh -c 'echo a && gdb'
wait_for '[ "$(gdb)" ]'
"$MLAUNCH" -n 2 -- gdb
f() { gdb; }
/usr/bin/gdb < <(gdb)
for z in 1 2; do gdb; done
cat << X > "$T/a"
gdb in a text
X
# gdb in a comment
echo gdb "gdb" 'gdb; gdb' $((gdb + 1)) ${gdb:-gdb}
words=(gdb
    gdb) gdb=1
[[ gdb = "$x" ]] && f > gdb
END
sed 's/^gdb --version/is_here gdb || exit 1/; /frobnicate/d' "$T/tree/tests/places.t" \
    > "$T/tree/tests/asked.t"
# found SCRIPT: the lines at which gdb is called without asking, and what else is said.
found() {
    programs calls "$T/tree" "$1" |
        sed -nE 's/^tests\/places.t:([0-9]+): (does not ask for gdb)?/\1/p' | sort -n | xargs
}
check_output "3 4calls what tests/lib/programs.list lacks: frobnicate 5 6 7 8 9 10 11 12 13 14 15" \
    "a program is found wherever it is called" found tests/places.t
check_output "" "a program that is asked for is none" programs calls "$T/tree" tests/asked.t
# What is shipped may call less than a test, for which bootstrap has installed more.
mkdir "$T/tree/examples"
printf '#!/bin/sh\nls\ncurl localhost\n' | tee "$T/tree/examples/ask" > "$T/tree/tests/ask"
check_output "examples/ask:3: does not ask for curl" "mlaunch's scripts ask for what tests have" \
    programs calls "$T/tree" examples/ask tests/ask

check "what is here is here" is_here sh sed
without() { PATH=$T is_here "$@" || echo "$LACKS"; }
check_output "there is no gdb here: apt-get install gdb" "the sentence names the package" without gdb
check_output "there is no frobnicate here" "the sentence names any program" without frobnicate
done_testing
