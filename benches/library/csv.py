import csv
import sys

with open(sys.argv[1], newline="") as file:
    print(sum(int(row[0]) for row in csv.reader(file)))
