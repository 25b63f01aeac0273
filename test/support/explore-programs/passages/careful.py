from model import patiently, post


def vectors_of(texts):
    data = post("/embeddings", {"model": "openai/text-embedding-3-small", "input": texts})["data"]
    if len(data) != len(texts):
        raise ValueError("vectors are missing")
    return [entry["embedding"] for entry in data]


def index(batches):
    return [vector for batch in batches for vector in patiently(lambda: vectors_of(batch))]
