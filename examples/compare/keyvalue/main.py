import asyncio


async def server(requests):
    table = {}
    while True:
        match await requests.get():
            case ("put", key, value):
                table[key] = value
            case ("get", key, answer):
                answer.set_result(table.get(key))


async def client(n, requests):
    total = 0
    for i in range(100):
        answer = asyncio.get_running_loop().create_future()
        await requests.put(("put", n * 100 + i, n))
        await requests.put(("get", n * 100 + i, answer))
        total += await answer
    return total


async def main():
    requests = asyncio.Queue()
    serving = asyncio.create_task(server(requests))
    print(sum(await asyncio.gather(*(client(n, requests) for n in range(1, 1001)))))
    serving.cancel()


asyncio.run(main())
