#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `llm serve` over two ranks, with the clients that it is for: what their guides tell people to
# type, bursts, clients that leave, hostile ones, OpenAI's own client, Prometheus, a browser.
# shellcheck disable=SC2154 # status, serve_status: of test.sh and server.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/server.sh"

check "a model is made for the server" python3 "$TINY" "$T/tiny.gguf" --endless --context 131072
long='"max_tokens":4000,"temperature":0'
[ "$SANITIZE" = no ] || long='"max_tokens":800,"temperature":0'
endless='"max_tokens":100000,"temperature":0' # longer than any check waits

# What cannot be served.
check_error 2 "llm serve: --model is missing: name a GGUF file" \
    "llm serve without a model is refused" "$LLM" serve
check_error 2 "llm serve: --queue must be a number from 1 to 4096, not '0'" \
    "an option beyond its range is refused" "$LLM" serve --model x --queue 0
check_error 2 "nowhere.gguf" "a model that is not there ends all ranks" \
    "$MLAUNCH" -n 2 -- "$LLM" serve --model "$T/nowhere.gguf"

# The commands of people's guides, word for word but for the port.
check "the server is healthy" serve_start -n 2 -- --model "$T/tiny.gguf" --slots 1 --queue 4 \
    --context 131072
[ "$status" = 0 ] || done_testing
check_output '{"ok": true, "world_size": 2, "rank": 0, "model": "tiny", "queue_max": 4, "queue_size": 0}' \
    "/health has today's members" json_show \
    'json.dumps({k: j[k] for k in "ok world_size rank model queue_max queue_size".split()})' "$T/health"
check "the page /v1/models is sent" curl -s "localhost:$PORT/v1/models"
check_match '"id":"tiny","object":"model"' "$OUT" "the page /v1/models names the model"
for host in evil.example 127.evil.example:80 10.0.0.1; do
    check "a request for another site, $host, gets an answer" curl -s "localhost:$PORT/v1/models" \
        -H "Host: $host"
    check_match '"message": *"on a loopback address only the Hosts localhost' "$OUT" \
        "a request for another site, $host, is refused"
done
for host in LOCALHOST 127.0.0.1:1 '[::1]:9'; do
    check "a request for this host's name, $host, gets an answer" curl -s \
        "localhost:$PORT/v1/models" -H "Host: $host"
    check_match '"id":"tiny","object":"model"' "$OUT" \
        "a request for this host's name, $host, is answered"
done
check "the page /v1/models/ID is sent" curl -s "localhost:$PORT/v1/models/tiny"
check_match '^\{"id":"tiny","object":"model","created":[0-9]+,"owned_by":"llm"\}$' "$OUT" \
    "the page /v1/models/ID describes the model"
check_output 404 "another model is not there" curl -s -o "$T/none" -w '%{http_code}\n' \
    "localhost:$PORT/v1/models/nothing%00tiny"
check_output "302 $URL/dashboard" "the page / leads to the dashboard" \
    curl -s -w '%{http_code} %{redirect_url}\n' "$URL/"
curl -s "$URL/none" "$URL/v1/completions" > "$T/none"
check "the page /metrics is sent" curl -s "$URL/metrics"
check_match '^llm_requests_total\{code="404"\} 2$' "$OUT" \
    "answers for pages that are not there are counted"
check_match '^llm_requests_total\{code="405"\} 1$' "$OUT" \
    "answers for methods that a page has not are counted"
check "a chat is answered" curl -s "localhost:$PORT/v1/chat/completions" \
    -H 'Content-Type: application/json' \
    -d '{"messages":[{"role":"user","content":"hello"}],"max_tokens":64}'
cp "$OUT" "$T/chat"
check_output "(64, True)" "a chat's answer has content, usage and timing" field \
    "r['usage']['completion_tokens'], r['timing']['tokens_per_sec'] > 0 and len(r['choices'][0]['message']['content']) > 0" \
    "$T/chat"
check "a chat as a stream is answered" curl -sN "localhost:$PORT/v1/chat/completions" \
    -H 'Content-Type: application/json' \
    -d '{"messages":[{"role":"user","content":"hello"}],"max_tokens":64,"stream":true}'
