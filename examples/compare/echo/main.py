import asyncio
import sys

LINE = b"hello, whoever is there\n"


async def serve(reader, writer):
    while text := await reader.read(4096):
        writer.write(text)
    writer.close()


async def client(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    total = 0
    for _ in range(200):
        writer.write(LINE)
        total += len(await reader.readexactly(len(LINE)))
    writer.close()
    return total


async def main(port):
    await asyncio.start_server(serve, "127.0.0.1", port)
    print(sum(await asyncio.gather(*(client(port) for _ in range(50)))))


asyncio.run(main(int(sys.argv[1])))
