# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Talks to remat-lsp-server as an editor does and prints what it answers.

Usage: lsp.py SERVER. Each case is a text with a `|` where the cursor stands.
"""

import json
import subprocess
import sys


class Server:
    """JSON-RPC over the standard streams of a language server."""

    def __init__(self, program):
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.requests = 0
        self.documents = 0
        self.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        self.notify("initialized", {})

    def send(self, message):
        text = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
        self.process.stdin.flush()

    def receive(self):
        length = 0
        while line := self.process.stdout.readline().strip():
            name, value = line.split(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length, "the server has ended"
        return json.loads(self.process.stdout.read(length))

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def request(self, method, params):
        self.requests += 1
        self.send({"id": self.requests, "method": method, "params": params})
        while (answer := self.receive()).get("id") != self.requests:
            pass
        return answer["result"]

    def open(self, text):
        """Opens a new document; returns where it is and its diagnostics."""
        self.documents += 1
        uri = f"file:///document{self.documents}.mlir"
        document = {"uri": uri, "languageId": "mlir", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return uri, self.receive()["params"]["diagnostics"]

    def ask(self, method, text):
        """Asks about the place of the `|` in `text`."""
        before, after = text.split("|")
        uri, _ = self.open(before + after)
        line = before.count("\n")
        position = {"line": line, "character": len(before.split("\n")[-1])}
        return self.request(method, {"textDocument": {"uri": uri}, "position": position})

    def close(self):
        self.request("shutdown", None)
        self.notify("exit", None)
        return self.process.wait(timeout=20)


def region(policy):
    return f"""func.func @f(%w: tensor<4xf64>) -> tensor<4xf64> {{
  %y = remat.region policy({policy}) (%a = %w : tensor<4xf64>) -> tensor<4xf64> {{
    remat.yield %a : tensor<4xf64>
  }}
  return %y : tensor<4xf64>
}}
"""


def main():
    server = Server(sys.argv[1])

    def diagnose(text):
        for item in server.open(text)[1]:
            start = item["range"]["start"]
            print(f"diagnostic {start['line'] + 1}:{start['character'] + 1}: {item['message']}")

    def complete(text):
        items = server.ask("textDocument/completion", text)["items"]
        print(f"complete {text.splitlines()[-1]}", *(item["label"] for item in items))

    def hover(text):
        answer = server.ask("textDocument/hover", text)
        print("hover", " ".join(answer["contents"]["value"].split()) if answer else None)

    diagnose(region("#remat.nothing_savable"))
    diagnose("opt.optimizer @o = #opt.adamw<lr = 0.1, beta2 = 0.9>\n")
    diagnose(region("#remat.every_k<0>"))
    print("correct:", server.open(region("#remat.dots_saveable"))[1])

    complete("#p = #|")
    complete("#p = #remat.|")
    complete(region("#X").split("#X")[0] + "#remat.|")
    complete("#p = #remat.any_of<#remat.dots_saveable, #remat.|")
    complete("#rule = #opt.|")
    complete("#rule = #opt.adamw<lr = 0.1, |")
    complete("#rule = #opt.adamw<lr = #opt.step_decay<|")
    complete("func.func @f() {\n remat.|\n return\n}")

    hover(region("#remat.every_k<2>").replace("remat.region", "remat.re|gion"))
    hover("#p = #remat.dots_saveable\n" + region("#|p"))
    hover("opt.opti|mizer @o = #opt.adamw<lr = 0.1>\n")
    hover(region("#remat.every|_k<2>"))
    hover(region("#remat.any_of<#remat.dots_saveable, #re|mat.every_k<2>>"))
    hover("opt.optimizer @o = #opt.ada|mw<lr = #opt.step_decay<initial = 0.1, factor = 0.5, every = 10>>\n")
    hover("opt.optimizer @o = #opt.adamw<lr = |#opt.step_decay<initial = 0.1, factor = 0.5, every = 10>>\n")
    hover("opt.optimizer @o = #opt.adamw<l|r = 0.1>\n")
    print("exit code", server.close())


main()
