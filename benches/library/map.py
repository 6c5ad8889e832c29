table = {}
for i in range(300000):
    table[i * 7919 % 1000003] = i
total = 0
for i in range(300000):
    total += table.get(i * 7919 % 1000003, 0)
print(total)
