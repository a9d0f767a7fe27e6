# SPDX-License-Identifier: BSD-3-Clause
"""Commands by their names of 0.1, which 0.2 accepts with a line on standard error."""

RENAMED = {
    "check": ["advise"],
    "compare": ["diff"],
    "place": ["map"],
    "price": ["plan", "transposes"],
}
POINTS = {"--n": "--points"}  # of `price`: -n is the number of ranks everywhere


def renew(words: list[str]) -> tuple[list[str], str]:
    """Return the words of a command line with today's names, and what was renamed, or "".

    `words` begin with the command; those after "--" belong to another program.
    """
    name, *rest = words
    end = rest.index("--") if "--" in rest else len(rest)
    own, others = rest[:end], rest[end:]
    if name == "check" and "--launch" in own:
        own.remove("--launch")
        return ["doctor", *own, *others], "check --launch is now doctor"
    if name == "run" and any(word.partition("=")[0] == "--with" for word in own):
        return ["exec", *own, *others], "run --with is now exec --with"
    if name not in RENAMED:
        return words, ""
    new = RENAMED[name]
    if name == "price":
        own = [_renamed_option(word) for word in own]
    return [*new, *own, *others], f"{name} is now {' '.join(new)}"


def _renamed_option(word: str) -> str:
    option, equals, value = word.partition("=")
    return POINTS.get(option, option) + equals + value
