# SPDX-License-Identifier: MIT
"""Prints how many links of each kind a picture of hosts has, and the titles of those not good.

    drawn_links.py FILE
"""
import collections
import sys
import xml.etree.ElementTree as tree

svg = "{http://www.w3.org/2000/svg}"
paths = [p for p in tree.parse(sys.argv[1]).iter(svg + "path") if p.find(svg + "title") is not None]
count = collections.Counter(p.get("class") for p in paths)
print(*("%s %d" % kind for kind in sorted(count.items())))
print(*(p.find(svg + "title").text for p in paths if p.get("class") != "good"), sep="\n")
