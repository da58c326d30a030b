"""Sweeps: here, on executors, interrupted, resumed: the same tables."""

import concurrent.futures
import gc
import multiprocessing
from pathlib import Path

import netflow_evaluator as nf
import pytest
from conftest import TRIANGLE

VARY = {"link.A->C.bandwidth": "1..4 Mbit/s/40", "connection.ab.source.poisson": ["1 Mbit/s", "2 Mbit/s", "3 Mbit/s"]}


def contents(directory):
    """Everything in the tables of a sweep, byte by byte."""
    files = sorted(Path(directory).rglob("*"))
    return {str(file.relative_to(directory)): file.read_bytes() for file in files if file.is_file() and file.suffix in (".parquet", ".csv", ".json") and file.name != "sweep.json"}


def test_every_combination(triangle):
    found = nf.sweep(triangle, {"link.A->C.bandwidth": ["1 Mbit/s", "2 Mbit/s"]}, fail="each-link")
    assert found.cases == 8 and found.without_answer == 0
    polars = pytest.importorskip("polars")
    links = found.to_polars("links")
    assert links.shape[0] == 8 * 6 and links["link.A->C.bandwidth"].unique().sort().to_list() == [1.0, 2.0]
    alone = triangle.copy()
    alone.set("link.A->C.bandwidth", "2 Mbit/s")
    case = links.filter((polars.col("link.A->C.bandwidth") == 2) & polars.col("failed").is_null())
    assert case["utilization"].to_list() == alone.solve(starts=0).links["utilization"]
    with pytest.raises(ValueError, match="unknown table"):
        found.files("nodes")


def test_files_that_are_named_are_there(triangle):
    pytest.importorskip("polars")
    files = nf.sweep(triangle, {"link.A->C.bandwidth": ["1 Mbit/s", "2 Mbit/s"]}, format="csv").files()
    gc.collect()
    assert len(files) == 2 and all(Path(file).read_text() for file in files)
    found = nf.sweep(triangle, {}, format="csv")
    found.to_polars()
    directory = Path(found.directory)
    del found
    gc.collect()
    assert not directory.exists()


def test_numbers_are_in_base_units(triangle):
    pytest.importorskip("polars")
    numbers, texts = (nf.sweep(triangle, {"link.A->C.bandwidth": values}).to_polars("links") for values in ([1_000_000, 2e6], ["1 Mbit/s", "2 Mbit/s"]))
    assert numbers["utilization"].to_list() == texts["utilization"].to_list()
    with pytest.raises(ValueError, match="packets, bytes or a time"):
        nf.sweep(triangle, {"link.A->C.buffer": [10, 20]})


def test_what_is_refused(triangle, tmp_path):
    with pytest.raises(nf.ScenarioError, match="bandwith"):
        nf.sweep(triangle, {"link.A->C.bandwith": ["1 Mbit/s"]})
    with pytest.raises(ValueError, match="twice"):
        nf.sweep(triangle, {"link.A->C.bandwidth": ["1 Mbit/s", "1 Mbit/s"]})
    with pytest.raises(ValueError, match="empty"):
        nf.sweep(triangle, {"link.A->C.bandwidth": []})
    with pytest.raises(ValueError, match="each-link"):
        nf.sweep(triangle, {}, fail="each-node")
    with pytest.raises(ValueError, match="model"):
        nf.sweep(triangle, {}, model="magic")
    with pytest.raises(ValueError, match="task_seconds"):
        nf.sweep(triangle, {}, task_seconds=0)
    nf.sweep(triangle, VARY, out=tmp_path)
    with pytest.raises(ValueError, match="another sweep"):
        nf.sweep(triangle, {}, out=tmp_path)
    assert nf.sweep(triangle, {}, out=tmp_path, force=True).cases == 1


def test_it_goes_on_where_it_was(triangle, tmp_path):
    whole = nf.sweep(triangle, VARY, out=tmp_path / "whole")
    assert (whole.cases, whole.reused) == (120, 0)
    before = contents(tmp_path / "whole")
    receipts = sorted((tmp_path / "whole" / "chunks").iterdir())
    for receipt in receipts[::3]:
        receipt.unlink()
    again = nf.sweep(triangle, VARY, out=tmp_path / "whole")
    assert again.cases == 120 and 0 < again.reused < 120
    assert contents(tmp_path / "whole") == before


