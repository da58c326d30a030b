"""Parameter sweeps over a scenario: on this machine, on an executor, or on a Dask cluster."""

from __future__ import annotations

import functools
import json
import math
import os
import pickle
import tempfile
import threading
import uuid
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from . import _native
from ._native import Scenario

TABLES = ("links", "connections", "network")

# Temporary directories with files whose names were returned.
_NAMED: list[tempfile.TemporaryDirectory[str]] = []

# Number of remote files checked at the same time.
_LOOKING = 16

# Number of recent sweeps that a process keeps ready for tasks.
_READY = 4


class SweepResult:
    """Tables of a sweep: one data set of files for each of `links`, `connections` and `network`."""

    def __init__(self, directory: str, written: Mapping[str, Any], kept: Any = None) -> None:
        self.directory = directory
        self.cases: int = written["cases"]
        self.reused: int = written["reused"]
        """Number of cases that already existed."""
        self.without_answer: int = written["without_answer"]
        """Number of cases without results; column `status` of table `network` has the reason."""
        self.rows: int = written["rows"]
        self._kept = kept

    def files(self, table: str = "network") -> list[str]:
        """Returns the files of a table, in the order of the cases. Without `out` they exist until the process ends."""
        if self._kept is not None and self._kept not in _NAMED:
            _NAMED.append(self._kept)
        return self._files(table)

    def _files(self, table: str) -> list[str]:
        if table not in TABLES:
            raise ValueError(f"unknown table `{table}`; the tables are {', '.join(TABLES)}")
        if "://" in self.directory:
            system, root = _remote(self.directory)
            return sorted(system.unstrip_protocol(path) for path in system.ls(f"{root}/{table}", detail=False))
        folder = Path(self.directory) / table
        return sorted(str(path) for path in folder.iterdir() if not path.name.startswith("."))

    def to_polars(self, table: str = "network") -> Any:
        """Returns a table as a polars.DataFrame."""
        import polars

        files = self._files(table)
        read = polars.read_csv if files[0].endswith(".csv") else polars.read_parquet
        return polars.concat([read(file) for file in files])

    def to_pandas(self, table: str = "network") -> Any:
        """Returns a table as a pandas.DataFrame."""
        import pandas

        files = self._files(table)
        read = pandas.read_csv if files[0].endswith(".csv") else pandas.read_parquet
        return pandas.concat([read(file) for file in files], ignore_index=True)

    def __repr__(self) -> str:
        return f"<SweepResult of {self.cases} cases in {self.directory}>"


def sweep(
    scenario: Scenario,
    vary: Mapping[str, Any],
    *,
    fail: str | None = None,
    model: str = "solve",
    seeds: int = 1,
    at: float | str | None = None,
    interval: float | str | None = None,
    out: str | os.PathLike[str] | None = None,
    format: str = "parquet",
    executor: Any = None,
    threads: int | None = None,
    force: bool = False,
    progress: bool | Callable[[float], object] | None = None,
    task_seconds: float = 5.0,
    retries: int = 3,
    every: float | str | None = None,
) -> SweepResult:
    """Evaluates a scenario with every combination of settings, with the same results as `netflow sweep`.

    `vary` maps keys of `scenario.set` to values: a list, or a range such as `"1..4 Mbit/s/20"`. `fail="each-link"` adds a
    case for the failure of each link. `out` is a directory or an fsspec URL; default: a temporary directory. If `out`
    contains a part of the same sweep, the sweep resumes.

    `executor` is a Dask client or an executor of `concurrent.futures`. It runs tasks of about `task_seconds` with
    `threads` threads each (default 1). If a worker dies, Dask repeats its tasks up to `retries` times. All workers must
    have access to the directory (unless it is a URL) and the scenario's files under the same names.
    """
    if every is not None:
        if interval is not None:
            raise TypeError("`every` is the former name of `interval`: use `interval` only")
        warnings.warn("`every` is now `interval`", DeprecationWarning, stacklevel=2)
        interval = every
    options: dict[str, Any] = {"fail": fail, "model": model, "seeds": seeds, "at": at, "interval": interval, "format": format}
    if not task_seconds > 0:
        raise ValueError(f"`task_seconds` must be above 0, not {task_seconds}")
    native = _native.Sweep(scenario, dict(vary), threads=threads, **options)
    kept = tempfile.TemporaryDirectory(prefix="netflow-sweep-") if out is None else None
    directory = os.fspath(out) if out is not None else kept.name  # type: ignore[union-attr]
    if "://" not in directory:
        directory = os.path.abspath(directory)
        if executor is None:
            written = native.write(directory, force=force, threads=threads, progress=progress)
            return SweepResult(directory, written, kept)
        # Rejects a directory with other contents now, and applies `force` once.
        reused = native.prepare(directory, force=force)
    else:
        reused = _prepare_remote(native, directory, format, force)
    tell = _called(progress)
    if executor is None:
        missing = _missing(native, directory)
        for done, chunk in enumerate(missing, start=1):
            _part(native, directory, [chunk], threads)
            if tell is not None:
                tell(done / len(missing))
    else:
        tasks = _tasks(native, directory, task_seconds, _at_once(executor))
        spec = pickle.dumps((scenario, dict(vary), {**options, "tried": native.tried}))
        done, total = 0, sum(map(len, tasks))
        for count in _submitted(executor, tasks, (spec, directory, threads or 1), retries):
            done += count
            if tell is not None:
                tell(done / total)
    written = _whole(native, directory)
    written["reused"] = reused
    return SweepResult(directory, written, kept)


