"""Transcripts in, verdicts out; knows nothing of files, formats and conventions.

Import from the modules: `verdict` (what a judge says), `checks` (judges that need no model), `run` (many
judges over many transcripts).
"""
