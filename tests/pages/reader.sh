# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# reader.sh: a reader's machine and cluster, behind test.sh; with it come hosts.sh and page.sh. The
# reader sits in $T/work. Hosts a to d, which have other names too, are namespaces; /data and the
# like are below $T; the programs that pages name are there.
#
#     TEST_ALONE=1               before test.sh
#     reader_up                  makes all that, or skips the file
#     reader_types               types all commands that are this test's, each a check. Before each
#                                it calls reader_begins PAGE COMMAND, and behind it reader_sees PAGE
#                                COMMAND with the output in $T/seen: the test may have them, for
#                                files and more checks. DIFFERS is the status that sync --check
#                                and --git are to have
#     reader_job OPTION…         a job for JOB, and for the id in the man pages
# shellcheck disable=SC2154 # variables of test.sh and hosts.sh
. "$SOURCE/tests/lib/hosts.sh"
. "$SOURCE/tests/pages/page.sh"
READER_PLACES='data|models|scratch|opt|run|usr/libexec|usr/local|var/lib'
export PYTHONDONTWRITEBYTECODE=1 MANPAGER=cat MANWIDTH=80 TERM=xterm

reader_up() {
    [ "$SANITIZE" = no ] ||
        skip_all "strangers' programs cannot open a sanitized library by themselves"
    local name names=(a node0 n0 heat-0.heat gpu01 : b node1 gpu02 : c node2 gpu03 : d gpu04) i=1
    # On the hosts these directories are their own, and programs in PATH are found as here.
    NETNS_PRIVATE="$T/places/data $T/places/scratch $T/home/project" \
        NETNS_SSHD="SetEnv PATH=$T/bin:$PATH" hosts_up 4
    mkdir -p "$T/work" "$T/bin" "$T/home/project" "$T/places"/{data/models/llama,models,run/mlaunch} \
        "$T/places"/{scratch/me,usr/local/bin,var/lib/prometheus/node-exporter}
    cd "$T/work" || exit 1
    ln -s "$BUILD" build
    for name in "${names[@]}"; do
        if [ "$name" = : ]; then i=$((i + 1)) && continue; fi
        eval "echo \"\$A$i $name\"" >> "$NETNS_DIR/hosts"
        eval "printf 'Host %s\n  HostName %s\n  HostKeyAlias %s\n' $name \$A$i \$H$i"
    done > "$T/ssh_config"
    cat "$NETNS_SSH_CONFIG" >> "$T/ssh_config"
    must test "${TEST_ALONE_PID:-}" = $$ # so that nobody else gets these names
    must mount --bind "$NETNS_DIR/hosts" /etc/hosts
    export MLAUNCH_OPT_SSH_CONFIG=$T/ssh_config HOME=$T/home PATH=$T/bin:$PATH
    reader_programs
    reader_files
}

# Programs that pages name, and stand-ins for what leads to containers and to a cluster's scheduler.
reader_programs() {
    local name
    cat > prog.c << 'C'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    const char *rank = getenv("MLAUNCH_RANK");

    printf("rank %s\n", rank ? rank : "alone");
    return 0;
}
C
    must "$CC" -g -o prog prog.c
    for name in master worker heat; do ln -s prog $name; done
    # kubectl exec -i POD -- COMMAND… and docker exec -i CONTAINER COMMAND…
    cat > "$T/bin/kubectl" << 'SH'
#!/bin/sh
[ "$1" = create ] || { shift 4 && exec "$@"; }
cat > seen.kubectl
echo job.batch/heat created
SH
    printf '#!/bin/sh\nshift 3\nexec "$@"\n' > "$T/bin/docker"
    printf '#!/bin/sh\ncat > seen.qsub\necho 7.server\n' > "$T/bin/qsub"
    printf '#!/bin/sh\necho "# HELP gpu_load of one"\n' > "$T/places/usr/local/bin/nvidia-gpus"
    chmod +x "$T/bin"/{kubectl,docker,qsub} "$T/places/usr/local/bin/nvidia-gpus"
    # torch is a package of the system's Python, which may not be the first in PATH.
    if ! python3 -c 'import torch' 2> "$T/torch"; then
        ln -s /usr/bin/python3 "$T/bin/python3"
        hash -d python3 # bash would start the other one, which would take this one's modules
    fi
}

