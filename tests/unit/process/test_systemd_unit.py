from configparser import ConfigParser
from dataclasses import replace
from pathlib import Path

from holdfast.config.settings import DrainSettings, GatewaySettings, Settings
from holdfast.policy.settings import MINUTE, SECOND
from holdfast.process.systemd_unit import stop_seconds, unit_text


def unit(settings: Settings) -> ConfigParser:
    found = ConfigParser(interpolation=None)
    found.optionxform = str  # type: ignore[assignment,method-assign] # systemd's names have capitals
    found.read_string(unit_text(settings))
    return found


def test_the_unit_is_started_again_after_every_exit_but_a_bad_configuration(tmp_path: Path) -> None:
    service = unit(Settings(tmp_path))["Service"]
    assert (service["Type"], service["Restart"], service["RestartPreventExitStatus"]) == (
        "notify",
        "always",
        "78",
    )
    assert service["ExecStart"].endswith(f"-m holdfast.web {tmp_path}")


def test_the_unit_waits_longer_than_any_drain_that_is_configured(tmp_path: Path) -> None:
    long = GatewaySettings(drain=DrainSettings(wait=30 * MINUTE))
    for settings in (Settings(tmp_path), replace(Settings(tmp_path), gateway=long)):
        drain = settings.gateway.drain
        bound = int(unit(settings)["Service"]["TimeoutStopSec"])
        assert bound > stop_seconds(settings) > (drain.wait + drain.teardown) / SECOND


def test_systemds_watchdog_is_slower_than_our_own(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    assert int(unit(settings)["Service"]["WatchdogSec"]) * SECOND > settings.watchdog.loop


def test_background_processes_outlive_a_restart_of_the_service(tmp_path: Path) -> None:
    assert unit(Settings(tmp_path))["Service"]["KillMode"] == "process"


def test_a_home_with_strange_characters_is_one_argument(tmp_path: Path) -> None:
    command = unit(Settings(tmp_path / 'my "own" 100% $home'))["Service"]["ExecStart"]
    assert command.endswith('/my \\"own\\" 100%% $$home"')
