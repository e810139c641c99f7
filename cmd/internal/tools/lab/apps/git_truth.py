"""Prints the commits and tags of a repository, and the files at its default branch, a JSON object a line.

A file object is a path with its blob; "at" lists the commits at which the path has this blob.
"""
import json
import subprocess
import sys


def git(*args):
    return subprocess.run(["git", "-C", sys.argv[1], *args], capture_output=True, text=True, check=True).stdout


heads = {l.split()[1]: l.split()[0] for l in git("for-each-ref", "--format=%(objectname) %(refname:short)", "refs/heads", "refs/tags").splitlines()}
for name in list(heads):
    heads[name] = git("rev-parse", name + "^{commit}").strip()
files = dict(reversed(l.split(None, 2)[2].split("\t")) for l in git("ls-tree", "-r", "master").splitlines())
at = {}
for commit in git("rev-list", "--all").split():
    message = git("log", "-1", "--format=%b", commit)
    refs = [name for name, c in heads.items() if c == commit]
    print(json.dumps({"object": "commit " + commit, "names": {"commit": commit}, "refs": refs, "marker": message.split()[0]}))
    for line in git("ls-tree", "-r", commit).splitlines():
        meta, path = line.split("\t")
        if files.get(path) == meta.split()[2]:
            at.setdefault(path, []).append(commit)
for tag in git("tag").split():
    print(json.dumps({"object": "tag " + tag, "names": {"tag": tag}, "marker": git("tag", "-l", "--format=%(contents:subject)", tag).strip()}))
for path, blob in files.items():
    marker = git("cat-file", "blob", blob).split()[0]
    print(json.dumps({"object": "file " + path, "names": {"path": path, "blob": blob}, "at": at[path], "marker": marker}))
