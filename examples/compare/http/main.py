import sys
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Squares(BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            status, text = 200, str(int(self.path[1:]) ** 2).encode()
        except ValueError:
            status, text = 400, b"no number"
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def client(i):
    total = 0
    for j in range(50):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{i * 50 + j}") as response:
            total += int(response.read())
    return total


port = int(sys.argv[1])
server = ThreadingHTTPServer(("127.0.0.1", port), Squares)
threading.Thread(target=server.serve_forever, daemon=True).start()
with ThreadPoolExecutor(10) as pool:
    print(sum(pool.map(client, range(10))))
