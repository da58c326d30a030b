"""Calls everything that is public with values that nobody meant: `python hostile.py SEED ROUNDS`.

What there is to call, and with which parameters, is asked of the package, so that what is new is called, too. Every call has to
end with a result or an exception of Python's. Each is told before it is made, on a line of its own, so that whoever
started this knows which it was if the process is gone or does not go on; what is wrong is told by a line with `WRONG`.
"""

import collections.abc
import contextlib
import decimal
import fractions
import importlib
import inspect
import io
import os
import random
import signal
import sys
import tempfile
import warnings
from pathlib import Path

import netflow_evaluator as nf

TEXT = """
simulation = { duration = "1 s" }
link = [
  { from = "A", to = "B", bandwidth = "4 Mbit/s", delay = "5 ms", buffer = "9 pkt" },
  { from = "B", to = "C", bandwidth = "4 Mbit/s", delay = "5 ms", buffer = "9 pkt" },
  { from = "A", to = "C", bandwidth = "2 Mbit/s", delay = "5 ms", buffer = "9 pkt" },
]
connection = [
  { from = "A", to = "C", name = "ac", source = { poisson = "1 Mbit/s" } },
  { from = "A", to = "B", name = "ab", source = { poisson = "1 Mbit/s" } },
]
"""
MARKER = 'aggregate = [{ name = "gold", conditioner = "trtcm", committed-rate = "0.4 Mbit/s", peak-rate = "0.8 Mbit/s" }]'
# Special methods that take what a caller gives.
SPECIAL = ("__call__", "__getitem__", "__contains__", "__deepcopy__", "__arrow_c_stream__")
# What asks for more than this is interrupted, and then has to end.
PATIENCE_S = 0.5


class Own(Exception):
    """What hostile objects raise."""


class TooLong(KeyboardInterrupt):
    """What the clock raises: as Ctrl-C."""


class Subject:
    """What is being called, for hostile values that meddle with it."""

    def __init__(self):
        self.it, self.arguments, self.deep = None, {}, 0

    def meddle(self, dice):
        """Calls back into the same object, and changes what the call was given."""
        if self.deep > 1:
            return
        self.deep += 1
        try:
            for given in [*self.arguments.values()]:
                if type(given) is dict:
                    given.clear() if dice.random() < 0.5 else given.update({f"more {i}": [i] for i in range(50)})
                elif type(given) is list:
                    given.clear()
            calls = [name for name in ("advance", "step", "copy", "run", "set_rate", "simulation", "set") if hasattr(self.it, name)]
            if calls:
                name = dice.choice(calls)
                method = getattr(self.it, name)
                given = {"advance": (0.01,), "set_rate": ("ac", 50), "set": ("simulation.seed", 3)}
                try:
                    method(*given.get(name, ()))
                except (nf.ScenarioError, RuntimeError, ValueError):
                    # Such as: it is borrowed already.
                    pass
        finally:
            self.deep -= 1


def raising(*_):
    raise Own("no")


def special(names, does):
    """An object of a class of its own, with these special methods."""
    return type("Hostile", (), dict.fromkeys(names, does))()


def meddling(subject, dice):
    def one(_):
        subject.meddle(dice)
        return 0.5

    def path(_):
        subject.meddle(dice)
        return "meddled"

    def items(_):
        for item in ["A", "B", "C"]:
            subject.meddle(dice)
            yield item

    def called(*_):
        subject.meddle(dice)

    return dice.choice(
        [
            lambda: special(["__float__"], one),
            lambda: special(["__index__", "__int__"], lambda _: subject.meddle(dice) or 3),
            lambda: special(["__fspath__"], path),
            lambda: special(["__iter__"], items),
            lambda: [special(["__float__"], one)],
            lambda: [special(["__iter__"], items)],
            lambda: {"ac": special(["__iter__"], items), "ab": [1], "A->C": [1]},
            lambda: {"simulation.seed": special(["__index__"], lambda _: subject.meddle(dice) or 3), "simulation.duration": "1 s"},
            lambda: called,
        ]
    )()


