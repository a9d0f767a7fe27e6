#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draw the README's animation from the results of `tailrace demo`: tools/animation.py RUN OUT.gif.

RUN is the folder of a demo. Shown are its last round's runs with synchronous and with hidden output
to the simulated shared file system: their traces, their steps at the times that were measured, and
what `h5ls` prints of the last file. Time is slowed down: the longer run takes 13 seconds.
"""

import argparse
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from tailrace.report.figures import MODE_COLOURS, colour_legend
from tailrace.report.style import ACTIVITY_COLOURS, INK, RC
from tailrace.report.timeline import Segments, Track, shares, strip, tracks
from tailrace.runs.folder import Run, load_run

FRAMES_PER_S = 8
RUNS_S, LISTING_S = 13.0, 7.0  # of the animation
LINES = 13
BINS = 600


@dataclass(frozen=True)
class Story:
    """A run: its strips, and when which step was complete, in seconds from its begin."""

    name: str
    mode: str
    strips: dict[Track, Segments]
    step_ends: list[tuple[float, int, float]]  # seconds, step, time of the flow
    seconds: float


def story_of(run: Run, mode: str) -> Story:
    """Return the story of a run of the turbulence program, whose steps end in a spectral pass."""
    passes = [
        (float(event["ts"]) + float(event["dur"])) * 1e-6
        for event in run.events
        if event.get("name") == "spectral pass" and event["pid"] == 0
    ]
    first = int(Path(run.case["restart"]["file"]).stem.rpartition("_")[2])
    steps = int(run.summary["steps"]) - first
    last, dt = float(run.summary["time"]), float(run.case["time"]["step"])
    per_step = len(passes) / steps
    if per_step < 1 or per_step != int(per_step):
        sys.exit(f"{run.folder}: {len(passes)} spectral passes of {steps} steps: not a demo's run")
    ends = sorted(passes)[int(per_step) - 1 :: int(per_step)]
    rows = [(end, first + i + 1, last - (steps - i - 1) * dt) for i, end in enumerate(ends)]
    strips = tracks(run.events)
    seconds = max(float(segments.end.max()) for segments in strips.values())
    return Story("synchronous" if mode == "synchronous" else "hidden", mode, strips, rows, seconds)


def draw_strips(axes: Axes, story: Story, now: float, longest: float) -> None:
    """Draw what ranks and writers did up to `now`."""
    shown = min(now, story.seconds)
    y, ticks, labels = 0.0, [], []
    for (rank, track), segments in story.strips.items():
        height = 1.0 if track == 0 else 0.7
        colours = strip(shares(segments, 0.0, max(shown, 1e-6), BINS))
        axes.imshow(
            colours[np.newaxis],
            extent=(0.0, shown, y + height, y),
            aspect="auto",
            interpolation="nearest",
        )
        ticks.append(y + height / 2)
        labels.append(f"rank {rank}" if track == 0 else "writer")
        y += height + 0.12
    axes.set_xlim(0, 1.02 * longest)
    axes.set_ylim(y, 0)
    axes.set_yticks(ticks, labels)
    axes.tick_params(axis="y", length=0)
    axes.set_title(f"{story.name} output", loc="left")


def draw_bars(axes: Axes, stories: list[Story], now: float, longest: float) -> None:
    """Draw how long each run has taken so far."""
    for row, story in enumerate(stories):
        seconds = min(now, story.seconds)
        done = now >= story.seconds
        axes.barh(row, seconds, height=0.6, color=MODE_COLOURS[story.mode])
        text = f" {seconds:.2f} s" + (", done" if done else "")
        axes.text(seconds, row, text, va="center", fontweight="bold" if done else "normal")
    axes.set_yticks(range(len(stories)), [story.name for story in stories])
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 1.35 * longest)
    axes.set_ylim(len(stories) - 0.5, -0.5)
    axes.set_xlabel("time of the same steps [s]")


def draw_terminal(axes: Axes, lines: list[str]) -> None:
    """Draw the last lines of a terminal."""
    axes.set_facecolor("#15202b")
    axes.set_xticks([])
    axes.set_yticks([])
    text = "\n".join(lines[-LINES:])
    axes.text(
        0.02, 0.95, text, transform=axes.transAxes, va="top", family="monospace", fontsize=7.5,
        color="#d7e3ee", linespacing=1.35,
    )  # fmt: skip


def lines_at(story: Story, now: float, folder: str) -> list[str]:
    """Return what has been printed of the steps up to `now`."""
    done = [row for row in story.step_ends if row[0] <= now]
    lines = [f"$ tailrace run taylor_green -n 2   # {folder}"]
    lines += [f"step {step}  t {time:.2f}  {end:.2f} s" for end, step, time in done]
    if now >= story.seconds:
        lines.append(f"done: {story.seconds:.2f} s")
    return lines


def frame(stories: list[Story], now: float, lines: list[str], where: str) -> Image.Image:
    """Draw one moment."""
    longest = max(story.seconds for story in stories)
    figure = Figure(figsize=(8.4, 4.5), dpi=90, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    grid = figure.add_gridspec(3, 2, width_ratios=[1.0, 1.45], height_ratios=[1.0, 1.0, 0.85])
    draw_terminal(figure.add_subplot(grid[:2, 0]), lines)
    draw_bars(figure.add_subplot(grid[2, :]), stories, now, longest)
    for row, story in enumerate(stories):
        axes = figure.add_subplot(grid[row, 1])
        draw_strips(axes, story, now, longest)
        if row == 0:
            colour_legend(axes, ACTIVITY_COLOURS)
    figure.suptitle(where, fontsize=8.5, color=INK, x=0.01, ha="left")
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())[:, :, :3].copy())


def palette_of(frames: list[Image.Image]) -> Image.Image:
    """Return an image with the colours of several frames."""
    width, height = frames[0].size
    all_of_them = Image.new("RGB", (width, height * len(frames)))
    for row, one in enumerate(frames):
        all_of_them.paste(one, (0, row * height))
    return all_of_them.quantize(64, dither=Image.Dither.NONE)


def main() -> int:
    """Draw the animation."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of a demo")
    parser.add_argument("gif", type=Path, help="where the animation goes")
    given = parser.parse_args()
    run = load_run(given.run)
    rounds = len(run.summary["times_all_s"]["none"])
    other = load_run(given.run / "other" / f"shared-synchronous-{rounds}")
    stories = [story_of(other, "synchronous"), story_of(run, "hidden")]
    longest = max(story.seconds for story in stories)
    n = int(run.case["grid"]["n"])
    rate, _, latency = str(run.summary["times_limit"]).partition(",")
    system = f"simulated shared file system, {rate}iB/s" + (f", {latency}" if latency else "")
    every = run.case["output"]["every"]
    where = f"Turbulence, {n}³ points, 2 ranks, a file every {every} steps; {system}"
    listing = subprocess.run(
        [shutil.which("h5ls") or "h5ls", run.fields[-1]], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    frames = []
    with mpl.rc_context({**RC, "font.size": 8}):
        for number in range(round(RUNS_S * FRAMES_PER_S)):
            now = longest * (number + 1) / (RUNS_S * FRAMES_PER_S)
            frames.append(frame(stories, now, lines_at(stories[1], now, "hidden output"), where))
        end = [f"$ h5ls {run.fields[-1].name}", *listing]
        frames.append(frame(stories, longest, end, where))
    palette = palette_of([frames[0], frames[len(frames) // 3], frames[-2]])
    small = [one.quantize(palette=palette, dither=Image.Dither.NONE) for one in frames]
    times = [1000 // FRAMES_PER_S] * (len(small) - 1) + [round(1000 * LISTING_S)]
    small[0].save(
        given.gif, save_all=True, append_images=small[1:], duration=times, loop=0, optimize=True
    )
    print(json.dumps({"frames": len(small), "bytes": given.gif.stat().st_size}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
