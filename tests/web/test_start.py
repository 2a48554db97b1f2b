"""What a gateway's process loads before it listens: it starts again after every kill."""

import asyncio
import socket
import subprocess
import sys

from holdfast.web.server import listen
from tests.support.loops import on_a_loop
from tests.support.outside import House


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


@on_a_loop
async def test_no_answer_waits_until_the_other_side_has_the_one_before() -> None:
    async def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found = writer.get_extra_info("socket")
        at_once.set_result(found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    at_once: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    listening = listen("127.0.0.1", 0)
    server = await asyncio.start_server(connected, sock=listening)
    _, writer = await asyncio.open_connection(*listening.getsockname())
    assert await at_once
    writer.close()
    server.close()


def test_a_file_of_the_page_that_cannot_be_removed_does_not_make_an_orderly_end_a_crash(house: House) -> None:
    gateway = house.up()
    for name in ("web.json", "gateway.sock"):
        (house.home / name).rename(house.home / f"{name}.moved")
        (house.home / name).mkdir()
    gateway.stop()
