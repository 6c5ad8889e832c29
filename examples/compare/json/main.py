import json
import sys

with open(sys.argv[1]) as file:
    print(sum(item["id"] for item in json.load(file) if item["ok"]))
