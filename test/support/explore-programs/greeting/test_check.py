import importlib
import os
import sys

sys.path.append("..")
program = importlib.import_module(os.environ["PROGRAM"])


def test_somebody_is_greeted():
    assert program.greeting("Ada")
