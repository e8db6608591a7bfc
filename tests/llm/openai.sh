# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# openai.sh: OpenAI's client for JavaScript, pinned, in the build directory; installed once.
OPENAI_VERSION=openai@7.55.0
OPENAI_MODULES=$BUILD/tests/llm/openai/node_modules
OPENAI_REASON=
# openai_install: false, and $OPENAI_REASON, where it cannot be had.
openai_install() {
    [ ! -d "$OPENAI_MODULES/openai" ] || return 0
    OPENAI_REASON="no node or no npm here"
    command -v node > /dev/null && command -v npm > /dev/null || return 1
    OPENAI_REASON="npm cannot install $OPENAI_VERSION"
    mkdir -p "${OPENAI_MODULES%/*}" && cd "${OPENAI_MODULES%/*}" || return 1
    [ -e package.json ] || echo '{"private": true}' > package.json
    timeout 60 npm install --ignore-scripts --omit=optional --no-audit --no-fund "$OPENAI_VERSION" \
        > "$T/npm" 2>&1
    local installed=$?
    cd "$T" || return 1
    [ "$installed" -eq 0 ]
}
