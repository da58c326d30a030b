"""Steady states, sensitivities, headroom, failures: the same as the command tells."""

import json

import netflow_evaluator as nf
import pytest
from conftest import SCENARIOS
from test_run import command

PATH = SCENARIOS / "topology.toml"


def test_a_steady_state():
    steady = nf.load(PATH).solve()
    told = json.loads(command("solve", PATH, "--json"))
    assert steady.links.to_rows() == told["links"]
    assert steady.connections.to_rows() == told["connections"]
    assert (steady.residual, steady.goodput_bps) == (told["residual"], told["totals"]["goodput_bps"])
    assert steady.equilibria == told["equilibria"] and steady.starts == 10


def test_transfers_of_demands():
    path = SCENARIOS / "abilene.toml"
    told = json.loads(command("solve", path, "--json"))
    assert nf.load(path).solve().transfers.to_rows() == told["transfers"] != []


def test_sensitivities():
    found = nf.load(PATH).sensitivities()
    told = json.loads(command("solve", PATH, "--sensitivity", "--json"))
    assert found.links.to_rows() == told["links"]
    assert found.connections.to_rows() == told["connections"] != []
    assert found.one_sided_because_of == told["one_sided_because_of"]


def test_sensitivities_of_one_demand(tmp_path):
    path, name = SCENARIOS / "two-circuits.toml", "WEST->EAST"
    found = nf.load(path).sensitivities(of=name)
    told = json.loads(command("solve", path, "--sensitivity", "--target", name, "--json"))
    assert found.links.to_rows() == told["links"]
    assert (found.of, found.goodput_bps) == (name, told["goodput_bps"])
    # Half of 8 Gbit/s on each circuit, which no link limits: of 1 % more all arrives. Transfers wait for their own bursts.
    own = [row["goodput_bps_per_factor"] for row in found.connections.to_rows() if row["connection"].startswith(name)]
    assert own == pytest.approx([4e9, 4e9], rel=1e-3)
    assert found.delay_s is None
    with pytest.raises(ValueError, match="nearest name is `WEST->EAST`"):
        nf.load(path).sensitivities(of="WEST->EASD")
    down = '[[event]]\nat = "1 s"\nlink = "%s"\ndown = true\n'
    cut = tmp_path / "cut.toml"
    cut.write_text(path.read_text() + "".join(down % link for link in ("WEST->EAST", "WEST->EAST#2", "WEST->NORTH")))
    with pytest.raises(ValueError, match="from `WEST->EAST/1`, `WEST->EAST/2`.*no route exists"):
        nf.load(cut).sensitivities(of=name)


def test_headroom(triangle):
    found = triangle.headroom(max_utilization=0.9)
    # Each of 1 Mbit/s: the link of 2 Mbit/s is busy for half of the time.
    assert found.factor == pytest.approx(1.8, rel=1e-3)
    assert (found.binding, found.binding_at) == ("utilization", "A->C")
    assert triangle.headroom(max_utilization=0.9, scale="ab").factor == pytest.approx(3.6, rel=1e-3)
    assert triangle.headroom(max_delay="20 ms").binding == "delay"
    with pytest.raises(ValueError, match="headroom needs a limit"):
        triangle.headroom()
    with pytest.raises(TypeError, match="`max_utilization` must be a fraction such as 0.9"):
        triangle.headroom(max_utilization="90%")
    with pytest.raises(ValueError, match="`threads` must be 1 to 1024, not -1"):
        triangle.headroom(max_loss=0.1, threads=-1)
    with pytest.raises(ValueError, match="from 0 to 1"):
        triangle.headroom(max_loss=3)
    with pytest.raises(ValueError, match="nearest name is `ab`"):
        triangle.headroom(max_loss=0.1, scale="abb")


def test_headroom_of_a_demand_in_parts():
    circuits = nf.load(SCENARIOS / "two-circuits.toml")
    both, one = [circuits.headroom(max_utilization=0.9, scale=name) for name in ("WEST->EAST", "WEST->EAST/1")]
    # Half of it is on each of two links of 10 Gbit/s, which are busy for 40.4 % of the time.
    assert (both.scaled, one.scaled) == ("WEST->EAST", "WEST->EAST/1")
    assert both.factor == pytest.approx(one.factor, rel=1e-3)
    with pytest.raises(ValueError, match="nearest name is `WEST->EAST`"):
        circuits.headroom(max_utilization=0.9, scale="WEST->EASD")


def test_what_has_no_demand_has_no_headroom(bottleneck):
    with pytest.raises(ValueError):
        bottleneck.headroom(max_utilization=0.5)


def test_failures(triangle):
    found = triangle.failures(links=True)
    assert len(found.cases) == found.possible_cases == 3 and found.cases_not_at_rest == 0
    worst = found.cases.to_rows()[0]
    assert worst["rank"] == 1 and worst["failure"]
    by = {row["failure"]: row for row in found.cases.to_rows()}
    assert set(by) == {"A<->B", "B<->C", "A<->C"}
    # Without A-C all goes over A-B.
    assert by["A<->C"]["max_load"] == pytest.approx(0.5, abs=0.01)
    html = found._repr_html_()
    assert "3 of 3 cases" in html and "A&lt;-&gt;C" in html and "worst_affected" in html
    assert len(triangle.failures(links=True, pairs=True).cases) == 3
    assert len(triangle.failures(pairs=True, sample=4, seed=2).cases) == 4
    with pytest.raises(ValueError, match="`sample` must be 1 or more"):
        triangle.failures(sample=0)
    with pytest.raises(ValueError):
        triangle.failures(srlgs=True)
    assert len(found.links) == 6


