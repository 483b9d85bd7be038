"""Complete traces, as they come: judged once per revision, kept, announced to a backend, shown on a page.

`policy.py` says which traces a model judges, `assessing.py` runs the checks, `evaluating.py` takes complete traces from
the spool to results in the store, `delivery.py` sends those on, `page.py` shows them, `serving.py` holds all that
together, `following.py` feeds it from files.
What has been done is only ever remembered on disk, so a process that is killed goes on where it was.
"""
