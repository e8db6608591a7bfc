#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""far.py PORT: makes what is redirected to it (nft, `redirect to :PORT`) as far away as a host that
bytes need 50 ms to reach, in either direction. Its own connections have the mark 1. Prints a line
once it listens."""
import asyncio
import contextlib
import socket
import struct
import sys

AWAY_S = 0.05
SO_ORIGINAL_DST = 80


async def carry(source, sink):
    """Each piece is passed on AWAY_S after it has come."""
    loop, pieces = asyncio.get_running_loop(), asyncio.Queue()

    async def deliver():
        while True:
            due, piece = await pieces.get()
            await asyncio.sleep(due - loop.time())
            if not piece:
                break
            sink.write(piece)
        with contextlib.suppress(OSError):  # the other end has gone
            sink.write_eof()

    delivery = asyncio.create_task(deliver())
    piece = b"."
    while piece:
        try:
            piece = await source.read(65536)
        except ConnectionError:
            piece = b""
        pieces.put_nowait((loop.time() + AWAY_S, piece))
    await delivery


async def on_caller(reader, writer):
    caller = writer.get_extra_info("socket")
    meant = caller.getsockopt(socket.SOL_IP, SO_ORIGINAL_DST, 16)
    _, port, address = struct.unpack("!HH4s8x", meant)
    s = socket.socket()
    s.setblocking(False)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 1)
    try:
        await asyncio.get_running_loop().sock_connect(s, (socket.inet_ntoa(address), port))
    except OSError:
        s.close()
        writer.close()
        return
    there_reader, there_writer = await asyncio.open_connection(sock=s)
    await asyncio.gather(carry(reader, there_writer), carry(there_reader, writer))
    there_writer.close()
    writer.close()


async def main():
    server = await asyncio.start_server(on_caller, "127.0.0.1", int(sys.argv[1]), backlog=1024)
    print("far", flush=True)
    await server.serve_forever()


asyncio.run(main())
