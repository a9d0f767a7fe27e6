# SPDX-License-Identifier: BSD-3-Clause
"""Makes copies of bundles, and counts one only after it was read back and compared."""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tailrace.archive.compare import compare_copy
from tailrace.archive.comparison import Comparison
from tailrace.archive.index import DAMAGED, FOUND, MISSING, OPEN, SENDING, VERIFIED, Bundle
from tailrace.archive.opened import Archive
from tailrace.archive.target import Target, TargetError
from tailrace.errors import TailraceError

FIRST_POLL_S, LONGEST_POLL_S = 0.1, 60.0

#: Takes a line about what is being done.
Tell = Callable[[str], None]


def silent(_line: str) -> None:
    """Show nothing."""


def wait_staged(target: Target, keys: Iterable[str], tell: Tell = silent) -> None:
    """Ask for the recall of bundles in one batch, and wait until all can be read."""
    keys = list(keys)
    waiting = [key for key, ready in target.is_staged(keys).items() if not ready]
    for key in waiting:
        if target.size(key) is None:
            raise target.fail(key, "the bundle is missing")
    if waiting:
        target.stage(waiting)
    pause_s = FIRST_POLL_S
    while waiting:
        tell(f"waiting for {len(waiting)} bundles of target {target.name}")
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_POLL_S)
        waiting = [key for key, ready in target.is_staged(waiting).items() if not ready]


def check_copy(
    archive: Archive,
    bundle: Bundle,
    name: str,
    tell: Tell = silent,
    begun: Comparison | None = None,
) -> list[str]:
    """Read back one copy, record its state and return what is wrong with it.

    `begun`: how far this copy was compared already.
    """
    target = archive.target(name)
    tell(f"comparing {bundle.key} on {name}")
    if target.size(bundle.key) is None:
        archive.require_lock()
        archive.index.set_copy(bundle.id, name, MISSING, "the bundle is missing")
        return ["the bundle is missing"]
    wait_staged(target, [bundle.key], tell)
    problems = [str(damage) for damage in compare_copy(archive.index, bundle, target, begun)]
    archive.require_lock()
    archive.index.set_copy(
        bundle.id, name, DAMAGED if problems else VERIFIED, "; ".join(problems[:20])
    )
    return problems


def send(
    archive: Archive,
    bundle: Bundle,
    name: str,
    source: Path,
    tell: Tell = silent,
    begun: Comparison | None = None,
) -> None:
    """Store a bundle on a target, read it back and compare it.

    `begun`: how far the local file was compared while it was written.
    """
    target = archive.target(name)
    archive.require_lock()
    placed = source == target.building_place(bundle.key)
    archive.require_space(name, bundle, placed)
    archive.index.set_copy(bundle.id, name, SENDING)
    tell(f"sending {bundle.key} to {name}")
    target.put(bundle.key, source)
    begun = begun if placed and target.keeps_built() else None
    if problems := check_copy(archive, bundle, name, tell, begun):
        raise TargetError(name, bundle.key, f"the stored copy is damaged: {problems[0]}")


def complete(
    archive: Archive,
    bundle: Bundle,
    copies: int,
    only: str = "",
    tell: Tell = silent,
    begun: Comparison | None = None,
) -> list[str]:
    """Make copies until `copies` of a bundle count; returns the problems of targets.

    `only` is the one target that may get a copy. Targets are taken in the order of the
    configuration; for one that fails, the next is taken. `begun`: how far the local file of the
    bundle was compared while it was written.
    """
    problems: list[str] = []
    names = [only] if only else [place.name for place in archive.config.places]
    for name in names:
        bundle = archive.index.bundle(bundle.id)
        if len(archive.verified(bundle)) >= copies:
            break
        if name not in bundle.verified:
            try:
                _make_copy(archive, bundle, name, tell, begun)
            except TargetError as error:
                problems.append(str(error))
    bundle = archive.index.bundle(bundle.id)
    count = len(archive.verified(bundle))
    if count >= copies:
        _drop_built(archive, bundle)
        return problems
    return problems or [f"{bundle.key}: {count} of {copies} copies"]