def odd(dice):
    """Objects whose special methods raise, or return nonsense."""
    names = ["__float__", "__int__", "__index__", "__fspath__", "__iter__", "__len__", "__getitem__", "__bool__", "__hash__", "__eq__", "__str__", "__repr__", "__call__", "__array__", "__getattr__"]
    nonsense = [None, -1, 2**70, "text", b"", float("nan"), [], object(), "\udc80"]
    which = dice.sample(names, dice.randint(1, 3))
    if dice.random() < 0.5:
        return special(which, raising)
    value = dice.choice(nonsense)
    if dice.random() < 0.3:
        # A sequence that says that it is longer than any memory.
        class Long(collections.abc.Sequence):
            def __len__(self):
                return dice.choice([2**62, 2**40, 2**31])

            def __getitem__(self, i):
                raise IndexError(i)

        return Long()
    return special(which, lambda *_: value)


def arrays(dice):
    try:
        import numpy
    except ImportError:
        return None
    strange = numpy.arange(24.0).reshape(2, 3, 4)
    fixed = numpy.arange(4.0)
    fixed.setflags(write=False)
    return dice.choice(
        [
            numpy.array([]), numpy.array(3.0), numpy.array(float("nan")), numpy.full(3, float("nan")), numpy.array([float("inf"), -1.0]), numpy.zeros((0, 3)),
            strange, strange[:, ::2, ::-1], strange.T, numpy.asfortranarray(strange), fixed, fixed[::-1], fixed[::2], numpy.arange(3, dtype=numpy.int8),
            numpy.arange(3, dtype=">f8"), numpy.arange(3, dtype=numpy.float16), numpy.array([1 + 2j]), numpy.array(["A", "C"]), numpy.array([b"A", b"C"]),
            numpy.array([None, object()]), numpy.array(["2020-01-01"], dtype="datetime64[s]"), numpy.array([True, False]), numpy.zeros(3, dtype=[("a", "f8"), ("b", "U2")]),
            numpy.float64("nan"), numpy.float32("inf"), numpy.int64(-3), numpy.uint64(2**64 - 1), numpy.bool_(True), numpy.str_("A->C"), numpy.datetime64("NaT"),
            numpy.ma.masked_array([1.0, 2.0], mask=[True, False]), numpy.broadcast_to(numpy.float64(1), (1000,)), numpy.memoryview(b"abc") if hasattr(numpy, "memoryview") else fixed,
        ]
    )  # fmt: skip


def number(dice):
    numbers = [0, -0.0, 1, -1, 0.5, 1e-300, -1e-9, 5e-324, 1e300, 1.7e308, float("nan"), float("inf"), -float("inf"), 2**31, 2**32, 2**53 + 1, 2**63, 2**64, -(2**63), 10**400, True, 1j, decimal.Decimal("NaN"), decimal.Decimal("1e999"), fractions.Fraction(1, 3)]
    return dice.choice([*numbers, dice.uniform(-10, 10), dice.gauss(0, 1e12), dice.randint(-5, 300)])


def text(dice):
    texts = ["", " ", "A", "A->C", "ac", "A-C", "1 Mbit/s", "-5 pkt/s", "1e999 s", "NaN", "inf s", "10 ms", "0 s", "5 %", "\0", "a\0b", "\udc80", "\ud800\udfff", "ü" * 40, "\u202e", "{}", "[[", '"', "=", "a=b", "link.A->C.bandwidth", "simulation.duration", "*", "link.*.delay", "1..4/1000000000", "1..4 Mbit/s/3", "%s%n", "\n", "x" * 5000, "memory://x", "no://such", "packets", "each-link", "csv", "parquet"]
    return dice.choice([*texts, "".join(chr(dice.randrange(1, 0x3000)) for _ in range(dice.randrange(12)))])


def place(dice):
    """Names of files and directories that are there, or cannot be."""
    names = ["directory", "directory/", "empty", "bytes", "scenario.toml", "mine.html", "fifo", "loop", "nowhere/file", "/dev/null", "/dev/zero", "/dev/full", "/proc/self/mem", ".", "new-directory", "n" * 300]
    name = dice.choice(names)
    return dice.choice([lambda: name, lambda: Path(name), lambda: name.encode(), lambda: [name], lambda: special(["__fspath__"], lambda _: name.encode())])()


