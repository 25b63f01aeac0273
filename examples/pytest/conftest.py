# A session of Understudy for each test, through its control API. Run `understudy exec -- pytest`, which sets the server's address.
import collections, hashlib, json, os, re, types, urllib.error, urllib.request
import pytest

URL = os.environ.get("UNDERSTUDY_URL", "http://127.0.0.1:8633")
runs = collections.Counter()

@pytest.fixture
def understudy(request):
    # The same test has the same session in each run, and so its own cassette. If it is repeated, the second one is `<name>.2`.
    test = request.node.nodeid
    session = re.sub(r"[^A-Za-z0-9._-]+", "-", test)[-90:] + "-" + hashlib.sha256(test.encode()).hexdigest()[:8]
    runs[session] += 1
    if runs[session] > 1:
        session += f".{runs[session]}"
    def control(method, path, body=None):
        headers = {"authorization": f"Bearer session:{session}", "content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        try:
            return json.load(urllib.request.urlopen(urllib.request.Request(f"{URL}/_understudy/{path}", data, headers, method=method)))
        except urllib.error.HTTPError as error:  # a fixture or scenario with a mistake: the server says where
            raise AssertionError(json.load(error)["message"]) from None
    control("POST", "sessions", {"name": session})
    yield types.SimpleNamespace(base_url=f"{URL}/s/{session}/v1", api_key=f"session:{session}", control=control)
