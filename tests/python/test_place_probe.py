# SPDX-License-Identifier: BSD-3-Clause
"""Tests of `tailrace map probe`: slow nodes are found by a probe that a launcher starts."""

import json
from pathlib import Path

import pytest
from stand_ins import write_script
from typer.testing import CliRunner

from tailrace.cli import app
from tailrace.errors import TailraceError
from tailrace.placement.probe import speeds

# Starts the probe on four nodes of two ranks; on n2 all computing takes 1 s more.
LAUNCHER = """#!/bin/bash
mkdir -p slow
printf '#!/bin/sh\\nsleep 1\\nexec /usr/bin/awk "$@"\\n' > slow/awk
for node in n1 n2 n3 n4; do
  mkdir -p $node
  printf '#!/bin/sh\\necho %s\\n' $node > $node/uname
  chmod +x $node/uname slow/awk
  path=$PWD/$node:$PATH
  [ $node = n2 ] && path=$PWD/slow:$path
  for rank in 1 2; do PATH=$path "$@"; done
done
"""


def test_medians_of_hosts_are_compared() -> None:
    lines = [("a", 100, 50), ("a", 900, 50), ("a", 110, 50), ("b", 100, 50), ("c", 100, 150)]
    found = {one.host: one for one in speeds(lines)}
    assert found["a"].compute == pytest.approx(1.1) and found["a"].ranks == 3
    assert found["c"].memory == 3.0 and found["c"].worst == 3.0 and found["b"].worst == 1.0
    assert [one.host for one in speeds(lines)] == ["c", "a", "b"]


def test_command_finds_the_slow_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_script(tmp_path / "launcher", LAUNCHER)
    words = ["map", "probe", "--limit", "1.5", "-o", "good", "--json", "--", "./launcher"]
    done = CliRunner().invoke(app, words)
    found = json.loads(done.stdout)
    slowest = max(found, key=lambda one: one["compute"])
    assert done.exit_code == 1 and slowest["host"] == "n2" and slowest["slow"]
    assert {one["host"] for one in found} == {"n1", "n2", "n3", "n4"}
    assert "n2" not in (tmp_path / "good").read_text().split()


def test_launchers_that_start_nothing_are_said() -> None:
    for words, message in (
        (["/no/such"], "No such file"),
        (["false"], "no rank completed the probe"),
    ):
        done = CliRunner().invoke(app, ["map", "probe", "--", *words])
        assert isinstance(done.exception, TailraceError) and message in str(done.exception)
