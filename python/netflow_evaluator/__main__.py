"""`python -m netflow_evaluator` is the command `netflow`."""

from ._command import main

main()
