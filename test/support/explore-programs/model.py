"""Calls of the OpenAI API with the standard library."""
import json
import os
import time
import urllib.error
import urllib.request

TRIES = 3


def post(path, body):
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + path,
        json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    with urllib.request.urlopen(request, timeout=1) as response:
        return json.load(response)


def patiently(act, honors_wait=True):
    """Makes a failed call again unless that cannot help."""
    for tries in range(1, TRIES + 1):
        wait = 0.1 * 2**tries
        try:
            return act()
        except urllib.error.HTTPError as error:
            if tries == TRIES or (error.code < 500 and error.code != 429):
                raise
            if honors_wait:
                wait = float(error.headers.get("retry-after") or wait)
        except (OSError, ValueError):
            if tries == TRIES:
                raise
        time.sleep(wait)
