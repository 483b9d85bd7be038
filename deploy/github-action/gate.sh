#!/usr/bin/env bash
# Judges the traces that GPA_TRACES names and holds them against a baseline; action.yml says what each variable means.
# Ends with the exit code of `gpa evaluate`. Runs anywhere: only GITHUB_OUTPUT and GITHUB_STEP_SUMMARY are GitHub's.
set -euo pipefail

lines() { # The lines of a variable that are not empty, into the array `found`.
    found=()
    local line
    while IFS= read -r line; do
        line="${line#"${line%%[![:space:]]*}"}"
        line="${line%"${line##*[![:space:]]}"}"
        [[ -z $line ]] || found+=("$line")
    done <<<"$1"
}

lines "${GPA_TRACES:?expected files, folders or globs of traces, found none}"
traces=("${found[@]}")
lines "${GPA_ARGS:-}"
more=("${found[@]+"${found[@]}"}")
output="${GPA_OUTPUT:-gpa-results}"
mkdir -p -- "$output"

judging=()
[[ -z ${GPA_DIMENSIONS:-} ]] || judging+=(--dimensions "$GPA_DIMENSIONS")
[[ -z ${GPA_MODEL:-} ]] || judging+=(--model "$GPA_MODEL")

baseline="${GPA_BASELINE:-}"
if [[ -n ${GPA_BASELINE_TRACES:-} ]]; then
    lines "$GPA_BASELINE_TRACES"
    baseline="$output/baseline.db"
    # Its own gate is open: what was wrong before is what the comparison is for.
    code=0
    gpa evaluate "${judging[@]+"${judging[@]}"}" --store "$baseline" -- "${found[@]}" >/dev/null || code=$?
    ((code != 2)) || exit 2
fi

gate=()
rules="${GPA_FAIL_ON:-}"
if [[ -n $baseline && -e $baseline ]]; then
    gate+=(--baseline "$baseline")
    [[ -z ${GPA_TOLERANCE:-} ]] || gate+=(--tolerance "$GPA_TOLERANCE")
else
    [[ -z $baseline ]] || echo "::notice title=Agent GPA::no baseline there yet, so only the run itself is judged"
    kept=()
    IFS=, read -ra names <<<"$rules"
    for name in "${names[@]+"${names[@]}"}"; do
        case "${name//[[:space:]]/}" in
            regression | new | new-medium | new-high | "") ;;
            *) kept+=("${name//[[:space:]]/}") ;;
        esac
    done
    rules="$(IFS=,; echo "${kept[*]+"${kept[*]}"}")"
fi
[[ -z $rules ]] || gate+=(--fail-on "$rules")
[[ -z ${GPA_FAIL_UNDER:-} ]] || gate+=(--fail-under "$GPA_FAIL_UNDER")

code=0
gpa evaluate \
    "${judging[@]+"${judging[@]}"}" "${gate[@]+"${gate[@]}"}" "${more[@]+"${more[@]}"}" \
    --github \
    --store "$output/gpa.db" \
    --jsonl "$output/results.jsonl" \
    --junit "$output/junit.xml" \
    --sarif "$output/findings.sarif" \
    --summary "$output/summary.md" \
    -- "${traces[@]}" || code=$?

{
    echo "exit-code=$code"
    echo "store=$output/gpa.db"
    echo "junit=$output/junit.xml"
    echo "sarif=$output/findings.sarif"
    echo "summary=$output/summary.md"
} >>"${GITHUB_OUTPUT:-/dev/null}"
exit "$code"
