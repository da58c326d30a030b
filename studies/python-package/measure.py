"""Measures what the package costs: `python studies/python-package/measure.py`, with the package of a release build, polars and distributed.

Every number is printed with what it is compared with; times are the least of several tries on this machine.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOPOLOGY = ROOT / "scenarios" / "topology.toml"


def least(tries, work):
    """The least time of several tries, in seconds."""
    times = []
    for _ in range(tries):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def imports():
    code = "import time; a = time.perf_counter(); import netflow_evaluator; print(time.perf_counter() - a)"
    times = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(10)]
    print(f"import: {1e3 * min(times):.0f} ms (most of ten: {1e3 * max(times):.0f} ms; limit 50 ms)")


def fixed_cost(nf):
    """A run of next to nothing has little but what Python costs."""
    empty = """
    simulation = { duration = "1 ms" }
    link = [{ from = "A", to = "B", bandwidth = "1 Mbit/s", delay = "1 ms" }]
    connection = [{ from = "A", to = "B", source = { poisson = "1 kbit/s" } }]
    """
    scenario = nf.Scenario.from_toml(empty)
    nothing_s = least(300, scenario.run)
    whole_s = least(20, nf.load(TOPOLOGY).run)
    print(f"run: {1e3 * nothing_s:.2f} ms where there is nothing to do (limit 1 ms beyond the library); topology.toml {1e3 * whole_s:.1f} ms")


def tables(nf):
    import polars

    packets = {"simulation.model": "packets", "connection.*.source": "{ window = 'reno' }"}
    links = nf.load(TOPOLOGY, set=packets).run(every="84 us").links
    took_s = least(5, lambda: polars.DataFrame(links))
    print(f"tables: {len(links)} rows of {links.shape[1]} columns to polars in {1e3 * took_s:.0f} ms (strings as dictionaries)")
    frame = polars.DataFrame(links)
    assert frame.height == len(links)


def memory(nf):
    def resident_mb():
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    scenario = nf.Scenario.from_toml(TOPOLOGY.read_text(), set={"simulation.duration": "1 s", "simulation.warmup": "0 s"})
    marks = []
    for i in range(10001):
        scenario.run().links.to_dict()
        if i in (1000, 10000):
            marks.append(resident_mb())
    print(f"memory: {marks[0]:.1f} MB after 10^3 runs, {marks[1]:.1f} MB after 10^4")


def interrupts(nf):
    scenario = nf.load(TOPOLOGY, set={"simulation.duration": "100000 s", "simulation.model": "packets", "connection.*.source": "{ window = 'reno' }"})
    times = []
    for _ in range(12):
        sent = []

        def interrupt():
            time.sleep(0.3)
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        try:
            scenario.run(every="10 s")
        except KeyboardInterrupt as interrupted:
            times.append(time.perf_counter() - sent[0])
            assert interrupted.results is not None
    print(f"Ctrl-C: {1e3 * min(times):.0f} to {1e3 * max(times):.0f} ms until it is raised, of 12 (limit 100 ms)")


def hundred_nodes(place):
    file = Path(place) / "hundred.toml"
    command = [sys.executable, "-m", "netflow_evaluator", "new", "transit-stub", "--nodes=100", "--connections=500", "-o", str(file)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return file


def contents(directory):
    files = sorted(Path(directory).rglob("*.parquet"))
    return [(file.name, file.read_bytes()) for file in files]


def sweeps(nf, cases):
    from distributed import Client, LocalCluster

    with tempfile.TemporaryDirectory() as place:
        scenario = nf.load(hundred_nodes(place))
        link = scenario.links[0]
        vary = {f"link.{link}.bandwidth": [f"{10 + i * 0.01:.2f} Mbit/s" for i in range(cases)]}
        began = time.perf_counter()
        nf.sweep(scenario, vary, out=f"{place}/here")
        here_s = time.perf_counter() - began
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            client.wait_for_workers(2)
            began = time.perf_counter()
            nf.sweep(scenario, vary, out=f"{place}/dask", executor=client)
            there_s = time.perf_counter() - began
            tasks = 2000
            began = time.perf_counter()
            client.gather(client.map(int, range(tasks), pure=False))
            task_s = (time.perf_counter() - began) / tasks
        same = contents(f"{place}/here") == contents(f"{place}/dask")
        print(f"sweep of {cases} cases of 100 nodes: {here_s:.1f} s here, {there_s:.1f} s by Dask on two workers ({there_s / here_s:.2f}; limit 1.15); the same bytes: {same}")
        print(f"a task costs the scheduler {1e3 * task_s:.2f} ms: tasks of 5 s keep {5 / task_s:.0f} workers busy")
        # A worker is killed in the middle, then the scheduler, and the sweep goes on elsewhere.
        killed = subprocess.Popen([sys.executable, __file__, "--killed", str(scenario), f"{place}/killed", f"{place}/hundred.toml", str(cases)])
        chunks = Path(place) / "killed" / "chunks"
        while killed.poll() is None and (not chunks.exists() or len(list(chunks.glob("*.json"))) < 20):
            time.sleep(0.05)
        killed.kill()
        killed.wait()
        found = nf.sweep(scenario, vary, out=f"{place}/killed")
        same = contents(f"{place}/here") == contents(f"{place}/killed")
        print(f"a worker and then everything killed, resumed: {found.reused} of {found.cases} cases were there; the same bytes: {same}")


def sweep_to_be_killed(directory, file, cases):
    """A worker dies soon; all of it, when whoever began it says so."""
    import netflow_evaluator as nf
    from distributed import Client, LocalCluster

    scenario = nf.load(file)
    vary = {f"link.{scenario.links[0]}.bandwidth": [f"{10 + i * 0.01:.2f} Mbit/s" for i in range(cases)]}
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        client.wait_for_workers(2)
        pids = list(client.run(os.getpid).values())

        def kill_soon():
            chunks = Path(directory) / "chunks"
            while not chunks.exists() or len(list(chunks.glob("*.json"))) < 5:
                time.sleep(0.05)
            os.kill(pids[0], signal.SIGKILL)

        threading.Thread(target=kill_soon, daemon=True).start()
        nf.sweep(scenario, vary, out=directory, executor=client, task_seconds=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10000, help="of the sweeps")
    parser.add_argument("--killed", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.killed:
        _, directory, file, cases = arguments.killed
        return sweep_to_be_killed(directory, file, int(cases))
    import netflow_evaluator as nf

    imports()
    fixed_cost(nf)
    tables(nf)
    memory(nf)
    interrupts(nf)
    sweeps(nf, arguments.cases)


if __name__ == "__main__":
    main()
