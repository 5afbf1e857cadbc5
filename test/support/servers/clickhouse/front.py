"""A thin front of ClickHouse's HTTP protocol before its engine, which is a library here: chdb, on PyPI.

No ClickHouse server can be had from a package registry. What answers here is ClickHouse's own engine, so tables, parts,
partition commands and its errors are real. This file is not: it is as much of the server's HTTP interface as the client and
Tidemill use, each part after the page it names. It has no users but one, no replication and no clusters.

    python front.py --data <folder> --port <n> --user <name> --password <text>
                    [--version <text>] [--deny <regular expression of statements>] [--config <file>]
"""

import argparse
import base64
import hmac
import json
import re
import sys
import tempfile
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

import chdb

# src/Server/HTTP/exceptionCodeToHTTPStatus.cpp of ClickHouse, as far as these codes come up.
STATUS = {
    36: 400, 62: 400, 117: 400, 6: 400, 27: 400, 457: 400, 60: 404, 81: 404, 47: 404, 16: 404,
    159: 408, 192: 403, 193: 403, 194: 401, 497: 403, 516: 403, 48: 501,
}
# Parameters of a request that are no settings (clickhouse.com/docs/interfaces/http#http-urlencoded-settings).
OWN = {"query", "database", "default_format", "query_id", "session_id", "session_timeout", "role", "user", "password",
       "wait_end_of_query", "send_progress_in_http_headers", "http_headers_progress_interval_ms",
       "enable_http_compression", "compress", "decompress"}
INSERT = re.compile(r"^(\s*INSERT\s.*?)\s+FORMAT\s+(\w+)\s*$", re.I | re.S)
FORMAT = re.compile(r"\sFORMAT\s+(\w+)\s*;?\s*$", re.I)

parser = argparse.ArgumentParser()
for name in ("data", "port", "user", "password", "version", "deny", "config"):
    parser.add_argument("--" + name, default="")
options = parser.parse_args()
if options.config:
    # Users of the engine, with their row policies (clickhouse.com/docs/operations/settings/settings-users).
    options.data += "?config-file=" + options.config
# Keeps the engine open between requests.
engine = chdb.connect(options.data)
if options.version:
    # The engine has one version. A test of an older one only sees it say so.
    print("says that it is", options.version, file=sys.stderr)


class Refused(Exception):
    def __init__(self, code, name, words):
        super().__init__(f"Code: {code}. DB::Exception: {words} ({name})")


def literal(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


class Front(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        if urlsplit(self.path).path == "/ping":
            return self.answer(200, b"Ok.\n")
        self.serve()

    def do_POST(self):
        self.serve()

    def serve(self):
        url = urlsplit(self.path)
        asked = dict(parse_qsl(url.query, keep_blank_values=True))
        self.query_id = asked.get("query_id") or str(uuid.uuid4())
        body = self.chunks()
        try:
            self.authenticate(asked)
            self.answer(200, self.execute(asked, body))
        except Exception as error:  # chdb raises several classes.
            # The rest of the body is drained, as the connection stays open.
            for _ in body:
                pass
            words = str(error)
            code = int(re.match(r"Code: (\d+)", words).group(1)) if words.startswith("Code:") else 1000
            version = options.version or "26.9.2.1"
            self.answer(STATUS.get(code, 500), f"{words} (version {version} (official build))\n".encode(), code)

    def authenticate(self, asked):
        user, password = asked.get("user"), asked.get("password", "")
        if "X-ClickHouse-User" in self.headers:
            user, password = self.headers["X-ClickHouse-User"], self.headers.get("X-ClickHouse-Key", "")
        elif self.headers.get("Authorization", "").startswith("Basic "):
            user, _, password = base64.b64decode(self.headers["Authorization"][6:]).decode().partition(":")
        user = user or "default"
        is_same = hmac.compare_digest(password.encode(), options.password.encode())
        if user != options.user or not is_same:
            raise Refused(516, "AUTHENTICATION_FAILED",
                          f"{user}: Authentication failed: password is incorrect, or there is no user with such name.")

    def execute(self, asked, body):
        sql, rest = asked.get("query", ""), body
        if not sql:
            sql, rest = b"".join(body).decode(), iter(())
        if options.version:
            sql = sql.replace("version()", literal(options.version))
        if options.deny and re.search(options.deny, sql, re.I):
            raise Refused(497, "ACCESS_DENIED", f"{options.user}: Not enough privileges. To execute this query, it's necessary to have the grant for it.")
        connection = chdb.connect(options.data)
        try:
            settings = [f"{name} = {literal(value)}" for name, value in asked.items()
                        if name not in OWN and not name.startswith("param_")]
            if settings:
                connection.query(f"SET {', '.join(settings)}")
            if asked.get("database"):
                connection.query(f"USE `{asked['database']}`")
            insert = INSERT.match(sql)
            if insert:
                return self.insert(connection, *insert.groups(), rest)
            text = sql + b"".join(rest).decode()
            found = FORMAT.search(text)
            wanted = found.group(1) if found else asked.get("default_format", "TabSeparated")
            parameters = {name[6:]: value for name, value in asked.items() if name.startswith("param_")}
            return connection.query(text, wanted, params=parameters or None).bytes()
        finally:
            connection.close()

    def insert(self, connection, statement, name, rest):
        target = statement.split()[2]
        made = connection.query(f"SHOW CREATE TABLE {target}", "TSVRaw").bytes().decode()
        # A row that is refused so, the library's writer leaves out and says nothing, where a server fails.
        if re.search(r"\bCONSTRAINT\b|MATERIALIZED .*(throwIf|toInt32)\(", made):
            with tempfile.NamedTemporaryFile() as file:
                file.writelines(rest)
                file.flush()
                names = statement[statement.index("("):].strip("() ")
                connection.query(f"{statement} SELECT {names} FROM file({literal(file.name)}, {name})")
            return b""
        writer = connection.send_insert(statement, name)
        try:
            for chunk in rest:
                writer.append(chunk)
            self.written = writer.finish().rows_written
        finally:
            writer.close()
        return b""

    def chunks(self):
        """The body's bytes; RFC 9112 §7.1 has the chunks."""
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            while size := int(self.rfile.readline().split(b";")[0], 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            while self.rfile.readline() not in (b"\r\n", b"\n", b""):
                pass
            return
        left = int(self.headers.get("Content-Length", 0))
        while left > 0:
            chunk = self.rfile.read(min(left, 1 << 20))
            if not chunk:
                return
            left -= len(chunk)
            yield chunk

    written = 0

    def answer(self, status, content, code=None):
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=UTF-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-ClickHouse-Server-Display-Name", "chdb")
        self.send_header("X-ClickHouse-Query-Id", getattr(self, "query_id", ""))
        self.send_header("X-ClickHouse-Summary", json.dumps({"written_rows": str(self.written)}))
        if code is not None:
            self.send_header("X-ClickHouse-Exception-Code", str(code))
        self.end_headers()
        self.wfile.write(content)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


server = Server(("127.0.0.1", int(options.port)), Front)
server.serve_forever()
