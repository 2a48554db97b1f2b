from tests.sim.modules_page import PAGE, UPDATE, page


def test_the_proof_says_which_modules_no_world_enters() -> None:
    assert page() == PAGE.read_text(encoding="utf-8"), f"if that is meant: {UPDATE}"
