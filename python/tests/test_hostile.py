"""Whatever the package is given, it ends with a result or an exception of Python's."""

import os
import queue
import subprocess
import sys
import threading
from pathlib import Path

# More rounds are for whoever looks for more: NETFLOW_HOSTILE_ROUNDS=1000 pytest -s python/tests/test_hostile.py
ROUNDS = int(os.environ.get("NETFLOW_HOSTILE_ROUNDS", "6"))
SEED = os.environ.get("NETFLOW_HOSTILE_SEED", "1")
# A call that is asked for much is interrupted long before.
HANGS_S = 120


def test_what_nobody_meant(tmp_path):
    command = [sys.executable, Path(__file__).with_name("hostile.py"), SEED, str(ROUNDS)]
    errors = (tmp_path / "errors").open("w+")
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=tmp_path)
    lines = queue.SimpleQueue()

    def listen():
        for line in child.stdout:
            lines.put(line.rstrip())
        lines.put(None)

    threading.Thread(target=listen, daemon=True).start()
    last, wrong, calls = "", [], 0
    try:
        while True:
            line = lines.get(timeout=HANGS_S)
            if line is None:
                break
            calls += line.startswith("call ")
            if line.startswith("WRONG"):
                wrong.append(f"{last}\n    {line}")
            last = line
    except queue.Empty:
        child.kill()
        raise AssertionError(f"it goes on and on: {last}") from None
    errors.seek(0)
    told = "\n".join(errors.read().splitlines()[-20:])
    assert child.wait() == 0, f"it ended with {child.returncode} after: {last}\n{told}"
    assert not wrong, "\n".join(wrong)
    print(last)
    # Every parameter of everything, at least once.
    assert last.startswith("done: ") and calls > 150
