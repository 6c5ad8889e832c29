import sys


def point(re, im):
    a = b = n = 0
    while (a * a + b * b) >> 24 <= 67108864 and n < 255:
        a, b, n = ((a * a - b * b) >> 24) + re, ((2 * a * b) >> 24) + im, n + 1
    return n


def scaled(n, d):
    return abs(n) * 16777216 // d * (1 if n >= 0 else -1)


points = bytes(point(scaled(x - 160, 80), scaled(y - 80, 64)) for y in range(160) for x in range(240))
sys.stdout.buffer.write(b"P5\n240 160\n255\n" + points)
