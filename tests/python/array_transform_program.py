# SPDX-License-Identifier: BSD-3-Clause
"""Random transforms of any axes against scipy.fft: `mpirun -n N python ... [SEED]`."""

import sys
from typing import Any

import numpy as np
import scipy.fft
from mpi4py import MPI

import tailrace
import tailrace.fft

COMM = MPI.COMM_WORLD
KINDS = ["fourier"] + [f"{name}{number}" for name in ("dct", "dst") for number in (1, 2, 3, 4)]
CASES = 80


def scipy_forward(u: Any, axes: list[int], kinds: list[str]) -> Any:
    for axis, kind in zip(axes[::-1], kinds[::-1], strict=True):
        if kind != "fourier":
            run = scipy.fft.dct if kind.startswith("dct") else scipy.fft.dst
            u = run(u, type=int(kind[3]), axis=axis)
        else:
            u = (scipy.fft.fft if np.iscomplexobj(u) else scipy.fft.rfft)(u, axis=axis)
    return u


def logical_size(kind: str, n: int) -> int:
    return {"fourier": n, "dct1": 2 * (n - 1), "dst1": 2 * (n + 1)}.get(kind, 2 * n)


def part(whole: Any, box: Any) -> Any:
    return whole[tuple(slice(s, s + n) for s, n in zip(box.start, box.extents, strict=True))]


def solve(seed: int) -> None:
    random = np.random.default_rng(seed)
    num_dims = int(random.integers(1, 6))
    while True:
        shape = tuple(int(n) for n in random.integers(1, 40, num_dims))
        if np.prod(shape) <= 60000:
            break
    dtype = np.dtype(str(random.choice(["f4", "f8", "c8", "c16"])))
    axes = [int(a) for a in random.permutation(num_dims)[: random.integers(1, num_dims + 1)]]
    kinds = ["fourier" if random.random() < 0.5 else str(random.choice(KINDS)) for _ in axes]
    kinds = [
        "dct2" if k == "dct1" and shape[a] < 2 else k for k, a in zip(kinds, axes, strict=True)
    ]
    given = [a - num_dims if random.random() < 0.3 else a for a in axes]
    values = random.standard_normal((2, *shape))
    whole = (values[0] + 1j * values[1] if dtype.kind == "c" else values[0]).astype(dtype)
    text = f"seed {seed}: {dtype} {shape} axes {axes} {kinds}"
    try:
        transform = tailrace.fft.ArrayTransform(COMM, shape, dtype, axes=given, kinds=kinds)
    except tailrace.InvalidInput as error:
        assert num_dims == 1, f"{text}: {error}"
        assert COMM.size > 1, f"{text}: {error}"
        return
    expected = scipy_forward(whole, axes, kinds)
    assert transform.spectral_dtype == expected.dtype, text
    u = np.ascontiguousarray(part(whole, transform.box))
    modes = transform.forward(u)
    tolerance = (2e-5 if dtype.char in "fF" else 3e-14) * float(np.abs(expected).max())
    error = np.abs(modes - part(expected, transform.spectral_box)).max(initial=0)
    assert error <= tolerance, f"{text}: {error} of {tolerance}"
    size = np.prod([logical_size(k, shape[a]) for k, a in zip(kinds, axes, strict=True)])
    assert np.isclose(transform.normalization, 1 / size, rtol=1e-14), text
    again = transform.backward(modes, np.empty_like(u)) * u.dtype.type(transform.normalization)
    assert np.allclose(again, u, atol=1e-4 if dtype.char in "fF" else 1e-12), text
    if modes.shape == u.shape and modes.dtype == u.dtype:
        same = u.copy()
        assert transform.forward(same, same) is same
        assert np.array_equal(same, modes), text
    transform.close()
    solve_call(random, whole, given, kinds, expected, text)


