"""The table of a target: what it makes, and what is refused so that no check is skipped."""

import json
import re
import shutil
import subprocess

import pytest

from tirx_lens.compile import ssh_options
from tirx_lens.compile.target_table import read_target
from tirx_lens.compile.targets import LauncherKind, Origin, Target, Targets, joined, shown
from tirx_lens.configuration.toml import tomllib


def ssh_target(*ssh_args: str, host: str = "gpu1", origin: Origin = Origin.SETTINGS) -> str:
    """Return what is wrong with a target for ssh, "" where it is taken."""
    table = {"launcher": "ssh", "host": host, "ssh_args": list(ssh_args)}
    read = read_target("gpu1", table, origin)
    if read.target is not None:
        assert read.target.ssh_args == ssh_args
        assert read.problems == ()
        return ""
    (problem,) = read.problems
    assert problem.message.endswith((".", "?"))
    assert "\n" not in problem.message
    return problem.message


@pytest.mark.parametrize(
    "host",
    ["gpu1", "gpu1.example.org", "me@gpu1", "me.too@10.0.0.7", "fe80::1%eth0", "::1", "a_b", "7"],
)
def test_hosts(host: str) -> None:
    assert ssh_target(host=host) == ""


@pytest.mark.parametrize(
    "host",
    [
        *(
            "",
            "-oProxyCommand=x",
            "a b",
            "a;b",
            "$(id)",
            "`id`",
            "a|b",
            "a&b",
            "a\nb",
            "a'b",
            'a"b',
        ),
        *("me@-x", "@x", "me@", "-@x", "me@you@x", "ssh://x", "a/b", "a\\b", "~", "*", "x" * 256),
        *("a!b", "a#b", "{a}", "a\0b", "核"),
    ],
)
def test_what_is_no_host(host: str) -> None:
    assert ssh_target(host=host).startswith("`host` must be a host as ssh takes it, such as")


@pytest.mark.parametrize(
    "ssh_args",
    [
        (),
        ("-p", "2222"),
        ("-p2222", "-4Cv"),
        ("-vJ", "me@jump:22", "-i", "~/.ssh/gpu"),
        ("-l", "me", "-A", "-S", "none"),
        ("-o", "StrictHostKeyChecking=yes"),
        ("-oStrictHostKeyChecking=ask", "-o", "stricthostkeychecking yes"),
        ("-o", "ProxyCommand=nc -X 5 %h %p"),
        ("-oRemoteCommand=none", "-oControlMaster=no", "-oBatchMode=yes"),
        ("-oHostKeyAlias=gpu", "-oServerAliveInterval=30"),
    ],
)
@pytest.mark.parametrize("origin", [Origin.SETTINGS, Origin.PROJECT])
def test_arguments_of_ssh(ssh_args: tuple[str, ...], origin: Origin) -> None:
    assert ssh_target(*ssh_args, origin=origin) == ""


@pytest.mark.parametrize(
    "ssh_args",
    [
        ("-o", "StrictHostKeyChecking=no"),
        ("-oStrictHostKeyChecking=no",),
        ("-o", "stricthostkeychecking no"),
        ("-o", "STRICTHOSTKEYCHECKING = OFF"),
        ("-o", '  StrictHostKeyChecking="no"'),
        ("-o", "StrictHostKeyChecking\taccept-new"),
        ("-voStrictHostKeyChecking=false",),
        ("-vo", "StrictHostKeyChecking=no"),
        ("-o", "StrictHostKeyChecking"),
        ("-o", "UserKnownHostsFile=/dev/null"),
        ("-o", "UserKnownHostsFile ~/.ssh/known_hosts /dev/null"),
        ("-o", 'userknownhostsfile="none"'),
        ("-o", "GlobalKnownHostsFile=/dev/null"),
        ("-o", "RevokedHostKeys=none"),
        ("-o", "NoHostAuthenticationForLocalhost=yes"),
        ("-o", "VerifyHostKeyDNS=yes"),
    ],
)
@pytest.mark.parametrize("origin", [Origin.SETTINGS, Origin.PROJECT])
def test_host_keys_are_always_checked(ssh_args: tuple[str, ...], origin: Origin) -> None:
    said = ssh_target(*ssh_args, origin=origin)
    assert "host keys are always checked" in said or "which host keys are known" in said


