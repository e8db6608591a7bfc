# SPDX-License-Identifier: MIT
"""What mlaunch batch kubernetes has written, read by PyYAML.

    pods.py words FILE               the program and its arguments as a pod gets them, one a line
    pods.py quote WORD…              the same of these words
    pods.py get FILE KIND PATH       a value, as JSON: pods.py get FILE Job spec.completions
    pods.py services FILE DIR PORT PROGRAM-OF-MLAUNCH
                                     the same of a file for Compose, whose key is DIR/key
    pods.py play FILE DIR PORT PROGRAM-OF-MLAUNCH
                                     runs all pods at once here, as processes: the head is
                                     127.0.0.1:PORT, the key is in DIR. Prints the output of pod 0,
                                     and on the last line the status of each pod
"""
import json
import os
import subprocess
import sys

import yaml

KEY = "/run/mlaunch/key"


def parts(path):
    with open(path, encoding="utf-8") as f:
        return {part.get("kind", "Compose"): part for part in yaml.safe_load_all(f)}


def expand(word):
    """As Kubernetes does it where no variable is named: $$ is $; $(NAME) would be filled in."""
    out, i = "", 0
    while i < len(word):
        if word[i] == "$" and word[i + 1:i + 2] == "$":
            i += 1
        elif word[i] == "$" and word[i + 1:i + 2] == "(":
            raise SystemExit(f"Kubernetes would fill in a variable: {word}")
        out += word[i]
        i += 1
    return out


def pod_of(file):
    return parts(file)["Job"]["spec"]["template"]["spec"]


def command_of(file):
    return [expand(word) for word in pod_of(file)["containers"][0]["command"]]


def words(file):
    all_parts = parts(file)
    command = command_of(file) if "Job" in all_parts else service_commands(all_parts["Compose"])[0]
    quote(*command[command.index("--") + 1:])


def quote(*given):
    for word in given:
        print(json.dumps(word))


def get(file, kind, path):
    value = parts(file)[kind]
    for name in path.split("."):
        value = value[int(name)] if isinstance(value, list) else value[name]
    print(json.dumps(value))


def play(file, directory, port, mlaunch):
    all_parts = parts(file)
    name, count = all_parts["Job"]["metadata"]["name"], all_parts["Job"]["spec"]["completions"]
    key = os.path.join(directory, "key")
    with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as f:
        f.write(all_parts["Secret"]["stringData"]["key"])
    command = [word.replace(KEY, key).replace(f"{name}-0.{name}:7400", f"127.0.0.1:{port}")
               for word in command_of(file)]
    run([command] * count, mlaunch)


def expand_compose(word):
    """As Compose does it: $$ is $; what else begins with $ would be filled in."""
    if "$" in word.replace("$$", ""):
        raise SystemExit(f"Compose would fill in a variable: {word}")
    return word.replace("$$", "$")


def service_commands(compose):
    return [[expand_compose(word) for word in service["entrypoint"]]
            for service in compose["services"].values()]


def services(file, directory, port, mlaunch):
    compose = parts(file)["Compose"]
    first = next(iter(compose["services"]))
    run([[word.replace("/run/secrets/key", os.path.join(directory, "key"))
          .replace(f"{first}:7400", f"127.0.0.1:{port}") for word in command]
         for command in service_commands(compose)], mlaunch)


def run(commands, mlaunch):
    pods = []
    for i, command in reversed(list(enumerate(commands))):
        pods.append(subprocess.Popen([mlaunch, *command[1:]], stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, text=True,
                                     env={**os.environ, "JOB_COMPLETION_INDEX": str(i)}))
    pods.reverse()
    outputs = [pod.communicate()[0] for pod in pods]
    print(outputs[0], end="")
    print(*(pod.returncode for pod in pods))


if __name__ == "__main__":
    {"words": words, "quote": quote, "get": get, "play": play,
     "services": services}[sys.argv[1]](*sys.argv[2:])