project() { git -C "$T/home/project" -c user.name=me -c user.email=me@localhost "$@"; }
project_begin() { project init -q && project add main.c && project commit -q -m first; }
reader_files() {
    local file
    for file in "$T/places/data/models/llama/weights" "$T/home/project/main.c" dataset.tar \
        weights.bin; do
        echo "$file" > "$file"
    done
    ! command -v git > "$T/which" || must project_begin
    must python3 "$SOURCE/tests/llm/tiny_model.py" "$T/places/models/Qwen3-0.6B-Q8_0.gguf"
}

# reader_job OPTION…: the job that JOB means, and a job's id in the man pages: two ranks that wait.
reader_job() {
    : > "$T/job.out"
    "$MLAUNCH" "$@" --name train -n 2 --output raw -- sh -c 'echo $MLAUNCH_JOB; exec sleep 600' \
        > "$T/job.out" 2>&1 < /dev/null &
    READER_JOB=$!
    at_exit reader_job_end
    wait_for '[ "$(wc -l < "$T/job.out")" = 2 ]'
    JOB=$(head -n 1 "$T/job.out")
}
reader_job_end() { kill "$READER_JOB" 2> /dev/null; }

# meant COMMAND: with files and jobs of this machine in the place of the reader's; and eight ranks
# on few processors try fewer sizes.
meant() {
    sed -E "s#(^|[ =])/($READER_PLACES)/#\\1$T/places/\\2/#g
        s#( --stacks)? (JOB|1ng2191-gayfa1)( |\$)#\\1 ${JOB:-none}\\3#
        s#a:4,b:4 --tune#& --sizes 64,16K#
        s# FILE # $T/places/models/Qwen3-0.6B-Q8_0.gguf #" <<< "$1"
}

# reader_has COMMAND: the programs that it needs are here, or $LACKS says which is not.
reader_has() {
    case $1 in
    *" --gdb "*) is_here gdb tmux ;;
    *gdb* | "mlaunch attach "*) is_here gdb ;;
    *mlaunch-llm*) is_here curl mlaunch-llm ;;
    *--listen) is_here curl ;;
    *--git*) is_here git ;;
    *jq\ *) is_here jq ;;
    *promtool*) is_here promtool ;;
    *strace*) is_here strace ;;
    *valgrind*) is_here valgrind ;;
    *train.py)
        LACKS="there is no torch here"
        ! grep -q '^import torch' train.py || python3 -c 'import torch' 2> "$T/torch" ;;
    esac
}
reader_begins() { :; }
reader_sees() { :; }
reader_types() {
    local page command
    while IFS=$'\t' read -r page command; do
        DIFFERS=0
        NAME=$(page_name "$page" "$command")
        reader_has "$command" || { skip "$NAME" "$LACKS" && continue; }
        reader_begins "$page" "$command"
        COMMAND=$(meant "$command")
        reader_types_one
        cp "$OUT" "$T/seen"
        reader_sees "$page" "$command"
    done < <(page_commands)
}

