#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The completions of zsh and fish are what doc/completion/generate makes of --help, and complete.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
folder=$SOURCE/doc/completion
for file in zsh:_mlaunch fish:mlaunch.fish; do
    "$folder/generate" "$MLAUNCH" "${file%:*}" > "$T/made"
    check "${file#*:} is up to date: doc/completion/generate makes it anew" \
        diff "$folder/${file#*:}" "$T/made"
done
for option in --wrap --hostfile --bind-to --stacks; do
    check_match "\\*?$option'?=?" "$folder/_mlaunch" "zsh knows $option"
    check_match " -l ${option#--} " "$folder/mlaunch.fish" "fish knows $option"
done

if command -v fish > /dev/null; then
    fished() {
        HOME=$T fish --no-config -c "source $folder/mlaunch.fish; complete -C 'mlaunch $1'" |
            cut -f 1 | xargs
    }
    check_output "--hostfile --hosts" "fish: an option" fished '-n 4 --hos'
    check_output core "fish: a value" fished '--bind-to c'
    check_output --stacks "fish: an option of a command" fished 'ps --st'
    check_output "" "fish: … and only of its own" fished 'kill --st'
    check_match '^verify$' <(fished ver | tr ' ' '\n') "fish: a command"
else
    skip "fish completes" "there is no fish here"
fi

if command -v zsh > /dev/null; then
    cat > "$T/typed.zsh" << 'ZSH'
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1=; fpath=($1 \$fpath); autoload -Uz compinit; compinit -D -u; echo rea''dy"
zpty -r -m z seen '*ready*'
zpty -w -n z "$2"$'\t'
zpty -r -m z seen "*$3*"
ZSH
    zshed() { TERM=dumb timeout 60 zsh -f "$T/typed.zsh" "$folder" "mlaunch $1" "$2"; }
    check "zsh: an option of a command" zshed 'ps --sta' --stacks
    check "zsh: a value" zshed '-n 2 --bind-to nu' numa
    check "zsh: a command" zshed 'veri' verify
else
    skip "zsh completes" "there is no zsh here"
fi
done_testing
