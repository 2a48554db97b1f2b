from tests.unit.tools.tools_page import PAGE, UPDATE, page


def test_the_page_is_what_the_tools_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"run {UPDATE}"
