"""Ctrl-C, callbacks that fail or call back, processes and threads."""

import json
import os
import subprocess
import sys
import threading

import netflow_evaluator as nf
import pytest
from conftest import BOTTLENECK

LONG = BOTTLENECK.replace('"10 s"', '"100000 s"')

INTERRUPTED = """
import json, os, signal, sys, threading, time
import netflow_evaluator as nf

scenario = nf.Scenario.from_toml(sys.stdin.read(), set={"simulation.model": "packet", "connection.c.source": '{ ns2-tcp = "reno" }'})
sent = []

def interrupt():
    time.sleep(0.5)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    scenario.run(out=sys.argv[1])
except KeyboardInterrupt as interrupted:
    took_s = time.monotonic() - sent[0]
    results = interrupted.results
    results.report(sys.argv[2])
    scenario.set("simulation.duration", "1 s")
    scenario.run(out=sys.argv[1])
    try:
        results.report(sys.argv[2])
    except ValueError as error:
        refused = str(error)
    print(json.dumps([took_s, results.is_complete, results.time_s, len(results.links), str(interrupted), refused]))
"""


def test_ctrl_c_keeps_what_was_done(tmp_path):
    page = tmp_path / "report.html"
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, tmp_path / "results", page], input=LONG, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    took_s, is_complete, time_s, rows, text, refused = json.loads(done.stdout)
    # 0.1 s is asked of a quiet machine; this may be a busy one.
    assert took_s < 2
    assert page.read_text().startswith("<!doctype html>")
    assert "no longer contains the results of this run" in refused
    assert not is_complete and 0 < time_s < 100000 and rows > 0 and "stopped" in text


ENDLESS = {
    "seeds": "scenario.run(seeds=8)",
    "two threads": "scenario.run(threads=2)",
    "rounds": 'nf.latency(["100 MB"], ["50 ms"], [0.01, 0.02], model="rounds", samples=10**7)',
}


@pytest.mark.parametrize("call", ENDLESS.values(), ids=ENDLESS)
def test_ctrl_c_ends_what_takes_long(call):
    code = INTERRUPTED[: INTERRUPTED.index("try:")] + f"""
try:
    {call}
except KeyboardInterrupt:
    print(time.monotonic() - sent[0])
"""
    done = subprocess.run([sys.executable, "-c", code], input=LONG, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 2


def test_an_exception_of_a_callback_ends_it():
    class Enough(Exception):
        pass

    def callback(part):
        raise Enough(part)

    with pytest.raises(Enough):
        nf.Scenario.from_toml(LONG).run(progress=callback)


def test_a_callback_may_call_back(bottleneck):
    inner = []

    def callback(part):
        inner.append(bottleneck.run().summary_json)

    assert bottleneck.run(progress=callback).summary_json == inner[-1]


def test_other_threads_go_on_meanwhile():
    scenario = nf.Scenario.from_toml(BOTTLENECK)
    told = [None] * 8

    def run(i):
        told[i] = scenario.run().summary_json

    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(told)) == 1 and told[0] is not None


IN_PROCESSES = """
import multiprocessing
import sys

import netflow_evaluator as nf


def run(scenario):
    return scenario.run().summary_json


if __name__ == "__main__":
    scenario = nf.Scenario.from_toml(open(sys.argv[2]).read())
    here = run(scenario)
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        assert pool.map(run, [scenario] * 3, chunksize=1) == [here] * 3
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_processes(method, tmp_path):
    script, scenario = tmp_path / "script.py", tmp_path / "scenario.toml"
    script.write_text(IN_PROCESSES)
    scenario.write_text(BOTTLENECK)
    subprocess.run([sys.executable, script, method, scenario], check=True, timeout=120)


def test_a_panic_is_an_exception_with_its_place():
    with pytest.raises(nf.InternalError, match=r"bug in netflow .* at .*background_task\.rs:\d+:\d+: requested by a test"):
        nf._native.panic_for_a_test()
    assert nf.Scenario.from_toml(BOTTLENECK).run().is_complete


def test_hostile_arguments(bottleneck):
    odd = [None, 0, -1, 2**70, 1.5, float("nan"), "", "\0", b"x", [], {}, object(), lambda: 1]
    for value in odd:
        for call in (
            lambda: nf.load(value),
            lambda: nf.Scenario.from_toml(value),
            lambda: bottleneck.copy().set("simulation.duration", value),
            lambda: bottleneck.copy().set(value, "1 s"),
            lambda: bottleneck.run(seeds=value),
            lambda: bottleneck.run(threads=value, interval="5 s"),
            lambda: bottleneck.run(interval=value),
            lambda: bottleneck.headroom(max_delay=value),
            lambda: bottleneck.failures(sample=value),
            lambda: bottleneck.simulation().advance(value),
            lambda: nf.latency(value, value),
            lambda: nf.profile(value),
            lambda: nf.import_topology(value),
            lambda: nf.sweep(bottleneck, {"simulation.seed": value}),
            lambda: nf.sweep(value, {}),
            lambda: bottleneck.run().links[value],
            lambda: nf._native.Table._again(value),
        ):
            try:
                call()
            except (ValueError, TypeError, OSError, KeyError, IndexError, OverflowError, AttributeError, nf.EvaluationError):
                pass


def test_memory_stays_where_it_is(bottleneck):
    def resident():
        pages = int(open("/proc/self/statm").read().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    if not os.path.exists("/proc/self/statm"):
        pytest.skip("no /proc here")
    for _ in range(100):
        bottleneck.run().links.to_dict()
    before = resident()
    for _ in range(300):
        bottleneck.run().links.to_dict()
    assert resident() - before < 8
