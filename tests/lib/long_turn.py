#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Long forms of tests in turns: each run of this program takes those that have waited longest.

long_turn.py run TEST…       runs those whose turn it is, for 8 minutes at most, or --seconds N if
                             these are fewer, in the build folder --build DIR, and writes the table
long_turn.py choose TEST…    prints those whose turn it is, with their seconds
long_turn.py check TEST…     prints what is wrong with the table, a line each; status 1 then

TEST… are all tests that have a long form, as make names them (TESTS_LONG). The table is
tests/long-runs, or --table FILE. The working directory is the root of the sources.

A form is a test's name, or NAME:PART where the test says in its head, as TEST_PARTS=N, that its
long form runs in N parts; the part is MLAUNCH_TEST_PART=K/N in the test's environment. Soaks and
fuzzing take their length from MLAUNCH_TEST_SECONDS.

The table has a line for each form:

    FORM  TURN  COMMIT  DATE  SECONDS  OUTCOME

Each run of this program that had 8 minutes, and has written the table, is a turn; what a shorter
one runs counts for the turn before it. TURN is the number of the turn in
which the form was run last; COMMIT, DATE and SECONDS are from its last run. A form that has never
been run has the date `never`, and the number of the last turn before its line was added. SECONDS
with a ~ before them are an estimate. OUTCOME is `passed`, `-` if it was never run, or `skipped
since DATE: REASON`: then the form had its turn, but the machine lacks something, and the other
columns are still from the last run that was one. What fails keeps its line, so that its turn comes
again at once.

