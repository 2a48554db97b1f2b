"""Attacks by a file: a page, a script that says it is a picture; and a home that others could read."""

import pytest

from tests.support.outside import House
from tests.support.web import program

SCRIPT = b"<script>alert(1)</script>"
PICTURES = {
    "image/png": b"\x89PNG\r\n\x1a\n" + b"0" * 20,
    "image/jpeg": b"\xff\xd8\xff\xe0" + b"0" * 20,
    "image/gif": b"GIF89a" + b"0" * 20,
    "image/webp": b"RIFF\n\n\n\nWEBP" + b"0" * 20,
}


@pytest.mark.guards("R14", "R22.9")
def test_a_stored_file_is_never_a_page_whatever_it_says_it_is(house: House) -> None:
    house.up()
    lies = ("text/html", "image/svg+xml", "application/xhtml+xml", "text/html\tx", "a/b; c", "image/png")
    with program(house.home) as client:
        for kind in lies:
            kept = client.post("/api/blobs", content=SCRIPT, headers={"Content-Type": kind}).json()
            found = client.get(f"/api/blobs/{kept['digest']}?name=x.html").headers
            assert found["content-type"] == "application/octet-stream", kind
            assert found["content-disposition"].startswith("attachment;")
            assert found["x-content-type-options"] == "nosniff"
            assert found["content-security-policy"].startswith("sandbox; default-src 'none'")
            assert found["cross-origin-resource-policy"] == "same-origin"
        for kind, data in PICTURES.items():
            kept = client.post("/api/blobs", content=data, headers={"Content-Type": "text/html"}).json()
            found = client.get(f"/api/blobs/{kept['digest']}").headers
            assert found["content-type"] == kind, "a picture is known by its bytes"
            assert found["content-disposition"].startswith("attachment;")


@pytest.mark.guards("R14")
def test_a_home_that_was_there_before_is_closed_to_others_at_the_start(house: House) -> None:
    house.home.chmod(0o755)
    gateway = house.up()
    assert house.home.stat().st_mode & 0o777 == 0o700
    assert "could open the home" in gateway.words
    gateway.stop()
