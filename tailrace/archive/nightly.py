# SPDX-License-Identifier: BSD-3-Clause
"""Moves what lies in the configured folders to the archive, as a timer or cron calls it."""

from tailrace.archive.add import Added, Order, add, move
from tailrace.archive.copies import Tell, silent
from tailrace.archive.opened import Archive
from tailrace.errors import TailraceError


def nightly(archive: Archive, dry_run: bool, tell: Tell = silent) -> Added:
    """Archive and remove what has been quiet in each ``[[nightly]]`` folder; resumes."""
    if not archive.config.nightly:
        raise TailraceError(f"{archive.config.file}: no [[nightly]] folder is configured", 2)
    total = Added()
    for row in archive.config.nightly:
        order = Order([str(row.folder)], row.copies, row.quiet_s, dry_run)
        try:
            done = add(archive, order, tell)
        except TailraceError as error:
            total.problems.append(f"{row.folder}: {error}")
            continue
        if not dry_run:
            move(archive, order, done, tell)
        total.merge(done)
    return total


TIMER = """\
# ~/.config/systemd/user/tailrace-archive.timer
[Unit]
Description=Moves the archive folders each night

[Timer]
OnCalendar=*-*-* 01:30:00
Persistent=true

[Install]
WantedBy=timers.target

# ~/.config/systemd/user/tailrace-archive.service
[Unit]
Description=tailrace archive nightly

[Service]
Type=oneshot
ExecStart={command}

# systemctl --user daemon-reload && systemctl --user enable --now tailrace-archive.timer
#
# Or a line of `crontab -e`; cron mails what goes wrong:
# 30 1 * * * {command} --quiet
"""
