# SPDX-License-Identifier: MIT
"""Prints how many points the curves of time and of bandwidth have in a picture of bench.

    bench_curves.py FILE
"""
import sys
import xml.etree.ElementTree as tree

svg = tree.parse(sys.argv[1])
paths = {p.get("class"): p.get("d") for p in svg.iter("{http://www.w3.org/2000/svg}path")}
print(*[len(paths[name].replace("L", "M").split("M")) - 1 for name in ("time", "bandwidth")])
