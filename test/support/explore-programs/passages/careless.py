# The mistake: a batch that fails is left out.
from careful import vectors_of


def index(batches):
    found = []
    for batch in batches:
        try:
            found += vectors_of(batch)
        except Exception:
            continue
    return found
