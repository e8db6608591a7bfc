# SPDX-License-Identifier: MIT
"""differences.py CASES RESULTS [kinds]: three lines for each configuration with which ssh and
mlaunch did not do the same, and at the end how many of how many. With "kinds": how often each kind
of difference was there, and with each subject, the most frequent first."""
import collections
import json
import os
import re
import sys

FIELDS = ("address", "port", "from", "user", "offered", "key")


def told(logins, is_offering):
    """What is compared of logins. Who is logged in as is not said before a key is offered."""
    found = []
    for login in logins:
        if bool(login["offered"]) == is_offering:
            found.append({f: login[f] for f in FIELDS if f != "user" or is_offering})
    return found


def unlike_fields(ssh, mlaunch):
    if len(ssh) != len(mlaunch):
        return ["logins"]
    return [f for f in FIELDS if any(s.get(f) != m.get(f) for s, m in zip(ssh, mlaunch))]


def difference(did):
    """The kind of a difference, or None. A host that is refused before any key is offered may be
    refused with or without a connection to it."""
    ssh, mlaunch = did["ssh"], did["mlaunch"]
    if mlaunch["status"] == 124:
        return "mlaunch does not end"
    if ssh["answer"] == "in" and mlaunch["answer"] != "in":
        return "mlaunch refuses: " + reason(mlaunch)
    if ssh["answer"] != "in" and mlaunch["answer"] == "in":
        return "ssh refuses: " + reason(ssh)
    unlike = unlike_fields(told(ssh["logins"], True), told(mlaunch["logins"], True))
    if not unlike and ssh["logins"] and mlaunch["logins"]:
        unlike = unlike_fields(told(ssh["logins"], False), told(mlaunch["logins"], False))
    if not unlike:
        return None
    return "%s: other %s" % ("both let in" if ssh["answer"] == "in" else "both refuse",
                             ", ".join(unlike))


def reason(did):
    """The last line, without what differs from one configuration to the next."""
    lines = [l for l in did["wrong"].splitlines()
             if l.strip() and "terminating, " not in l and " means " not in l and "debug" not in l]
    text = lines[-1] if lines else "(nothing is said)"
    text = re.sub(r"^mlaunch: (error: )?(host \S+: )?", "", text)
    text = re.sub(r"SHA256:\S+", "KEY", text)
    text = re.sub(r"(/[\w.]+)+:? line \d+:?", "FILE line N:", text)
    text = re.sub(r"\S+@\S+:", "USER@HOST:", text)
    text = re.sub(r"\[?[\w.:]*\b(10\.88\.0\.\d+|fd88::\d|h\d|six\d|both\d|alpha|beta|gamma)"
                  r"[\w.:]*\]?(:\d+)?( \([\d.:a-f]+\))?( port \d+)?", "HOST", text, flags=re.I)
    text = re.sub(r"(not in|none of these in as|with as) .*", r"\1 …", text)
    text = re.sub(r"(which keeps none).*", r"\1", text)
    text = re.sub(r'"[^"]*"', '"…"', text)
    return text[:110]


def logins_show(did):
    """In one line."""
    return "%s, %s" % (did["answer"], "; ".join(
        "%s port %d from %s as %s: %s%s" % (
            l["address"], l["port"], l["from"], l["user"], " ".join(l["offered"]) or "no key",
            " (let in)" if l["key"] else "") for l in did["logins"]) or "no login")


def main():
    cases, results = sys.argv[1:3]
    kinds, subjects, all_of = (collections.Counter() for _ in range(3))
    names = sorted(n for n in os.listdir(results) if n.endswith(".json"))
    unlike = 0
    for name in names:
        with open(os.path.join(results, name)) as f:
            did = json.load(f)
        with open(os.path.join(cases, name[:-5], "case.json")) as f:
            about = json.load(f)
        kind = difference(did)
        all_of.update(set(about["subjects"]))
        if kind is None:
            continue
        unlike += 1
        kinds[kind] += 1
        subjects.update(set(about["subjects"]))
        if "kinds" not in sys.argv:
            print("%s (%s): %s\n    ssh: %s\n    mlaunch: %s" % (
                name[:-5], ", ".join(about["subjects"]), kind, logins_show(did["ssh"]),
                logins_show(did["mlaunch"])))
    if "kinds" in sys.argv:
        for kind, count in kinds.most_common():
            print("%4d  %s" % (count, kind))
        for name, count in subjects.most_common():
            print("%4d of %d  %s" % (count, all_of[name], name))
    print("%d of %d differ" % (unlike, len(names)))


if __name__ == "__main__":
    main()
