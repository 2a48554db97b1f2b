"""Every rule and every known failure is guarded by a test on the real stages that names it."""

from tests.unit.project.guards import FAILURES, RULES, guarded

KNOWN = {*RULES, *FAILURES}


def test_every_rule_and_every_known_failure_is_guarded() -> None:
    assert KNOWN - {id_ for id_, _ in guarded()} == set()


def test_no_test_names_what_nobody_knows() -> None:
    assert [(id_, test) for id_, test in guarded() if id_ not in KNOWN] == []
