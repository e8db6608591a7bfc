# SPDX-License-Identifier: MIT
"""dashboard_browser.py BROWSER URL DIRECTORY [SCREENSHOT]: opens the dashboard in a headless
Chromium, waits for its ranks, says something in its chat and waits for the answer. It speaks the
browser's own protocol over --remote-debugging-pipe: JSON texts that end in a zero byte."""
import base64
import json
import os
import select
import subprocess
import sys
import time

BROWSER, URL, DIRECTORY = sys.argv[1:4]
PATIENCE_S = 30
CALL_S = 5


class Browser:
    def __init__(self):
        to_read, self.to = os.pipe()
        self.come, come_write = os.pipe()
        # The browser expects them as 3 and 4.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$0" "$@" 3<&{to_read} 4>&{come_write}', BROWSER, "--headless",
             "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--window-size=1000,1040",
             "--hide-scrollbars", f"--user-data-dir={DIRECTORY}", "about:blank"],
            pass_fds=(to_read, come_write), stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(come_write)
        self.buffer = b""
        self.id = 0
        self.session = None

    def call(self, method, patience=CALL_S, **params):
        self.id += 1
        message = {"id": self.id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.buffer:
                # What is asked while a page is being replaced may never be answered.
                if not select.select([self.come], [], [], patience)[0]:
                    return {}
                piece = os.read(self.come, 1 << 16)
                if not piece:
                    raise SystemExit("the browser has ended")
                self.buffer += piece
            text, self.buffer = self.buffer.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == self.id:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']}")
                return answer["result"]

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return result.get("result", {}).get("value")

    def wait_for(self, expression, what):
        end = time.monotonic() + PATIENCE_S
        while not self.value(expression):
            if time.monotonic() > end:
                raise SystemExit(f"{what}: {self.value('document.body.innerText')}")
            time.sleep(0.05)


browser = Browser()
try:
    target = browser.call("Target.createTarget", PATIENCE_S, url=URL + "/dashboard")["targetId"]
    attached = browser.call("Target.attachToTarget", PATIENCE_S, targetId=target, flatten=True)
    browser.session = attached["sessionId"]
    browser.wait_for("!!document.querySelector('#state.ok')", "the state is not ok")
    browser.wait_for("document.querySelectorAll('#ranks tr').length >= 2", "no ranks")
    browser.wait_for("[...document.querySelectorAll('#ranks tr')][1].innerText.includes('worker')",
                     "rank 1 is no worker")
    browser.value("at('text').value = 'hello'; at('chat').requestSubmit()")
    browser.wait_for("document.querySelector('#said .assistant')?.textContent.length > 20",
                     "the chat does not stream")
    browser.wait_for("document.querySelectorAll('#requests tr').length >= 1",
                     "no request is listed")
    browser.wait_for("Number(at('rate').textContent) > 0", "no tokens a second")
    if len(sys.argv) > 4:
        time.sleep(6)
        shot = None
        while not shot:
            shot = browser.call("Page.captureScreenshot", format="png").get("data")
        with open(sys.argv[4], "wb") as out:
            out.write(base64.b64decode(shot))
    browser.value("at('stop').click()")
    browser.wait_for("at('stop').hidden", "Stop does nothing")
    errors = browser.value("document.querySelectorAll('#said .error').length")
    if errors:
        raise SystemExit(browser.value("document.querySelector('#said .error').textContent"))
finally:
    browser.process.terminate()
    browser.process.wait()
