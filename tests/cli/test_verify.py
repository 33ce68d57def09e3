"""`reenact verify`: a certificate when all is the same, else where the first difference is."""

from __future__ import annotations

import json
import re

import pytest

from reenact.testing import ModelServer, Say
from tests.cli.desk import Desk

# Its boundaries are pauses: an HTTP library takes longer to import than all of this to run.
AGENT = """
    import sys, time
    def think(seconds):
        time.sleep(seconds)
        print("thought for", seconds, time.time())
    think(0.01)
    think(0.02)
    print("done", file=sys.stderr)
"""


@pytest.fixture
def recorded(desk: Desk) -> Desk:
    """A desk with a recording of AGENT."""
    desk.write(AGENT)
    assert desk.reenact("record", "agent.py").returncode == 0
    return desk


def changed(desk: Desk, old: str, new: str, *options: str) -> tuple[int, str]:
    """Status and answer of `verify` when the agent has been changed; nothing may go to stderr."""
    path = desk.folder / "agent.py"
    source = path.read_text("utf-8")
    assert old in source
    path.write_text(source.replace(old, new, 1), "utf-8")
    done = desk.reenact("verify", "last", *options)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_a_run_that_is_the_same_gets_a_certificate(recorded: Desk) -> None:
    done = recorded.reenact("verify", "last", env={"OPENAI_API_KEY": "sk-not-the-one-of-the-recording"})
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert re.fullmatch(r"VERIFIED  agent-[0-9a-f]{4}: run again offline, the same to the byte", lines[0])
    facts = dict(re.findall(r"^  (\w+) +(\S.*)$", done.stdout, re.MULTILINE))
    assert set(facts) == {"calls", "compared", "ended"}
    assert facts["calls"] == "2 of 2 as recorded: 2 sleeps"
    assert facts["compared"].startswith(tuple("123456789"))
    assert facts["ended"].startswith("exit status 0, as recorded, after ")


def test_more_is_told_on_request(recorded: Desk) -> None:
    done = recorded.reenact("verify", "last", "-v")
    facts = dict(re.findall(r"^  (\w+) +(\S.*)$", done.stdout, re.MULTILINE))
    assert facts["draws"] == "2 reads of clock and randomness, answered from the tape"
    assert facts["program"].startswith("python agent.py   (Python 3.")
    assert facts["network"].startswith("closed: ")
    assert re.match("sha256 [0-9a-f]{64}", facts["tape"])


def test_what_the_program_prints_stays_out_of_the_answer(recorded: Desk) -> None:
    assert "thought" not in recorded.reenact("verify", "last").stdout


def test_the_json_form_has_these_keys(recorded: Desk) -> None:
    done = recorded.reenact("verify", "last", "--json")
    document = json.loads(done.stdout)
    assert document["certificate"] == 1
    assert document["verdict"] == "verified"
    assert document["boundaries"] == {"recorded": 2, "asked": 2, "identical": 2, "kinds": {"sleep": 2}}
    assert document["divergences"] == []
    assert document["ending"] == {"recorded": 0, "replayed": 0, "recorded_error": "", "replayed_error": ""}
    assert set(document) == {
        "boundaries", "bytes", "certificate", "commit", "cwd", "divergences", "draws", "drifts", "ending", "entry",
        "faults", "files", "finished", "incomplete", "network", "normalizers", "not_replayed", "not_restored", "observed",
        "packages", "placeholders", "processes", "program", "python", "recorded_seconds", "redacted", "redacted_contents",
        "replayed_seconds", "run", "side_traffic", "sources", "tape", "uncommitted", "variables", "verdict",
    }  # fmt: skip


def test_another_call_is_told_with_its_line(recorded: Desk) -> None:
    status, answer = changed(recorded, "think(0.02)", "think(0.03)")
    assert status == 1
    assert re.match(r"DIVERGED  agent-\w+: the run asks something else than when recorded\n", answer)
    assert "calls           1 of 2 as recorded; verify --observe lists what else differs" in answer
    assert "\n  agent.py:4 in think\n" in answer
    assert "not as it was   agent.py has changed since the recording" in answer


