"""What `holdfast outbox` says of each part."""

from holdfast.api.to_json import delivery
from holdfast.cli.commands.outbox import _why
from holdfast.model import ChatAddress, Delivery, DeliveryId, DeliveryState, OwedKind

PART = Delivery(
    DeliveryId(1),
    ChatAddress("telegram/bot/7"),
    1,
    OwedKind.REPLY,
    *(1, 1, "words", (), None, "k"),
    DeliveryState.PENDING,
    *(3, True, 0),
)


def test_a_part_that_stepped_aside_is_shown_as_such_with_its_reason() -> None:
    assert _why(delivery(PART)).plain == ""
    assert "(502)" in _why(delivery(PART._replace(reason="502")))
    assert "(stepped aside; 502)" in _why(delivery(PART._replace(reason="502", aside_at=9)))
