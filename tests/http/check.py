# SPDX-License-Identifier: MIT
"""Tests examples/http_server.c with curl, wrk and plain sockets; run by tests/http/run.

Every wait is for something that must happen, and ends after LIMIT seconds at the latest.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
LIMIT = 30
BIG = 24 << 20  # more than two sockets can hold
HOST = "Host: test\r\n"


# ThreadSanitizer does not see openat(2), and so takes a file for the socket that had its number.
BLIND = "race:^open_under$\nrace:^files$\n"


class Skip(Exception):
    """A tool is missing."""


def tool(name):
    if not shutil.which(name):
        raise Skip(f"no {name} here; install it: ./weft need {name}")
    return name


def wait_for(what, condition):
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        got = condition()
        if got:
            return got
        time.sleep(0.005)
    raise AssertionError(f"waited {LIMIT} s for: {what}")


class Server:
    """The example, started by './weft run' with these options."""

    how = []  # options of ./weft run

    def __init__(self, folder, *options):
        self.err = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            ["./weft", "run", *self.how, "examples/http_server.c", "-d", folder, *options,
             "127.0.0.1:0"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.err, cwd=ROOT, text=True)
        line = self.process.stdout.readline()
        found = re.match(r"http on (127\.0\.0\.1):(\d+)$", line)
        assert found, f"no address: {line!r} {self.stderr()}"
        self.addr = (found.group(1), int(found.group(2)))
        self.url = f"http://127.0.0.1:{self.addr[1]}"

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        """Every server must end well, if its test has not ended it."""
        try:
            if kind is None and self.process.poll() is None and not self.is_deaf():
                self.process.terminate()
                self.wait(0)
        finally:
            self.process.kill()
            self.process.wait()

    def is_deaf(self):
        """ThreadSanitizer puts signals off, without end where nothing else happens."""
        return "--tsan" in self.how

    def stderr(self):
        self.err.seek(0)
        return self.err.read()

    def wait(self, want):
        try:
            status = self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the server does not end\n{self.stderr()}") from None
        assert status == want, f"status {status}, not {want}\n{self.stderr()}"

    def stop(self):
        if self.is_deaf():
            raise Skip("ThreadSanitizer puts signals off, see docs/CAVEATS.md")
        self.process.terminate()

    def open_files(self):
        """What its descriptors are; the runtime has some of its own, and may open more."""
        folder = f"/proc/{self.process.pid}/fd"
        found = []
        for fd in os.listdir(folder):
            try:
                found.append(os.readlink(f"{folder}/{fd}"))
            except FileNotFoundError:
                pass
        return found

    def connections(self):
        return sum(name.startswith("socket:") for name in self.open_files()) - 1  # it listens

    def connect(self):
        return Client(self.addr)

    def ask(self, request):
        """What the server says to this request, until it closes."""
        with self.connect() as client:
            client.send(request)
            return client.rest()

    def status(self, request):
        answer = self.ask(request)
        assert answer.startswith(b"HTTP/1.1 "), answer
        return int(answer.split()[1])


class Client:
    def __init__(self, addr):
        self.socket = socket.create_connection(addr, LIMIT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.got = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode())

    def more(self):
        data = self.socket.recv(65536)
        self.got += data
        return data

    def rest(self):
        while self.more():
            pass
        return self.got

    def answer(self, head=False):
        """Status, headers and body of the next answer; its bytes are taken out."""
        while b"\r\n\r\n" not in self.got:
            assert self.more(), f"the end, after {self.got!r}"
        top, self.got = self.got.split(b"\r\n\r\n", 1)
        first, *lines = top.decode().split("\r\n")
        headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines)}
        if headers.get("transfer-encoding") == "chunked":
            return int(first.split()[1]), headers, self.chunks()
        length = 0 if head else int(headers["content-length"])
        pieces = [self.got]
        while sum(map(len, pieces)) < length:
            pieces.append(self.socket.recv(1 << 20))
            assert pieces[-1], "the end within a body"
        self.got = b"".join(pieces)
        body, self.got = self.got[:length], self.got[length:]
        return int(first.split()[1]), headers, body

    def chunks(self):
        body = b""
        while True:
            while b"\r\n" not in self.got:
                assert self.more()
            size, rest = self.got.split(b"\r\n", 1)
            n = int(size, 16)
            while len(rest) < n + 2:
                assert self.more()
                rest = self.got.split(b"\r\n", 1)[1]
            body += rest[:n]
            assert rest[n:n + 2] == b"\r\n"
            self.got = rest[n + 2:]
            if n == 0:
                return body


def curl(*args, data=None, status=0):
    """Its output. Proxies of the environment are none of our business."""
    run = subprocess.run([tool("curl"), "-sS", "--noproxy", "*", "--max-time", str(LIMIT), *args],
                         input=data, capture_output=True, check=False)
    assert run.returncode == status, f"curl: {run.returncode} {run.stderr.decode()}"
    return run.stdout


def code(*args, **more):
    return int(curl("-o", os.devnull, "-w", "%{http_code}", *args, **more))


def get(path, more=""):
    return f"GET {path} HTTP/1.1\r\n{HOST}{more}\r\n"


class Tests:
    """One server for all that need no special options; its folder is 'public' in a folder of ours."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "public")
        os.makedirs(os.path.join(self.folder, "sub"))
        self.data = os.urandom(1 << 20)
        for name, data in {"public/sub/index.html": b"<p>sub</p>\n", "public/a b.txt": b"0123456789",
                           "public/.hidden": b"secret", "secret.txt": b"secret",
                           "public/data.bin": self.data}.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)
        with open(os.path.join(self.folder, "big.bin"), "wb") as file:
            file.truncate(BIG)
        os.symlink("../secret.txt", os.path.join(self.folder, "link"))
        os.symlink("..", os.path.join(self.folder, "up"))
        os.mkfifo(os.path.join(self.folder, "fifo"))
        self.server = Server(self.folder)
        self.path = os.path.join(folder, "upload")
        with open(self.path, "wb") as file:
            file.write(self.data)

    def another(self, *options):
        return Server(self.folder, *options)

    # ---- by curl

    def test_two_urls_use_one_connection(self):
        out = curl("-w", "%{http_code} %{num_connects}\n", "-o", os.devnull, "-o", os.devnull,
                   self.server.url + "/hello", self.server.url + "/a%20b.txt")
        assert out == b"200 1\n200 0\n", out

    def test_head_has_the_length_and_no_body(self):
        out = curl("-I", self.server.url + "/data.bin").decode().lower()
        assert out.startswith("http/1.1 200 ") and f"content-length: {len(self.data)}\r" in out, out

    def test_chunked_upload_comes_back(self):
        assert curl("-T", "-", self.server.url + "/echo", data=self.data) == self.data

    def test_post_of_a_mebibyte_comes_back(self):
        assert curl("--data-binary", "@" + self.path, self.server.url + "/echo") == self.data

    def test_post_that_waits_for_100_comes_back(self):
        out = curl("-v", "--stderr", "-", "-H", "Expect: 100-continue", "-d", "abc",
                   self.server.url + "/echo")
        assert b"100 Continue" in out and out.count(b"HTTP/1.1 200 OK") == 1, out

    def test_http_1_0_gets_its_body_too(self):
        assert curl("-0", "--data-binary", "@" + self.path, self.server.url + "/echo") == self.data
        assert curl("-0", self.server.url + "/hello") == b"Hello, World!\n"

    def test_offer_of_http_2_is_passed_over(self):
        request = get("/hello", "Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\n"
                                "HTTP2-Settings: AAMAAABk\r\n")
        assert b"\r\n\r\nHello, World!\n" in self.server.ask(request)

    def test_file_is_sent_whole(self):
        assert curl(self.server.url + "/data.bin") == self.data

    def test_types_are_those_of_the_names(self):
        for path, want in (("/a%20b.txt", "text/plain; charset=utf-8"),
                           ("/sub/", "text/html; charset=utf-8"),
                           ("/data.bin", "application/octet-stream")):
            got = curl("-o", os.devnull, "-w", "%{content_type}", self.server.url + path).decode()
            assert got == want, (path, got)

    def test_folder_leads_to_its_index(self):
        assert code(self.server.url + "/sub") == 301
        assert curl("-L", self.server.url + "/sub") == b"<p>sub</p>\n"
        assert b"\r\nLocation: /sub/\r\n" in self.server.ask(get("//sub", "Connection: close\r\n"))

    def test_parts_of_a_file(self):
        url = self.server.url + "/a%20b.txt"
        for part, want in (("2-4", b"234"), ("7-", b"789"), ("-2", b"89"), ("8-99", b"89")):
            assert curl("-r", part, url) == want, part
        assert code("-r", "2-4", url) == 206
        assert code("-r", "10-", url) == 416
        assert code("-H", "Range: bytes=4-2", url) == 200
        assert code("-H", "Range: bytes=--9223372036854775808", url) == 416
        assert code("-H", "Range: bytes=0-99999999999999999999", url) == 206

    def test_what_the_client_has_is_not_sent_again(self):
        url = self.server.url + "/a%20b.txt"
        when = re.search(rb"Last-Modified: (.*)\r", curl("-I", url)).group(1).decode()
        assert code("-H", f"If-Modified-Since: {when}", url) == 304

    def test_what_is_not_there_is_404(self):
        for path in ("/nothing", "/sub/nothing", "/a%20b.txt/x", "/fifo", "/" + "x" * 300):
            assert code(self.server.url + path) == 404, path

    def test_no_way_leads_out_of_the_folder(self):
        for path in ("/../secret.txt", "/sub/../../secret.txt", "/%2e%2e/secret.txt",
                     "/sub/..%2f..%2fsecret.txt", "//../secret.txt", "/./../secret.txt", "/link",
                     "/up/secret.txt", "/.hidden", "/sub/./index.html", "/..", "/../"):
            out = curl("-w", "%{http_code}", "--path-as-is", self.server.url + path)
            assert out.endswith(b"404") and b"secret" not in out, (path, out)

    def test_wrong_method_says_what_is_right(self):
        assert code("-X", "DELETE", self.server.url + "/hello") == 405
        assert b"\r\nAllow: POST, PUT\r\n" in curl("-i", self.server.url + "/echo")
        assert code("-d", "abc", self.server.url + "/a%20b.txt") == 405

    def test_body_that_is_too_long_is_413(self):
        with self.another("-m", "1000") as server:
            url = server.url + "/echo"
            assert code("--data-binary", "@" + self.path, url) == 413
            assert code("-H", "Expect:", "--data-binary", "@" + self.path, url) == 413
            # Chunked, its first part is too long already.
            request = f"POST /echo HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n"
            assert server.status(request + "500\r\n" + "x" * 0x500 + "\r\n") == 413

    # ---- the end

    def test_sigterm_lets_a_download_finish(self):
        tool("curl")
        got = os.path.join(self.folder, "..", "got")
        with self.another() as server, server.connect() as idle, server.connect() as slow:
            idle.send(get("/hello"))
            assert idle.answer()[0] == 200
            slow.send(get("/big.bin"))
            slow.more()
            with subprocess.Popen([tool("curl"), "-sS", "--noproxy", "*", "--limit-rate", "16M", "-o",
                                   got, server.url + "/big.bin"]) as download:
                wait_for("the first bytes", lambda: os.path.exists(got) and os.path.getsize(got))
                server.stop()
                assert idle.rest() == b""  # who has nothing to wait for is gone at once
                wait_for("nobody listens", lambda: refuses(server))
                assert server.process.poll() is None
                assert len(slow.answer()[2]) == BIG
                assert download.wait(LIMIT) == 0 and os.path.getsize(got) == BIG
            server.wait(0)

    def test_sigterm_is_told_to_those_who_are_served(self):
        with self.another() as server, server.connect() as client:
            client.send(f"POST /echo HTTP/1.1\r\n{HOST}Content-Length: 3\r\n\r\n")
            client.send("a")
            client.send("b")
            while b"\r\n\r\n" not in client.got:
                client.more()
            with server.connect() as other:
                other.send("GET /hello HTTP/1.1\r\n")
                time.sleep(0.1)  # so that it has come; if it has not, the connection ends, see below
                server.stop()
                wait_for("nobody listens", lambda: refuses(server))
                other.send(HOST + "\r\n")
                answer = other.rest()
                assert answer == b"" or b"\r\nConnection: close\r\n" in answer, answer
            client.send("c")
            assert client.answer()[2] == b"abc"
            assert client.rest() == b""
            server.wait(0)

    def test_who_takes_too_long_is_cut_off(self):
        with self.another("-g", "0.2") as server, server.connect() as client:
            client.send(get("/big.bin"))
            client.more()
            server.stop()
            server.wait(1)
            assert "cut off" in server.stderr()

    # ---- by sockets

    def test_pipelined_requests_are_answered_in_order(self):
        with self.server.connect() as client:
            client.send((get("/hello") + get("/a%20b.txt") + get("/nothing")) * 100)
            for _ in range(100):
                for want in ((200, b"Hello, World!\n"), (200, b"0123456789"),
                             (404, b"404 Not Found\n")):
                    status, _headers, body = client.answer()
                    assert (status, body) == want, (status, body)

    def test_bodies_in_a_pipeline_end_where_they_should(self):
        post = f"POST /echo HTTP/1.1\r\n{HOST}"
        one = (post + "Content-Length: 5\r\n\r\nfirst" + get("/hello") + post +
               "Transfer-Encoding: chunked\r\n\r\n3;ext=1\r\nsec\r\n3\r\nond\r\n0\r\nTrailer: x\r\n\r\n" +
               f"POST /nothing HTTP/1.1\r\n{HOST}Content-Length: 4\r\n\r\nskip")
        with self.server.connect() as client:
            client.send(one * 20)
            for _ in range(20):
                assert client.answer()[2] == b"first"
                assert client.answer()[2] == b"Hello, World!\n"
                assert client.answer()[2] == b"second"
                assert client.answer()[0] == 405

    def test_bytes_that_come_one_at_a_time(self):
        request = (f"POST /echo?q HTTP/1.1\r\n{HOST}Empty:\r\nX-Long:  some value \r\n"
                   "Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n" + get("/hello"))
        with self.server.connect() as client:
            for c in request:
                client.send(c)
            assert client.answer()[2] == b"abcd"
            assert client.answer()[2] == b"Hello, World!\n"

    def test_malformed_requests(self):
        def head(*lines):
            return "".join(line + "\r\n" for line in (*lines, ""))
        post = ("POST /echo HTTP/1.1", HOST.strip())
        for want, request in (
                (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 50),
                (400, b"\0" * 100), (400, "\r\nhello?\r\n\r\n"), (501, head("BREW / HTTP/1.1", "Host: a")),
                (400, "GET / HTTP/1.1\r\nHost: a\r\n\rX"), (400, head("GET / HTTP/1.1")), (400, head("GET / HTTP/1.1", "Host: a", "Host: b")),
                (505, head("GET / HTTP/2.0", "Host: a")), (505, head("GET /")),
                (400, head("GET / HTTQ/1.1", "Host: a")), (400, head("GET / HTTP/1.1", "Host : a")),
                (400, head("GET / HTTP/1.1", "Host: a", " b")),
                (400, head("GET / HTTP/1.1", "Host: a", "X: a\0b")),
                (400, head("GET / HTTP/1.1", "Host: a", ": no name")),
                (400, head("GET /%zz HTTP/1.1", "Host: a", "Connection: close")),
                (400, head("GET /%00 HTTP/1.1", "Host: a", "Connection: close")),
                (400, head(*post, "Content-Length: 3x")), (400, head(*post, "Content-Length: -3")),
                (400, head(*post, "Content-Length: 3", "Content-Length: 4")),
                (400, head(*post, "Content-Length: 99999999999999999999")),
                (413, head(*post, "Content-Length: 9999999999")),
                (400, head(*post, "Content-Length: 3", "Transfer-Encoding: chunked")),
                (501, head(*post, "Transfer-Encoding: gzip")),
                (501, head(*post, "Transfer-Encoding: gzip, chunked")),
                (400, head("POST /echo HTTP/1.0", "Transfer-Encoding: chunked")),
                (400, head(*post, "Transfer-Encoding: chunked") + "xyz\r\n"),
                (400, head(*post, "Transfer-Encoding: chunked") + "fffffffffffffffff\r\n"),
                (417, head(*post, "Content-Length: 3", "Expect: rain")),
                (414, head("GET /" + "x" * 5000 + " HTTP/1.1", "Host: a")),
                (431, head("GET / HTTP/1.1", "Host: a", "X: " + "x" * 20000)),
                (431, head("GET / HTTP/1.1", "Host: a", *["X: x"] * 100)),
                (431, "\r\n" * 20000)):
            try:
                got = self.server.status(request)
            except TimeoutError:
                got = "no answer"
            assert got == want, f"{got}, not {want}, for {request[:80]!r}"

    def test_slow_clients_get_408(self):
        with self.another("-t", "0.3") as server:
            assert server.status("GET /hel") == 408
            assert server.status(f"POST /echo HTTP/1.1\r\n{HOST}Content-Length: 9\r\n\r\n") == 408
            cut = server.ask(f"POST /echo HTTP/1.1\r\n{HOST}Content-Length: 9\r\n\r\nabc")
            assert b"abc" in cut and not cut.endswith(b"0\r\n\r\n"), cut
            with server.connect() as client:  # a byte now and then does not help
                try:
                    for c in "GET / HTTP/1.1\r\n" + "X-Loris: y\r\n" * 1000:
                        client.send(c)
                        time.sleep(0.02)
                except (BrokenPipeError, ConnectionResetError):
                    pass
                else:
                    raise AssertionError("the server is patient")

    def test_idle_clients_are_sent_away(self):
        with self.another("-k", "0.2") as server:
            assert server.ask("") == b""
            with server.connect() as client:
                client.send(get("/hello"))
                assert client.answer()[0] == 200
                assert client.rest() == b""

    def test_clients_that_vanish_leave_nothing(self):
        for request in ("", "GET /he", get("/hello") * 10, get("/big.bin") * 3,
                        f"POST /echo HTTP/1.1\r\n{HOST}Content-Length: 1000\r\n\r\nabc"):
            for reset in (False, True):
                with self.server.connect() as client:
                    client.send(request)
                    if reset:
                        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                                 b"\1\0\0\0\0\0\0\0")
        assert self.server.status(get("/hello", "Connection: close\r\n")) == 200  # after all others
        wait_for("the connections to end", lambda: self.server.connections() == 0)
        files = [name for name in self.server.open_files() if name.startswith(self.folder + "/")]
        assert not files, files

    # ---- load

    def test_wrk_sees_no_error(self):
        tool("wrk")
        for path in ("/hello", "/a%20b.txt"):
            run = subprocess.run(["wrk", "-t1", "-c64", "--timeout", f"{LIMIT}s",
                                  "-d2s" if path == "/hello" else "-d1s", self.server.url + path],
                                 capture_output=True, text=True, check=True)
            found = re.search(r"(\d+) requests in", run.stdout)
            assert found and int(found.group(1)) > 0, run.stdout
            assert "Socket errors" not in run.stdout and "Non-2xx" not in run.stdout, run.stdout


