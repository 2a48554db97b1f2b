"""The systemd unit that supervises a gateway, with times from its settings."""

from __future__ import annotations

from holdfast.config.settings import Settings
from holdfast.gateway.lifecycle import longest_stop
from holdfast.policy.settings import SECOND

from .exit_codes import BAD_CONFIG, RESTART
from .gateway_command import gateway_command

_WATCHDOG_MARGIN = 2


def stop_seconds(settings: Settings) -> int:
    """Seconds that an orderly stop may take. systemd must not kill the gateway earlier."""
    gateway = settings.gateway
    total = longest_stop(gateway.drain, gateway.grace) + settings.watchdog.slack
    return -(-total // SECOND)


def unit_text(settings: Settings) -> str:
    """A systemd unit for this home. systemd starts the gateway again after every exit but 78."""
    watchdog = _WATCHDOG_MARGIN * -(-settings.watchdog.loop // SECOND)
    command = " ".join(_quoted(part) for part in gateway_command(settings.home))
    return f"""\
[Unit]
Description=Holdfast gateway ({_plain(str(settings.home.absolute()))})
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
Restart=always
RestartSec=1
RestartPreventExitStatus={BAD_CONFIG}
SuccessExitStatus={RESTART}
# Longer than a drain and its teardown: an earlier kill would interrupt turns without a notice.
TimeoutStopSec={stop_seconds(settings) + 5}
# The gateway's own watcher acts after half of this.
WatchdogSec={watchdog}
# systemd holds the page's socket across restarts: no other process can take the port, and requests wait.
FileDescriptorStoreMax=1
# Background processes that tools started outlive a restart of the gateway.
KillMode=process
UMask=0077

[Install]
WantedBy=default.target
"""


def _plain(text: str) -> str:
    return text.replace("%", "%%").replace("\n", " ")


def _quoted(part: str) -> str:
    """One argument as systemd reads it: quoted if needed, with the special `%` and `$` doubled."""
    escaped = part.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if escaped != part or any(c.isspace() for c in part) or not part else part