def solve_call(random: Any, whole: Any, axes: Any, kinds: Any, expected: Any, text: str) -> None:
    """The same without an object, on rows of the array."""
    u = np.ascontiguousarray(np.array_split(whole, COMM.size)[COMM.rank])
    words: dict[str, Any] = {"axes": axes, "kinds": kinds}
    comm = [None, COMM][random.integers(2)]
    try:
        modes = tailrace.fft.transform(u, comm, **words)
    except tailrace.InvalidInput as error:  # no axis could take the ranks of the first
        assert COMM.size > 1, f"{text}: {error}"
        assert "another axis must be whole" in str(error), f"{text}: {error}"
        return
    assert modes.dtype == expected.dtype, text
    tolerance = (2e-5 if u.dtype.char in "fF" else 3e-14) * float(np.abs(expected).max())
    pieces = COMM.allgather(modes)
    # Ranks divide one axis of the modes.
    axis = next((a for a, n in enumerate(pieces[0].shape) if n != expected.shape[a]), 0)
    found = np.concatenate([p for p in pieces if p.size > 0], axis=axis)
    assert np.abs(found - expected).max() <= tolerance, text
    if COMM.size > 1 or whole.dtype.kind == "c" or random.random() < 0.5:
        words.update(shape=whole.shape, dtype=whole.dtype)
    elif "fourier" in kinds:
        half = next(a for a, k in zip(axes[::-1], kinds[::-1], strict=True) if k == "fourier")
        if whole.shape[half] % 2:
            words.update(out=np.empty_like(whole))
    again = tailrace.fft.inverse(modes, comm, **words)
    assert again.dtype == u.dtype, text
    assert np.allclose(again, u, atol=1e-4 if u.dtype.char in "fF" else 1e-12), text


def check_calls() -> None:
    """By default as numpy.fft; wrong arguments of one rank are refused on all."""
    whole = np.random.default_rng(1).random((12, 9, 10))
    u = np.ascontiguousarray(np.array_split(whole, COMM.size)[COMM.rank])
    columns = np.array_split(np.fft.rfftn(whole), COMM.size, axis=1)[COMM.rank]
    modes = tailrace.fft.transform(u)
    assert np.allclose(modes, columns, rtol=0, atol=1e-11)
    assert np.allclose(tailrace.fft.inverse(modes, shape=whole.shape), u)
    kept = np.empty_like(modes)
    assert tailrace.fft.transform(u, COMM, kept, scale=0.5) is kept
    assert np.allclose(kept, 0.5 * modes)
    assert np.allclose(tailrace.fft.inverse(kept, COMM, shape=whole.shape, scale=0.5), u)
    last = COMM.rank == COMM.size - 1
    for field, words in (
        (u[:, ::2] if last else u, {}),
        (u, {"shape": (12, 9, 11) if last else (12, 9, 10)}),
        (u, {"shape": (12, 9) if last else None}),
        (u.astype("float32") if last else u, {"out": np.empty_like(modes)}),
        (u, {"out": np.empty(3) if last else None}),
        (u.astype("int32") if last else u, {}),
        (u, {"kinds": "dct9" if last else "dct2"}),
        (u, {"threads": 0 if last else 1}),
    ):
        try:
            tailrace.fft.transform(field, **words)
        except tailrace.InvalidInput:
            assert np.allclose(tailrace.fft.transform(u), modes)
            continue
        raise AssertionError(f"{field.shape} {words} was not refused")
    if COMM.size > 1:
        try:
            tailrace.fft.inverse(modes)
        except tailrace.InvalidInput as error:
            assert "shape of the whole field" in str(error), error
        else:
            raise AssertionError("the shape of the field was guessed")
    own = COMM.Dup()
    for n in range(20):
        tailrace.fft.transform(np.ones((COMM.size, n + 2)), own, axes=[1])
    own.Free()


def main() -> None:
    seeds = [int(sys.argv[1])] if len(sys.argv) > 1 else range(CASES)
    for seed in seeds:
        solve(seed)
    for words in (
        {"axes": [0, 0]}, {"axes": []}, {"axes": [3]}, {"kinds": "dct5"}, {"kinds": ["dct2"]},
        {"kept": [9, 0, 0]}, {"kept": [1]}, {"grid": [1, 1]}, {"swap_with": [0, 1, 2]},
    ):  # fmt: skip
        try:
            tailrace.fft.ArrayTransform(COMM, (8, 6, 5), **words)
        except tailrace.InvalidInput:
            continue
        raise AssertionError(f"{words} was not refused")
    check_calls()


main()
if COMM.rank == 0:
    print("passed")
