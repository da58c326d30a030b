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

    packets = {"simulation.model": "packet", "connection.*.source": "{ ns2-tcp = 'reno' }"}
    links = nf.load(TOPOLOGY, set=packets).run(interval="84 us").links
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
    scenario = nf.load(TOPOLOGY, set={"simulation.duration": "100000 s", "simulation.model": "packet", "connection.*.source": "{ ns2-tcp = 'reno' }"})
    times = []
    for _ in range(12):
        sent = []

        def interrupt():
            time.sleep(0.3)
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        try:
            scenario.run(interval="10 s")
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


def varied(scenario, cases):
    return {f"link.{scenario.links[0]}.bandwidth": [f"{10 + i * 0.01:.2f} Mbit/s" for i in range(cases)]}


def busy_s(pids):
    """Seconds that processes have computed."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def timed(pids, work):
    """Seconds by the clock, and of processors."""
    before, began = busy_s(pids), time.perf_counter()
    work()
    return time.perf_counter() - began, busy_s(pids) - before


def by_dask(nf, scenario, vary, directory, **options):
    """The same by Dask's scheduler and two workers of one thread each, which are there before."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        client.wait_for_workers(2)
        pids = [os.getpid(), *client.run(os.getpid).values()]
        return timed(pids, lambda: nf.sweep(scenario, vary, out=directory, executor=client, **options))


def sweeps(nf, cases, pairs):
    """A sweep here and by Dask, in turns; whichever is first has no advantage of it."""
    with tempfile.TemporaryDirectory() as place:
        scenario = nf.load(hundred_nodes(place))
        vary = varied(scenario, cases)
        ratios = []
        for pair in range(pairs):
            here, there = f"{place}/here-{pair}", f"{place}/dask-{pair}"
            turns = {
                "here": lambda here=here: timed([os.getpid()], lambda: nf.sweep(scenario, vary, out=here)),
                "dask": lambda there=there: by_dask(nf, scenario, vary, there),
            }
            order = list(turns) if pair % 2 == 0 else list(turns)[::-1]
            took = {name: turns[name]() for name in order}
            same = contents(here) == contents(there)
            (here_s, here_busy_s), (there_s, there_busy_s) = took["here"], took["dask"]
            ratios.append(there_s / here_s)
            print(
                f"sweep of {cases} cases of 100 nodes: {here_s:.1f} s here ({here_busy_s:.1f} s of processors), "
                f"{there_s:.1f} s by Dask on two workers ({there_busy_s:.1f} s): {ratios[-1]:.3f}; the same bytes: {same}",
                flush=True,
            )
        print(f"by Dask it takes {sorted(ratios)[len(ratios) // 2]:.3f} times as long, the median of {pairs} (limit 1.15)")


def tasks():
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        client.wait_for_workers(2)
        many = 2000
        took_s, busy = timed([os.getpid()], lambda: client.gather(client.map(int, range(many), pure=False)))
    task_s = busy / many
    print(
        f"a task costs client and scheduler {1e3 * task_s:.2f} ms of a processor ({1e3 * took_s / many:.2f} ms by the clock): "
        f"with tasks of 5 s 100 workers keep it busy for {100 * task_s / 5:.1%} of the time, {5 / task_s:.0f} workers for all of it"
    )


def kills(nf, cases):
    """A worker is killed in the middle, then the scheduler, and the sweep goes on elsewhere."""
    with tempfile.TemporaryDirectory() as place:
        file = hundred_nodes(place)
        scenario = nf.load(file)
        vary = varied(scenario, cases)
        nf.sweep(scenario, vary, out=f"{place}/here")
        killed = subprocess.Popen([sys.executable, __file__, "--killed", f"{place}/killed", str(file), str(cases)])
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
    vary = varied(scenario, cases)
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
    parser.add_argument("--pairs", type=int, default=3, help="of sweeps here and by Dask, in turns")
    parser.add_argument("--only", choices=["imports", "fixed_cost", "tables", "memory", "interrupts", "sweeps", "tasks", "kills"], help="measure this alone")
    parser.add_argument("--killed", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.killed:
        directory, file, cases = arguments.killed
        return sweep_to_be_killed(directory, file, int(cases))
    import netflow_evaluator as nf

    measures = {
        "imports": imports,
        "fixed_cost": lambda: fixed_cost(nf),
        "tables": lambda: tables(nf),
        "memory": lambda: memory(nf),
        "interrupts": lambda: interrupts(nf),
        "sweeps": lambda: sweeps(nf, arguments.cases, arguments.pairs),
        "tasks": tasks,
        "kills": lambda: kills(nf, min(arguments.cases, 4000)),
    }
    for name, measure in measures.items():
        if arguments.only in (None, name):
            measure()


if __name__ == "__main__":
    main()