grep . "$OUT" > "$T/events"
check_output "data: [DONE]" "a chat as a stream ends in [DONE]" tail -n 1 "$T/events"
check "raw text as a stream is answered" curl -sN "localhost:$PORT/v1/completions" \
    -H 'Content-Type: application/json' -d '{"prompt":"once","max_tokens":128,"stream":true}'
check_no_match '^[^d]' "$OUT" "each line of a stream is data"

# The same question has the same greedy answer, whole, in pieces, and from what a slot still holds.
post /v1/completions '{"prompt":"once upon","max_tokens":100,"temperature":0}' > "$T/first"
post /v1/completions '{"prompt":"once upon","max_tokens":100,"temperature":0}' > "$T/again"
check "the prompt was not computed again" test "$(field "r['usage']['prompt_tokens_details']['cached_tokens']" "$T/again")" -gt 0
field "r['choices'][0]['text']" "$T/first" > "$T/first.text"
field "r['choices'][0]['text']" "$T/again" > "$T/again.text"
check "the answer to the same question is the same" cmp "$T/first.text" "$T/again.text"
post /v1/completions '{"prompt":"once upon","max_tokens":100,"temperature":0,"stream":true}' > "$T/stream"
sed -n 's/^data: {/{/p' "$T/stream" | python3 "$SOURCE/tests/llm/stream_text.py" > "$T/stream.text"
check "the answer as a stream is the same" cmp "$T/first.text" "$T/stream.text"

# Penalties: the same model, the same prompt, and more that it has not said before.
distinct() { field "len(set(r['choices'][0]['text']))" "$1"; }
post /v1/completions '{"prompt":"once upon","max_tokens":100,"temperature":0,"frequency_penalty":2,
    "presence_penalty":2}' > "$T/penalties"
check "penalties make an answer repeat itself less" \
    test "$(distinct "$T/penalties")" -gt "$(distinct "$T/first")"

# How likely tokens were: all of them are told of, whole and in a stream alike, and with temperature
# 0 each is the likeliest. In raw text OpenAI has another form of it.
cat > "$T/logprobs.py" << 'END'
import json, math, sys
def events(path):
    return [json.loads(line[6:]) for line in open(path) if line.startswith("data: {")]
whole = json.load(open(sys.argv[1]))["choices"][0]
parts = [e["choices"][0] for e in events(sys.argv[2]) if e["choices"]]
text = json.load(open(sys.argv[3]))["choices"][0]
tokens = whole["logprobs"]["content"]
print(len(tokens), all(len(t["top_logprobs"]) == 3 for t in tokens))
print(all(t["bytes"] == t["top_logprobs"][0]["bytes"] and t["logprob"] <= 0 for t in tokens))
print(all(sum(math.exp(b["logprob"]) for b in t["top_logprobs"]) <= 1.001 for t in tokens))
said = b"".join(bytes(t["bytes"]) for t in tokens).decode(errors="ignore")
print(said == whole["message"]["content"].replace("\ufffd", ""))
streamed = [t for p in parts for t in (p["logprobs"] or {"content": []})["content"]]
print(len(streamed) == len(tokens) and all(s["bytes"] == t["bytes"] and
      abs(s["logprob"] - t["logprob"]) < 0.01 for s, t in zip(streamed, tokens)))
logprobs = text["logprobs"]
print(len(logprobs["tokens"]), len(logprobs["token_logprobs"]), logprobs["text_offset"][:1],
      all(0 < len(t) <= 2 for t in logprobs["top_logprobs"]))
END
ask='"messages":[{"role":"user","content":"hello"}],"max_tokens":30,"temperature":0,"logprobs":true'
post /v1/chat/completions "{$ask,\"top_logprobs\":3}" > "$T/logprobs.whole"
post /v1/chat/completions "{$ask,\"top_logprobs\":3,\"stream\":true}" > "$T/logprobs.stream"
post /v1/completions '{"prompt":"once","max_tokens":20,"temperature":0,"logprobs":2}' \
    > "$T/logprobs.text"
check_output "30 True
True
True
True
True
20 20 [0] True" \
    "the probabilities of tokens are right" python3 "$T/logprobs.py" "$T/logprobs.whole" \
    "$T/logprobs.stream" "$T/logprobs.text"

