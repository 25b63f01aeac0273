from greeter import greeting


def test_the_model_greets(understudy):
    fixture = {"match": {"operation": "chat.completions", "user": {"contains": "Ada"}}, "reply": {"content": "Good day, Ada!"}}
    understudy.control("PUT", "fixtures", fixture)
    assert greeting("Ada", understudy.base_url, understudy.api_key) == "Good day, Ada!"


def test_on_a_bad_day_there_is_still_a_greeting(understudy):
    rule = {"name": "refused", "fault": {"type": "http-error", "status": 503}}
    understudy.control("PUT", "scenario", {"name": "down", "rules": [rule], "accept": ["gave-up"]})
    assert greeting("Ada", understudy.base_url, understudy.api_key) == "Hello, Ada."
    [call] = understudy.control("GET", "traces")["data"]
    assert call["status"] == 503