def test_the_json_form_of_a_divergence_is_that_of_its_report(recorded: Desk) -> None:
    status, answer = changed(recorded, "think(0.02)", "think(0.03)", "--json")
    assert status == 1
    document = json.loads(answer)
    assert document["verdict"] == "diverged"
    assert [(one["what"], one["event"], one["site"]["line"]) for one in document["divergences"]] == [("mismatch", 1, 4)]


def test_observing_tells_every_difference(recorded: Desk) -> None:
    status, answer = changed(recorded, "time.sleep(seconds)", "time.sleep(seconds * 2)", "--observe")
    assert status == 1
    assert re.match(r"DIVERGED  agent-\w+: 0 of 2 calls as recorded, 2 differences", answer)
    assert answer.count("\nDivergence") == 2


def test_a_run_that_stops_early_fails(recorded: Desk) -> None:
    status, answer = changed(recorded, "think(0.02)", "sys.exit(0)")
    assert status == 1
    assert "the run ended without a call that the tape holds" in answer
    assert "more            2 differences, which may follow from this one" in answer


def test_a_further_call_fails(recorded: Desk) -> None:
    status, answer = changed(recorded, "think(0.02)", "think(0.02); time.sleep(9)")
    assert status == 1
    assert "the run makes a call that is not on the tape" in answer


def test_other_output_fails(recorded: Desk) -> None:
    status, answer = changed(recorded, '"done"', '"gone"')
    assert status == 1
    assert "the run wrote something else than when recorded" in answer
    assert "- done" in answer
    assert "+ gone" in answer


def test_other_output_is_told_with_its_step(desk: Desk) -> None:
    desk.write("""
        import json, os, urllib3
        for name in ("Ada", "Bob"):
            asked = json.dumps({"model": "m", "messages": [{"role": "user", "content": name}]})
            urllib3.request("POST", os.environ["URL"] + "/chat/completions", body=asked)
            print("asked", name)
    """)
    with ModelServer(lambda turn: Say(f"Hello, {turn.prompt}.")) as server:
        assert desk.reenact("record", "agent.py", env={"URL": server.openai}).returncode == 0
    status, answer = changed(desk, '"asked", name', '"asked", name.replace("b", "p")')
    assert status == 1
    assert re.match(r"DIVERGED  agent-\w+ at step 2: the run wrote something else than when recorded\n", answer)
    assert "    - asked Bob\n" in answer
    assert "    + asked Bop\n" in answer
    assert "removed" not in answer


def test_another_exit_status_fails(recorded: Desk) -> None:
    status, answer = changed(recorded, '"done", file=sys.stderr)', '"done", file=sys.stderr); sys.exit(4)')
    assert status == 1
    assert "the run ended in another way than when recorded" in answer
    assert "- exit status 0" in answer
    assert "+ exit status 4" in answer


def test_an_uncaught_exception_leads_the_report(recorded: Desk) -> None:
    status, answer = changed(recorded, "think(0.02)", "raise ValueError('boom')")
    assert status == 1
    assert answer.index("the run ended in another way") < answer.index("  more    ")
    assert "it was ended by ValueError: boom" in answer


def test_another_exception_fails_although_the_status_is_the_same(desk: Desk) -> None:
    desk.write("import os, sys; sys.stderr = open(os.devnull, 'w'); raise ValueError('one')")
    assert desk.reenact("record", "agent.py").returncode == 1
    assert desk.reenact("verify", "last").returncode == 0
    status, answer = changed(desk, "'one'", "'two'")
    assert status == 1
    assert "- ValueError: one" in answer
    assert "+ ValueError: two" in answer


def test_another_exception_leads_its_traceback(desk: Desk) -> None:
    desk.write("raise ValueError('one')")
    assert desk.reenact("record", "agent.py").returncode == 1
    status, answer = changed(desk, "'one'", "'two'")
    assert status == 1
    assert answer.index("+ ValueError: two") < answer.index("  more            1 difference")


def test_an_uncaught_exception_that_is_the_same_is_verified(desk: Desk) -> None:
    desk.write("raise ValueError('one')")
    assert desk.reenact("record", "agent.py").returncode == 1
    done = desk.reenact("verify", "last")
    assert done.returncode == 0
    assert "exit status 1, ValueError: one, as recorded" in done.stdout