def test_headroom_under_failures(triangle):
    found = triangle.headroom_under_failures(max_utilization=0.9, links=True)
    # Without A-B or B-C, the other traffic stays; without A-C, A-B carries both.
    assert (found.factor, found.failure, found.binding_at) == (pytest.approx(0.9, rel=1e-3), "A<->B", "A->C")
    assert found.intact_factor == pytest.approx(1.8, rel=1e-3) and found.cases == 3
    with pytest.raises(ValueError, match="needs a limit"):
        triangle.headroom_under_failures()


def test_plan(triangle, tmp_path):
    modules = tmp_path / "modules.csv"
    modules.write_text("capacity,cost\n1 Mbit/s,2\n")
    found = triangle.plan(modules, growth=3, max_utilization=0.8, failures=False)
    # A->C needs 3 / 0.8 = 3.75 Mbit/s and has 2.
    assert (found.cost, found.is_optimal, found.cases) == (4, True, 0)
    assert [row["link"] for row in found.links.to_rows()] == ["A<->C"]
    assert found.write(tmp_path / "plan.toml") == [tmp_path / "plan.toml"]
    planned = nf.load(tmp_path / "plan.toml").headroom(max_utilization=0.8)
    assert planned.factor == pytest.approx(3.2, rel=1e-3)
    with pytest.raises(ValueError, match="`growth` must be"):
        triangle.plan(modules, growth=0.5)
    with pytest.raises(nf.EvaluationError, match="has no modules"):
        modules.write_text("capacity,cost,link\n1 Mbit/s,2,A->B\n")
        triangle.plan(modules, growth=3, failures=False)


def test_weights(triangle, tmp_path):
    with pytest.raises(ValueError, match="set `simulation.ecmp` to true"):
        triangle.weights()
    triangle.set("simulation.ecmp", True)
    found = triangle.weights(failures=False)
    # 2 Mbit/s on 4 + 2 Mbit/s out of A; all of a-c on A-B is 2 of 4 Mbit/s, half of it is 1.5 of 4.
    assert found.settings.to_rows()[0]["max_load"] == pytest.approx(0.5)
    assert found.max_load == pytest.approx(0.375) and found.lower_bound <= 1 / 3
    assert found.write(tmp_path / "better.toml") == [tmp_path / "better.toml"]
    with pytest.raises(OSError, match="better.toml"):
        (tmp_path / "better.toml").write_text("mine")
        found.write(tmp_path / "better.toml")


def test_availability(triangle):
    triangle.set("link.*.unavailability", "1 %")
    found = triangle.availability(served=0.9, slo=0.9998, rest=0)
    row = found.demands.to_rows()[0]
    # The direct link, or both links of the detour.
    up = 1 - 0.01 * (1 - 0.99**2)
    assert row["availability_min"] == pytest.approx(up, abs=1e-12) == row["availability_max"]
    assert row["slo"] == "met" and found.network.to_rows()[0]["states"] == 8
    assert triangle.availability(states=1).network.to_rows()[0]["rest"] == pytest.approx(1 - 0.99**3)
    with pytest.raises(ValueError, match="served"):
        triangle.availability(served=0)
    with pytest.raises(ValueError, match="`slo` must be from 0 to 1"):
        triangle.availability(slo=99.9)


def test_availability_needs_unavailabilities(triangle):
    with pytest.raises(ValueError, match="no link, node or shared-risk group has an unavailability"):
        triangle.availability()


@pytest.mark.parametrize("file, options", [("topology.toml", {}), ("abilene.toml", {"links": True}), ("topology.toml", {"pairs": True, "sample": 9})])
def test_the_page_of_failures_is_that_of_the_command(file, options, tmp_path):
    flags = [f"--{name}" if value is True else f"--{name}={value}" for name, value in options.items()]
    command("failures", SCENARIOS / file, *flags, "-o", tmp_path / "command.html")
    found = nf.load(SCENARIOS / file).failures(**options)
    page = tmp_path / "python.html"
    found.report(page)
    found.report(page)
    assert page.read_bytes() == (tmp_path / "command.html").read_bytes()
    assert f"Failures of {file}" in page.read_text()


def test_a_page_of_failures_replaces_nothing_of_others(triangle, tmp_path):
    found = triangle.failures(links=True)
    file = tmp_path / "thesis.html"
    file.write_text("mine")
    for path in (file, tmp_path, tmp_path / "nowhere" / "page.html"):
        with pytest.raises(OSError, match="cannot write"):
            found.report(path)
    assert file.read_text() == "mine"
    with pytest.raises(ValueError, match="cannot have the suffix `.pdf`"):
        found.report(tmp_path / "page.pdf")


def test_a_time_that_is_none(triangle):
    for at in (0, -1, float("nan"), float("inf"), "soon"):
        with pytest.raises(ValueError):
            triangle.solve(at=at)
