"""docker-compose.yml and the Dockerfiles: the processes of `infinicon up`, closed as far as they can be."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import pytest
import yaml

from infinicon.cli.commands.processes import HealthOf
from infinicon.cli.secret_files import CONTAINER_USER, GROUPS
from infinicon.embedded.postgres import TUNING
from infinicon.embedded.processes import MIGRATE, PROCESSES, SERVICES, WORKER_GPU, Process
from infinicon.embedded.valkey import MAX_MEMORY
from infinicon.settings import FILE_SUFFIX, PREFIX, SECRETS
from tests.architecture.trees import ROOT

Yaml: TypeAlias = dict[str, Any]

COMPOSE: Yaml = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
ALL: Yaml = COMPOSE["services"]
LONG_RUNNING = [name for name in ALL if name != MIGRATE.name]
DOCKERFILES = ("workers/Dockerfile", "beat/Dockerfile")
MODEL_IMAGES = {"encoder", "worker-cpu", "worker-interactive", "worker-embed", "worker-consolidate", "worker-gpu"}
SECRETS_FOLDER = "${INFINICON_SECRETS:-./secrets}/"


def variables(process: Process) -> dict[str, bool]:
    """Names of the settings that a service of this process is given, and whether each is the name of a file."""
    addressed = (*process.settings, *process.optional)
    return {PREFIX + name.upper() + (FILE_SUFFIX if name in SECRETS else ""): name in SECRETS for name in addressed} | {
        PREFIX + name.upper(): False for name in process.place
    }


def seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+)s", text)
    assert match is not None, text
    return float(match[1])


def test_the_services_are_the_two_servers_and_our_processes() -> None:
    assert set(ALL) == {"postgres", "valkey"} | {process.name for process in SERVICES}


@pytest.mark.parametrize("process", SERVICES, ids=lambda process: process.name)
def test_a_service_has_the_command_line_and_the_settings_of_its_process(process: Process) -> None:
    service = ALL[process.name]
    given = dict(service["environment"])
    for name, value in process.environment.items():
        assert given.pop(name) == value

    assert tuple(service["command"]) == process.argv
    assert set(given) == set(variables(process))
    for name, is_file in variables(process).items():
        if is_file:
            assert given[name] == f"/run/secrets/{name.removeprefix(PREFIX).removesuffix(FILE_SUFFIX).lower()}"


@pytest.mark.parametrize("process", SERVICES, ids=lambda process: process.name)
def test_a_service_sees_the_secrets_that_it_needs_and_no_others(process: Process) -> None:
    addressed = {*process.settings, *process.optional}

    assert set(ALL[process.name]["secrets"]) == addressed & SECRETS


@pytest.mark.parametrize("process", SERVICES, ids=lambda process: process.name)
def test_a_stop_has_the_time_that_up_gives(process: Process) -> None:
    assert seconds(ALL[process.name]["stop_grace_period"]) == process.grace


@pytest.mark.parametrize("process", SERVICES, ids=lambda process: process.name)
def test_values_that_are_not_secret_fit_together(process: Process) -> None:
    given = ALL[process.name]["environment"]

    assert given.get("INFINICON_ENCODER_URL", "http://encoder:8421") == "http://encoder:8421"
    assert all(isinstance(value, str) for value in given.values()), "YAML reads bare numbers and truth values otherwise"


@pytest.mark.parametrize("name", LONG_RUNNING)
def test_what_runs_for_long_is_watched_and_comes_back(name: str) -> None:
    service = ALL[name]

    assert service["restart"] == "unless-stopped"
    assert service["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
    assert {"interval", "timeout", "retries"} <= set(service["healthcheck"])


@pytest.mark.parametrize("process", [*PROCESSES, WORKER_GPU], ids=lambda process: process.name)
def test_our_health_checks_are_a_command_of_ours(process: Process) -> None:
    assert ALL[process.name]["healthcheck"]["test"] == ["CMD", "infinicon", "health", *process.argv]
    assert process.argv[0] in {choice.value for choice in HealthOf}


def test_migrations_run_once_before_whoever_needs_the_schema() -> None:
    assert ALL["migrate"]["restart"] == "no"
    for process in [*PROCESSES, WORKER_GPU]:
        needs = ALL[process.name].get("depends_on", {})
        with_schema = "database_url" in process.settings
        assert (needs.get("migrate") == {"condition": "service_completed_successfully"}) == with_schema
        with_broker = "broker_url" in process.settings
        assert (needs.get("valkey") == {"condition": "service_healthy"}) == with_broker
    assert ALL["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}


def test_only_the_api_and_flower_are_reached_from_outside_and_from_this_host_alone() -> None:
    published = {name: service["ports"] for name, service in ALL.items() if "ports" in service}

    assert published == {
        "api": ["127.0.0.1:${INFINICON_API_PORT:-8420}:8420"],
        "flower": ["127.0.0.1:${INFINICON_FLOWER_PORT:-5555}:5555"],
    }
    assert ALL["api"]["environment"]["INFINICON_PORT"] == "8420"
    assert ALL["flower"]["environment"]["INFINICON_FLOWER_PORT"] == "5555"
    outside = {name for name, service in ALL.items() if "outside" in service["networks"]}
    assert outside == set(published)
    assert all("inside" in service["networks"] for service in ALL.values())
    assert COMPOSE["networks"] == {"inside": {"internal": True}, "outside": {}}


def test_nothing_of_ours_is_root_or_can_become_it() -> None:
    for name, service in ALL.items():
        assert service["user"] == f"${{INFINICON_UID:-{CONTAINER_USER}}}:${{INFINICON_GID:-{CONTAINER_USER}}}", name
    for process in SERVICES:
        assert ALL[process.name]["cap_drop"] == ["ALL"]
        assert ALL[process.name]["security_opt"] == ["no-new-privileges:true"]


def test_no_secret_is_in_the_file() -> None:
    assert {name: entry["file"] for name, entry in COMPOSE["secrets"].items()} == {
        name: SECRETS_FOLDER + name for group in GROUPS for name in group
    }
    used = {
        secret if isinstance(secret, str) else secret["source"]
        for service in ALL.values()
        for secret in service.get("secrets", ())
    }
    assert used == set(COMPOSE["secrets"])
    assert "secrets/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_postgres_keeps_what_users_wrote_out_of_its_log() -> None:
    command = ALL["postgres"]["command"]
    given = dict(option.split("=", 1) for option in command[2::2])

    assert set(command[1::2]) == {"-c"}
    private = {name: value for name, value in TUNING.items() if name.startswith("log_") and name != "log_timezone"}
    assert private
    assert private.items() <= given.items()
    assert not {"fsync", "full_page_writes", "synchronous_commit"} & set(given), "durability is not for sale"
    assert ALL["postgres"]["image"] == "pgvector/pgvector:pg18"
    assert COMPOSE["volumes"] == {"postgres": {}}
    assert ALL["postgres"]["volumes"] == ["postgres:/var/lib/postgresql"]


def test_valkey_forgets_at_its_end_and_evicts_nothing() -> None:
    command = ALL["valkey"]["command"]

    assert command[:2] == ["valkey-server", "/run/secrets/valkey.conf"]
    options = dict(zip(command[2::2], command[3::2], strict=True))
    assert options == {
        "--save": "",
        "--appendonly": "no",
        "--maxmemory": MAX_MEMORY,
        "--maxmemory-policy": "noeviction",
    }


def test_images_are_built_with_model_libraries_only_where_a_model_may_be() -> None:
    built = {name: service["build"]["dockerfile"] for name, service in ALL.items() if "build" in service}

    assert {name for name, file in built.items() if file == "workers/Dockerfile"} == MODEL_IMAGES
    assert {name for name, file in built.items() if file == "beat/Dockerfile"} == {"migrate", "api", "beat", "flower"}
    images = {(service["image"], str(service["build"])) for service in ALL.values() if "build" in service}
    assert len(images) == len({image for image, _ in images}) == 3, "an image has one recipe"


def test_the_gpu_is_asked_for_by_the_profile_alone() -> None:
    assert [name for name, service in ALL.items() if "profiles" in service] == ["worker-gpu"]
    assert ALL["worker-gpu"]["profiles"] == ["gpu"]
    assert ALL["worker-gpu"]["build"]["args"]["COMPUTE"].startswith("cu")
    (device,) = ALL["worker-gpu"]["deploy"]["resources"]["reservations"]["devices"]
    assert device == {"driver": "nvidia", "count": 1, "capabilities": ["gpu"]}


@pytest.mark.parametrize("path", DOCKERFILES)
def test_a_dockerfile_pins_its_base_and_leaves_root(path: str) -> None:
    lines = [line for line in (ROOT / path).read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    bases = {line.split()[1] for line in lines if line.startswith("FROM ")}

    assert len(bases) == 1
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+", bases.pop())
    final = lines[max(i for i, line in enumerate(lines) if line.startswith("FROM ")) :]
    assert f"USER {CONTAINER_USER}:{CONTAINER_USER}" in final
    assert not [
        line for line in final[final.index(f"USER {CONTAINER_USER}:{CONTAINER_USER}") :] if line.startswith("RUN")
    ]
    assert 'ENTRYPOINT ["python", "-m", "infinicon.cli"]' in final, "as `infinicon up` starts its processes"
    assert any("PYTHONSAFEPATH=1" in line and "PYTHONUNBUFFERED=1" in line for line in final)


@pytest.mark.parametrize("path", DOCKERFILES)
def test_a_dockerfile_copies_what_is_there_and_what_the_context_lets_in(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    copied = {
        source for line in re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE) for source in line.split()[:-1]
    }
    let_in = {
        line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")
    }

    assert copied == let_in
    assert all((ROOT / source).exists() for source in copied)


def test_what_is_installed_are_extras_that_there_are() -> None:
    small = (ROOT / "beat/Dockerfile").read_text(encoding="utf-8")
    model = (ROOT / "workers/Dockerfile").read_text(encoding="utf-8")

    assert "--constraint constraints.txt '.[flower]'" in small
    assert "--constraint constraints.txt '.[model]'" in model
    assert "torch" not in small
    assert model.index("'^torch=='") < model.index("'.[model]'")
    assert re.search(r"^torch==", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
