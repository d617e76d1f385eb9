"""An OpenAI-compatible server of the tests' own, on 127.0.0.1."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class ModelServer:
    """Counts as far as it may; a model named `greedy` goes on, `thinker` thinks until the end, `strict` refuses
    parameters that it does not know, `wrong-port` is another model.

    Attributes:
        url: To be an agent's `api_base`.
        bodies: Every request so far.
        authorizations: The header of every request so far.
    """

    url: str
    bodies: list[dict[str, Any]] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)

    def answer(self, body: dict[str, Any]) -> tuple[int, Mapping[str, Any]]:
        """Status and JSON of a reply."""
        model, most = body["model"].rpartition("/")[2], body.get("max_tokens", 100)
        if model == "strict" and "reasoning" in body:
            return 400, {"error": {"message": "unknown parameter reasoning", "code": 400}}
        written = 100 if model == "greedy" else min(most, 100)
        text = "" if model == "thinker" else "\n".join(map(str, range(1, written + 1)))
        usage = {
            "prompt_tokens": 20,
            "completion_tokens": written,
            "total_tokens": 20 + written,
            "completion_tokens_details": {"reasoning_tokens": written if model == "thinker" else 0},
        }
        choice = {
            "index": 0,
            "finish_reason": "stop" if written == 100 else "length",
            "message": {"role": "assistant", "content": text},
        }
        names = {"wrong-port": "models/another.gguf"}
        return 200, {
            "id": "1", "object": "chat.completion", "created": 1, "model": names.get(model, f"{model}-v1"),
            "choices": [choice], "usage": usage,
        }  # fmt: skip


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """A server that runs until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.bodies.append(body)
            served.authorizations.append(self.headers.get("Authorization", ""))
            status, reply = served.answer(body)
            content = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = ModelServer(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
