pieces = []
for _ in range(1000000):
    pieces.append("piece")
print(len("".join(pieces)))