def test_a_divergence_that_the_program_swallows_fails(desk: Desk) -> None:
    desk.write("""
        import time
        try:
            time.sleep(0.01)
        except BaseException:
            pass
    """)
    assert desk.reenact("record", "agent.py").returncode == 0
    status, answer = changed(desk, "0.01", "0.02")
    assert status == 1
    assert "the program caught this and went on, to end as it did when recorded" in answer


def test_a_replay_that_crashes_fails_and_says_how(recorded: Desk) -> None:
    status, answer = changed(recorded, "think(0.02)", "import ctypes; ctypes.string_at(0)")
    assert status == 1
    assert "the replay did not come to its end" in answer
    assert "killed by SIGSEGV" in answer
    assert "it had made 1 of the 2 calls on tape" in answer


def test_a_recording_that_was_cut_is_verified_up_to_there(cut: Desk) -> None:
    done = cut.reenact("verify", "last")
    assert done.returncode == 0
    assert re.match(
        r"VERIFIED UP TO THE CUT  agent-\w+: the same to the byte up to where its recording ends", done.stdout
    )
    assert "3 of 3 as recorded: 2 HTTP exchanges and 1 child start" in done.stdout
    assert "(killed by SIGKILL)" in done.stdout


def test_a_connection_that_was_not_recorded_is_refused(desk: Desk) -> None:
    desk.write("import sys")
    assert desk.reenact("record", "agent.py").returncode == 0
    status, answer = changed(desk, "import sys", "import socket; socket.create_connection(('192.0.2.1', 9))")
    assert status == 1
    assert "192.0.2.1:9" in answer


def test_secrets_are_replaced_and_named(desk: Desk) -> None:
    desk.write("import os; print(len(os.environ['OPENAI_API_KEY']) > 3)")
    assert desk.reenact("record", "agent.py", env={"OPENAI_API_KEY": "sk-secret"}).stdout == "True\n"
    done = desk.reenact("verify", "last", "-v")
    assert done.returncode == 0
    assert re.search(r"\n  credentials     placeholders for .*\bOPENAI_API_KEY\b.*\n  tape", done.stdout, re.DOTALL)
    assert "sk-secret" not in done.stdout


def test_normalizers_of_the_project_are_named(recorded: Desk) -> None:
    (recorded.folder / "pyproject.toml").write_text(
        '[[tool.reenact.normalizers]]\nname = "stamps"\nregex = "[0-9]+"\nreplace = "N"\n', "utf-8"
    )
    done = recorded.reenact("verify", "last")
    assert done.returncode == 0
    assert "normalizers     what these take out was not compared: stamps" in done.stdout


def test_settings_that_cannot_be_read_are_misuse(recorded: Desk) -> None:
    (recorded.folder / "pyproject.toml").write_text("[tool.reenact", "utf-8")
    done = recorded.reenact("verify", "last")
    assert (done.returncode, done.stdout) == (2, "")
    assert "pyproject.toml cannot be read" in done.stderr


def test_colour_is_for_terminals_that_want_it(recorded: Desk) -> None:
    assert "\x1b" not in recorded.reenact("verify", "last").stdout
    assert "\x1b[1;32mVERIFIED" in recorded.at_terminal("verify", "last")[1]
    assert "\x1b" not in recorded.at_terminal("verify", "last", env={"NO_COLOR": "1"})[1]


def test_ctrl_c_ends_it_without_a_verdict(desk: Desk) -> None:
    desk.write("""
        import importlib.util
        while importlib.util.find_spec("wait"):
            pass
    """)
    assert desk.reenact("record", "agent.py").returncode == 0
    (desk.folder / "wait.py").touch()  # code: what a replay runs is today's
    status, screen = desk.at_terminal("verify", "last", typed=b"\x03", when=b"replaying agent")
    assert status == 130
    assert "DIVERGED" not in screen


def test_a_run_that_is_not_there_is_misuse(desk: Desk) -> None:
    done = desk.reenact("verify", "nothing")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no run 'nothing'" in done.stderr
