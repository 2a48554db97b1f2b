"""What a gateway's process loads before it listens: it starts again after every kill."""

import subprocess
import sys


def test_the_server_loads_nothing_that_a_start_can_do_without() -> None:
    code = "import holdfast.web.__main__, holdfast.web.server, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert {"starlette", "uvicorn"} <= loaded
    assert not loaded & {"httpx", "jinja2", "multipart", "prometheus_client", "pydantic", "rich", "typer"}
    assert not loaded & {"httptools", "uvloop", "watchfiles", "websockets"}


def test_the_command_line_loads_no_server() -> None:
    code = "import holdfast.cli.program, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {name.split(".")[0] for name in done.stdout.split()} & {"starlette", "uvicorn", "h11"}