# Several prompts, and several answers to each, whole and in a stream: each is what it is alone.
rest='"max_tokens":40,"temperature":0'
post /v1/completions '{"prompt":"once upon",'"$rest"'}' > "$T/alone.0"
post /v1/completions '{"prompt":[65,66,67],'"$rest"'}' > "$T/alone.1"
prompts='"prompt":["once upon",[65,66,67]],"n":2,"stream_options":{"include_usage":true}'
post /v1/completions "{$prompts,$rest}" > "$T/whole"
post /v1/completions "{$prompts,$rest,\"stream\":true}" > "$T/stream"
tokens=$(($(field "r['usage']['prompt_tokens']" "$T/alone.0") + 3))
check_output "[0, 1, 2, 3] True
True [160]
160 $tokens" \
    "several prompts and several answers are right" python3 "$SOURCE/tests/llm/choices.py" \
    "$T/whole" "$T/stream" "$T/alone.0" "$T/alone.1"
for i in 1 2; do
    post /v1/completions '{"prompt":"once upon","max_tokens":40,"n":3,"seed":7}' > "$T/seed.$i"
    field "[c['text'] for c in r['choices']]" "$T/seed.$i" > "$T/seeded.$i"
done
check_output 3 "answers with a seed differ from each other" \
    field "len(set(c['text'] for c in r['choices']))" "$T/seed.1"
check "answers with the same seed come again" cmp "$T/seeded.1" "$T/seeded.2"
post /v1/completions '{"prompt":"x","n":6}' > "$T/many"
check_match 'the request asks for 6 answers; this server takes 5 at most at a time' "$T/many" \
    "more than can wait are refused"
post /v1/completions '{"prompt":[[5,100000]]}' > "$T/beyond"
check_match 'token 100000 is not in the vocabulary of [0-9]* tokens".*"param":"prompt"' \
    "$T/beyond" "a token that the model does not have is refused"

# Objects in JSON, of a model that knows nothing of it.
for i in 1 2 3 4 5 6 7 8; do
    post /v1/chat/completions '{"messages":[{"role":"user","content":"hello"}],"max_tokens":300,
        "n":5,"seed":'$((100 * i))',"response_format":{"type":"json_object"}}' > "$T/object.$i"
done
check_output "40 True" "answers in JSON are objects" \
    python3 "$SOURCE/tests/llm/objects.py" "$T"/object.*

# Five at once, then twenty: one is answered, four wait, the others are refused.
# burst N: sets `answered` and `refused`.
burst() {
    local i pids=()
    rm -f "$T"/burst.*
    for ((i = 0; i < $1; i++)); do
        post /v1/completions '{"prompt":"x",'"$long"'}' -o "$T/answer.$i" -w '%{http_code}\n' \
            > "$T/burst.$i" 2>&1 &
        pids+=($!)
    done
    wait_for "queue_is 4" && was_full=yes || was_full=
    wait "${pids[@]}"
    answered=$(cat "$T"/burst.* | grep -c '^200$')
    refused=$(cat "$T"/burst.* | grep -c '^429$')
}
burst 5
check "five at once: all are answered" test "$answered" = 5
check "meanwhile the queue was full" test -n "$was_full"
check "the queue is empty after a burst" wait_for "queue_is 0"
burst 20
check "twenty at once: each is answered or refused" test $((answered + refused)) = 20
check "as many of twenty are answered as have room, or more" test "$answered" -ge 5

# Clients that leave: while their prompt is read, in the queue, and while they are answered.
python3 "$SOURCE/tests/llm/long_prompt.py" > "$T/long.json"
post_start /v1/completions "@$T/long.json" "$T/leaving.0"
reading=$!
check "a long prompt is read" wait_for "busy_is 1"
must kill "$reading"
check "one that leaves while its prompt is read frees its slot" wait_for "busy_is 0"
post_start /v1/completions '{"prompt":"x","stream":true,'"$endless"'}' "$T/leaving"
streaming=$!
wait_for "grep -q data: '$T/leaving'"
post_start /v1/completions '{"prompt":"x",'"$endless"'}' "$T/leaving.2"
queued=$!
wait_for "queue_is 1"
must kill "$queued"
check "one that leaves the queue frees its place" wait_for "queue_is 0"
must kill "$streaming"
check "one that leaves its stream frees its slot" wait_for "busy_is 0"
wait "$reading" "$queued" "$streaming"