def things(dice):
    closed = io.StringIO("text")
    closed.close()
    return dice.choice(
        [
            lambda: None, lambda: b"bytes", lambda: bytearray(b"b"), lambda: memoryview(b"abc"), lambda: closed, lambda: io.BytesIO(b"x"), object, lambda: object, lambda: raising, lambda: (lambda *_: 0),
            lambda: (it for it in ["A", "C"]), lambda: iter([]), lambda: map(raising, [1]), lambda: range(3), lambda: {"A", "C"}, frozenset, lambda: Own("no"), lambda: Ellipsis, lambda: nf, lambda: nf.Builder(),
            lambda: nf.Scenario.from_toml(TEXT), lambda: nf.Scenario.from_toml(TEXT).simulation(),
        ]
    )()  # fmt: skip


def hostile(dice, subject, depth=0):
    """Something that nobody meant."""
    kinds = [number, number, text, text, place, things, arrays, odd]
    which = dice.randrange(len(kinds) + 3)
    if which < len(kinds):
        return kinds[which](dice)
    if which == len(kinds) or depth > 2:
        return meddling(subject, dice)
    many = [hostile(dice, subject, depth + 1) for _ in range(dice.randrange(4))]
    if which == len(kinds) + 1:
        return dice.choice([list, tuple, iter])(many)
    keys = ["ac", "ab", "A->C", "A->B", "simulation.seed", "link.A->C.bandwidth", 3, None, b"ac", ("A", "C")]
    return {dice.choice(keys): it for it in many}


def near(dice, subject, meant):
    """Nearly what is meant: with something hostile in it."""
    if isinstance(meant, dict) and meant:
        key = dice.choice(list(meant))
        value = hostile(dice, subject, 1) if dice.random() < 0.5 else near(dice, subject, meant[key])
        return {**meant, key: value, "ab": [1]} if dice.random() < 0.5 else {key: value, **{f"link.{i}": [1] for i in range(dice.randrange(3))}}
    if isinstance(meant, list) and meant:
        place = dice.randrange(len(meant))
        value = hostile(dice, subject, 1) if dice.random() < 0.5 else near(dice, subject, meant[place])
        return [*meant[:place], value, *meant[place + 1 :]]
    if isinstance(meant, str):
        return dice.choice([meant + "\0", meant[:-1], meant.encode(), meant.upper(), [meant], special(["__fspath__"], lambda _: meant)])
    if isinstance(meant, (int, float)):
        return dice.choice([-meant, meant * 1e9, str(meant), float("nan"), special(["__float__"], raising)])
    return hostile(dice, subject)


