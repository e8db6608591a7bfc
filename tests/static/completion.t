#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The completions of the shells are what doc/completion/generate makes of --help, and complete.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
folder=$SOURCE/doc/completion
for file in bash:mlaunch zsh:_mlaunch fish:mlaunch.fish; do
    "$folder/generate" "$MLAUNCH" "${file%:*}" > "$T/made"
    check "${file#*:} is up to date: doc/completion/generate makes it anew" \
        diff "$folder/${file#*:}" "$T/made"
done
if [ -x "$BUILD/examples/llm/llm" ]; then
    for file in mlaunch-llm _mlaunch-llm mlaunch-llm.fish mlaunch-llm-server.fish; do
        "$folder/generate-llm" "$BUILD/examples/llm/llm" "$file" > "$T/made"
        check "$file is up to date: doc/completion/generate-llm makes it anew" \
            diff "$folder/$file" "$T/made"
    done
else
    skip "the files of mlaunch-llm are up to date" "built without examples/llm"
fi
for option in --wrap --hostfile --bind-to --stacks; do
    check_match "\\*?$option'?=?" "$folder/_mlaunch" "zsh knows $option"
    check_match " -l ${option#--} " "$folder/mlaunch.fish" "fish knows $option"
done

for option in $("$MLAUNCH" --help | grep -oE -- '^ {2,6}(-., )?--[a-z-]+(, --[a-z-]+)*' | tr -d ,); do
    [[ $option != --* ]] || check_match " '?$option( |'|\$)" "$folder/mlaunch" "bash knows $option"
done

# Jobs that a completion asks mlaunch for.
mkdir "$T/bin"
cat > "$T/bin/mlaunch" << 'END'
#!/bin/sh
case $1 in
ps) printf '    "job": "1ng7vf7-s50j80",\n    "job_name": "train",\n    "name": "a",\n    "job_name": "",\n' ;;
logs) printf '    "job": "1ng7vf0-old000",\n    "job_name": "ended",\n' ;;
esac
END
chmod +x "$T/bin/mlaunch"

# What bash offers for the last of these words.
bashed() {
    # shellcheck disable=SC2016
    PATH=$T/bin:$PATH bash -c '. "$0"; COMP_WORDS=(mlaunch "$@") COMP_CWORD=$#; _mlaunch
        printf "%s\n" "${COMPREPLY[@]}"' "$folder/mlaunch" "$@" | xargs
}
check_output "--hosts --hostfile" "bash offers an option" bashed -n 4 --hos
check_output "--hosts --hostfile" "bash offers an option of a command" bashed ps --hos
check_output core "bash offers a value" bashed --bind-to c
check_output "" "bash offers no option of another command" bashed kill --st
check_output "reduce_scatter reduce" "bash offers an operation of bench" bashed bench -n 2 red
check_output --checksum "bash offers an option of sync" bashed sync --checks
check_match '^verify( |$)' <(bashed verif) "bash offers a command"
check_output bootstrap \
    "bash offers the files of a program" sh -c 'cd "$SOURCE" && bash -c ". doc/completion/mlaunch
    COMP_WORDS=(mlaunch -n 2 cat boots) COMP_CWORD=4; _mlaunch; echo \${COMPREPLY[*]}"'
check_output "$(bashed help '')" "bash offers the commands alone without a letter" bashed ''
check_match 'exec sync batch' <(bashed help '') "bash offers the commands that help has"
check_output "1ng7vf7-s50j80 train" "bash offers jobs to kill" bashed kill ''
check_output train "bash offers jobs to attach" bashed attach -H a,b t
check_output "1ng7vf0-old000 ended" "bash offers jobs that have ended to logs" bashed logs ''
check_output "--stdin" \
    "bash offers the options of the next program" bashed -n 2 -- ls -l : -n 1 --stdi
check_output "" "bash offers no option for a program" bashed -n 2 ls --stdi

# The same for mlaunch-llm and mlaunch-llm-server, of which bash reads a file each.
bashed_llm() {
    # shellcheck disable=SC2016
    PATH=$T/bin:$PATH bash -c '. "$0/$1"; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        function=$(complete -p "$1"); function=${function#*-F }; "${function% *}"
        printf "%s\n" "${COMPREPLY[@]}"' "$folder" "$@" | xargs
}
check_output "bench generate serve" "bash offers the words of mlaunch-llm" bashed_llm mlaunch-llm ''
check_output "--prompt --prompt-file --prompt-tokens" \
    "bash offers options of a word of mlaunch-llm" bashed_llm mlaunch-llm generate --prom