@pytest.mark.parametrize(
    ("ssh_args", "said"),
    [
        (("-F", "ssh_config"), "A project cannot bring a configuration of ssh (`-F`)"),
        (("-vFssh_config",), "A project cannot bring a configuration of ssh (`-F`)"),
        (("-oUserKnownHostsFile=keys",), "A project cannot say which host keys are known (`User"),
        (("-oKnownHostsCommand=keys",), "A project cannot say which host keys are known (`Known"),
    ],
)
def test_what_only_the_user_may_say(ssh_args: tuple[str, ...], said: str) -> None:
    assert ssh_target(*ssh_args, origin=Origin.PROJECT).startswith(said)
    assert ssh_target(*ssh_args, origin=Origin.SETTINGS) == ""


@pytest.mark.parametrize(
    ("ssh_args", "said"),
    [
        (("gpu2",), "`gpu2` is no option of ssh: the host belongs into `host`"),
        (("-v", "gpu2"), "`gpu2` is no option of ssh"),
        (("-p", "22", "true"), "`true` is no option of ssh"),
        (("--",), "`--` is no option of ssh"),
        (("-",), "`-` is no option of ssh"),
        (("-p",), "`-p` of ssh needs a value after it."),
        (("-v4p",), "`-p` of ssh needs a value after it."),
        (("-N",), "`-N` of ssh runs no command, so there is no worker."),
        (("-vf",), "`-f` of ssh sends ssh to the background."),
        (("-tt",), "`-t` of ssh makes a terminal"),
        (("-W", "x:22"), "`-W` of ssh forwards the streams"),
        (("-E", "log"), "`-E` of ssh writes what ssh says into a file"),
        (("-n",), "`-n` of ssh closes the worker's input."),
        (("-Z",), "`-Z` is no option of ssh that a target can use."),
        (("--port=22",), "`--` is no option of ssh that a target can use."),
        (("-oRemoteCommand=top",), "`RemoteCommand` cannot be `top` for a target: the worker is"),
        (
            ("-oRequestTTY=force",),
            "`RequestTTY` cannot be `force` for a target: it makes a terminal",
        ),
        (
            ("-oSessionType=none",),
            "`SessionType` cannot be `none` for a target: it runs no command",
        ),
        (("-oStdinNull=yes",), "`StdinNull` cannot be `yes` for a target: it closes the"),
        (("-oForkAfterAuthentication=yes",), "for a target: it sends ssh to the background."),
        (("-oBatchMode=no",), "`BatchMode` cannot be `no` for a target: nobody is there to answer"),
        (("-o", "=x"), "`=x` is no option of ssh: write it as Name=value."),
    ],
)
def test_arguments_that_would_give_no_session(ssh_args: tuple[str, ...], said: str) -> None:
    assert said in ssh_target(*ssh_args)


@pytest.mark.parametrize(
    ("table", "taken"),
    [
        ({"python": "/usr/bin/python3"}, True),
        ({"python": "~/env/bin/python"}, True),
        ({"python": "python3.12"}, True),
        ({"python": ".venv/bin/python"}, False),
        ({"launcher": "command", "argv": ["~/bin/on-gpu"]}, True),
        ({"launcher": "command", "argv": ["tools/on-gpu"]}, False),
        ({"launcher": "command", "argv": ["docker"], "python": ".venv/bin/python"}, True),
        ({"launcher": "ssh", "host": "gpu1", "python": ".venv/bin/python"}, True),
    ],
)
def test_paths_on_this_machine_begin_at_its_root(table: dict[str, object], taken: bool) -> None:
    """At a host a path begins at home, behind a command wherever that is."""
    assert (read_target("x", table, Origin.SETTINGS).target is not None) == taken


