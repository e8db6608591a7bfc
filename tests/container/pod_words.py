#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pod_words.py FILE INDEX DIRECTORY NETWORK HEAD: one pod of the Indexed Job in FILE, as words for
`podman run`, each ended by a null byte. The Secret's files are written below DIRECTORY, NETWORK is
the path of a network namespace, and HEAD the address of pod 0, whose name the Service gives it.
What a pod has and this program does not know is refused, so that nothing is left out in silence."""
import os
import re
import sys

import yaml


def take(where, **known):
    """The values of `where` by name; a name with None must be there, others have a default."""
    unknown = where.keys() - known.keys()
    missing = [name for name, default in known.items() if default is None and name not in where]
    if unknown or missing:
        raise SystemExit(f"the pod has {sorted(unknown)}, which is unknown here, lacks {missing}")
    return [where.get(name, default) for name, default in known.items()]


def expand(word):
    if re.search(r"(?<!\$)(\$\$)*\$\(", word):
        raise SystemExit(f"Kubernetes would fill in a variable: {word}")
    return word.replace("$$", "$")


def secret_write(directory, secret, mode, group):
    """As the kubelet does it for a pod with fsGroup."""
    os.mkdir(directory)
    os.chmod(directory, 0o755)
    for name, text in secret["stringData"].items():
        path = os.path.join(directory, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        os.chown(path, 0, group)
        os.chmod(path, mode)


def volume_words(mount, volumes, secret, directory, group):
    name, path, read_only = take(mount, name=None, mountPath=None, readOnly=False)
    volume = next(v for v in volumes if v["name"] == name)
    if "emptyDir" in volume:
        if volume["emptyDir"] != {"medium": "Memory"}:
            raise SystemExit(f"unknown here: {volume}")
        return ["--mount", f"type=tmpfs,destination={path},tmpfs-mode=1777"]
    secret_name, mode = take(volume["secret"], secretName=None, defaultMode=None)
    if secret_name != secret["metadata"]["name"] or not read_only:
        raise SystemExit(f"unknown here: {volume}")
    secret_write(directory, secret, mode, group)
    return ["--volume", f"{directory}:{path}:ro"]


def rights_words(pod_rights, rights):
    non_root, user, group = take(pod_rights, runAsNonRoot=None, runAsUser=None, fsGroup=None)
    escalation, capabilities = take(rights, allowPrivilegeEscalation=None, capabilities=None)
    drop, add = take(capabilities, drop=None, add=[])
    if not non_root or user == 0 or escalation:
        raise SystemExit("the pod has more rights than it should")
    words = ["--user", f"{user}:0", "--group-add", str(group)]
    words += ["--security-opt", "no-new-privileges"]
    words += [f"--cap-drop={name}" for name in drop]
    words += [f"--cap-add={name}" for name in add]
    return words, group


def main(file, index, directory, network, head):
    with open(file, encoding="utf-8") as f:
        parts = {part["kind"]: part for part in yaml.safe_load_all(f)}
    service, job, secret = parts["Service"], parts["Job"], parts["Secret"]
    name, labels = job["metadata"]["name"], job["spec"]["template"]["metadata"]["labels"]
    restart, subdomain, _, grace_s, pod_rights, containers, volumes = take(
        job["spec"]["template"]["spec"], restartPolicy=None, subdomain=None,
        automountServiceAccountToken=None, terminationGracePeriodSeconds=None,
        securityContext=None, containers=None, volumes=None)
    _, image, command, rights, mounts = take(containers[0], name=None, image=None, command=None,
                                             securityContext=None, volumeMounts=None)
    if restart != "Never" or service["spec"]["selector"] != labels or len(containers) != 1 or \
            service["metadata"]["name"] != subdomain or job["spec"]["completionMode"] != "Indexed":
        raise SystemExit("the Job and its Service do not fit")
    words, group = rights_words(pod_rights, rights)
    for mount in mounts:
        words += volume_words(mount, volumes, secret, directory, group)
    words += ["--name", f"{name}-{index}", "--hostname", f"{name}-{index}",
              "--stop-timeout", str(grace_s), "--env", f"JOB_COMPLETION_INDEX={index}",
              "--network", f"ns:{network}", "--add-host", f"{name}-0.{subdomain}:{head}",
              image, *map(expand, command)]
    sys.stdout.write("".join(word + "\0" for word in words))


main(*sys.argv[1:])
