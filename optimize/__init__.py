"""Gold errors in, better rubrics out: searched for, guarded, logged, and proved on traces that no search has seen."""
