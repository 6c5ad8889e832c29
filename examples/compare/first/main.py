import concurrent.futures
import threading

stop = threading.Event()


def search(n):
    while not stop.is_set():
        if n * n % 4294967291 == 1397452088:
            return n
        n += 8
    return None


with concurrent.futures.ThreadPoolExecutor(8) as pool:
    for done in concurrent.futures.as_completed([pool.submit(search, start) for start in range(8)]):
        if done.result() is not None:
            stop.set()
            print(done.result())
            break
