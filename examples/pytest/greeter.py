# The program: asks a model for a greeting, and uses a fixed one when the model fails.
import json, urllib.error, urllib.request


def greeting(name, base_url, api_key):
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": f"Greet {name}."}]}
    headers = {"authorization": f"Bearer {api_key}", "content-type": "application/json"}
    request = urllib.request.Request(f"{base_url}/chat/completions", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)["choices"][0]["message"]["content"]
    except urllib.error.HTTPError:
        return f"Hello, {name}."