def refuses(server):
    try:
        socket.create_connection(server.addr, LIMIT).close()
    except ConnectionError:
        return True
    return False


def run_all(label, filters, counts):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "tsan"), "w", encoding="ascii") as file:
            file.write(BLIND)
        os.environ["TSAN_OPTIONS"] = f"suppressions={file.name}:print_suppressions=0"
        tests = Tests(folder)
        with tests.server:
            for name in sorted(n for n in dir(tests) if n.startswith("test_")):
                shown = f"{label}{name[5:]}"
                if filters and not any(word in shown for word in filters):
                    continue
                start = time.monotonic()
                try:
                    getattr(tests, name)()
                    counts["passed"] += 1
                    print(f"ok {shown} ({time.monotonic() - start:.1f} s)", flush=True)
                except Skip as reason:
                    counts["skipped"] += 1
                    print(f"skip {shown}: {reason}", flush=True)
                except Exception:  # pylint: disable=broad-except
                    counts["failed"] += 1
                    print(f"FAIL {shown}\n{traceback.format_exc()}", flush=True)
        if tests.server.stderr():
            counts["failed"] += 1
            print(f"FAIL {label}the server says:\n{tests.server.stderr()}")


def main():
    args = sys.argv[1:]
    ways = [("", [])]
    if "--full" in args:
        ways += [("asan: ", ["--asan"]), ("tsan: ", ["--tsan"]), ("one P: ", ["--procs", "1"])]
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for label, Server.how in ways:
        run_all(label, [a for a in args if not a.startswith("--")], counts)
    print(f"{counts['passed']} passed, {counts['failed']} failed" +
          (f", {counts['skipped']} skipped" if counts["skipped"] else ""))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
