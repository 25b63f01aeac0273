# A session of Understudy for each test, through its control API. Run `understudy exec -- pytest`, which sets the server's address.
import json, os, types, urllib.error, urllib.request, uuid
import pytest

URL = os.environ.get("UNDERSTUDY_URL", "http://127.0.0.1:8633")

@pytest.fixture
def understudy():
    session = f"test-{uuid.uuid4().hex}"
    def control(method, path, body=None):
        headers = {"authorization": f"Bearer session:{session}", "content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        try:
            return json.load(urllib.request.urlopen(urllib.request.Request(f"{URL}/_understudy/{path}", data, headers, method=method)))
        except urllib.error.HTTPError as error:  # a fixture or scenario with a mistake: the server says where
            raise AssertionError(json.load(error)["message"]) from None
    control("POST", "sessions", {"name": session, "clock": "virtual"})
    yield types.SimpleNamespace(base_url=f"{URL}/s/{session}/v1", api_key=f"session:{session}", control=control)
