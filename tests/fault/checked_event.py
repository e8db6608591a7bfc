# SPDX-License-Identifier: MIT
# checked_event.py EVENTS EXPRESSION: of the events "checked" in the file, a list c.
import json, sys

c = [event for event in map(json.loads, open(sys.argv[1])) if event["event"] == "checked"]
print(eval(sys.argv[2]))
