"""Prediction of queues, delays, losses and throughput of IP networks.

    import netflow_evaluator as nf

    scenario = nf.load("topology.toml")
    scenario.set("simulation.duration", "30 s")
    results = scenario.run()
    print(results.link_means.to_rows()[0])

Numbers are in base units. The ending of a name states the unit: `_s` seconds, `_bps` bit/s, `_pps` packets/s, `_pkts`
packets. Write times, rates and sizes as numbers in base units (sizes in bytes) or as texts with a unit: `0.5`,
`"500 ms"`, `"10 Mbit/s"`.
"""

from ._builder import Builder
from ._functions import Profile, fit_profile, import_topology, latency, mark, profile
from ._native import (
    Availability,
    EvaluationError,
    Failures,
    Headroom,
    HeadroomUnderFailures,
    InternalError,
    Interrupted,
    Plan,
    Results,
    Scenario,
    ScenarioError,
    Sensitivities,
    Simulation,
    SteadyState,
    Table,
    Trace,
    Weights,
    load,
    profiles,
    trace,
    version,
)
from ._networkx import from_networkx
from ._plot import plot_connections, plot_links
from ._problem import Problem
from ._sweep import SweepResult, sweep

__version__ = version()

__all__ = [
    "Availability",
    "Builder",
    "EvaluationError",
    "Failures",
    "Headroom",
    "HeadroomUnderFailures",
    "InternalError",
    "Interrupted",
    "Plan",
    "Problem",
    "Profile",
    "Results",
    "Scenario",
    "ScenarioError",
    "Sensitivities",
    "Simulation",
    "SteadyState",
    "SweepResult",
    "Table",
    "Trace",
    "Weights",
    "fit_profile",
    "from_networkx",
    "import_topology",
    "latency",
    "load",
    "mark",
    "plot_connections",
    "plot_links",
    "profile",
    "profiles",
    "sweep",
    "trace",
]
