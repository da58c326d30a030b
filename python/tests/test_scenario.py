"""Scenarios: loaded, changed, refused, copied."""

import concurrent.futures
import copy
import math
import os
import pickle
import subprocess
import sys

import netflow_evaluator as nf
import pytest
from conftest import BOTTLENECK, SCENARIOS


def test_a_file_says_what_it_has():
    scenario = nf.load(SCENARIOS / "topology.toml")
    assert scenario.links and scenario.nodes and scenario.connections
    assert scenario.duration_s > 0 and scenario.model == "fluid"
    assert "topology.toml" in repr(scenario)
    assert scenario.text == (SCENARIOS / "topology.toml").read_text()


def test_what_is_wrong_has_its_place():
    with pytest.raises(nf.ScenarioError) as caught:
        nf.Scenario.from_toml(BOTTLENECK.replace("2 Mbit/s", "2 Mbq").replace("ns-reno", "ns-rino"), name="lab.toml")
    problems = caught.value.problems
    assert isinstance(caught.value, ValueError)
    assert [problem.line for problem in problems] == [3, 4]
    assert problems[0].file == "lab.toml" and problems[0].column > 1
    assert "Mbq" in problems[0].message and "Mbq" in str(caught.value)
    assert "ns-reno" in problems[1].help
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.problems == problems


def test_a_file_that_is_not_there():
    with pytest.raises(OSError, match="nowhere.toml"):
        nf.load("nowhere.toml")


def test_settings_are_checked_and_count(bottleneck):
    before = bottleneck.run().link_means[0]["utilization"]
    bottleneck.set("link.A->B.bandwidth", "20 Mbit/s")
    bottleneck.set("simulation.duration", "4 s")
    assert bottleneck.duration_s == 4
    assert bottleneck.run().link_means[0]["utilization"] < before
    with pytest.raises(nf.ScenarioError, match="bandwith"):
        bottleneck.set("link.A->B.bandwith", "20 Mbit/s")
    with pytest.raises(ValueError, match="not a key"):
        bottleneck.set("a=b", 1)
    assert bottleneck.settings == ["link.A->B.bandwidth=20 Mbit/s", "simulation.duration=4 s"]


def test_the_same_key_again_replaces(bottleneck):
    for seconds in range(1, 50):
        bottleneck.set("simulation.duration", f"{seconds} s")
    assert bottleneck.settings == ["simulation.duration=49 s"]


def test_copies_are_apart(bottleneck):
    other = copy.copy(bottleneck)
    other.set("simulation.duration", "3 s")
    assert (bottleneck.duration_s, other.duration_s) == (10, 3)
    assert copy.deepcopy(other).duration_s == 3


def test_set_takes_what_files_have(bottleneck):
    bottleneck.set("connection.c.count", 2)
    bottleneck.set("link.A->B.loss", 0.01)
    with pytest.raises(TypeError):
        bottleneck.set("connection.c.count", [2])
    with pytest.raises(nf.ScenarioError, match="not a valid value"):
        bottleneck.set("link.A->B.loss", float("nan"))
    with pytest.raises(nf.ScenarioError, match="not a valid value") as caught:
        nf.Builder(duration=math.inf).text
    assert caught.value.problems[0].help == "write a finite number"
    with pytest.raises(ValueError, match="`seeds` must be 1 to 1000000, not -1"):
        bottleneck.run(seeds=-1)
    with pytest.raises(FileNotFoundError):
        nf.load("missing.toml")
    with pytest.raises(nf.ScenarioError, match='tcp = "linux-6"'):
        bottleneck.set("connection.c.source", "linux-6")


def test_numbers_are_in_base_units(bottleneck):
    text = bottleneck.copy()
    for key, number, quantity in [
        ("simulation.duration", 4, "4 s"),
        ("link.A->B.delay", 0.005, "5 ms"),
        ("link.*.bandwidth", 5e6, "5 Mbit/s"),
        ("connection.c.packet-size", 500, "500 B"),
    ]:
        bottleneck.set(key, number)
        text.set(key, quantity)
    assert bottleneck.run().summary == text.run().summary
    assert nf.Scenario.from_toml(BOTTLENECK, set={"simulation.duration": 3}).duration_s == 3
    with pytest.raises(nf.ScenarioError, match="`link.A->B.buffer` accepts packets, bytes or a time"):
        bottleneck.set("link.A->B.buffer", 10)
    with pytest.raises(ValueError, match="`connection.c.max-window` accepts packets or bytes"):
        bottleneck.set("connection.c.max-window", 8)
    with pytest.raises(ValueError, match="bit/s or packets/s"):
        bottleneck.set("connection.c.source.poisson", 100)


def test_demands_are_those_of_the_hour():
    text = """
simulation = { duration = "10 s" }
link = [{ from = "A", to = "B", bandwidth = "100 Mbit/s" }]
demand = [{ from = "A", to = "B", rate = "4 Mbit/s", kind = "poisson", day = "office" }]
day = [{ name = "office", factors = [0.25, 0.5, 1, 0.75] }]
"""
    scenario = nf.Scenario.from_toml(text)
    (problem,) = scenario.check()
    assert "no `hour`" in problem.message
    for hour, bps in [(6, 2e6), (12, 4e6), (15.0, 3.5e6), ("21", 2e6)]:
        scenario.set("simulation.hour", hour)
        assert scenario.check() == []
        assert scenario.solve().goodput_bps == pytest.approx(bps)
    with pytest.raises(nf.ScenarioError, match="`hour` cannot be 24"):
        scenario.set("simulation.hour", 24)


def test_warnings_are_a_list():
    text = BOTTLENECK.replace('name = "c",', 'name = "c", start = "20 s",')
    (problem,) = nf.Scenario.from_toml(text).check()
    assert problem.severity == "warning" and problem.line == 4
    assert str(problem).startswith("scenario.toml:4:")