class Examples:
    """One of every class, and what arguments are that mean something."""

    def __init__(self):
        self.scenario = nf.Scenario.from_toml(TEXT)
        marked = nf.Scenario.from_toml(TEXT.replace('name = "ac"', 'name = "ac", aggregate = "gold"') + MARKER)
        self.simulation = marked.simulation(routes={"ac": [["A", "B", "C"]]}, rates={"ac": [0, 400]}, bandwidths={"A->C": [1e6]})
        self.results = self.scenario.run()
        unreliable = self.scenario.copy()
        unreliable.set("link.*.unavailability", "1 %")
        Path("modules.csv").write_text("capacity,cost\n1 Mbit/s,1\n")
        split = self.scenario.copy()
        split.set("simulation.ecmp", True)
        self.of_class = {
            nf.Builder: lambda: nf.Builder(duration="1 s").link("A", "B", bandwidth="1 Mbit/s", delay="1 ms"),
            nf.Availability: lambda found=unreliable.availability(): found,
            nf.Failures: lambda found=self.scenario.failures(): found,
            nf.HeadroomUnderFailures: lambda found=self.scenario.headroom_under_failures(max_utilization=0.9): found,
            nf.Headroom: lambda found=self.scenario.headroom(max_utilization=0.9): found,
            nf.Plan: lambda found=self.scenario.plan("modules.csv", growth=2): found,
            nf.Profile: lambda: nf.profile("ns-reno"),
            nf.Problem: lambda: nf.Problem("error", "no", None, None, None, None),
            nf.Results: lambda: self.results,
            nf.Scenario: self.scenario.copy,
            nf.Sensitivities: lambda found=self.scenario.sensitivities(): found,
            nf.Simulation: self.simulation.copy,
            nf.SteadyState: lambda found=self.scenario.solve(): found,
            nf.SweepResult: lambda found=nf.sweep(self.scenario, {}): found,
            nf.Table: lambda: self.results.link_means,
            nf.Trace: lambda found=trace(): found,
            nf.Weights: lambda found=split.weights(iterations=10): found,
        }

    def argument(self, function, name):
        """What a parameter of this name may well be."""
        files = {"load": "scenario.toml", "trace": "trace.tr", "report": "page.html", "write": "better.toml"}
        meant = {
            "path": ["A", "B", "C"] if "route" in function else files.get(function, "scenario.toml"),
            "scenario": self.scenario, "results": self.results, "text": TEXT, "key": 0 if function == "__getitem__" else "simulation.seed", "value": 3, "vary": {"link.A->C.bandwidth": ["1 Mbit/s"]},
            "set": {"simulation.seed": 3, "simulation.duration": "1 s"}, "routes": {"ac": [["A", "B", "C"]]}, "rates": {"ac": [0, 400]}, "bandwidths": {"A->C": [1e6, 2e6]},
            "demands": {(0, 2): "1 Mbit/s"}, "executor": None, "interval": 0.1, "threads": 1, "model": "packets", "at": 0.5, "progress": raising,
            "link": "A->C", "connection": "ac", "aggregate": "gold", "bandwidth": 1.5e6, "loss": 0.01, "rate": 100, "committed": 5e5, "committed_rate": 5e5, "time": 0.1, "name": "ns-reno",
            "size": 10000, "delay": 0.05, "times": [0.0, 0.1], "sizes": [100.0, 100.0], "from_": "A", "to": "B", "rtt": 0.1, "rtt_s": 0.1, "_name": "link", "graph": graph(), "_memo": {},
            "severity": "error", "message": "no", "file": None, "line": 1, "column": "queue_pkts" if "plot" in function else 1, "help": None, "native": nf.profile("ns-reno")._native, "directory": ".", "written": {"cases": 1, "reused": 0, "without_answer": 0, "rows": 1},
            "files": "graph.json", "settings": {"peak_rate": 1e6}, "max_utilization": 0.9, "traces": "trace.tr", "modules": "modules.csv",
        }  # fmt: skip
        return meant[name]


def trace():
    """A few packets that ns-2 saw."""
    lines = [f"{kind} {i * 0.1 + j * 0.01:.2f} 0 1 tcp 1000 ------- 0 0.0 1.0 {i} {i}" for i in range(5) for j, kind in enumerate("+-r")]
    Path("trace.tr").write_text("\n".join(lines) + "\n")
    return nf.trace("trace.tr")


def graph():
    try:
        import networkx
    except ImportError:
        return None
    return networkx.path_graph(3)


def prepare():
    """Files that are in the way."""
    Path("directory").mkdir()
    Path("directory/inside").write_text("mine")
    Path("empty").touch()
    Path("bytes").write_bytes(bytes(range(256)) * 9)
    Path("scenario.toml").write_text(TEXT)
    Path("mine.html").write_text("mine")
    Path("graph.json").write_text('{"nodes": [{"id": "A"}, {"id": "B"}], "edges": [{"source": "A", "target": "B"}]}')
    os.symlink("loop", "loop")
    os.mkfifo("fifo")


def callables(examples):
    """Everything public that can be called: (name, what makes it, its parameters)."""
    found = []
    for name in nf.__all__:
        it = getattr(nf, name)
        if not inspect.isclass(it):
            found.append((name, lambda it=it: (None, it), it))
            continue
        if issubclass(it, BaseException):
            continue
        if "__init__" in vars(it):
            found.append((name, lambda it=it: (None, it), it))
        example = examples.of_class[it]
        for member, value in vars(it).items():
            is_public = not member.startswith("_") or member in SPECIAL
            if is_public and (callable(value) or isinstance(value, (staticmethod, classmethod))):
                found.append((f"{name}.{member}", lambda member=member, example=example: bound(example(), member), getattr(it, member)))
    return found


def bound(example, member):
    return example, getattr(example, member)


