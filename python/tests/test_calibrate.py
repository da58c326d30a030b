"""Fluids that packets correct first."""

import subprocess
import sys

import netflow_evaluator as nf
import pytest
from conftest import SCENARIOS

TOPOLOGY = SCENARIOS / "topology.toml"
CALIBRATE = {"simulation.calibrate": "30 s"}


def test_runs_are_those_of_the_command():
    words = ["run", str(TOPOLOGY), "--json", "--set=simulation.calibrate=30 s"]
    done = subprocess.run([sys.executable, "-m", "netflow_evaluator", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    results = nf.load(TOPOLOGY, set=CALIBRATE).run()
    assert results.summary_json == done.stdout
    assert results.summary_json != nf.load(TOPOLOGY).run().summary_json


def test_whatever_rests_on_the_fluid_is_corrected():
    plain, corrected = nf.load(TOPOLOGY), nf.load(TOPOLOGY, set=CALIBRATE)
    assert corrected.solve().links.to_dict() != plain.solve().links.to_dict()
    assert corrected.failures().cases.to_dict() != plain.failures().cases.to_dict()
    stepped = [scenario.simulation() for scenario in (plain, corrected)]
    for simulation in stepped:
        simulation.advance(60)
    assert stepped[0].links.to_dict() != stepped[1].links.to_dict()


def test_profiles_of_no_tcp_are_refused():
    with pytest.raises(nf.ScenarioError, match="cannot be calibrated"):
        nf.load(TOPOLOGY, set={**CALIBRATE, "connection.*.source.profile": "mathis"})
