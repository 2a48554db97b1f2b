from holdfast.platforms.guarantees import guarantees
from holdfast.platforms.registry import known
from tests.support.commands import as_json, command


def test_what_is_promised_is_printed_for_each_platform_word_by_word() -> None:
    shown = {one["platform"]: one["guarantees"] for one in as_json("guarantees")["platforms"]}
    assert shown == {
        one.name: [
            {"about": each.about.value, "holds": each.holds.value, "words": each.words}
            for each in guarantees(one.capabilities)
        ]
        for one in known()
    }
    for one in known():
        printed = command("guarantees", one.name).out
        assert all(each.words in printed for each in guarantees(one.capabilities))


def test_a_platform_that_is_none_is_refused_with_those_there_are() -> None:
    done = command("guarantees", "pigeons")
    assert done.code != 0 and "web, telegram" in done.err
