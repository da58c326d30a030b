"""Runs: the same bits as the command's, series, seeds, progress, reports."""

import json
import re
import subprocess
import sys

import netflow_evaluator as nf
import pytest
from conftest import SCENARIOS


def command(*arguments):
    done = subprocess.run([sys.executable, "-m", "netflow_evaluator", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.toml")), ids=lambda path: path.stem)
def test_the_same_bits_as_the_command(path):
    short = {"simulation.duration": "1 s", "simulation.warmup": "0 s"}
    try:
        scenario = nf.load(path, set=short)
    except nf.ScenarioError:
        # Events stand after the first second.
        short = {}
        scenario = nf.load(path)
        if scenario.duration_s > 60:
            short = {"simulation.warmup": "0 s"}
    options = [f"--set={key}={value}" for key, value in short.items()]
    assert scenario.run().summary_json == command("run", path, "--json", *options)


def test_series_are_those_of_files(tmp_path, bottleneck):
    results = bottleneck.run(out=tmp_path / "results", classes=True)
    for name, table in [("links", results.links), ("connections", results.connections), ("classes", results.classes)]:
        lines = (tmp_path / "results" / f"{name}.csv").read_text().splitlines()
        header = lines[0].split(",")
        assert table.column_names == header
        assert len(table) == len(lines) - 1
        for i in (0, len(table) - 1):
            told = lines[1 + i].split(",")
            for column, text in zip(header, told):
                value = table[i][column]
                same = value is None and text == "" or text == value or float(text) == pytest.approx(value, rel=1e-6)
                assert same, (column, text, value)
    assert json.loads((tmp_path / "results" / "summary.json").read_text()) == results.summary


def test_intervals_and_the_part_that_is_summarized(bottleneck):
    results = bottleneck.run(interval="2 s", start=4, end="8 s")
    assert results.links["time_s"][::2] == [2, 4, 6, 8, 10]
    assert (results.summary["from_s"], results.summary["duration_s"]) == (4, 4)
    with pytest.raises(ValueError, match="begins at 12 s"):
        bottleneck.run(start=12)
    with pytest.raises(ValueError, match="`start` must be 0 s or more"):
        bottleneck.run(start=-5)
    with pytest.raises(ValueError, match="interval"):
        bottleneck.run(interval=0)
    with pytest.raises(ValueError, match="furlong"):
        bottleneck.run(interval="2 furlong")
    with pytest.raises(TypeError):
        bottleneck.run(interval=[1])


def test_the_former_name_of_the_interval_is_deprecated(bottleneck):
    with pytest.warns(DeprecationWarning, match="`every` is now `interval`"):
        results = bottleneck.run(every="2 s")
    assert results.links["time_s"][::2] == [2, 4, 6, 8, 10]
    with pytest.warns(DeprecationWarning, match="`every` is now `interval`"):
        nf.sweep(bottleneck, {"link.A->B.buffer": ["10 pkt"]}, every="2 s")
    for call in (bottleneck.run, lambda **given: nf.sweep(bottleneck, {"link.A->B.buffer": ["10 pkt"]}, **given)):
        with pytest.raises(TypeError, match="use `interval` only"):
            call(every="2 s", interval="2 s")


def test_seeds(bottleneck):
    with pytest.raises(ValueError, match="no effect"):
        bottleneck.run(seeds=3)
    packets = nf.load(SCENARIOS / "topology.toml", set={"simulation.duration": "3 s"})
    one = packets.run(model="packet", threads=1, seeds=3)
    two = packets.run(model="packet", threads=2, seeds=3)
    assert one.seeds == 3 and one.summary_json == two.summary_json
    assert one.links.to_dict() == two.links.to_dict()
    with pytest.raises(ValueError, match="classes"):
        packets.run(model="packet", seeds=2, classes=True)
    with pytest.raises(ValueError, match="threads"):
        packets.run(threads=0)


def test_what_seeds_add_stands_in_tables():
    packets = nf.load(SCENARIOS / "topology.toml", set={"simulation.duration": "3 s", "connection.*.source": "{ ns2-tcp = 'reno' }"})
    results = packets.run(seeds=2)
    for table, rows in [(results.link_means, results.summary["links"]), (results.connection_means, results.summary["connections"])]:
        assert any(name.endswith("_std") for name in table.column_names)
        for row, told in zip(table.to_rows(), rows):
            assert {key: value for key, value in told.items() if not isinstance(value, list)}.items() <= row.items()
    assert "<table>" in results._repr_html_()
    assert not any(name.endswith("_std") for name in packets.run().link_means.column_names)


def test_threads_within_a_seed():
    """A network that two threads follow in parts: the same bytes as one."""
    hundred = nf.load(SCENARIOS / "hundred-nodes" / "topology.toml", set={"include.connections": "windows.csv", "simulation.duration": "2 s", "simulation.warmup": "0 s"})
    one, two = (hundred.run(model="packet", threads=threads) for threads in (1, 2))
    assert one.summary_json == two.summary_json
    assert one.links.to_dict() == two.links.to_dict()


def test_another_model_is_not_kept(bottleneck):
    assert bottleneck.run(model="fluid-literal").summary != bottleneck.run().summary
    assert bottleneck.model == "fluid"
    with pytest.raises(nf.ScenarioError, match="fluids"):
        bottleneck.run(model="fluids")


def test_classes_have_to_be_asked_for(bottleneck):
    with pytest.raises(ValueError, match="classes=True"):
        bottleneck.run().classes


def test_users_wait():
    web = next(path for path in sorted(SCENARIOS.glob("*.toml")) if "[[workload]]" in path.read_text())
    results = nf.load(web, set={"simulation.warmup": "0 s"}).run()
    waits = results.waits
    assert waits.column_names == ["time_s", "workload", "wait", "run", "user", "wait_s"]
    assert len(waits) > 0 and min(waits["wait_s"]) >= 0


def test_progress_rises_and_comes_to_its_end(bottleneck, capsys):
    told = []
    bottleneck.run(progress=told.append)
    assert told == sorted(told) and told[-1] == 1
    bottleneck.run(progress=True)
    assert "\r" in capsys.readouterr().err
    bottleneck.run(progress=False)
    with pytest.raises(TypeError, match="progress"):
        bottleneck.run(progress=3)


def test_a_report_and_what_a_notebook_shows(tmp_path, bottleneck):
    results = bottleneck.run()
    page = tmp_path / "report.html"
    results.report(page)
    written = bottleneck.run(out=tmp_path / "results")
    written.report(tmp_path / "again.html")
    assert page.read_text().startswith("<!doctype html>")
    assert "A-&gt;B" in results._repr_html_() and "<table>" in results.links._repr_html_()
    with pytest.raises(OSError):
        results.report(tmp_path / "nowhere" / "report.html")
    for name in ("report.pdf", "report.svg", "report.toml"):
        with pytest.raises(ValueError, match="end the name with .html or .htm"):
            results.report(tmp_path / name)
        assert not (tmp_path / name).exists()


def test_a_report_is_of_its_own_run(tmp_path, monkeypatch, bottleneck):
    def page(results):
        results.report(tmp_path / "page.html")
        text = (tmp_path / "page.html").read_text()
        # How long it took by the clock is no matter.
        return re.sub(r'"(wall_time_s|threads|format|kept)":[^,]*,', "", text)

    monkeypatch.chdir(tmp_path)
    first = bottleneck.run(out="results")
    told = page(first)
    monkeypatch.chdir(tmp_path.parent)
    assert page(first) == told
    monkeypatch.chdir(tmp_path)
    bottleneck.set("link.A->B.bandwidth", "20 Mbit/s")
    second = bottleneck.run(out="results")
    assert page(first) == told != page(second)
    assert '"name":"results"' in told and ".tmp" not in page(bottleneck.run())


def test_series_of_too_many_rows_are_refused(bottleneck, tmp_path):
    with pytest.raises(ValueError, match="interval="):
        bottleneck.run(interval=1e-6, out=tmp_path / "results")
    assert not (tmp_path / "results").exists()


def test_names_are_data_in_a_notebook():
    text = """
    simulation = { duration = "1 s" }
    link = [{ from = "<b", to = "B", bandwidth = "1 Mbit/s", delay = "1 ms" }]
    connection = [{ from = "<b", to = "B", source = { profile = "ns-reno" } }]
    """
    html = nf.Scenario.from_toml(text).run()._repr_html_()
    assert "<b-" not in html and "&lt;b-&gt;B" in html


def test_the_command_ends_with_its_code(tmp_path):
    def code(*arguments):
        return subprocess.run([sys.executable, "-m", "netflow_evaluator", *arguments], capture_output=True).returncode

    assert code("--version") == 0
    assert code("run", "nowhere.toml") == 3
    assert code("fly") == 2
