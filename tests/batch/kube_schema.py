# SPDX-License-Identifier: MIT
"""kube_schema.py FILE: checks what mlaunch batch kubernetes has written against the types of the
Kubernetes client for Python (python3-kubernetes): each name, each type, what is required. What that
client is too old for, podFailurePolicy (1.26) and backoffLimitPerIndex (1.28), is described here as
Kubernetes documents it. Prints a line for each error.

    kube_schema.py FILE PART PATH VALUE     the same with a value (JSON) put there, null: taken away
"""
import json
import re
import sys

import kubernetes.client
import yaml

CLASSES = {"Secret": "V1Secret", "Service": "V1Service", "Job": "V1Job"}
POLICY = {"rules": ["rule"]}
RULE = {"action": {"FailJob", "Ignore", "Count"}, "onPodConditions": list, "onExitCodes": dict}
PLAIN = {"str": str, "int": int, "bool": bool, "float": float, "object": object}


def policy_errors(value, where):
    if set(value) != set(POLICY):
        yield f"{where}: has {sorted(value)}"
    for i, rule in enumerate(value.get("rules", [])):
        if rule.get("action") not in RULE["action"]:
            yield f"{where}.rules.{i}.action: {rule.get('action')}"
        for name in set(rule) - set(RULE):
            yield f"{where}.rules.{i}: there is no {name}"
        codes = rule.get("onExitCodes")
        if codes and (codes.get("operator") not in ("In", "NotIn") or not codes.get("values") or
                      (codes["operator"] == "In" and 0 in codes["values"])):
            yield f"{where}.rules.{i}.onExitCodes: {codes}"


def errors(value, kind, where):
    """kind: a type as the client names it, as dict(str, str), list[V1Container], V1Pod."""
    inner = re.fullmatch(r"(list|dict)[\[(](?:str, )?(.*)[\])]", kind)
    if inner and inner[1] == "list":
        if not isinstance(value, list):
            yield f"{where}: is no list"
            return
        for i, one in enumerate(value):
            yield from errors(one, inner[2], f"{where}.{i}")
    elif inner:
        if not isinstance(value, dict):
            yield f"{where}: is no object"
            return
        for name, one in value.items():
            # Quantities are texts for the client, and numbers too for Kubernetes.
            if not (where.endswith(("limits", "requests")) and isinstance(one, int)):
                yield from errors(one, inner[2], f"{where}.{name}")
    elif kind in PLAIN:
        if not isinstance(value, PLAIN[kind]) or (kind == "int" and isinstance(value, bool)):
            yield f"{where}: {value!r} is no {kind}"
    else:
        yield from object_errors(value, getattr(kubernetes.client, kind), where)


def object_errors(value, model, where):
    if not isinstance(value, dict):
        yield f"{where}: is no object"
        return
    names = {shown: name for name, shown in model.attribute_map.items()}
    for shown, one in value.items():
        if shown == "podFailurePolicy" and model is kubernetes.client.V1JobSpec:
            yield from policy_errors(one, f"{where}.{shown}")
        elif shown == "backoffLimitPerIndex" and model is kubernetes.client.V1JobSpec:
            if not isinstance(one, int) or value.get("completionMode") != "Indexed":
                yield f"{where}.{shown}: {one!r} is no limit of an Indexed Job"
        elif shown not in names:
            yield f"{where}: there is no {shown}"
        else:
            yield from errors(one, model.openapi_types[names[shown]], f"{where}.{shown}")
    try:  # the client refuses to make an object that lacks what is required
        model(**{names[shown]: one for shown, one in value.items() if shown in names})
    except (ValueError, TypeError) as error:
        yield f"{where}: {error}"


def seed(parts, kind, path, value):
    *way, last = path.split(".")
    at = next(part for part in parts if part["kind"] == kind)
    for name in way:
        at = at[int(name)] if isinstance(at, list) else at[name]
    if value is None:
        del at[last]
    else:
        at[last] = value


def main(file, kind=None, path=None, value=None):
    with open(file, encoding="utf-8") as f:
        parts = list(yaml.safe_load_all(f))
    if kind:
        seed(parts, kind, path, json.loads(value))
    for part in parts:
        for error in errors(part, CLASSES[part["kind"]], part["kind"]):
            print(error)


main(*sys.argv[1:])
