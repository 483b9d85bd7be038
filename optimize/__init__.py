"""Gold errors in, better rubrics out. Empty so far: the rubrics of LLM judges come first."""
