"""Loads grammars in llama.cpp: the address of a server as the argument, a list of {"name", "grammar"} on standard input, problems
on standard output."""

import json
import sys
import urllib.error
import urllib.request

for case in json.load(sys.stdin):
    body = {"prompt": "Call the tool.\n", "n_predict": 2, "temperature": 0, "grammar": case["grammar"]}
    request = urllib.request.Request(
        sys.argv[1] + "/completion", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        urllib.request.urlopen(request, timeout=60).read()
    except urllib.error.HTTPError as error:
        print(json.dumps([case["name"], error.read().decode()[:400]]))
