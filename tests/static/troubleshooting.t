#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# doc/troubleshooting.md and the messages of the sources agree, and a difference is found: a message
# without an entry, an entry without a message, one that fits everything.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
cd "$SOURCE" || exit 1
needs python3
export PYTHONDONTWRITEBYTECODE=1

check_output "" "every message of these rooms has its entry, and every entry its message" \
    python3 tests/static/troubleshooting.py

find common coordinator examples/llm launcher rdma runtime tests/static doc/troubleshooting.md \
    \( -name '*.[ch]' -o -name '*.py' -o -name '*.md' \) -exec cp --parents -t "$T" {} +
chmod -R u+w "$T"
cd "$T" || exit 1

# Five differences at once, as each run reads all sources: 2 s of a processor.
# change FILE FROM TO
change() {
    local text
    text=$(< "$1")
    [[ $text == *"$2"* ]] || fail "$1 holds the words that a difference changes" "not there: $2"
    printf '%s\n' "${text//"$2"/"$3"}" > "$1"
}

change launcher/wire/ssh/reach/remote_socket.c 'refused the connection; is sshd' \
    'refuses the connection; is sshd'
change doc/troubleshooting.md 'its host key has changed: …' 'its host key was changed: …'
change doc/troubleshooting.md "\`--stage: cannot read …\`, " ""
change rdma/verbs/explain.c 'cannot register memory' 'cannot pin this memory'
change doc/troubleshooting.md '### `was killed by signal … (…)`' '### `… killed …`'
python3 tests/static/troubleshooting.py > "$OUT" && fail "differences are failures" "status 0"

# said NAME WORD…: the complaints hold the words.
said() {
    local name=$1 word
    shift
    for word in "$@"; do
        grep -qF -- "$word" "$OUT" && continue
        fail "$name" "not said: $word"
        diag_file "$OUT"
        return
    done
    pass "$name"
}

said "a message whose words change is found" "launcher/wire/ssh/reach/remote_socket.c:" \
    '## Hosts and SSH' \
    "### \`… refuses the connection; is sshd running there, and on that port?\`" \
    "doc/troubleshooting.md:" "no message has the words \`… refused the connection; is sshd"
said "an entry whose words change is found" \
    "no message has the words \`its host key was changed: …\`" \
    "launcher/wire/ssh/remote_host_key.c:"
said "an entry that is removed is found" "launcher/input/values/staged_file.c:" \
    '## The start of ranks' "### \`--stage: cannot read …\`"
said "a sentence of a table that changes is found" "rdma/verbs/explain.c:" \
    "### \`cannot pin this memory\`"
said "an entry that fits everything is found" "\`… killed …\` fits too many messages"
done_testing
