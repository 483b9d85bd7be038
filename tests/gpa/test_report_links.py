"""Links from a report to the tool that shows the traces."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from gpa.errors import UsageError
from gpa.report.links import trace_links


class TestLinks:
    @pytest.mark.parametrize(
        ("spec", "span", "trace"),
        [
            (
                "https://t.example/{trace_id}?span={span_id}",
                "https://t.example/ab?span=12",
                "https://t.example/ab?span=",
            ),
            ("jaeger", "http://localhost:16686/trace/ab?uiFind=12", "http://localhost:16686/trace/ab"),
            (
                "jaeger=https://j.example/ui/",
                "https://j.example/ui/trace/ab?uiFind=12",
                "https://j.example/ui/trace/ab",
            ),
            ("phoenix=http://p:6006", "http://p:6006/redirects/spans/12", "http://p:6006/redirects/traces/ab"),
            ("langfuse", "https://cloud.langfuse.com/trace/ab", "https://cloud.langfuse.com/trace/ab"),
            (
                "langfuse=https://l.example/project/p1",
                "https://l.example/project/p1/traces/ab?observation=12",
                "https://l.example/project/p1/traces/ab",
            ),
        ],
        ids=["template", "jaeger", "jaeger elsewhere", "phoenix", "langfuse", "langfuse project"],
    )
    def test_lead_to_a_span_and_a_trace(self, spec: str, span: str, trace: str) -> None:
        links = trace_links(spec)
        assert links.url("ab", "12") == span
        assert links.url("ab") == trace

    def test_tempo_is_a_query_of_grafanas_explore(self) -> None:
        parts = urlsplit(trace_links("tempo=https://g.example/grafana?datasource=T1").url("ab", "12"))
        asked = parse_qs(parts.query)
        assert (parts.netloc, parts.path) == ("g.example", "/grafana/explore")
        assert json.loads(asked["panes"][0])["gpa"] == {
            "datasource": {"type": "tempo", "uid": "T1"},
            "queries": [
                {"refId": "A", "datasource": {"type": "tempo", "uid": "T1"}, "queryType": "traceql", "query": "ab"}
            ],
            "panelsState": {"trace": {"spanId": "12"}},
        }

    def test_ids_are_encoded(self) -> None:
        url = trace_links("https://t.example/{trace_id}?s={span_id}").url('a/b?"<', "x&y=#")
        assert url == "https://t.example/a%2Fb%3F%22%3C?s=x%26y%3D%23"

    @pytest.mark.parametrize(
        "spec",
        [
            "javascript:alert(1)//{trace_id}",
            "data:text/html,{trace_id}",
            "ftp://t.example/{trace_id}",
            "//t.example/{trace_id}",
            "https:///{trace_id}",
            "https://{trace_id}.example/",
            "https://t.example/no-id",
            "https://t.example/{trace_id}/{secret}",
            "https://t.example/{trace_id}/{span_id",
            "https://t.example/ {trace_id}",
            'https://t.example/"{trace_id}',
            "zipkin",
            "jaeger=javascript:alert(1)",
            "",
        ],
    )
    def test_refuse_what_is_no_address_of_a_trace(self, spec: str) -> None:
        with pytest.raises(UsageError, match="--trace-url: expected"):
            trace_links(spec)
