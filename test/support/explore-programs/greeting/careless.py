# The mistake: the wait that a rate limit asks for is ignored.
from careful import ask
from model import patiently


def greeting(name):
    return patiently(lambda: ask(name), honors_wait=False)
