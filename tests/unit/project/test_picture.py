from tests.unit.project.picture import PICTURE, UPDATE, layers, package_imports, picture, without_implied


def test_the_picture_of_the_packages_shows_the_layers_and_imports_of_the_code() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture(), f"out of date: {UPDATE}"


def test_an_import_that_a_longer_way_shows_is_left_out() -> None:
    graph = {"a": {"b", "c"}, "b": {"c"}}
    assert without_implied(graph) == {"a": {"b"}, "b": {"c"}}


def test_every_drawn_import_points_down() -> None:
    rows = {name: number for number, row in enumerate(layers()) for name in row}
    upward = [
        (owner, name)
        for owner, names in package_imports().items()
        for name in names
        if rows[owner] >= rows[name]
    ]
    assert upward == []