serve_stop

# Hostile ones, and those that count.
check "a server with several slots starts" serve_start -n 2 -x MLAUNCH_STALL=2 -- \
    --model "$T/tiny.gguf" --context 131072
wait_for false 3 # nothing else is to happen
check_no_match "has not come to" "$T/serve.err" "ranks without work are not reported as stalled"
check "hostile clients harm nobody" python3 "$SOURCE/tests/llm/hostile_clients.py" "$PORT"
check "the server is healthy after hostile clients" serve_healthy
# Their own work, which is most of it, would be the same beside a sanitized server.
is_sanitized() { [ "$SANITIZE" != no ] && ! is_long; }
if is_sanitized; then
    skip "Prometheus can read /metrics" "with a sanitizer only in check-long"
elif is_here promtool; then
    check "Prometheus can read /metrics" sh -c "curl -sS $URL/metrics | promtool check metrics"
else
    skip "Prometheus can read /metrics" "$LACKS"
fi
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if is_sanitized; then
    skip "the dashboard shows ranks and a chat in a browser" "with a sanitizer only in check-long"
elif [ -n "$browser" ]; then
    check "the dashboard shows ranks and a chat in a browser" python3 \
        "$SOURCE/tests/llm/dashboard_browser.py" "$browser" "$URL" "$T/browser"
else
    skip "the dashboard shows ranks and a chat in a browser" "no Chromium here"
fi

# OpenAI's own client.
# shellcheck source=/dev/null
. "$SOURCE/tests/llm/npm.sh"
openai=$BUILD/tests/llm/openai
if is_sanitized; then
    skip "OpenAI's client is served" "with a sanitizer only in check-long"
elif npm_install "$openai" openai@7.55.0; then
    check "OpenAI's client is served" env NODE_PATH="$openai/node_modules" \
        node "$SOURCE/tests/llm/openai_client.cjs" "$URL"
else
    skip "OpenAI's client is served" "$NPM_WHY"
fi

# The end, and the same port at once.
post_start /v1/completions '{"prompt":"x","stream":true,'"$endless"'}' "$T/cut"
cut=$!
wait_for "grep -q data: '$T/cut'"
serve_stop
wait "$cut"
check_match '"message":"the server is stopping"' "$T/cut" "a stream that is cut says why"
check_no_match DONE "$T/cut" "a stream that is cut does not look complete"
no_survivors "nothing is left of the server with slots" "$MARK"
check "a server starts again on the same port" serve_start -n 2 -- --model "$T/tiny.gguf"
check_match '"queue_max":64,' "$T/health" "64 requests may wait by default"
check_error 2 "cannot listen on port $PORT of 127.0.0.1: Address already in use; choose" \
    "a second server on the same port is refused" \
    "$MLAUNCH" -n 2 -- "$LLM" serve --model "$T/tiny.gguf" --port "$PORT"
serve_stop
no_survivors "nothing is left of the server that started again" "$MARK"

# Keys: each of them is one, and nothing else is; what says whether the server lives asks for none.
printf '# those of two users\n\nkey-of-a\r\n  \nkey-of-b' > "$T/keys"
check "a server with keys starts" serve_start -n 2 -- --model "$T/tiny.gguf" \
    --api-key-file "$T/keys"
check_match "every user of this host can read $T/keys; chmod 600 ends that" "$T/serve.err" \
    "a file of keys that others can read is told of"
# asks HEADER PATH…: the statuses of these pages.
asks() {
    local header=$1 page
    shift
    for page; do curl -sS -o "$T/asked" -w '%{http_code} ' -H "$header" "$URL$page"; done
    echo
}
pages=(/v1/models /v1/models/tiny /status.json /queue /metrics /none)
check_output "200 200 302 " "the health and the dashboard need no key" \
    asks "X: y" /health /dashboard /