def arguments(examples, function, chosen, parameters, dice, subject):
    """Positional and named arguments: those that are chosen are hostile, others are meant, or left out."""
    positional, named = [], {}
    for parameter in parameters:
        if parameter.name in chosen:
            if parameter.kind == parameter.VAR_POSITIONAL:
                positional.extend(hostile(dice, subject) for _ in range(dice.randint(1, 3)))
                continue
            if parameter.kind == parameter.VAR_KEYWORD:
                keys = ["peak_rate", "seed", "averaging", "nonsense", "", "from", "a b"]
                named.update({dice.choice(keys): hostile(dice, subject) for _ in range(2)})
                continue
            value = hostile(dice, subject)
            with contextlib.suppress(KeyError):
                if dice.random() < 0.4:
                    value = near(dice, subject, examples.argument(function, parameter.name))
        else:
            if parameter.default is not parameter.empty or parameter.kind == parameter.VAR_KEYWORD:
                continue
            try:
                value = examples.argument(function, parameter.name)
            except KeyError:
                value = hostile(dice, subject)
        if parameter.kind == parameter.KEYWORD_ONLY:
            named[parameter.name] = value
        else:
            positional.append(value)
    return positional, named


def shown(value):
    """Of hostile objects not even `repr` can be asked."""
    try:
        return repr(value)[:80].encode("ascii", "backslashreplace").decode()
    except BaseException:
        return f"<{type(value).__name__}>"


def clock(*_):
    raise TooLong


def attempt(name, function, positional, named):
    """Makes a call; returns how it ended."""
    signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
    try:
        result = function(*positional, **named)
        if isinstance(result, nf.Scenario):
            result.check()
        ended = "result"
    except (nf.InternalError, SystemError, AssertionError) as error:
        ended = type(error).__name__
        print("WRONG", name, ended, shown(error), flush=True)
    except Exception as error:
        ended = type(error).__name__
        if not str(error) and not isinstance(error, (MemoryError, Own)):
            print("WRONG", name, ended, "says nothing", flush=True)
    except KeyboardInterrupt:
        ended = "interrupted"
        print("interrupted", flush=True)
    except BaseException as error:
        # A panic, which no `except Exception` sees.
        ended = type(error).__name__
        print("WRONG", name, ended, shown(error), flush=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return ended


def main():
    seed, rounds = sys.argv[1], int(sys.argv[2])
    signal.signal(signal.SIGALRM, clock)
    warnings.simplefilter("ignore")
    ends = collections.Counter()
    # What takes long to import is no call that takes long.
    for package in ("numpy", "pandas", "pyarrow", "polars", "networkx", "matplotlib.pyplot", "distributed"):
        with contextlib.suppress(ImportError):
            importlib.import_module(package)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        prepare()
        examples, subject = Examples(), Subject()
        everything = callables(examples)
        meant = 0
        for name, make, it in everything:
            parameters = [parameter for parameter in inspect.signature(it).parameters.values() if parameter.name != "self"]
            function = name.rsplit(".", 1)[-1]
            for round_ in range(rounds if parameters else 1):
                for parameter in parameters or [None]:
                    dice = random.Random(f"{seed} {name} {parameter and parameter.name} {round_}")
                    chosen = {parameter.name} if parameter else set()
                    if dice.random() < 0.2:
                        chosen |= {other.name for other in parameters if dice.random() < 0.5}
                    subject.it, call = make()
                    positional, named = arguments(examples, function, chosen, parameters, dice, subject)
                    subject.arguments = dict(enumerate(positional)) | named
                    print("call", name, [shown(value) for value in positional], {key: shown(value) for key, value in named.items()}, flush=True)
                    ends[attempt(name, call, positional, named)] += 1
            subject.it, call = make()
            try:
                positional, named = arguments(examples, function, set(), parameters, random.Random(1), subject)
                call(*positional, **named)
                meant += 1
            except Exception as error:
                print("not meant:", name, shown(error), flush=True)
        assert Path("mine.html").read_text() == "mine" and Path("directory/inside").read_text() == "mine"
        os.chdir("/")
    print(f"done: {len(everything)} callables, {meant} of them called as they are meant to be; {sum(ends.values())} hostile calls: {dict(ends.most_common())}")


if __name__ == "__main__":
    main()
