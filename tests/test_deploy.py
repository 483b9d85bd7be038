"""The files in deploy/ fit our defaults: they parse, their pipelines are wired, their ports and options are ours.

No collector binary can be had from a package index, so the collector itself is not asked.
"""

from __future__ import annotations

import re
import shlex
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from gpa.cli.serve import command
from gpa.live.settings import Listening

DEPLOY = Path(__file__).parent.parent / "deploy"
COLLECTORS = sorted((DEPLOY / "collector").glob("*.yaml"))
DEFAULTS = Listening()


def loaded(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def port(address: str | None) -> int:
    return int(str(address).rpartition(":")[2])


@pytest.mark.parametrize("path", COLLECTORS, ids=lambda path: path.stem)
def test_every_pipeline_of_a_collector_names_what_is_configured_and_uses_all_of_it(path: Path) -> None:
    config = loaded(path)
    service = config["service"]
    assert set(service["pipelines"]) == {"traces", "logs"}  # messages may be in logs
    for kind in ("receivers", "processors", "exporters"):
        used = {name for pipeline in service["pipelines"].values() for name in pipeline[kind]}
        assert used == set(config[kind])
    assert set(service.get("extensions", ())) == set(config.get("extensions", {}))
    protocols = config["receivers"]["otlp"]["protocols"]
    assert protocols["grpc"]["max_recv_msg_size_mib"] == 64
    assert protocols["http"]["max_request_body_size"] == 64 << 20
    listens = {port(protocol["endpoint"]) for protocol in protocols.values()}
    assert not listens & {port(DEFAULTS.http), port(DEFAULTS.grpc)}  # both may run on one machine


@pytest.mark.parametrize("path", COLLECTORS, ids=lambda path: path.stem)
def test_what_a_collector_sends_goes_to_our_ports(path: Path) -> None:
    exporters = loaded(path)["exporters"]
    for name, exporter in exporters.items():
        match name.split("/")[0]:
            case "otlphttp":
                endpoint = re.fullmatch(r"\$\{env:GPA_ENDPOINT:-(.*)\}", exporter["endpoint"])
                assert endpoint is not None
                assert endpoint[1] == f"http://{DEFAULTS.http}"
                assert exporter["retry_on_failure"]["max_elapsed_time"] == "0s"
            case "loadbalancing":
                assert exporter["routing_key"] == "traceID"
                hosts = exporter["resolver"]["static"]["hostnames"]
                assert {port(host) for host in hosts} == {port(DEFAULTS.grpc)}
            case "file":
                assert exporter["append"]
                assert "compression" not in exporter
            case other:
                pytest.fail(f"an exporter nobody checks: {other}")


def test_tail_sampling_has_traces_grouped_before_it_and_no_batch() -> None:
    processors = loaded(DEPLOY / "collector" / "sampling.yaml")["service"]["pipelines"]["traces"]["processors"]
    assert processors == ["memory_limiter", "groupbytrace", "tail_sampling"]


def test_the_compose_file_starts_what_fits_together() -> None:
    services = loaded(DEPLOY / "compose.yaml")["services"]
    gpa, collector = services["gpa"], services["collector"]
    parsed(["--http", "0.0.0.0:4318", "--grpc", "0.0.0.0:4317", *gpa["command"]])
    assert collector["environment"]["GPA_ENDPOINT"] == f"http://gpa:{port(DEFAULTS.http)}"
    assert all(published.startswith("127.0.0.1:") for one in (gpa, collector) for published in one["ports"])
    mounted = collector["volumes"][0].split(":")[0]
    assert (DEPLOY / mounted).is_file()
    assert (DEPLOY / gpa["build"]["context"] / gpa["build"]["dockerfile"]).is_file()
    listens = loaded(DEPLOY / mounted)["receivers"]["otlp"]["protocols"].values()
    assert {port(one) for one in collector["ports"]} == {port(protocol["endpoint"]) for protocol in listens}


def test_the_commands_of_the_image_and_the_unit_have_options_that_exist() -> None:
    docker = (DEPLOY / "Dockerfile").read_text()
    arguments = [
        part
        for line in re.findall(r"^(?:ENTRYPOINT|CMD) (\[.*\])$", docker, re.MULTILINE)
        for part in yaml.safe_load(line)
    ]
    assert arguments[:2] == ["gpa", "serve"]
    parsed(arguments[2:])
    unit = RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(DEPLOY / "gpa.service")
    start = shlex.split(unit["Service"]["ExecStart"])
    assert start[1] == "serve"
    given = parsed(start[2:])
    assert (given["http"], given["grpc"]) == (DEFAULTS.http, DEFAULTS.grpc)
    assert float(unit["Service"]["TimeoutStopSec"]) > given["drain_s"] + 5
    assert unit["Service"]["KillMode"] == "mixed"


def parsed(arguments: list[str]) -> dict[str, Any]:
    """The options as `gpa serve` reads them."""
    return command.make_context("serve", list(arguments), resilient_parsing=False).params


def test_a_wrong_option_would_be_found() -> None:
    with pytest.raises(click.NoSuchOption):
        parsed(["--no-such-option"])