for header in "X: y" "Authorization: Bearer" "Authorization: Bearer key-of" "Authorization: key-of-a" \
    "Authorization: Bearer key-of-ab" "Authorization: Bearer # those of two users" \
    "Authorization: Bearer $(printf '%0300d' 0)"; do
    check_output "401 401 401 401 401 401 " \
        "no page is sent with the header \"${header:0:40}\"" asks "$header" "${pages[@]}"
done
check_match '"type":"authentication_error"' "$T/asked" "a missing key is told in JSON"
check_output "401" \
    "no completion is made without a key" curl -sS -o "$T/asked" -w '%{http_code}\n' \
    "$URL/v1/completions" -H 'Content-Type: application/json' -d '{"prompt":"x"}'
for key in key-of-a key-of-b; do
    check_output "200 200 200 200 200 404 " \
        "all pages are sent with the key $key" asks "Authorization: bearer $key" "${pages[@]}"
done
check_output "200" "a completion is made with a key" curl -sS -o "$T/asked" -w '%{http_code}\n' \
    -H 'Authorization: Bearer key-of-b' "$URL/v1/completions" -H 'Content-Type: application/json' \
    -d '{"prompt":"x"}'
serve_stop
printf 'a key' > "$T/keys"
check_error 2 "llm serve: --api-key-file $T/keys: line 1 is no key: " \
    "a file with a line that is no key is refused" \
    "$MLAUNCH" -n 2 -- "$LLM" serve --model "$T/tiny.gguf" --api-key-file "$T/keys"
check_no_match "a key'?$" "$ERR" "a line that is no key is not shown"
printf '\n' > "$T/keys"
check_error 2 "--api-key-file $T/keys: it has no key" "a file without a key is refused" \
    "$MLAUNCH" -n 2 -- "$LLM" serve --model "$T/tiny.gguf" --api-key-file "$T/keys"
check_error 2 "--api-key-file $T/none/keys: cannot be opened: Not a directory" \
    "a file of keys that is not there is refused" \
    "$MLAUNCH" -n 2 -- "$LLM" serve --model "$T/tiny.gguf" --api-key-file "$T/none/keys"

# As a job in the background, by the script `server`.
export XDG_STATE_HOME=$T/state LLM_NAME=test-llm-$$ LLM MLAUNCH
server=$SOURCE/examples/llm/server
check_output "$LLM_NAME answers at http://127.0.0.1:$PORT" \
    "server start waits until the server answers" \
    "$server" start -n 2 -x "$MARK" -- --model "$T/tiny.gguf" --port "$PORT"
at_exit "$server" stop
check "server health succeeds" "$server" health
check_match '"ok":true' "$OUT" "server health says that the server is healthy"
check_error 1 "$LLM_NAME is running already" \
    "a second server start is refused" "$server" start -n 1 -- --model x
check "server status succeeds" "$server" status
check_match "^$LLM_NAME .* live " "$OUT" "server status shows the job's ranks"
check "server restart succeeds" "$server" restart
check "server logs succeeds" "$server" logs
check_match "llm: tiny on http://127.0.0.1:$PORT, 2 ranks" "$OUT" \
    "server logs shows what the server said"
check_output "$LLM_NAME has ended" "server stop ends the server" "$server" stop
no_survivors "nothing is left after server stop" "$MARK"
check_error 1 "nowhere.gguf: cannot be opened" "server start says why a server cannot start" \
    "$server" start -n 2 -x "$MARK" -- --model "$T/nowhere.gguf" --port "$PORT"
no_survivors "nothing is left of a server that cannot start" "$MARK"

# Without mlaunch it is a group of one.
"$LLM" serve --model "$T/tiny.gguf" --port "$PORT" > "$T/alone" 2>&1 &
alone=$!
check "llm serve without mlaunch serves alone" serve_healthy
post /v1/completions '{"prompt":"once upon","max_tokens":100,"temperature":0}' > "$T/one"
check_match '"world_size":1,' "$T/health" "a server without mlaunch has one rank"
check_no_match 'only programs on host' "$T/alone" \
    "a server without mlaunch does not tell of its host's users"
must kill "$alone"
wait "$alone"
check "a server without mlaunch ends with 0" test $? = 0
done_testing
