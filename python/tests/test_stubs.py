"""The stub says what the extension module has, and no more."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import netflow_evaluator as nf
import pytest
from netflow_evaluator import _native

STUB = Path(nf.__file__).with_name("_native.pyi")
# What every class has from Python, and what pickling needs.
OWN = {"__new__", "__repr__", "__reduce__", "__module__", "__doc__", "__hash__", "__eq__", "__weakref__"}


def parameters(function):
    """Names of a stub's parameters, and which have defaults."""
    arguments = function.args
    names = [argument.arg for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]
    return [name for name in names if name != "self"]


def test_every_name_is_there_with_its_parameters():
    tree = ast.parse(STUB.read_text())
    declared = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    there = {name for name in vars(_native) if not name.startswith("__")}
    assert set(declared) == there
    for name, node in declared.items():
        it = getattr(_native, name)
        if isinstance(node, ast.FunctionDef):
            assert parameters(node) == list(inspect.signature(it).parameters), name
            continue
        if issubclass(it, BaseException):
            continue
        members = {}
        for member in node.body:
            if isinstance(member, ast.FunctionDef):
                members[member.name] = member
            elif isinstance(member, ast.AnnAssign):
                members[member.target.id] = None
        real = {member for member in vars(it) if member not in OWN}
        if "__init__" in members:
            real.add("__init__")
        assert set(members) == real, name
        for member, function in members.items():
            if function is None or any(getattr(d, "id", "") == "property" for d in function.decorator_list):
                continue
            target = it if member == "__init__" else getattr(it, member)
            if member.startswith("__") and member not in ("__init__", "__arrow_c_stream__"):
                continue
            found = [name for name in inspect.signature(target).parameters if name != "self"]
            assert parameters(function) == found, f"{name}.{member}"


def test_everything_public_is_documented():
    for name in nf.__all__:
        assert getattr(nf, name) is not None
    tree = ast.parse(STUB.read_text())
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name in nf.__all__:
            assert ast.get_docstring(node) or issubclass(getattr(nf, node.name), BaseException), node.name


def test_types_hold():
    pytest.importorskip("mypy")
    # By its name: what stands beside it where it is installed is not asked.
    package = ["-p", "netflow_evaluator"]
    command = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--disable-error-code=import-untyped", *package]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stdout
