# SPDX-License-Identifier: MIT
"""malformed_http.py PORT: requests that are wrong, each on a connection of its own. Each is
answered with the status that its row has, in JSON and once, or its connection is closed; what lies
behind it is no next request; and the next good request on another connection is answered. --show
prints what each row gets."""
import json
import socket
import sys

from connection import dial, hear

PORT = int(sys.argv[1])
SHOW = "--show" in sys.argv
GOOD = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
CLOSED = 0    # nothing is answered
CUT = -1      # the same, when the client has sent all: it waits for more before that
JSON = b"Content-Type: application/json\r\n"
LIMIT = 4 * 1024 * 1024


def get(target=b"/health", version=b"HTTP/1.1", method=b"GET", head=b""):
    return method + b" " + target + b" " + version + b"\r\n" + head + b"\r\n"


def post(head, body=b"", path=b"/v1/completions"):
    return b"POST " + path + b" HTTP/1.1\r\nHost: localhost\r\n" + JSON + head + b"\r\n" + body


def length(value, body=b"{}"):
    return post(b"Content-Length: " + value + b"\r\n", body)


def chunks(body, head=b""):
    return post(b"Transfer-Encoding: chunked\r\n" + head, body)


def body(text, path=b"/v1/completions"):
    text = text if isinstance(text, bytes) else text.encode()
    return post(b"Connection: close\r\nContent-Length: %d\r\n" % len(text), text, path)


def prompt(more):
    return body('{"prompt": "x", %s}' % more)


def chat(messages, more=""):
    return body('{"messages": %s%s}' % (messages, more), b"/v1/chat/completions")


def refused(status, *requests):
    return [(status, request) for request in requests]


def deep(n, opening, closing):
    return '{"prompt": ' + opening * n + closing * n + "}"


