"""What runs cases, and what all cases need."""

import sys
import traceback

BASE = sys.argv[1].rstrip("/")
PARIS = ("get_weather", {"city": "Paris"})
ROME = ("get_weather", {"city": "Rome"})
NESTED = {
    "user": {"name": 'Ada "the first"\nLovelace', "age": 36},
    "tags": ["a", "true"],
    "ratio": 0.5,
    "ok": True,
}
PATCH = '*** Begin Patch\n+ "line"\n*** End Patch'
passed, failed = 0, 0


def check(name, case):
    """Runs a case, which raises if it fails."""
    global passed, failed
    try:
        case()
    except Exception as error:
        failed += 1
        frame = traceback.extract_tb(error.__traceback__)[-1]
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:600]
        print(f"FAIL {name}: {reason} (line {frame.lineno} of {frame.filename.rsplit('/', 1)[-1]})", flush=True)
    else:
        passed += 1
        print(f"ok {name}", flush=True)


def equal(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def raised(kinds, run):
    """The error of `run`, which must be exactly of one of `kinds`."""
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    try:
        outcome = run()
    except Exception as error:
        if type(error) in kinds:
            return error
        raise
    raise AssertionError(f"no error, but {outcome!r}")


def start(client, scenario, **options):
    """The first reply of a scenario, and the conversation so far."""
    history = [client.user(f"scenario: {scenario}")]
    return client.ask(history, **options), history


def follow(client, history, reply, texts, **options):
    """The reply to the results of calls."""
    history.extend(reply.native + client.results(reply, texts))
    return client.ask(history, **options)


def summary():
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