Two forms run side by side, but no two parts of one test. First come the forms that have never been
run, then those with the lowest numbers, and of equal ones those that take longest; what does not
fit in the rest of the 8 minutes is passed over, and so comes early in the next turn. A form waits
for as many turns as the last turn's number is above its own. It has missed its turn if these are
more than all forms' seconds divided by 8 minutes.
"""
import argparse
import concurrent.futures
import datetime
import math
import os
import re
import subprocess
import sys
import threading
import time

TURN_S = 480     # what a turn takes at most
LANES = 2        # how many forms run side by side
FORM_S = 360     # what a form takes at most; one that nobody has timed takes that
SOAK_S = 120     # what a soak, and a file of fuzz targets, take of a turn
LIMIT_S = 720    # what ends a hang
LINE = re.compile(r"(?P<form>\S+) +(?P<turn>\d+) +(?P<commit>[0-9a-f]{7,40}|-) +"
                  r"(?P<date>\d{4}-\d\d-\d\d|never) +(?P<seconds>~?\d+) +"
                  r"(?P<outcome>passed|-|skipped since \d{4}-\d\d-\d\d: \S.*)$")


class Form:
    """A line of the table."""

    def __init__(self, name, turn, commit="-", date="never", seconds=f"~{FORM_S}", outcome="-"):
        self.name, self.turn, self.commit, self.date = name, int(turn), commit, date
        self.seconds, self.outcome = seconds, outcome

    def cost(self):
        """The seconds that it takes: what was skipped takes next to nothing."""
        return 1 if self.outcome.startswith("skipped") else int(self.seconds.lstrip("~"))

    def test(self):
        return self.name.partition(":")[0]

    def order(self):
        return self.date != "never", self.turn, -self.cost(), self.name

    def __str__(self):
        return (f"{self.name:<44} {self.turn:>4}  {self.commit:<8}  {self.date:<10} "
                f"{self.seconds:>5}  {self.outcome}")


class Table:
    """The table's head, its forms by name, and what is wrong with its text."""

    def __init__(self, path):
        self.path, self.head, self.forms, self.faults = path, [], {}, []
        with open(path, encoding="utf-8") as f:
            for number, line in enumerate(f.read().splitlines(), 1):
                if line.startswith("#"):
                    self.head.append(line)
                elif not (found := LINE.match(line)):
                    self.faults.append(f"line {number} is none of a table: {line}")
                elif found["form"] in self.forms:
                    self.faults.append(f"{found['form']} has two lines")
                else:
                    self.forms[found["form"]] = Form(*found.groups())
        names = list(self.forms)
        if names != sorted(names):
            self.faults.append("the lines are not sorted by the form's name")
        for form in self.forms.values():
            if (form.date == "never") != (form.commit == "-"):
                self.faults.append(f"{form.name}: a date has a commit, and never has none")

    def last_turn(self):
        return max((form.turn for form in self.forms.values()), default=0)

    def write(self):
        lines = self.head + [str(self.forms[name]) for name in sorted(self.forms)]
        with open(self.path, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")


def forms_of(tests):
    """The names of the tests' forms."""
    for test in tests:
        path = test if test.endswith(".t") else test + ".c"
        with open(path, encoding="utf-8") as f:
            head = "".join(line for _, line in zip(range(25), f))
        found = re.search(r"\bTEST_PARTS=(\d+)", head)
        yield from (f"{test}:{k + 1}" for k in range(int(found[1]))) if found else [test]


def turns_most(forms):
    """For how many turns a form may wait."""
    return math.ceil(sum(form.cost() for form in forms) / TURN_S)


def next_of(forms, taken, running, left_s):
    """The form whose turn it is, among those that take left_s at most and are of no test that is
    running; None if there is none."""
    return next((form for form in sorted(forms, key=Form.order)
                 if form.name not in taken and form.test() not in running
                 and form.cost() <= left_s), None)


def choose(forms, seconds=TURN_S):
    """Those whose turn it is, if each takes as long as it did."""
    chosen, left = [], [seconds] * LANES
    while form := next_of(forms, [f.name for f in chosen], (), max(left)):
        chosen.append(form)
        left[left.index(max(left))] -= form.cost()
    return chosen


def check(table, names):
    """What is wrong, a sentence each."""
    last = table.last_turn()
    missing = [Form(name, last) for name in names if name not in table.forms]
    most = turns_most([*table.forms.values(), *missing])
    yield from table.faults
    for form in missing:
        yield f"{form.name} has no line; add: {' '.join(str(form).split())}"
    for form in table.forms.values():
        if form.name not in names:
            yield f"{form.name} has a line, but no long form"
        elif last - form.turn > most:
            yield (f"{form.name} has missed its turn: it has waited for {last - form.turn} turns,"
                   f" and all forms take {most}")
        if form.cost() > FORM_S:
            yield (f"{form.name} takes {form.cost()} s: to be split, as a form takes"
                   f" {FORM_S} s at most")


class Run:
    """One run of a form in a build folder: its outcome, why it was skipped, the wall seconds."""

    def __init__(self, build, form):
        test, part = form.test(), form.name.partition(":")[2]
        parts = sum(1 for name in forms_of([test]))
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MLAUNCH_TEST_PART")}
        environment |= {"MLAUNCH_TEST_LONG": "1", "MLAUNCH_TEST_SECONDS": str(SOAK_S),
                        "MLAUNCH_TEST_LIMIT": str(LIMIT_S)}
        if part:
            environment["MLAUNCH_TEST_PART"] = f"{part}/{parts}"
        name = test.removesuffix(".t")
        began = time.monotonic()
        subprocess.run(["make", "-s", "-C", build, "check", f"TESTS={test}", "check_PROGRAMS=",
                        f"TEST_SUITE_LOG={name}-suite.log"], env=environment, check=False)
        base = os.path.join(build, name)
        with open(base + ".trs", encoding="utf-8") as f:
            self.outcome = re.search(r"^:global-test-result: (\S+)", f.read(), re.M)[1]
        with open(base + ".log", encoding="utf-8", errors="replace") as f:
            text = f.read()
        os.makedirs(os.path.join(build, "long-turn"), exist_ok=True)
        self.log = os.path.join(build, "long-turn", form.name.replace("/", "-") + ".log")
        with open(self.log, "w", encoding="utf-8") as f:
            f.write(text)
        used = re.findall(r"^# used \d+ s of a processor in (\d+) s$", text, re.M)
        self.seconds = int(used[-1]) if used else round(time.monotonic() - began)
        self.reason = (re.findall(r"# SKIP (\S.*)", text) or ["no reason given"])[0]


def commit_of_sources(path):
    """The commit that is checked out, or None; and then why the table is not to be written."""
    if os.environ.get("CI"):
        return None, "this is continuous integration (CI is set)"
    git = subprocess.run(["git", "rev-parse", "--show-toplevel", "--short", "HEAD"], check=False,
                         text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    words = git.stdout.split("\n")
    if git.returncode or os.path.realpath(words[0]) != os.path.realpath("."):
        return None, "the sources are no git checkout"
    return (words[1], "") if os.access(path, os.W_OK) else (None, f"{path} cannot be written")


def record(form, run, turn, commit):
    """What is known of the form after that run."""
    today = datetime.date.today().isoformat()
    if run.outcome == "PASS":
        return Form(form.name, turn, commit, today, str(run.seconds), "passed")
    if not form.outcome.startswith("skipped"):
        form.outcome = f"skipped since {today}: {run.reason}"
    form.outcome = form.outcome[:form.outcome.index(":")] + ": " + run.reason
    form.turn = turn
    return form


class Turn:
    """Runs those whose turn it is, in lanes: each takes the next form when it has ended one."""

    def __init__(self, table, names, build, seconds):
        self.table, self.build = table, build
        self.commit, self.why_not = commit_of_sources(table.path)
        last = table.last_turn()
        self.number = last + (seconds == TURN_S)
        self.end = time.monotonic() + seconds
        self.taken, self.running, self.failed = [], [], []
        self.lock = threading.Lock()
        table.forms = {name: table.forms.get(name) or Form(name, last) for name in names}
        chosen = choose(table.forms.values(), seconds)
        print(f"long-turn: turn {self.number}: about {len(chosen)} of {len(names)} long forms, and"
              f" {sum(form.cost() for form in chosen)} s, {LANES} at a time", flush=True)
        if not self.commit:
            print(f"long-turn: {table.path} is only read: {self.why_not}", flush=True)

    def take(self):
        with self.lock:
            form = next_of(self.table.forms.values(), self.taken, self.running,
                           self.end - time.monotonic())
            if form:
                self.taken.append(form.name)
                self.running.append(form.test())
            return form

    def lane(self):
        while form := self.take():
            run = Run(self.build, form)
            with self.lock:
                self.running.remove(form.test())
                self.ended(form, run)

    def ended(self, form, run):
        print(f"long-turn: {form.name}: {run.outcome} in {run.seconds} s, {run.log}", flush=True)
        if run.outcome not in ("PASS", "SKIP"):
            self.failed.append(form.name)
        elif self.commit:
            self.table.forms[form.name] = record(form, run, self.number, self.commit)
            self.table.write()

    def run(self):
        """The status."""
        with concurrent.futures.ThreadPoolExecutor(LANES) as lanes:
            for lane in [lanes.submit(self.lane) for _ in range(LANES)]:
                lane.result()
        if self.failed:
            print("long-turn: failed:", *self.failed)
        return 1 if self.failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", default="tests/long-runs")
    parser.add_argument("--build", default="build")
    parser.add_argument("--seconds", type=int, default=TURN_S)
    parser.add_argument("what", choices=("run", "choose", "check"))
    parser.add_argument("test", nargs="+")
    said = parser.parse_args()
    table, names = Table(said.table), list(forms_of(said.test))
    if said.what == "run":
        return Turn(table, names, said.build, min(said.seconds, TURN_S)).run()
    if said.what == "choose":
        for form in choose([table.forms.get(name) or Form(name, 0) for name in names]):
            print(form.name, form.cost())
        return 0
    faults = list(check(table, names))
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