# What only ends when it is told, or wants a terminal or several hosts, gets that.
reader_types_one() {
    case $COMMAND in
    "mlaunch top "*--batch*) check "$NAME" typed "$COMMAND" ;;
    "mlaunch top "*) on_terminal 'wait q quit' 'type q' modes ;;
    "mlaunch metrics --listen") serves 'served 127.0.0.1:9764/metrics ^mlaunch_' on_host 1 ;;
    "mlaunch metrics -o"*)
        serves "grep -q ^mlaunch_ $T/places/var/lib/prometheus/node-exporter/mlaunch.prom" ;;
    *"serve --model"*"--host a") serves "curl -fsS http://$A1:8080/health" ;;
    *"serve --model"*) serves 'served localhost:8080/health status' on_host 1 ;;
    "mlaunch join --"[hf]*) joins ;;
    "mlaunch sync "*" --check"* | "mlaunch sync "*" --git"*)
        check_status "$DIFFERS" "$NAME" typed "$COMMAND" ;;
    "mlaunch attach "*) on_terminal 'wait (gdb)' 'type quit\n' 'wait y or n' 'type y\n' ;;
    *" gdb --args"*) on_terminal 'wait (gdb)' 'type run\n' 'wait exited normally' 'type quit\n' ;;
    *" --gdb "*) gdb_windows ;;
    *) check "$NAME" typed "$COMMAND" < /dev/null ;;
    esac
}

on_host() { netns exec "$(eval "echo \$H$1")" env -C "$PWD" "${@:2}"; }
# on_terminal LINE…: on a terminal, where this is seen and typed (tests/cli/on_terminal.py).
on_terminal() { check "$NAME" on_terminal_run "$@"; }
on_terminal_run() {
    typed "$COMMAND" "$SOURCE/tests/cli/on_terminal.py" "$(printf '%s\n' "$@")"
}
# served ADDRESS REGEX: host a serves that.
served() { on_host 1 curl -fsS "http://$1" 2> "$T/curl.err" | grep -qE "$2"; }
# serves CONDITION [WORD…]: it has done its work when CONDITION holds, and SIGTERM ends it.
serves() {
    local server
    set -m # a process group of its own
    typed "$COMMAND" "${@:2}" > "$OUT" 2> "$ERR" < /dev/null &
    server=$!
    set +m
    if wait_for "$1 > '$T/served' 2>&1 || ! kill -0 $server" && kill -0 "$server"; then
        pass "$NAME"
    else
        fail "$NAME" "$(cat "$ERR")"
    fi
    kill -TERM -- "-$server"
    wait "$server" 2> "$T/killed"
}
# The same lines on each host but for the index, which some systems say by a variable.
joins() {
    local i pids=()
    cp key "$T/places/run/mlaunch/"
    for i in 1 2 3; do
        typed "${COMMAND/--index 2/--index $i}" on_host $((i + 1)) env JOB_COMPLETION_INDEX=$i \
            > "$T/$i.out" 2>&1 < /dev/null &
        pids+=($!)
    done
    check "$NAME" typed "${COMMAND/--index 2/--index 0}" on_host 1 env JOB_COMPLETION_INDEX=0 \
        < /dev/null
    wait "${pids[@]}"
    cp "$OUT" "$T/joined"
    check_output "[0] rank 0
[1] rank 1
[2] rank 2
[3] rank 3" "four hosts are one job: $COMMAND" sort "$T/joined"
}
panes() { tmux list-panes -a -F '#{pane_id}' 2> "$T/tmux.err"; }
# panes_show REGEX: each window has a line that matches.
panes_show() {
    local pane
    [ -n "$(panes)" ] || return 1
    for pane in $(panes); do tmux capture-pane -p -t "$pane" | grep -qE "$1" || return 1; done
}
panes_get() { for pane in $(panes); do tmux send-keys -t "$pane" "$1" Enter; done; }
# Ranks under gdb in windows of tmux are continued there, and end.
gdb_windows() {
    local job pane
    export TMUX_TMPDIR=$SHORT
    unset TMUX
    at_exit eval 'tmux kill-server 2> "$T/tmux.err"'
    on_terminal_run 'wait tmux attach -t' > "$T/gdb" 2>&1 &
    job=$!
    wait_for 'panes_show "^\(gdb\) *$"'
    panes_get continue
    check "$NAME" wait "$job"
    panes_get quit
    wait_for '[ -z "$(panes)" ]' || fail "the windows of gdb close"
}
