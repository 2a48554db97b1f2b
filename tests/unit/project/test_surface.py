from tests.unit.project.surface import UPDATE, packages_without_all, recorded, surface


def test_every_package_says_what_is_public() -> None:
    assert packages_without_all() == []


def test_the_public_surface_is_the_recorded_one() -> None:
    now, before = set(surface()), set(recorded())
    changes = [f"+ {name}" for name in sorted(now - before)] + [f"- {name}" for name in sorted(before - now)]
    assert not changes, "\n".join(["the public surface changed; if that is meant:", UPDATE, *changes])


def test_the_record_is_sorted_and_says_each_name_once() -> None:
    assert recorded() == sorted(set(recorded()))
