"""A child for the supervisor's tests: says that it is up and what signals it hears, ends as it is told."""

import os
import signal
import sys


def say(words: str) -> None:
    os.write(1, f"{words}\n".encode())


def hear() -> str:
    """One line, byte by byte: the next child reads on from the same pipe."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            sys.exit(0)
        line += byte
    return line.decode().strip()


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda heard, _: say(f"heard {signal.Signals(heard).name}"))
    say(f"up {os.getpid()} {os.getppid()}")
    while True:
        match hear().split():
            case ["exit", code]:
                sys.exit(int(code))
            case ["die"]:
                os.kill(os.getpid(), signal.SIGKILL)
            case ["deaf"]:
                for number in (signal.SIGTERM, signal.SIGINT):
                    signal.signal(number, signal.SIG_DFL)
                say("deaf")
            case ["ping"]:
                say("pong")
            case ["deaf"]:
                # As any process is before it has said what signals mean to it.
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                signal.signal(signal.SIGINT, signal.default_int_handler)
                say("deaf")