def _make_copy(
    archive: Archive, bundle: Bundle, name: str, tell: Tell, begun: Comparison | None
) -> None:
    target, state = archive.prepared(name), bundle.states.get(name)
    if state is not None or target.size(bundle.key) is not None:
        # An earlier attempt may have ended between the transfer and its record.
        whole = state != DAMAGED and target.size(bundle.key) == bundle.size
        if whole:
            target.finish(bundle.key)
        if whole and not check_copy(archive, bundle, name, tell):
            return
        # Each of two damaged copies may have what the other has lost.
        present = target.size(bundle.key) is not None
        if present and not _has_other_source(archive, bundle, name, tell):
            raise TargetError(name, bundle.key, "the copy is damaged, and no other one is sound")
        archive.require_lock()
        target.delete(bundle.key)
    with local_bundle(archive, bundle, name, tell) as source:
        send(archive, bundle, name, source, tell, begun)


def _has_other_source(archive: Archive, bundle: Bundle, name: str, tell: Tell) -> bool:
    """Say whether a bundle can be copied from where it was built, or from a copy that is sound."""
    if _built_file(bundle) is not None:
        return True
    others = [other for other in archive.verified(bundle) if other != name]
    return any(not check_copy(archive, bundle, other, tell) for other in others)


def _built_file(bundle: Bundle) -> Path | None:
    """Return the local file in which a bundle was built; None if it is gone or not whole."""
    built = Path(bundle.built) if bundle.built else None
    if built is None or not built.exists() or built.stat().st_size != bundle.size:
        return None
    return built


@contextlib.contextmanager
def local_bundle(archive: Archive, bundle: Bundle, not_from: str, tell: Tell) -> Iterator[Path]:
    """Yield a local file with the bundle: where it was built, else of another verified copy."""
    built = _built_file(bundle)
    if built is not None:
        yield built
        return
    for name in archive.verified(archive.index.bundle(bundle.id)):
        if name == not_from:
            continue
        target = archive.target(name)
        wait_staged(target, [bundle.key], tell)
        local = target.local(bundle.key)
        if local is not None:
            yield local
            return
        archive.config.spool.mkdir(parents=True, exist_ok=True, mode=0o700)
        spooled = archive.config.spool / bundle.key
        try:
            target.get(bundle.key, spooled)
            yield spooled
        finally:
            spooled.unlink(missing_ok=True)
        return
    raise TargetError(not_from, bundle.key, "no verified copy is left to copy from")


def _drop_built(archive: Archive, bundle: Bundle) -> None:
    if bundle.built:
        Path(bundle.built).unlink(missing_ok=True)
        archive.index.set_built(bundle.id, "")


def resume(archive: Archive, tell: Tell = silent) -> list[str]:
    """Continue what earlier runs left unfinished; returns the problems of targets.

    A bundle that was not finished is forgotten: its sources are all present. A finished bundle gets
    its missing copies.
    """
    index, problems = archive.index, []
    for bundle in index.bundles("state = ?", (OPEN,)):
        archive.require_lock()
        if bundle.built:
            Path(bundle.built).unlink(missing_ok=True)
        index.forget(bundle.id)
    for bundle in index.bundles("built != ''"):
        try:
            built = Path(bundle.built)
            if not built.exists() and not bundle.verified and not _adopt(archive, bundle, tell):
                archive.require_lock()
                index.forget(bundle.id)
                continue
            problems += complete(archive, bundle, bundle.copies, tell=tell)
        except TargetError as error:
            problems.append(str(error))
    return problems


def _adopt(archive: Archive, bundle: Bundle, tell: Tell) -> bool:
    """Say whether a bundle whose local file is gone lies whole on a target."""
    for name in bundle.states:
        if bundle.states[name] not in (SENDING, FOUND):
            continue
        target = archive.target(name)
        if target.size(bundle.key) == bundle.size:
            target.finish(bundle.key)
        if not check_copy(archive, bundle, name, tell):
            return True
    return False


def require_copies(archive: Archive, copies: int) -> None:
    """Raise an error if there are fewer targets than copies."""
    if not 1 <= copies <= len(archive.config.places):
        names = ", ".join(place.name for place in archive.config.places)
        raise TailraceError(
            f"{copies} copies need {copies} targets; only {names} are configured", 2
        )
