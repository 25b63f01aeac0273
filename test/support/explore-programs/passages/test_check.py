import importlib
import os
import sys

sys.path.append("..")
program = importlib.import_module(os.environ["PROGRAM"])


def test_passages_are_indexed():
    found = program.index([["storks", "cranes"], ["herons"]])
    assert all(len(vector) > 0 for vector in found)
