"""What other systems' OpenSSH says, and what a server on loopback cannot be made to say."""

import pytest

from tirx_lens.compile.launcher import LONGEST_QUOTE
from tirx_lens.compile.ssh_failures import SshAttempt, why_link_ended, why_ssh_failed

ATTEMPT = SshAttempt("gpu1", "python3", "ssh gpu1 true", "ssh gpu1 'python3 --version'")


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        (
            "ssh: connect to host gpu1 port 22: Operation timed out",  # macOS
            "gpu1 cannot be reached at port 22 (Operation timed out): see that the host is up",
        ),
        (
            "ssh: connect to host gpu1 port 22: No route to host",
            "gpu1 cannot be reached at port 22 (No route to host): see that the host is up",
        ),
        (
            "ssh: Could not resolve hostname gpu1: nodename nor servname provided, or not known",
            "There is no host of the name gpu1 (nodename nor servname provided, or not known): ",
        ),
        (
            "Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures\r\n"
            "Disconnected from 10.0.0.1 port 22",
            "gpu1 refuses the login after too many keys: ",
        ),
        (
            'sign_and_send_pubkey: signing failed for ED25519 "k" from agent: agent refused '
            "operation\r\nme@gpu1: Permission denied (publickey,password).",
            "gpu1 refuses the login (publickey,password): ",
        ),
        (
            "Bad owner or permissions on /home/me/.ssh/config",
            "ssh cannot read its configuration (Bad owner or permissions on /home/me/.ssh/config)",
        ),
        ("illegal option -- Z\r\nusage: ssh", "ssh does not take an option (illegal option -- Z)"),
        (
            "Timeout, server 10.0.0.1 not responding.",
            "The link to gpu1 is lost (Timeout, server 10.0.0.1 not responding.): see that",
        ),
        (
            "client_loop: send disconnect: Broken pipe",
            "gpu1 closed the connection before a worker had started (client_loop: send disconnect",
        ),
        ("Something new\r\nthat went wrong", "ssh to gpu1 failed (that went wrong): try `ssh gpu1"),
    ],
)
def test_what_ssh_says(errors: str, said: str) -> None:
    reason = why_ssh_failed(ATTEMPT, 255, errors)
    assert reason.startswith(said)
    assert "`ssh gpu1 true` in a terminal" in reason
    assert reason.isprintable()


@pytest.mark.parametrize(
    ("exit_code", "errors", "said"),
    [
        (255, "TVM warns\r\nTimeout, server gpu1 not responding.", "server gpu1 not responding"),
        (255, "client_loop: send disconnect: Broken pipe\r\n", "send disconnect: Broken pipe"),
        (255, "Connection to gpu1 closed by remote host.\nmux_client: x", "closed by remote host"),
        (255, "the kernel printed this", ""),
        (1, "Timeout, server gpu1 not responding.", ""),
        (255, "", ""),
    ],
)
def test_how_a_link_ended(exit_code: int, errors: str, said: str) -> None:
    why = why_link_ended(exit_code, errors)
    assert why.endswith(said)
    assert bool(why) == bool(said)


def test_what_verbose_adds_is_passed_over() -> None:
    errors = "debug1: Permission denied (none).\nSorry.\ndebug1: Exit status 255\nTransferred: 3"
    assert why_ssh_failed(ATTEMPT, 255, errors).startswith("ssh to gpu1 failed (Sorry.): ")


def test_a_shell_of_the_c_kind_ends_with_1() -> None:
    reason = why_ssh_failed(ATTEMPT, 1, "python3: Command not found.")
    assert reason.startswith("gpu1 finds no `python3` (python3: Command not found.): set `python`")


@pytest.mark.parametrize("exit_code", [None, -9, 0, 1, 126, 127, 255])
def test_a_host_cannot_write_into_the_sentence(exit_code: int | None) -> None:
    """No control characters, no second line, no end of what it may say; braces are plain text."""
    errors = "\x1b[2J\u202e{login} {0} {host!r}\x07" + "x" * 100_000 + "\r\n\n"
    reason = why_ssh_failed(ATTEMPT, exit_code, errors)
    assert reason.isprintable()
    assert len(reason) < LONGEST_QUOTE + 300
    if exit_code != -9:
        assert "{login} {0} {host!r}xx" in reason


def test_a_client_that_was_killed() -> None:
    said = why_ssh_failed(ATTEMPT, -9, "")
    assert said == "ssh to gpu1 ended with SIGKILL before the worker had started"
