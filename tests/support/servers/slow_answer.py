# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An HTTP server whose answers make a statement with the function url() take as long as a test needs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class SlowAnswer:
    """An HTTP server that answers once it may."""

    def __init__(self, text: str) -> None:
        self.asked = threading.Event()
        self.may_answer = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.set()
                outer.may_answer.wait()
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def do_HEAD(self) -> None:
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_arguments: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/"


@contextmanager
def slow_answer(text: str) -> Iterator[SlowAnswer]:
    """Serve the text until the end of the context."""
    source = SlowAnswer(text)
    thread = threading.Thread(target=source.server.serve_forever)
    thread.start()
    try:
        yield source
    finally:
        source.may_answer.set()
        source.server.shutdown()
        thread.join()
        source.server.server_close()
