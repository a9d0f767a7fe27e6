# SPDX-License-Identifier: BSD-3-Clause
"""A setting: variables for the ranks and options of the launcher; kept in a file of TOML."""

import json
import shlex
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError
from tailrace.launch.launcher import Launch


@dataclass(frozen=True)
class Setting:
    """What is changed; `options` of the launcher go in pairs (name, value).

    `wrapper` are words before the program (numactl --interleave=all), `build` variables of the
    command that builds it (`tailrace.advice.builds`).
    """

    name: str
    environment: dict[str, str] = field(default_factory=dict)
    options: tuple[tuple[str, str], ...] = ()
    build: dict[str, str] = field(default_factory=dict)
    wrapper: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return the change as a user would type it."""
        words = [f"{name}={value}" for name, value in self.environment.items()]
        words += [f"{name} {value}" for name, value in self.options]
        words += [shlex.join(self.wrapper)] if self.wrapper else []
        by_value: dict[str, list[str]] = {}
        for name, value in self.build.items():
            by_value.setdefault(value, []).append(name)
        words += [f"{', '.join(names)}: {value}" for value, names in by_value.items()]
        return " ".join(words)

    @property
    def build_text(self) -> str:
        """Return the variables of the build as a shell sets them."""
        return " ".join(f"{name}={shlex.quote(value)}" for name, value in self.build.items())

    @property
    def changes_the_run(self) -> bool:
        """Tell whether it changes more than how the program is built."""
        return bool(self.environment or self.options or self.wrapper)

    @property
    def changes_writing(self) -> bool:
        """Tell whether it changes how the program writes its files."""
        preloaded = self.environment.get("LD_PRELOAD", "")
        return "libtailrace_io" in preloaded or any(
            name in self.environment for name in ("TAILRACE_IO", "OMPI_MCA_io")
        )

    def launched_by(self, launch: Launch) -> list[str]:
        """Return the launcher's words with our options in place of its own of the same name."""
        words = list(launch.prefix)
        for name, value in self.options:
            if name in words:
                words[words.index(name) + 1] = value
            else:
                words += [name, value]
        return words


def combined(name: str, settings: list[Setting]) -> Setting:
    """Return all settings as one; of a variable that several set, the lists are joined."""
    environment: dict[str, str] = {}
    options: dict[str, str] = {}
    build: dict[str, str] = {}
    wrapper: tuple[str, ...] = ()
    for one in settings:
        for key, value in one.environment.items():
            joined = key in environment and key in ("LD_PRELOAD", "GLIBC_TUNABLES")
            environment[key] = f"{environment[key]}:{value}" if joined else value
        options.update(one.options)
        build.update(one.build)
        wrapper += one.wrapper
    return Setting(name, environment, tuple(options.items()), build, wrapper)


def settings_text(setting: Setting, comment: str, measured: dict[str, Any]) -> str:
    """Return the file of a setting; TOML's strings are written as JSON's."""
    lines = [f"# {line}" for line in comment.splitlines()]
    lines += ["", "[environment]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in setting.environment.items()]
    lines += ["", "[launcher]", f"options = {json.dumps([list(pair) for pair in setting.options])}"]
    if setting.wrapper:
        lines += [f"wrapper = {json.dumps(list(setting.wrapper))}"]
    lines += ["", "[measured]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in measured.items()]
    return "\n".join(lines) + "\n"


def read_settings(path: Path) -> Setting:
    """Read the file of a setting; complains about what is not one."""
    try:
        data = tomllib.loads(path.read_text())
        environment = data.get("environment", {})
        options = data.get("launcher", {}).get("options", [])
        wrapper = data.get("launcher", {}).get("wrapper", [])
        pairs = tuple((str(name), str(value)) for name, value in options)
        known = set(data) <= {"environment", "launcher", "measured"}
        strings = [*environment.values(), *wrapper]
        known = known and isinstance(wrapper, list)
        if not known or not all(isinstance(value, str) for value in strings):
            raise ValueError("unknown tables, or values that are not strings")
    except OSError as error:
        raise TailraceError(f"{path}: {error.strerror}", status=2) from error
    except (ValueError, TypeError, AttributeError) as error:
        raise TailraceError(
            f'{path}: no settings ({error}); expected [environment] with NAME = "VALUE" and '
            '[launcher] with options = [["--bind-to", "core"]]',
            status=2,
        ) from error
    return Setting(path.stem, dict(environment), pairs, wrapper=tuple(wrapper))
