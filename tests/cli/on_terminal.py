#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""on_terminal.py SCRIPT COMMAND…: runs COMMAND on a terminal of its own and plays SCRIPT.

Each line of SCRIPT is one of: `wait TEXT` (until it has appeared since the last wait), `type TEXT`
(with \\n, \\x03 …), `signal NAME`, `stopped` (until the command has been stopped), `touch FILE`,
`size ROWS COLUMNS`, `raw` (until the terminal is in raw mode), `modes` (until it has the modes
again that it had at first). What appears goes to stdout. The status is the command's (128 + N for
signal N), or 99 if something did not happen within a minute.
"""
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

LIMIT = 60  # ends a hang only


class Terminal:
    def __init__(self, command):
        told, tell = os.pipe()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.read(told, 1)
            os.execvp(command[0], command)
        self.modes = termios.tcgetattr(self.fd)
        self.set_size("24 80")
        os.write(tell, b"x")
        self.seen = b""
        self.closed = False

    def read(self, seconds):
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        if not data:
            self.closed = True
        self.seen += data
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def wait(self, text):
        end = time.monotonic() + LIMIT
        while text not in self.seen:
            if self.closed or time.monotonic() > end:
                return False
            self.read(0.1)
        self.seen = self.seen.split(text, 1)[1]
        return True

    def wait_stopped(self):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            if pid:
                return os.WIFSTOPPED(status)
            self.read(0.02)
        return False

    def set_size(self, text):
        rows, columns = map(int, text.split())
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wait_modes(self, is_right):
        end = time.monotonic() + LIMIT
        while not is_right(termios.tcgetattr(self.fd)):
            if time.monotonic() > end:
                return False
            self.read(0.02)
        return True

    def play(self, line):
        verb, _, text = line.strip().partition(" ")
        text = text.encode().decode("unicode_escape").encode("latin-1")
        if verb == "wait":
            return self.wait(text)
        if verb == "type":
            os.write(self.fd, text)
        elif verb == "signal":
            os.kill(self.pid, signal.Signals[text.decode()])
        elif verb == "stopped":
            return self.wait_stopped()
        elif verb == "touch":
            open(text, "w").close()
        elif verb == "size":
            self.set_size(text.decode())
        elif verb == "raw":
            return self.wait_modes(lambda modes: not modes[3] & termios.ICANON)
        elif verb == "modes":
            return self.wait_modes(lambda modes: modes == self.modes)
        return True

    def end(self):
        end = time.monotonic() + LIMIT
        while not self.closed and time.monotonic() < end:
            self.read(0.1)
        if not self.closed:
            return 99
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code


def main():
    terminal = Terminal(sys.argv[2:])
    for line in sys.argv[1].splitlines():
        if line.strip() and not terminal.play(line):
            print(f"\non_terminal: did not happen: {line.strip()}", file=sys.stderr)
            os.kill(terminal.pid, signal.SIGKILL)
            sys.exit(99)
    sys.exit(terminal.end())


main()
