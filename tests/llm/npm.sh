# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# npm.sh: other people's programs from npm, to compare ours with: llama.cpp (node-llama-cpp, whose
# package for Linux has llama.cpp's libraries in it, so nothing is downloaded or compiled when it
# runs), the reference renderer of chat templates, OpenAI's client. They are installed once, without
# their install scripts, into the build folder. A file that reads this has read test.sh.
NPM_PACKAGES="node-llama-cpp@3.22.1 @node-llama-cpp/linux-x64@3.22.1 @huggingface/jinja@0.5.11"
NPM=$BUILD/tests/llm/npm
NPM_WHY=""

# npm_install FOLDER PACKAGE…: true if the packages are in FOLDER/node_modules; else $NPM_WHY says
# why not.
npm_install() {
    local folder=$1
    shift
    is_here node npm git || { NPM_WHY=$LACKS && return 1; }
    mkdir -p "$folder"
    # Files that run at once wait for the one that installs.
    {
        flock 9
        if [ "$(cat "$folder/installed" 2> /dev/null)" != "$*" ]; then
            echo '{"private": true}' > "$folder/package.json"
            # It has been seen to wait for ever, whatever --fetch-timeout says.
            if ! (cd "$folder" && timeout 240 npm install --ignore-scripts --omit=optional --no-audit --no-fund \
                --fetch-retries=1 --fetch-timeout=60000 "$@") > "$folder/log" 2>&1; then
                NPM_WHY="npm cannot get $*: $(grep -m 1 'ERR!\|error' "$folder/log" ||
                    echo 'no end after 240 s')"
                return 1
            fi
            echo "$*" > "$folder/installed"
        fi
    } 9> "$folder/lock"
}

# npm_ready: the same for $NPM_PACKAGES, in $NPM.
npm_ready() {
    [ "$(uname -m)" = x86_64 ] || { NPM_WHY="llama.cpp's package is for x86-64"; return 1; }
    # shellcheck disable=SC2086
    npm_install "$NPM" $NPM_PACKAGES || return 1
    [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] ||
        { NPM_WHY="node-llama-cpp needs node 20 or later"; return 1; }
}

# npm_files PATH...: files and folders of llama.cpp's repository, which node-llama-cpp has as a git
# bundle, in $NPM/llama.cpp/PATH.
npm_files() {
    local path clone=$NPM/llama.cpp.git
    local bundle=$NPM/node_modules/node-llama-cpp/llama/gitRelease.bundle
    {
        flock 9
        if [ ! -e "$clone/whole" ]; then
            rm -rf "$clone"
            git clone -q --bare "$bundle" "$clone" && touch "$clone/whole" || return 1
        fi
        mkdir -p "$NPM/llama.cpp"
        for path; do
            [ -e "$NPM/llama.cpp/$path" ] || git -C "$clone" archive HEAD "$path" |
                tar -x -C "$NPM/llama.cpp" || return 1
        done
    } 9> "$NPM/lock"
}

# npm_script SCRIPT: puts a script of this folder where it finds the packages, in $NPM.
npm_script() { cp "$SOURCE/tests/llm/$1" "$NPM/$1.$$" && mv "$NPM/$1.$$" "$NPM/$1"; }
