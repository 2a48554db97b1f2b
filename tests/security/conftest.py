from tests.web.conftest import build, house, settled

__all__ = ["build", "house", "settled"]
