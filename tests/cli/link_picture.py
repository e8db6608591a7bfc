# SPDX-License-Identifier: MIT
"""Checks the picture of bench link: one title for the way between two hosts, and red fields.

    link_picture.py FILE FROM TO
"""
import sys
import xml.etree.ElementTree as tree

t = tree.parse(sys.argv[1])
titles = [e.text for e in t.iter("{http://www.w3.org/2000/svg}title")]
assert sum(x.startswith(sys.argv[2] + " to " + sys.argv[3] + ": ") for x in titles) == 1, titles
fills = [e.get("fill") for e in t.iter("{http://www.w3.org/2000/svg}rect")]
assert fills.count("#e0635c") >= 3, fills
