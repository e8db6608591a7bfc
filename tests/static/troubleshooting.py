#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""troubleshooting.py: doc/troubleshooting.md and the messages of the sources agree.

An entry is a heading "### `WORDS`", or a table's row whose first cell is `WORDS`; either may hold
several. WORDS are a message's own, with … for everything else.
"""
import re
import sys

import messages
from messages import words_in

DOCUMENT = "doc/troubleshooting.md"
# The words in this section are other programs': they are not compared.
FOREIGN = "What other tools say"

# Every message of these rooms, and of files with these beginnings, has an entry. A new message's
# entry goes into this section.
SECTIONS = {
    "common": "The data between ranks",
    "coordinator": "The data between ranks",
    "examples/llm": "A served language model",
    "launcher/agent": "The start of ranks",
    "launcher/agent/queries": "What runs and what was left",
    "launcher/agent/mpi": "MPI programs",
    "launcher/agent/children/copier": "Files for every host",
    "launcher/wire/channel": "Agents on the hosts",
    "launcher/commands/log": "Jobs in the background",
    "launcher/run/job/detach": "Jobs in the background",
    "launcher/run/job/detached": "Jobs in the background",
    "launcher/run/log": "Jobs in the background",
    "launcher/commands/exec": "A command on every host",
    "launcher/exec_command": "A command on every host",
    "launcher/commands/change": "The course of a job",
    "launcher/base/machine/job_socket": "The course of a job",
    "launcher/run/change": "The course of a job",
    "launcher/run/elastic": "The course of a job",
    "launcher/run/round": "The course of a job",
    "launcher/run/state": "The course of a job",
    "launcher/run/spread/file_feed": "The start of ranks",
    "launcher/run/job": "The course of a job",
    "launcher/base/loader": "The start of ranks",
    "launcher/pmix": "MPI programs",
    "launcher/base/process": "Agents on the hosts",
    "launcher/wire/protocol": "Agents on the hosts",
    "launcher/wire/uplink": "Hosts that join",
    "launcher/run/job/job_hub": "Hosts that join",
    "launcher/wire/join": "Hosts that join",
    "launcher/wire/ssh": "Hosts and SSH",
    "launcher/base/text/program_path": "Agents on the hosts",
    "launcher/input/values/staged": "The start of ranks",
    "launcher/run/stdio": "Output and input",
    "launcher/tools/copier": "Files for every host",
    "launcher/tools/sync": "Files for every host",
    "launcher/run/spread": "Files for every host",
    "launcher/base/tree": "Files for every host",
    "launcher/run/rdma_topology": "RDMA devices and wiring",
    "rdma": "RDMA devices and wiring",
    "runtime": "The data between ranks",
}

# In these files a table holds the sentences; each text of three words is one.
TABLES = ("rdma/verbs/explain.c",)

# No user meets the messages of what is for tests only.
UNSEEN = "rdma/standin/"

# Messages without an entry, and why.
INTERNAL = {
    # What helps is known without a page.
    "…out of memory…": "says all itself",
    "cannot write to stdout: …": "says all itself",
    "… is the program that mlaunch … becomes: run that": "says all itself",
    "mlaunch-probe: memfd_create: …": "says all itself",
    "cannot open a socket": "says all itself, with the OS's reason",
    # The launcher or the library has not kept to the protocol.
    "the launcher's COORDINATE is invalid": "says all itself",
    "the request is malformed": "says all itself",
    "… runs, and becomes a member when the others call ml_repair (ml_changed)": "says all itself",
    "… run, and become members when the others call ml_repair (ml_changed)": "says all itself",
    "… … the job (mlaunch shrink …)": "says all itself",
    "the job gets … (mlaunch grow …)": "says all itself",
    "the launcher's GROW is invalid": "says all itself",
    "the launcher's PLACED is invalid": "says all itself",
    "the connection for copies has ended": "never shown: the rank goes on without copies",
    "a connection for \"…\" has come to the keeper": "never shown: the connection is closed",
    "the launcher's next job is another one": "says all itself",
    "it sent REPAIR before it had joined": "says all itself",
    "the rank has ended, or has another process": "says all itself",
    # They are put in front of another sentence, or between its parts.
    "rank … on host …": "names a place",
    "the agent of host …": "names a place",
    "the job's coordinator": "names a place",
    "… cut off": "names a place",
    "does not have one valid entry for each …": "stands behind: the launcher's JOB is invalid",
    "cannot connect yet": "is tried again",
    "…/… is too long for the path of a socket": "ranks then connect to the coordinator",
    "and … more": "ends a list",
    "peer_gid": "names a member of an answer",
    "receive of a message with a tag": "names a call",
    "window_free of window …": "names a call",
    "cmd=mlaunch_pmix python=…": "a line of the protocol",
    "… elements of … bytes (the program's operator, …)": "names a call",
    "… of … bytes… with tag …": "names a call",
    ", in parts of other sizes: … and … bytes": "ends a sentence",
    "mlaunch: summary: … of … rank… ended, …": "is no failure",
    # A fault that the user has asked for.
    "--chaos: … … stopped for ….… s (SIGSTOP)": "says all itself",
    "--chaos: none of the ranks to … runs now": "says all itself",
    "--chaos: the connection to host … is cut": "says all itself",
    "--chaos: there is no connection to host … to cut now": "says all itself",
    # A caller replaces them, or they follow from an end that has its own sentence.
    "time-out": "callers say what has not come in time",
    "closed by mlaunch": "the job is ending",
    "closed while connecting": "the job is ending",
    # Between mlaunch's own processes, and only if one of them is wrong.
    "only the mlaunch that it has joined can reach it": "cannot happen to users",
    "it sent a message of type … out of turn": "cannot happen to users",
    "the head asked for more agents than there may be": "cannot happen to users",
    "the head sent a message of type …": "cannot happen to users",
    "the head sent a malformed message": "cannot happen to users",
    "what mlaunch has sent has no valid '…'": "cannot happen to users",
    "what mlaunch has sent is no JSON: …": "cannot happen to users",
    "mlaunch has ended": "nobody is there to read it",
    "limit_ms": "names a member",
    "it sent a message for a host that is not below it": "cannot happen to users",
    "the other side sent more than it may": "cannot happen to users",
    # No job's name or directory is that long.
    "the job's id is too long": "cannot happen to users",
    "the path of job … is too long": "cannot happen to users",
    "the path of the job directory is too long": "cannot happen to users",
    "the job's id is longer than … bytes": "cannot happen to users",
    "the names in a handshake are too long": "cannot happen to users",
    "… is too long": "cannot happen to users",
    '"…" is not ADDRESS:PORT or [ADDRESS]:PORT': "cannot happen to users",
    # No sentences.
    "usage: mlaunch -n RANKS -- … WORD [OPTION]...": "a help text",
    "`… WORD --help` lists the options of a word.": "a help text",
    "# HELP llm_requests_total …": "of a page for Prometheus",
    'llm_requests_total{code="…"} …': "of a page for Prometheus",
    "…/.local/state/mlaunch/logs": "a directory's name",
    "/dev/shm/mlaunch-…-….bell.….….…": "a file's name",
    "/dev/shm/mlaunch-…-….calls.…": "a file's name",
    "/dev/shm/mlaunch-…-….copy.…": "a file's name",
    "/dev/shm/mlaunch-…-….counters.…": "a file's name",
    "/dev/shm/mlaunch-…-….keep.….….…": "a file's name",
    "…/class/infiniband/…/ports/…/state": "a file's name",
    "…/mpi4py/MPI*.so": "a file's name",
    "…/…/python3*/*-packages/mpi4py/MPI*.so": "a file's name",
    "…/.local/lib/python3*/site-packages/mpi4py/MPI*.so": "a file's name",
    "/lib/…:/usr/lib/…:/lib64:/usr/lib64:/lib:/usr/lib": "directories' names",
}


class Entry:
    """What the words of an entry fit: … is any text, or none."""

    def __init__(self, words, line=0):
        self.words, self.line, self.named = words, line, words_in(words)
        self.pieces = re.split(r"\s*…\s*", words.strip())
        self.longest = max(self.pieces, key=len)
        self.pattern = re.compile(r"\s*.*\s*".join(map(re.escape, self.pieces)), re.DOTALL)

    def fits(self, text):
        if self.longest not in text:
            return False
        # "cannot make …" is not about all messages that begin so.
        if len(self.named) < 3 and self.named != words_in(text):
            return False
        return bool(self.pattern.fullmatch(text))


def entries_in(text):
    """The entries about our own messages."""
    is_foreign = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("## "):
            is_foreign = FOREIGN in line
        row = re.match(r"\| *(`.*?`) *\|", line)
        head = line if line.startswith("### ") else row.group(1) if row else ""
        if not is_foreign:
            yield from (Entry(words, number) for words in re.findall(r"`([^`]+)`", head))


def told_messages():
    """(path, text) of each message that needs an entry: (line, section)."""
    told = {}
    for path in messages.sources(messages.FOLDERS, (".c",)):
        sections = [s for s in SECTIONS if str(path).startswith((s + "/", s + "_", s + "."))]
        if not sections or str(path).startswith(UNSEEN):
            continue
        found = [(line, text) for line, _, text in messages.messages_in(path)]
        if str(path) in TABLES:
            found += [f for f in messages.strings_in(path) if len(words_in(f[1])) >= 3]
        for line, text in found:
            # One with fewer words only says where, before another: "rank …", "host …: …".
            if len(words_in(text)) >= 2:
                told[str(path), text] = line, SECTIONS[max(sections, key=len)]
    return told


def complaints():
    with open(DOCUMENT, encoding="utf-8") as f:
        entries = list(entries_in(f.read()))
    internal = [Entry(words) for words in INTERNAL]
    told = told_messages()
    every = {text.strip() for path in messages.sources(messages.FOLDERS, (".c", ".h", ".py"))
             for _, text in messages.strings_in(path)}

    if len(entries) < 100 or len(told) < 300:
        yield f"only {len(entries)} entries and {len(told)} messages were found"
    for entry in entries:
        place = f"{DOCUMENT}:{entry.line}"
        if len(entry.named) < 2:
            yield f"{place}: `{entry.words}` fits too many messages: write more of its words"
        elif not any(entry.fits(text) for text in every):
            yield (f"{place}: no message has the words `{entry.words}`: if the message has "
                   f"changed, write its new words here; if it is gone, remove the entry; if the "
                   f"words are another program's, move the entry below \"## {FOREIGN}\"")
    for entry in internal:
        if not any(entry.fits(text) for _, text in told):
            yield (f"tests/static/troubleshooting.py: no message has the words {entry.words!r}: "
                   f"remove them from INTERNAL")
    for (path, text), (line, section) in told.items():
        if not any(entry.fits(text) for entry in (*entries, *internal)):
            yield (f"{path}:{line}: {DOCUMENT} does not have this message. Add it there below "
                   f"\"## {section}\", with its cause and remedy, as a heading\n"
                   f"    ### `{text}`\nor in the first column of the section's table; or, if no "
                   f"user can do anything about it, with the reason to INTERNAL in "
                   f"tests/static/troubleshooting.py")


if __name__ == "__main__":
    FOUND = list(complaints())
    print("\n".join(FOUND), end="\n" if FOUND else "")
    sys.exit(1 if FOUND else 0)
