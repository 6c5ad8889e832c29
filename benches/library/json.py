import json
import sys

with open(sys.argv[1]) as file:
    value = json.loads(file.read())
print(len(json.dumps(value, separators=(",", ":"))))
