import heapq


def cost(i, j):
    return (i * 7919 + j * 104729 + i * j * 31) % 97 + 1


done, heap = set(), [(0, (0, 0))]
while True:
    distance, (i, j) = heapq.heappop(heap)
    if (i, j) == (149, 149):
        break
    if (i, j) in done:
        continue
    done.add((i, j))
    for a, b in (i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1):
        if 0 <= a < 150 and 0 <= b < 150:
            heapq.heappush(heap, (distance + cost(a, b), (a, b)))
print(distance)
