from tests.unit.policy.recovery.recovery_page import PAGE, UPDATE, page


def test_the_page_about_recovery_says_what_the_table_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"out of date: {UPDATE}"