check_output "" \
    "bash offers no options of another word of mlaunch-llm" bashed_llm mlaunch-llm serve --prom
touch "$T/model.gguf"
check_output "$T/model.gguf" \
    "bash offers a file to mlaunch-llm" bashed_llm mlaunch-llm serve --model "$T/mod"
check_output "start stop status" \
    "bash offers the words of mlaunch-llm-server" bashed_llm mlaunch-llm-server st
check_output "--hosts --hostfile" "bash offers options of mlaunch behind start" \
    bashed_llm mlaunch-llm-server start -n 2 --hos
check_output core "bash offers values of options behind start" \
    bashed_llm mlaunch-llm-server start --bind-to c
check_output -- \
    "bash offers what ends the options behind start" bashed_llm mlaunch-llm-server start -n 2 ''
check_output --slots "bash offers options of serve behind that" \
    bashed_llm mlaunch-llm-server start -H a,b -- --sl
check_output "" "bash offers nothing behind stop" bashed_llm mlaunch-llm-server stop ''

if is_here fish; then
    fished() {
        HOME=$T fish --no-config -c "source $folder/mlaunch.fish; complete -C 'mlaunch $1'" |
            cut -f 1 | xargs
    }
    fished_llm() {
        HOME=$T fish --no-config -c "for f in $folder/*.fish; source \$f; end
            complete -C '$1'" | cut -f 1 | xargs
    }
    check_output "--hostfile --hosts" "fish offers an option" fished '-n 4 --hos'
    check_output core "fish offers a value" fished '--bind-to c'
    check_output --stacks "fish offers an option of a command" fished 'ps --st'
    check_output "" "fish offers no option of another command" fished 'kill --st'
    PATH=$T/bin:$PATH check_output "1ng7vf7-s50j80 train" "fish offers jobs to kill" fished 'kill '
    check_output "bench generate serve" \
        "fish offers the words of mlaunch-llm" fished_llm 'mlaunch-llm '
    check_output --slots "fish offers an option of a word of mlaunch-llm" \
        fished_llm 'mlaunch-llm serve --sl'
    check_output "start status stop" \
        "fish offers the words of mlaunch-llm-server" fished_llm 'mlaunch-llm-server st'
    check_output "--hostfile --hosts" "fish offers options of mlaunch behind start" \
        fished_llm 'mlaunch-llm-server start -n 2 --hos'
    check_output --slots "fish offers options of serve behind --" \
        fished_llm 'mlaunch-llm-server start -n 2 -- --sl'
    check_match '^verify$' <(fished ver | tr ' ' '\n') "fish offers a command"
else
    skip "fish offers an option" "$LACKS"
fi

if is_here zsh; then
    cat > "$T/typed.zsh" << 'ZSH'
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1=; fpath=($1 \$fpath); autoload -Uz compinit; compinit -D -u; echo rea''dy"
zpty -r -m z seen '*ready*'
zpty -w -n z "$2"$'\t'
zpty -r -m z seen "*$3*"
ZSH
    zshed() { TERM=dumb timeout 60 zsh -f "$T/typed.zsh" "$folder" "mlaunch $1" "$2"; }
    check "zsh offers an option of a command" zshed 'ps --sta' --stacks
    check "zsh offers a job to kill" env PATH="$T/bin:$PATH" bash -c \
        'TERM=dumb timeout 60 zsh -f "$@"' _ "$T/typed.zsh" "$folder" "mlaunch kill tr" train
    zshed_llm() { TERM=dumb timeout 60 zsh -f "$T/typed.zsh" "$folder" "$1" "$2"; }
    check "zsh offers a word of mlaunch-llm" zshed_llm 'mlaunch-llm gen' generate
    check "zsh offers an option of a word of mlaunch-llm" zshed_llm 'mlaunch-llm serve --slo' \
        --slots
    check "zsh offers a word of mlaunch-llm-server" zshed_llm 'mlaunch-llm-server resta' restart
    check "zsh offers an option of mlaunch behind start" \
        zshed_llm 'mlaunch-llm-server start --bind-' --bind-to
    check "zsh offers an option of serve behind --" \
        zshed_llm 'mlaunch-llm-server start -n 2 -- --slo' --slots
    check "zsh offers a value" zshed '-n 2 --bind-to nu' numa
    check "zsh offers a command" zshed 'veri' verify
else
    skip "zsh offers an option of a command" "$LACKS"
fi
done_testing
