def matrix(seed):
    return [[(i * 31 + j * 17 + seed) % 101 for j in range(200)] for i in range(200)]


a, columns = matrix(1), list(zip(*matrix(2)))
product = [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]
print(sum(product[i][i] for i in range(200)))
