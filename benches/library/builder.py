import sys

pieces = []
for _ in range(int(sys.argv[1])):
    pieces.append("piece")
print(len("".join(pieces)))
