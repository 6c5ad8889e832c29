import collections
import csv
import sys

groups = collections.defaultdict(int)
with open(sys.argv[1], newline="") as file:
    for _, key, number in csv.reader(file):
        groups[key] += int(number)
print(f"{len(groups)} groups, at most {max(groups.values())}")
