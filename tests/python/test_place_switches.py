# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace map --topology`: the switches of the nodes, from each text that Slurm has for them."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tailrace.cli import app
from tailrace.placement.switches import expand, leaves

ROOT = Path(__file__).resolve().parents[2]
CONF = """# two racks
SwitchName=s0 Nodes=n[01-02],gpu1
SwitchName=s1 \\
  Nodes=n[03-04]
SwitchName=top Switches=s[0-1] LinkSpeed=100
"""
SCONTROL = """SwitchName=s0 Level=0 LinkSpeed=1 Nodes=gpu1,n[01-02]
SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[03-04]
SwitchName=top Level=1 LinkSpeed=1 Nodes=gpu1,n[01-04] Switches=s[0-1]
"""
YAML = """---
- topology: blocks
  cluster_default: false
  block:
    block_sizes: [4]
    blocks:
      - block: b1
        nodes: n[01-04]
- topology: racks
  cluster_default: true
  tree:
    switches:
      - switch: top
        children: s[0-1]
      - switch: s0
        nodes: "n[01-02],gpu1"
      - switch: s1  # the second rack
        nodes: n[03-04]
- topology: other
  tree:
    switches:
      - switch: x
        nodes: n[01-04]
"""


@pytest.mark.parametrize("text", [CONF, SCONTROL, YAML], ids=["conf", "scontrol", "yaml"])
def test_all_texts_say_the_same(text: str) -> None:
    found = {name: sorted(nodes) for name, nodes in leaves(text).items()}
    assert found == {"s0": ["gpu1", "n01", "n02"], "s1": ["n03", "n04"]}


def test_leaves_of_one_parent_follow_one_another() -> None:
    lines = [f"SwitchName=l{i} Nodes=n{i}" for i in range(4)]
    lines += ["SwitchName=a Switches=l0,l2", "SwitchName=b Switches=l[1,3]"]
    assert list(leaves("\n".join([*lines, "SwitchName=t Switches=a,b"]))) == [
        "l0",
        "l2",
        "l1",
        "l3",
    ]
    assert leaves("SwitchName=a Switches=b\nSwitchName=b Switches=a") == {}  # no tree
    assert leaves("hello") == {}


def test_lists_of_names() -> None:
    assert expand("a[1-2]b[08-10]") == [f"a{i}b{j}" for i in (1, 2) for j in ("08", "09", "10")]
    assert expand("") == []


def order(folder: Path, *words: str) -> tuple[int, str]:
    (folder / "topology.conf").write_text(CONF)
    given = ["map", "--grid", "4x2", "--ranks-per-node", "2", "--order", "consecutive", *words]
    done = CliRunner().invoke(app, [*given, "--json"])
    return done.exit_code, done.stdout if done.exit_code == 0 else str(done.exception)


def test_nodes_of_a_switch_stay_together(tmp_path: Path) -> None:
    """Whatever the order of the job's list is."""
    file = str(tmp_path / "topology.conf")
    status, said = order(tmp_path, "--hosts", "n03,n01,n04,n02", "--topology", file)
    assert status == 0, said
    found = json.loads(said)
    assert found["hosts"] == ["n01", "n02", "n03", "n04"]
    assert found["switch_of_node"] == [0, 0, 1, 1]
    assert found["bytes_between_switches"] == 4  # two pairs across one cut, both ways
    status, said = order(tmp_path, "--hosts", "n03,n01,n04,n02")
    assert status == 0, said
    assert json.loads(said)["hosts"] == ["n03", "n01", "n04", "n02"]
    assert "switch_of_node" not in said


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--hosts", "n01,n02,n03,x"], "node x is at no switch"),
        ([], "needs the names of the nodes"),
        (["--topology", "none"], "No such file"),
        (["--topology", str(ROOT / "README.md"), "--hosts", "a,b,c,d"], "contains no tree of"),
    ],
)
def test_wrong_input_says_what_is_wrong(tmp_path: Path, words: list[str], text: str) -> None:
    topology = ["--topology", str(tmp_path / "topology.conf")]
    status, said = order(tmp_path, *topology, *words)
    assert status != 0
    assert text in said, said
