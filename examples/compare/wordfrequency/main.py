import collections
import sys

with open(sys.argv[1]) as file:
    words = collections.Counter(file.read().split())
for word, count in sorted(words.items(), key=lambda item: (-item[1], item[0]))[:10]:
    print(f"{count:8} {word}")
