import queue
import threading


def produce(out):
    for n in range(200000):
        out.put(n)
    out.put(None)


def square(items, out):
    while (n := items.get()) is not None:
        out.put(n * n % 1009)
    out.put(None)


first, second = queue.Queue(64), queue.Queue(64)
threading.Thread(target=produce, args=(first,)).start()
threading.Thread(target=square, args=(first, second)).start()
total = 0
while (n := second.get()) is not None:
    total += n
print(total)
