from model import patiently, post


def ask(name):
    body = {"model": "openai/gpt-4o-mini", "messages": [{"role": "user", "content": f"Greet {name}."}]}
    choice = post("/chat/completions", body)["choices"][0]
    if choice["finish_reason"] == "content_filter":
        raise RuntimeError("the greeting was filtered")
    if not choice["message"]["content"]:
        raise ValueError("the response was empty")
    return choice["message"]["content"]


def greeting(name):
    return patiently(lambda: ask(name))
