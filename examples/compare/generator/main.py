import itertools


def primes():
    known = []
    for n in itertools.count(2):
        if all(n % p for p in itertools.takewhile(lambda p: p * p <= n, known)):
            known.append(n)
            yield n


print(sum(itertools.islice(primes(), 3000)))
