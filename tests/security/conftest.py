"""Attacks on the stages run on the same ledgers as the contract suite."""

from tests.contract.conftest import *  # noqa: F403 - the fixtures are meant to be the same
