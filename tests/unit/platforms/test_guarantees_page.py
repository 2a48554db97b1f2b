from tests.unit.platforms.guarantees_page import PAGE, UPDATE, page


def test_the_page_says_what_the_capabilities_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"docs are out of date; run: {UPDATE}"
