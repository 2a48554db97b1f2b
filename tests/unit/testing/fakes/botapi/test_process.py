"""The server as a process of its own, with people who act over HTTP."""

import subprocess
import sys

import httpx


def test_a_bot_and_its_people_meet_at_a_process() -> None:
    command = [sys.executable, "-m", "holdfast.testing.fakes.botapi", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address, token = process.stdout.readline().split()
            with httpx.Client(base_url=address, timeout=60) as http:
                ada = http.post("/people/Ada/write", json={"text": "hello"}).json()
                assert ada == {"result": 1}
                (update,) = http.get(f"/bot{token}/getUpdates").json()["result"]
                chat = update["message"]["chat"]["id"]
                sent = http.post(f"/bot{token}/sendMessage", json={"chat_id": chat, "text": "hi"}).json()
                assert sent["ok"]
                assert [one["text"] for one in http.get("/people/Ada").json()] == ["hello", "hi"]
                assert http.post("/people/Ada/fly").status_code == 404
                assert http.post("/people/Ada/press", json={"label": "x"}).status_code == 400
        finally:
            process.kill()