def test_pickles_are_the_same_or_refused(tmp_path, bottleneck):
    bottleneck.set("simulation.duration", "7 s")
    again = pickle.loads(pickle.dumps(bottleneck))
    assert (again.duration_s, again.digest) == (7, bottleneck.digest)
    file = tmp_path / "lab.toml"
    file.write_text(BOTTLENECK)
    pickled = pickle.dumps(nf.load(file))
    here = os.getcwd()
    try:
        os.chdir(tmp_path)
        relative = pickle.dumps(nf.load("lab.toml"))
    finally:
        os.chdir(here)
    assert pickle.loads(relative).links == bottleneck.links
    file.write_text(BOTTLENECK.replace("10 ms", "11 ms"))
    with pytest.raises(ValueError, match="has changed since"):
        pickle.loads(pickled)


def test_settings_from_several_threads_all_count(bottleneck):
    keys = [f"connection.c.{key}" for key in ("start", "stop", "packet-size", "max-window", "count")]
    keys += [f"link.A->B.{key}" for key in ("bandwidth", "delay", "loss")] + ["simulation.duration", "simulation.seed"]
    values = ["1 s", "9 s", "500 B", "9 pkt", 2, "3 Mbit/s", "11 ms", 0.01, "12 s", 7]
    for _ in range(20):
        scenario = bottleneck.copy()
        with concurrent.futures.ThreadPoolExecutor(5) as executor:
            list(executor.map(scenario.set, keys, values))
        assert {setting.split("=")[0] for setting in scenario.settings} == set(keys)
        assert (scenario.duration_s, scenario.seed) == (12, 7)


CHANGES = {
    "set": lambda scenario: scenario.set("simulation.seed", 3),
    "model": lambda scenario: scenario.run(model="fluid-literal"),
    "sweep": lambda scenario: nf.sweep(scenario, {"connection.*.packet-size": ["500 B"]}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_changed_is_not_read_again(tmp_path, change):
    file, links = tmp_path / "lab.toml", tmp_path / "links.csv"
    file.write_text('simulation = { duration = "1 s" }\ninclude = { links = "links.csv" }\nconnection = [{ from = "A", to = "B", source = { profile = "ns-reno" } }]\n')
    links.write_text("from,to,bandwidth\nA,B,1 Mbit/s\n")
    for changed in (file, links):
        text = changed.read_text()
        scenario = nf.load(file)
        change(scenario)
        changed.write_text(text.replace("1 ", "2 "))
        for _ in range(2):
            with pytest.raises(ValueError, match="lab.toml, or a file named in it, has changed since the scenario was read"):
                change(scenario)
        assert scenario.run().time_s == scenario.duration_s == 1
        assert "1 s" in scenario.text
        changed.write_text(text)
        change(scenario)
    (tmp_path / "others.csv").write_text("from,to,bandwidth\nA,B,3 Mbit/s\n")
    scenario.set("include.links", "others.csv")
    scenario.set("include.links", "links.csv")
    links.unlink()
    with pytest.raises(OSError, match="links.csv"):
        change(scenario)


def test_a_steady_state_is_of_what_was_read(tmp_path):
    file = tmp_path / "lab.toml"
    text = """
simulation = { duration = "10 s", model = "packet" }
link = [{ from = "A", to = "B", bandwidth = "100 Mbit/s" }]
demand = [{ from = "A", to = "B", rate = "4 Mbit/s", kind = "tcp" }]
"""
    file.write_text(text)
    scenario = nf.load(file)
    before = scenario.solve().goodput_bps
    file.write_text(text.replace("4 Mbit/s", "8 Mbit/s"))
    with pytest.raises(ValueError, match="has changed since"):
        scenario.solve()
    file.unlink()
    with pytest.raises(OSError, match="lab.toml"):
        scenario.solve()
    file.write_text(text)
    assert scenario.solve().goodput_bps == before


def test_a_scenario_stays_where_it_was_read(tmp_path, monkeypatch):
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder / "lab.toml").write_text(BOTTLENECK)
    (folder / "links.csv").write_text("from,to,bandwidth\nB,C,1 Mbit/s\n")
    monkeypatch.chdir(folder)
    read, made = nf.load("lab.toml"), nf.Scenario.from_toml(BOTTLENECK + 'include = { links = "links.csv" }\n')
    monkeypatch.chdir(tmp_path)
    for scenario in (read, made):
        for change in CHANGES.values():
            change(scenario)
        assert scenario.text.startswith(BOTTLENECK)


def test_the_standard_input_is_read_once():
    code = """
import netflow_evaluator as nf, pickle
scenario = nf.load("-")
scenario.set("simulation.duration", "2 s")
assert scenario.run(model="fluid-literal").time_s == 2
assert nf.sweep(scenario, {"connection.*.packet-size": ["500 B", "900 B"]}).cases == 2
assert pickle.loads(pickle.dumps(scenario)).text == scenario.text
try:
    nf.load("-", allow_outside=True)
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], input=BOTTLENECK, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "can only use files below the current directory" in done.stdout


def test_a_scenario_reads_below_its_folder_only(tmp_path):
    (tmp_path / "links.csv").write_text("from,to,bandwidth,delay\nA,B,1 Mbit/s,1 ms\n")
    folder = tmp_path / "inner"
    folder.mkdir()
    file = folder / "lab.toml"
    file.write_text('simulation = { duration = "1 s" }\ninclude = { links = "../links.csv" }\nconnection = [{ from = "A", to = "B", source = { profile = "ns-reno" } }]\n')
    with pytest.raises(nf.ScenarioError):
        nf.load(file)
    assert nf.load(file, allow_outside=True).links == ["A->B", "B->A"]