def test_the_place_of_an_argument_is_told() -> None:
    table = {"launcher": "ssh", "host": "x", "ssh_args": ["-p", "22", "-o", "BatchMode=no"]}
    (problem,) = read_target("x", table, Origin.SETTINGS).problems
    assert problem.key == ("ssh_args", 3)


def test_every_option_of_this_ssh_is_known_to_us() -> None:
    """Its usage names them; a new one must be thought through before a target can have it."""
    if shutil.which("ssh") is None:
        pytest.skip("there is no ssh here")
    usage = subprocess.run(["ssh"], capture_output=True, text=True).stderr
    flags = re.search(r"\[-([A-Za-z0-9]+)\]", usage)
    assert flags is not None
    with_value = set(re.findall(r"\[-([A-Za-z]) ", usage))
    refused, taken = set(ssh_options._NOT_A_SESSION), set(ssh_options._FLAGS)
    assert set(flags[1]) - refused - taken <= {"g"}, "it opens forwarded ports to others"
    assert with_value - refused <= set(ssh_options._WITH_VALUE)


@pytest.mark.parametrize("origin", [Origin.SETTINGS, Origin.PROJECT])
def test_what_is_shown_makes_the_same_target(origin: Origin) -> None:
    """The user confirms the whole of it, in the words of the file."""
    table = {
        "launcher": "ssh",
        "host": "me@gpu1",
        "ssh_args": ["-o", 'ProxyCommand=nc "a b" \\ %h'],
        "python": ["~/env/bin/python", "-I"],
        "arch": "sm_100a",
        "env": {"A": 'quo"te\n核', "B": ""},
        "time_limit": 12.5,
        "concurrency": 3,
    }
    target = read_target("gpu1", table, origin).target
    assert target is not None
    again = tomllib.loads(shown(target))["tool"]["tirx-lens"]["targets"]["gpu1"]
    assert read_target("gpu1", again, origin).target == target


def test_another_word_is_another_fingerprint() -> None:
    def fingerprint(**changed: object) -> str:
        table = {"launcher": "command", "argv": ["srun", "-n1"], "env": {"A": "1"}, **changed}
        project = read_target("cluster", table, Origin.PROJECT).target
        assert project is not None
        mine = Target("mine", origin=Origin.SETTINGS)
        return joined((mine,), (project,)).fingerprint

    changes: list[dict[str, object]] = [
        {"argv": ["srun", "-n2"]},
        {"argv": ["srun -n1"]},
        {"env": {"A": "2"}},
        {"python": "python3.12"},
        {"arch": "sm_90a"},
        {"time_limit": 5},
        {"concurrency": 3},
    ]
    assert len({fingerprint(), *(fingerprint(**change) for change in changes)}) == 8
    assert fingerprint() == fingerprint()


def test_of_two_with_one_name_the_settings_win() -> None:
    mine = Target("gpu1", LauncherKind.SSH, host="mine", origin=Origin.SETTINGS)
    theirs = Target("gpu1", LauncherKind.SSH, host="theirs", origin=Origin.PROJECT)
    targets = joined((mine,), (theirs,))
    assert targets.named("gpu1") == mine
    assert targets.of_project == ()
    assert targets.fingerprint == Targets().fingerprint


@pytest.mark.parametrize("value", [None, 3, "x", [], {"launcher": {"a": []}}, {"env": [1]}, {1: 2}])
def test_no_table_raises(value: object) -> None:
    """Settings come from JSON, and anything may stand there."""
    read = read_target("x", value, Origin.SETTINGS)
    assert read.target is None
    assert all(problem.message.isprintable() for problem in read.problems)
    assert json.dumps([problem.message for problem in read.problems])