def _tasks(native: _native.Sweep, directory: str, task_seconds: float, at_once: int) -> list[list[int]]:
    """Divides the missing chunks into tasks of about `task_seconds` on one processor, shorter towards the end.

    Short last tasks keep all `at_once` workers busy until the end.
    """
    missing = _missing(native, directory)
    if not missing:
        return []
    each = native.estimate_s() / max(1, native.chunks)
    most = max(1, min(len(missing), math.floor(min(task_seconds / max(each, 1e-9), 1e9))))
    tasks: list[list[int]] = []
    while missing:
        together = max(1, min(most, len(missing) // (2 * at_once)))
        tasks.append(missing[:together])
        missing = missing[together:]
    return tasks


def _is_dask(executor: Any) -> bool:
    return type(executor).__module__.startswith("distributed")


def _at_once(executor: Any) -> int:
    """Returns the number of tasks that an executor runs at the same time, if known, or 1."""
    if _is_dask(executor):
        return max(1, int(sum(executor.nthreads().values())))
    workers = getattr(executor, "_max_workers", None)
    return workers if isinstance(workers, int) and workers > 0 else 1


@functools.lru_cache(maxsize=_READY)
def _ready(spec: bytes) -> _native.Sweep:
    scenario, vary, options = pickle.loads(spec)
    return _native.Sweep(scenario, vary, threads=1, **options)


_READYING = threading.Lock()


def _task(chunks: list[int], spec: bytes, directory: str, threads: int) -> int:
    """Evaluates chunks of a sweep, possibly in another process."""
    with _READYING:
        native = _ready(spec)
    _part(native, directory, chunks, threads)
    return len(chunks)


def _part(native: _native.Sweep, directory: str, chunks: list[int], threads: int | None) -> None:
    if "://" not in directory:
        native.write_chunks(directory, chunks, threads=threads)
        return
    system, root = _remote(directory)
    with tempfile.TemporaryDirectory(prefix="netflow-sweep-") as place:
        native.write_chunks(place, chunks, threads=threads)
        # Receipts last: without one, no chunk is complete.
        for part in (*TABLES, "chunks"):
            for file in sorted((Path(place) / part).iterdir()):
                system.put_file(str(file), f"{root}/{part}/{file.name}")


def _submitted(executor: Any, tasks: list[list[int]], common: tuple[bytes, str, int], retries: int) -> Iterator[int]:
    """Runs the tasks on an executor and yields the number of chunks of each finished task."""
    if _is_dask(executor):
        from distributed import as_completed

        # Common data is sent to each worker once. If such a worker dies, it is sent again.
        spec, *rest = common
        shared = (executor.submit(bytes, spec, pure=False, retries=retries), *rest)
        # These names form a group, from which Dask assigns the next task to a free worker. Tasks without a group
        # are assigned at once, so that some workers are idle at the end while others still have long tasks.
        name = f"netflow-sweep-{uuid.uuid4().hex}"
        keys = [(name, f"{i:09}") for i in range(len(tasks))]
        each = ([it] * len(tasks) for it in shared)
        futures = executor.map(_task, tasks, *each, key=keys, retries=retries)
        finished: Any = as_completed(futures)  # type: ignore[no-untyped-call, unused-ignore]
    else:
        from concurrent.futures import as_completed as completed

        futures = [executor.submit(_task, chunks, *common) for chunks in tasks]
        finished = completed(futures)
    try:
        for future in finished:
            yield future.result()
    except BaseException:
        for future in futures:
            future.cancel()
        raise


def _called(progress: bool | Callable[[float], object] | None) -> Callable[[float], object] | None:
    if progress is True:
        from ._progress import Line

        return Line()
    if progress is None or progress is False:
        return None
    if not callable(progress):
        raise TypeError("`progress` must be True or a function of the completed fraction")
    return progress


def _remote(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise ImportError(f"{url} needs fsspec: pip install fsspec") from None
    system, root = url_to_fs(url)
    # Other processes write to the same place.
    system.invalidate_cache()
    return system, root.rstrip("/")


def _prepare_remote(native: _native.Sweep, url: str, format: str, force: bool) -> int:
    """Writes the description, or finds the same one. Returns the number of complete cases."""
    system, root = _remote(url)
    with tempfile.TemporaryDirectory(prefix="netflow-sweep-") as place:
        native.prepare(place)
        ours = (Path(place) / "sweep.json").read_text(encoding="utf-8")
    description = f"{root}/sweep.json"
    if system.exists(description) and not force:
        theirs = system.cat_file(description).decode("utf-8")
        if json.loads(theirs).get("digest") != json.loads(ours)["digest"]:
            raise ValueError(f"{url} contains another sweep; choose another place, or use force=True to remove it")
        _remove_untrue(url, format)
    else:
        if force and system.exists(root):
            for part in ("chunks", *TABLES):
                if system.exists(f"{root}/{part}"):
                    system.rm(f"{root}/{part}", recursive=True)
        for part in (*TABLES, "chunks"):
            system.makedirs(f"{root}/{part}", exist_ok=True)
        system.pipe_file(description, ours.encode("utf-8"))
    return sum(receipt["cases"] for receipt in _receipts(url).values())


def _remove_untrue(url: str, format: str) -> None:
    """Removes receipts that do not match the files of their chunks; these chunks are evaluated again."""
    system, root = _remote(url)
    receipts = _texts(url)
    with ThreadPoolExecutor(_LOOKING) as executor:
        true = executor.map(lambda it: _is_true(system, root, format, *it), receipts.items())
        untrue = [name for name, is_true in zip(receipts, true) if not is_true]
    for name in untrue:
        system.rm_file(f"{root}/chunks/{name}")


def _is_true(system: Any, root: str, format: str, name: str, text: str) -> bool:
    """Returns whether the files of a chunk have the sizes and checksums in its receipt."""
    try:
        for table, told in zip(TABLES, json.loads(text)["files"]):
            path = f"{root}/{table}/{name.removesuffix('.json')}.{format}"
            if system.size(path) != told["bytes"] or zlib.crc32(system.cat_file(path)) != told["crc32"]:
                return False
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return False
    return True


def _texts(url: str) -> dict[str, str]:
    """Returns the receipts by name."""
    system, root = _remote(url)
    paths = system.ls(f"{root}/chunks", detail=False) if system.exists(f"{root}/chunks") else []
    named = ((path.rsplit("/", 1)[-1], path) for path in paths)
    return {name: system.cat_file(path).decode("utf-8", "replace") for name, path in named if name.endswith(".json")}


def _receipts(directory: str) -> dict[int, dict[str, Any]]:
    """Returns the receipts of complete chunks by chunk number."""
    if "://" in directory:
        texts = _texts(directory)
    else:
        folder = Path(directory) / "chunks"
        paths = [path for path in folder.iterdir() if not path.name.startswith(".")]
        texts = {path.name: path.read_text(encoding="utf-8") for path in paths}
    return {int(name.split("-")[0]): json.loads(text) for name, text in texts.items() if name.endswith(".json")}


def _missing(native: _native.Sweep, directory: str) -> list[int]:
    there = _receipts(directory) if "://" in directory else set(native.complete_chunks(directory))
    return [chunk for chunk in range(native.chunks) if chunk not in there]


def _whole(native: _native.Sweep, directory: str) -> dict[str, Any]:
    receipts = _receipts(directory)
    missing = native.chunks - len(receipts)
    if missing:
        raise RuntimeError(f"{missing} of {native.chunks} chunks are missing in {directory}; call sweep again with the same arguments to resume")
    told = ("cases", "without_answer", "rows")
    return {key: sum(receipt[key] for receipt in receipts.values()) for key in told}