ROWS = (
    # Lines that are no request line.
    refused(400,
            b"\r\n\r\n", b"hello\r\n\r\n", b"GET\r\n\r\n", b"GET /health\r\n\r\n",
            b" GET /health HTTP/1.1\r\n\r\n",
            b"GET  /health HTTP/1.1\r\n\r\n", b"GET /health  HTTP/1.1\r\n\r\n",
            b"GET\t/health\tHTTP/1.1\r\n\r\n",
            get(b"health"), get(b"/a b"), get(b"?x"), get(b"//\x01"), get(b"/\x7f"), get(b"/\x00"),
            get(version=b"HTTP/2.0"), get(version=b"HTTP/1.11"), get(version=b"HTTP/1."),
            get(version=b"HTTP/11"), get(version=b"http/1.1"), get(version=b"HTTP/-1.1"),
            get(version=b"FTP/1.1"), get(version=b"HTTP 1.1"), get(version=b""),
            get(version=b"1.1"),
            get(version=b"HTTP/1.a"), get(b"http://"), get(b"http://[::1/health"),
            get(b"http://[x]/health"),
            get(b"http://a:b/health"), get(b"http://user@localhost/health"),
            get(b"ftp://localhost/health"),
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\n",
            b"\x00" * 64 + b"\r\n\r\n", b"\xff\xfe" * 32 + b"\r\n\r\n",
            b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
            b"<policy-file-request/>\r\n\r\n", b"GET http:/health\rHTTP/1.1\r\n\r\n",
            get(method=b"G" * 300)) +
    # Methods.
    refused(501, get(method=b"TRACE"), get(method=b"CONNECT"), get(method=b"get"),
            get(method=b"GETT"), get(method=b"PROPFIND"), get(method=b"GE\xc3\x89")) +
    refused(405, get(method=b"DELETE", head=b"Connection: close\r\n"),
            get(method=b"OPTIONS", head=b"Connection: close\r\n"),
            get(b"/v1/completions", head=b"Connection: close\r\n"),
            body("{}", b"/health")) +
    # Targets.
    refused(404, *(get(target, head=b"Connection: close\r\n") for target in (
        b"/..", b"/../../etc/passwd", b"/%2e%2e/etc/passwd", b"/health%00", b"/health/",
        b"/%zz", b"/" + b"a" * 8000, b"/\xff\xfe", b"/health;x", b"/v1/models/..%2f..%2fetc",
        b"/v1/models/%ff%fe", b"/v1/embeddings", b"/v1/responses"))) +
    # Heads.
    refused(400, *(get(head=head) for head in (
        b"Host\r\n", b": x\r\n", b" X: y\r\n", b"X: y\r\n folded\r\n", b"X : y\r\n", b"X\t: y\r\n",
        b"X: a\x00b\r\n", b"X: a\x01b\r\n", b"X: a\x7fb\r\n", b"X: a\rb\r\n", b"X: a\r\r\n",
        b"\x00: y\r\n", b"X y: z\r\n", b"=\r\n", b"\xff\xff\r\n"))) +
    refused(431, get(head=b"X: " + b"x" * 20000 + b"\r\n"), get(head=b"X: y\r\n" * 4000),
            get(head=b"".join(b"X%d: y\r\n" % i for i in range(4000))), get(b"/" + b"a" * 20000),
            b"A" * 70000, get(head=b"X" * 20000 + b": y\r\n")) +
    refused(421, *(b"GET /health HTTP/1.1\r\nConnection: close\r\nHost: " + name + b"\r\n\r\n"
                   for name in (b"evil.example", b"localhost.evil.example", b"", b"[::1", b"[",
                   b":80",
                                b"localhost\xff", b"127.0.0.1.nip.io", b"0",
                                b"localhost@evil.example", b"localhost:x", b"localhost:80:80",
                                b"[::1]x", b"::1",
                                b"a" * 300, b"localhost\r\nHost: evil.example"))) +
    refused(421, get(b"//health", head=b"Connection: close\r\n"),
            get(b"http://evil.example/health", head=b"Connection: close\r\n"),
            get(b"https://10.0.0.1/health", head=b"Host: localhost\r\nConnection: close\r\n")) +
    refused(417, get(head=b"Expect: 200-maybe\r\n"), post(b"Content-Length: 2\r\nExpect: \r\n",
    b"{}")) +
    # Bodies whose length is unclear.
    refused(400, *(length(value) for value in (
        b"-1", b"+2", b"0x2", b"2 2", b"2,2", b"2.0", b"2e0", b"", b"two", b"\xc2\xb2", b"2;",
        b"'2'",
        b"2\x0b", b"- 2", b"2\r\nTransfer-Encoding: \x0bchunked", b"00x",
        b"2\r\nContent-Length: 3", b"2\r\nContent-Length: 2",
        b"2\r\ncontent-length: 2", b"2\r\nTransfer-Encoding: chunked"))) +
    refused(400, get(head=b"Content-Length: 2\r\n") + b"{}",
            get(head=b"Transfer-Encoding: chunked\r\n") + b"0\r\n\r\n",
            get(method=b"DELETE", head=b"Content-Length: 2\r\n") + b"{}",
            post(b"Content-Length : 2\r\n", b"{}"), post(b" Content-Length: 2\r\n", b"{}"),
            chunks(b"0\r\n\r\n", b"Transfer-Encoding: chunked\r\n"),
            chunks(b"0\r\n\r\n", b"Content-Length: 5\r\n")) +
    refused(501, *(post(b"Transfer-Encoding: " + coding + b"\r\n",
    b"2\r\n{}\r\n0\r\n\r\n") for coding in (
        b"xchunked", b"chunkedx", b"gzip", b"gzip, chunked", b"chunked, identity", b"identity", b"",
        b"'chunked'", b"chunked;q=1", b"chunked\t;x"))) +
    refused(411, post(b""), post(b"Connection: keep-alive\r\n", b"{}"),
    post(b"Content_Length: 2\r\n", b"{}")) +
    refused(413, *(length(value) for value in (
        b"%d" % (LIMIT + 1), b"4294967298", b"9223372036854775807", b"9223372036854775808",
        b"18446744073709551618", b"9" * 200))) +
    refused(413, chunks(b"%x\r\n" % (LIMIT + 1)), chunks(b"7fffffffffffffff\r\n"),
    chunks(b"f" * 18 + b"\r\n{}"),
            chunks(b"200000\r\n" + b" " * 0x200000 + b"\r\n200001\r\n"),
            chunks((b"10000\r\n" + b" " * 65536 + b"\r\n") * 65)) +
    # Chunks.
    refused(400, *(chunks(text) for text in (
        b"-2\r\n{}\r\n0\r\n\r\n", b"0x2\r\n{}\r\n0\r\n\r\n", b"g\r\n{}\r\n0\r\n\r\n",
        b"2 2\r\n{}\r\n0\r\n\r\n",
        b"+2\r\n{}\r\n0\r\n\r\n", b" 2\r\n{}\r\n0\r\n\r\n",
        b"2\r\r\n{}\r\n0\r\n\r\n", b"2\r\n{}\r\n0\r\nX: y\r\n\r\n", b"2;x=y\r\n{}\r\n0\r\n\r\n",
        b"2\r\n{}\r\n0\r\n\r\r\n", b"2\r\n{}2\r\n{}\r\n0\r\n\r\n", b"0" * 17 + b"\r\n\r\n",
        b"\x002\r\n{}\r\n",
        b"2\r\n{}x\r\n0\r\n\r\n", b"\r\n2\r\n{}\r\n0\r\n\r\n", b"2;" + b"x" * 70000))) +
    refused(CUT, chunks(b""), chunks(b"2"), chunks(b"2\r\n{"), chunks(b"2\r\n{}\r\n"),
    chunks(b"2\r\n{}\r\n0\r\n"),
            length(b"3"), length(b"4194304"), b"GET /health HTTP/1.1\r\n",
            b"GET /health HTTP/1.1\r\nX: y",
            b"POST", b"\r") +
    # Types.
    refused(415, *(post(b"", b"").replace(JSON,
    kind + b"Connection: close\r\nContent-Length: 2\r\n") + b"{}"
                   for kind in (b"", b"Content-Type: text/plain\r\n",
                   b"Content-Type: application/jsonx\r\n",
                                b"Content-Type: multipart/form-data; boundary=x\r\n",
                                b"Content-Type:\r\n"))) +
    # Bodies that are no JSON, or not what is expected.
    refused(400, *(body(text) for text in (
        b"", b"{", b"}", b"[]", b"null", b"1", b'"x"', b"{}", b"{}{}", b"{]", b"{'prompt': 'x'}",
        b'{"prompt": "x",}', b'{"prompt": "x"', b'{"prompt" "x"}', b"\xef\xbb\xbf{}",
        b'{"prompt": "\xff"}',
        b'{"prompt": "\xc3"}', b'{"prompt": "\xed\xa0\x80"}', b'{"prompt": "\xf5\x80\x80\x80"}',
        b'{"prompt": "\xc0\xaf"}', b'{"prompt": "\\ud800"}', b'{"prompt": "\\u0000"}',
        b'{"prompt": "\\x41"}',
        b'{"prompt": "a\nb"}', b'{"prompt": "a\x00b"}', b"\x00" * 100, b"\xff" * 100,
        b'{"prompt": NaN}',
        b'{"prompt": "x", "max_tokens": 01}', b'{"prompt": "x", "seed": 99999999999999999999}',
        b'{"prompt": "x", "temperature": 1e999}', deep(3000, "[", "]"), deep(100000, "[", "]"),
        deep(100000, '{"a":', "}"), '{"prompt": ' + "[" * 100000, '{"' + "a" * 100000 + '": 1}',
        b'{"prompt": []}', b'{"prompt": [[]]}', b'{"prompt": [[1], 2]}', b'{"prompt": [-1]}',
        b'{"prompt": [2147483647]}', b'{"prompt": [18446744073709551616]}', b'{"prompt": {"a": 1}}',
        b'{"prompt": true}', '{"prompt": [%s]}' % ",".join(['"x"'] * 200),
        '{"prompt": "%s"}' % ("x " * 200000)))) +
    refused(400, *(prompt(more) for more in (
        '"n": 0', '"n": 129', '"n": 1.5', '"n": "2"', '"n": -9223372036854775808',
        '"max_tokens": -1',
        '"max_tokens": 2147483648', '"max_tokens": "1"', '"temperature": -1', '"temperature": 2.1',
        '"temperature": []',
        '"top_p": 1.1', '"top_k": 4294967296', '"seed": "x"', '"stream": 1', '"stream_options": 1',
        '"stop": [[]]', '"stop": {"a": 1}', '"stop": "%s"' % ("x" * 300), '"logprobs": 21',
        '"logprobs": -1',
        '"presence_penalty": 3', '"frequency_penalty": "x"', '"response_format": 1',
        '"response_format": {"type": 1}', '"response_format": {"type": "xml"}',
        '"logit_bias": {"1": 1}',
        '"suffix": "x"', '"echo": true', '"best_of": 2', '"min_p": 0.5'))) +
    refused(400, *(chat(messages) for messages in (
        "[]", "{}", "1", "[1]", "[null]", "[[]]", '[{"content": "x"}]',
        '[{"role": 1, "content": "x"}]',
        '[{"role": "root", "content": "x"}]', '[{"role": "user"}]',
        '[{"role": "user", "content": 1}]',
        '[{"role": "user", "content": [1]}]',
        '[{"role": "user", "content": [{"type": "image_url"}]}]',
        '[{"role": "tool", "content": "x"}]',
        '[%s]' % ",".join(['{"role": "user", "content": "x"}'] * 5000)))) +
    refused(400, chat('[{"role": "user", "content": "x"}]', ', "tools": [{"type": "function"}]'),
            chat('[{"role": "user", "content": "x"}]', ', "logprobs": 1'),
            chat('[{"role": "user", "content": "x"}]', ', "top_logprobs": 3')))


