"""Attacks run on the same ledgers as the contract suite, and on the same processes as theirs."""

from tests.contract.conftest import *  # noqa: F403 - the fixtures are meant to be the same
from tests.processes.conftest import *  # noqa: F403 - as are these