@pytest.mark.parametrize("how", ["threads", "spawn", "forkserver"])
def test_executors_write_the_same(triangle, tmp_path, how):
    here = nf.sweep(triangle, VARY, out=tmp_path / "here")
    if how == "threads":
        executor = concurrent.futures.ThreadPoolExecutor(2)
    else:
        executor = concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(how))
    told = []
    with executor:
        there = nf.sweep(triangle, VARY, out=tmp_path / "there", executor=executor, progress=told.append, task_seconds=0.05)
    assert contents(here.directory) == contents(there.directory)
    assert told[-1] == 1 and there.rows == here.rows


def test_a_place_that_fsspec_knows(triangle, tmp_path):
    fsspec = pytest.importorskip("fsspec")
    here = nf.sweep(triangle, VARY, out=tmp_path / "here")
    system = fsspec.filesystem("memory")
    url = "memory://sweeps/one"
    told = []
    there = nf.sweep(triangle, VARY, out=url, progress=told.append)
    assert told == sorted(told) and told[-1] == 1
    assert (there.cases, there.rows, there.reused) == (here.cases, here.rows, 0)
    for table in ("links", "network"):
        ours = [Path(file).read_bytes() for file in here.files(table)]
        assert [system.cat_file(file) for file in there.files(table)] == ours
    system.rm(sorted(system.ls("/sweeps/one/chunks", detail=False))[0])
    assert nf.sweep(triangle, VARY, out=url).reused == 119

    def files(part):
        return sorted(system.ls(f"/sweeps/one/{part}", detail=False))

    whole = {file: system.cat_file(file) for part in ("links", "connections", "network", "chunks") for file in files(part)}
    system.rm(files("network")[1])
    short, other = files("links")[2], files("connections")[3]
    system.pipe_file(short, whole[short][:-1])
    system.pipe_file(other, bytes([whole[other][0] ^ 1]) + whole[other][1:])
    system.pipe_file(files("chunks")[4], b"{")
    again = nf.sweep(triangle, VARY, out=url)
    assert (again.reused, again.rows) == (116, here.rows)
    assert {file: system.cat_file(file) for file in whole} == whole
    with pytest.raises(ValueError, match="another sweep"):
        nf.sweep(triangle, {}, out=url)
    assert nf.sweep(triangle, {}, out=url, force=True).cases == 1


def test_an_error_on_a_worker_is_told(triangle, tmp_path):
    class Broken(concurrent.futures.Executor):
        def submit(self, fn, *arguments):
            future = concurrent.futures.Future()
            future.set_exception(MemoryError("no room"))
            return future

    with pytest.raises(MemoryError, match="no room"):
        nf.sweep(triangle, VARY, out=tmp_path, executor=Broken())
    assert nf.sweep(triangle, VARY, out=tmp_path).cases == 120


def test_tasks_are_long_at_first_and_short_at_last(triangle, tmp_path):
    from netflow_evaluator import _native, _sweep

    native = _native.Sweep(triangle, {"link.A->C.bandwidth": "1..4 Mbit/s/300"})
    native.prepare(tmp_path)
    each_s = native.estimate_s() / native.chunks
    for seconds, at_once in [(1e9, 1), (1e9, 4), (1e-9, 4), (7 * each_s, 2), (float("inf"), 1000)]:
        tasks = _sweep._tasks(native, str(tmp_path), seconds, at_once)
        assert [chunk for task in tasks for chunk in task] == list(range(native.chunks))
        lengths = [len(task) for task in tasks]
        assert lengths == sorted(lengths, reverse=True) and lengths[-1] == 1
        assert lengths[0] <= max(1, native.chunks // (2 * at_once))
    assert _sweep._at_once(concurrent.futures.ThreadPoolExecutor(3)) == 3
    assert _sweep._at_once(object()) == 1


def test_dask_writes_the_same(tmp_path):
    distributed = pytest.importorskip("distributed")
    scenario = nf.Scenario.from_toml(TRIANGLE)
    here = nf.sweep(scenario, VARY, out=tmp_path / "here")
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        there = nf.sweep(scenario, VARY, out=tmp_path / "there", executor=client, task_seconds=0.05)
    assert contents(here.directory) == contents(there.directory)
