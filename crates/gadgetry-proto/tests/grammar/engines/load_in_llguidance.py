"""Loads grammars in llguidance: a list of {"name", "grammar"} on standard input, problems on standard output."""

import json
import sys

from llguidance import LLMatcher
from llguidance.gbnf_to_lark import gbnf_to_lark

for case in json.load(sys.stdin):
    try:
        problem = LLMatcher.validate_grammar("%llguidance {}\n" + gbnf_to_lark(case["grammar"]))
    except Exception as error:
        problem = repr(error)
    if problem:
        print(json.dumps([case["name"], problem[:600]]))
