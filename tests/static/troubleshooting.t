#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# doc/troubleshooting.md and the messages of the sources agree, and a difference is found: a message
# without an entry, an entry without a message, one that fits everything.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
cd "$SOURCE" || exit 1
command -v python3 > /dev/null || skip_all "there is no python3"
export PYTHONDONTWRITEBYTECODE=1

check_output "" "every message of these rooms has its entry, and every entry its message" \
    python3 tests/static/troubleshooting.py

find common coordinator examples/llm launcher rdma runtime tests/static doc/troubleshooting.md \
    \( -name '*.[ch]' -o -name '*.py' -o -name '*.md' \) -exec cp --parents -t "$T" {} +
chmod -R u+w "$T"
cd "$T" || exit 1

# differs NAME FILE FROM TO WORD…: with FROM as TO in FILE, the complaint holds the words.
differs() {
    local name=$1 file=$2 from=$3 to=$4 word
    shift 4
    cp "$SOURCE/doc/troubleshooting.md" doc
    FROM=$from TO=$to python3 - "$file" << 'END'
import os, sys
text = open(sys.argv[1], encoding="utf-8").read()
assert os.environ["FROM"] in text
open(sys.argv[1], "w", encoding="utf-8").write(text.replace(os.environ["FROM"], os.environ["TO"]))
END
    if python3 tests/static/troubleshooting.py > "$OUT"; then
        fail "$name" "nothing was said"
        return
    fi
    cp "$SOURCE/$file" "$file"
    for word in "$@"; do
        grep -qF -- "$word" "$OUT" && continue
        fail "$name" "not said: $word"
        diag_file "$OUT"
        return
    done
    pass "$name"
}

differs "a message whose words change" launcher/wire/ssh/remote_socket.c 'refused the connection; is sshd' \
    'refuses the connection; is sshd' "launcher/wire/ssh/remote_socket.c:" \
    '## Hosts and SSH' "### \`… refuses the connection; is sshd running there, and on that port?\`" \
    "doc/troubleshooting.md:" "no message has the words \`… refused the connection; is sshd"
differs "an entry whose words change" doc/troubleshooting.md 'its host key has changed: …' \
    'its host key was changed: …' "no message has the words \`its host key was changed: …\`" \
    "launcher/wire/ssh/remote_host_key.c:"
differs "an entry that is removed" doc/troubleshooting.md "\`--stage: cannot read …\`, " "" \
    "launcher/input/values/staged_file.c:" '## The start of ranks' "### \`--stage: cannot read …\`"
differs "a sentence of a table that changes" rdma/verbs/explain.c 'cannot register memory' \
    'cannot pin this memory' "rdma/verbs/explain.c:" "### \`cannot pin this memory\`"
differs "an entry that fits everything" doc/troubleshooting.md '### `was killed by signal … (…)`' \
    '### `… killed …`' "\`… killed …\` fits too many messages"
done_testing
