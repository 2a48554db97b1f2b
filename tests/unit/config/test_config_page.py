from tests.unit.config.config_page import PAGE, UPDATE, page


def test_the_configuration_page_says_what_the_keys_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"run {UPDATE}"
