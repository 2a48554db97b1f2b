from tests.unit.model.states_page import PAGE, UPDATE, page


def test_the_page_about_states_says_what_the_tables_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"out of date: {UPDATE}"