def ask(request, is_all=False):
    with dial(PORT) as s:
        try:
            s.sendall(request)
            if is_all:
                s.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return hear(s)


def verdict(status, request):
    """None, or what is wrong with the answer."""
    answer = ask(request if status == CUT else request + GOOD, status == CUT)
    if SHOW:
        print(status, request[:70], answer[:60])
    if not answer:
        return None if status in (CUT, CLOSED) else "closed"
    if answer.count(b"HTTP/1.1 ") + answer.count(b"HTTP/1.0 ") != 1:
        return "answered more than once"
    if int(answer.split()[1]) != status:
        return "answered otherwise"
    try:
        error = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
    except ValueError:
        return "not answered in JSON"
    return None if error["code"] == status and error["message"] else "not an error in JSON"


wrong = 0
for status, request in ROWS:
    what = verdict(status, request)
    if what:
        print(f"{what}, not {status}: {request[:200]}")
        print(f"    {ask(request + GOOD)[:300]}")
        wrong += 1
    good = ask(GOOD.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    if b'"ok":true' not in good:
        print(f"then a good request is answered: {good[:200]}; behind {request[:200]}")
        sys.exit(1)
print(f"{len(ROWS)} requests, {wrong} of them judged wrongly")
sys.exit(wrong > 0)
