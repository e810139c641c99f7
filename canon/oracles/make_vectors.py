"""Renews testdata/oracles/<tool>_made.jsonl by running the real tool.

    python3 -m venv venv && venv/bin/pip install -r requirements.txt
    venv/bin/python make_vectors.py scrapy 2500
    venv/bin/python make_vectors.py surt 2500

CPython 3.11.7 reproduces the files; a later one has a later Unicode version and checks
brackets more strictly. The second argument is the number of mutations, an optional third
a seed and a fourth the file to write, for a longer run outside the repository: tests read
the directory that FIRSTSEEN_ORACLES names. A row has "input" (or "input_hex" if it is not UTF-8) and
"output", or "error" with the name of the exception. The output is text, or "output_hex".
"""

import json
import pathlib
import sys

from inputs import inputs


def scrapy(raw):
    import w3lib.url

    return w3lib.url.canonicalize_url(raw).encode()


def surt(raw):
    import surt

    return surt.surt(raw)


def field(name, value):
    try:
        return {name: value.decode()}
    except UnicodeDecodeError:
        return {name + "_hex": value.hex()}


def row(tool, raw):
    r = field("input", raw)
    try:
        r.update(field("output", tool(raw)))
    except Exception as e:  # the exception is the answer
        r["error"] = type(e).__name__
    return r


def main():
    name = sys.argv[1]
    mutations = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 20261121
    default = pathlib.Path(__file__).parent.parent / "testdata" / "oracles" / (name + "_made.jsonl")
    with open(sys.argv[4] if len(sys.argv) > 4 else default, "w", encoding="ascii") as f:
        for raw in inputs(mutations, seed):
            f.write(json.dumps(row({"scrapy": scrapy, "surt": surt}[name], raw)) + "\n")


main()
