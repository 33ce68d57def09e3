"""`reenact keygen`, `sign`, and `--key` of `fsck` and `verify`."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from reenact.tape import seal as seals
from reenact.tape import signatures
from reenact.tape.reader import read
from tests.cli.desk import Desk
from tests.integrity.forgeries import anew
from tests.tape.records import journal, run, written
from tests.tapes.make import golden

AGENT = """
    import time
    time.sleep(0.01)
    print("done")
"""
WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "cryptography":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "cryptography" else real(name, package)
from reenact.cli.main import main
main()
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recording that the key `ours` has signed, and a key `theirs`."""
    desk = Desk(tmp_path_factory.mktemp("signed"))
    (desk.folder / ".reenact").mkdir()
    desk.write(AGENT)
    for words in ("record agent.py", "keygen ours", "keygen theirs", "sign last --key ours"):
        done = desk.reenact(*words.split())
        assert done.returncode == 0, done.stderr
    return desk.folder


@pytest.fixture
def signed(tmp_path: Path, recorded: Path) -> Desk:
    """A desk with a copy of all that."""
    shutil.copytree(recorded, tmp_path, dirs_exist_ok=True)
    return Desk(tmp_path)


def tape_of(desk: Desk) -> Path:
    (path,) = (desk.folder / ".reenact").glob("*.tape")
    return path


def named(desk: Desk, key: str = "ours") -> str:
    return signatures.name_of(signatures.public_key(desk.folder / f"{key}.pub"))


# Keys


def test_a_key_is_two_files_and_the_private_half_is_for_its_owner_only(desk: Desk) -> None:
    done = desk.reenact("keygen", "team.key")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"ed25519:[0-9a-f]{32}: private half in team\.key, public one in team\.key\.pub\n", done.stdout)
    private, public = desk.folder / "team.key", desk.folder / "team.key.pub"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert private.read_text().startswith("-----BEGIN PRIVATE KEY-----\n")
    assert public.read_text().startswith("-----BEGIN PUBLIC KEY-----\n")


@pytest.mark.parametrize("there", ["team.key", "team.key.pub"])
def test_no_key_is_overwritten(desk: Desk, there: str) -> None:
    (desk.folder / there).write_text("precious")
    done = desk.reenact("keygen", "team.key")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot make the key team.key: " in done.stderr
    assert [path.name for path in desk.folder.iterdir() if path.is_file()] == [there]
    assert (desk.folder / there).read_text() == "precious"


def test_a_key_may_have_a_passphrase(signed: Desk) -> None:
    right, wrong = {"REENACT_PASSPHRASE": "open sesame"}, {"REENACT_PASSPHRASE": "open says me"}
    assert signed.reenact("keygen", "locked", "--passphrase", env=right).returncode == 0
    assert "ENCRYPTED" in (signed.folder / "locked").read_text()
    for env, told in ((wrong, "Incorrect password"), (None, "nobody is here to type it")):
        done = signed.reenact("sign", "last", "--key", "locked", env=env)
        assert (done.returncode, done.stdout) == (2, "")
        assert told in " ".join(done.stderr.split())
    assert signed.reenact("sign", "last", "--key", "locked", env=right).returncode == 0
    assert signed.reenact("fsck", "last", "--key", "locked.pub").returncode == 0


def test_keys_of_openssl_will_do(signed: Desk) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here")
    for words in ("genpkey -algorithm ed25519 -out k", "pkey -in k -pubout -out k.pub"):
        subprocess.run(["openssl", *words.split()], cwd=signed.folder, check=True, capture_output=True)
    assert signed.reenact("sign", "last", "--key", "k").returncode == 0
    assert signed.reenact("fsck", "last", "--key", "k.pub").returncode == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("sign last --key nowhere", "cannot read the key nowhere: No such file or directory"),
        ("sign last --key agent.py", "agent.py holds no key of Ed25519 as PEM"),
        ("sign last --key ours.pub", "ours.pub holds no key of Ed25519 as PEM"),
        ("sign last --key rsa", "rsa holds no key of Ed25519 as PEM: it is one of another kind"),
        ("sign nope --key ours", "no run 'nope' in "),
        ("sign last", "Missing option '--key'"),
        ("fsck last --key nowhere", "cannot read the key nowhere: No such file or directory"),
        ("fsck last --key agent.py", "agent.py holds no key of Ed25519 as PEM"),
        ("fsck last --key ours", "ours is the private half of a key; to check a signature takes the public one"),
        ("verify last --key ours", "ours is the private half of a key; to check a signature takes the public one"),
    ],
)
def test_what_is_no_such_key_is_told(signed: Desk, words: str, told: str) -> None:
    if " rsa" in words:
        from cryptography.hazmat.primitives import serialization as forms  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: PLC0415

        key = rsa.generate_private_key(65537, 2048)
        pem = key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
        (signed.folder / "rsa").write_bytes(pem)
    before = tape_of(signed).read_bytes()
    done = signed.reenact(*words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert told in " ".join(done.stderr.split())
    assert tape_of(signed).read_bytes() == before


# Signing


def test_to_sign_leaves_what_is_signed_as_it_is(recorded: Path, tmp_path: Path) -> None:
    path = tape_of(Desk(recorded))
    whole, seal = path.read_bytes(), seals.read(path)
    assert len(seal.signatures) == 1
    bare = tmp_path / path.name
    bare.write_bytes(whole[: seal.size])
    assert seals.put(bare).digest == seal.digest
    assert read(bare).events == read(path).events
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_to_sign_again_changes_nothing_and_others_may_sign_too(signed: Desk) -> None:
    path = tape_of(signed)
    before = path.read_bytes()
    done = signed.reenact("sign", "last", "--key", "ours")
    assert (done.returncode, done.stdout) == (0, f"signed {path.stem} by {named(signed)}\n")
    assert path.read_bytes() == before
    assert signed.reenact("sign", path.stem, "--key", "theirs").returncode == 0
    for key in ("ours", "theirs"):
        assert signed.reenact("fsck", "last", "--key", f"{key}.pub").returncode == 0
    told = json.loads(signed.reenact("fsck", "last", "--json").stdout)
    assert told["signed_by"] == [named(signed), named(signed, "theirs")]
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_damaged_tape_is_not_signed(signed: Desk) -> None:
    path = tape_of(signed)
    data = bytearray(path.read_bytes())
    data[5000] ^= 1
    path.write_bytes(data)
    done = signed.reenact("sign", "last", "--key", "theirs")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"damaged  {path.stem}: its bytes are not those that were sealed")
    assert path.read_bytes() == data


def test_a_tape_that_was_left_open_is_closed_and_signed(signed: Desk) -> None:
    written(signed.folder / ".reenact" / "run-1.tape", run())
    assert signed.reenact("sign", "run-1", "--key", "ours").returncode == 0
    done = signed.reenact("fsck", "run-1", "--key", "ours.pub")
    assert done.stdout.startswith("sound    run-1: 3 events")


def test_a_run_that_goes_on_cannot_be_signed(signed: Desk) -> None:
    signed.write("import time; time.sleep(0.01); print('ready', flush=True); time.sleep(3600)", "waits.py")
    with signed.start("record", "--name", "waits", "waits.py") as child:
        done = signed.reenact("sign", "waits", "--key", "ours")
        os.killpg(child.pid, signal.SIGKILL)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is still being recorded; end its program first" in " ".join(done.stderr.split())


def test_a_tape_of_the_first_format_cannot_be_signed(signed: Desk) -> None:
    shutil.copy(golden(1), signed.folder / "old.tape")
    done = signed.reenact("sign", "old.tape", "--key", "ours")
    assert (done.returncode, done.stdout) == (2, "")
    assert "was closed by a reenact that made no seals, and cannot be signed" in " ".join(done.stderr.split())


def test_a_tape_that_cannot_be_written_is_told(signed: Desk) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    path = tape_of(signed)
    path.parent.chmod(0o500)
    done = signed.reenact("sign", "last", "--key", "theirs")
    path.parent.chmod(0o700)
    assert done.returncode == 2
    assert f"cannot sign {path}: Permission denied" in " ".join(done.stderr.split())


# Checking


def test_a_signed_tape_is_sound_and_verifies(signed: Desk) -> None:
    for words in ("fsck last", "fsck last --key ours.pub", "fsck --all --key ours.pub"):
        done = signed.reenact(*words.split())
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("sound    agent-")
        assert done.stdout.endswith(f"\n         signed by {named(signed)}\n")
    for words in ("verify last", "verify last --key ours.pub"):
        done = signed.reenact(*words.split())
        assert done.returncode == 0, done.stderr
        assert re.search(rf"^  signed +by {named(signed)}$", done.stdout, re.MULTILINE)


def test_a_copy_is_signed_as_well(signed: Desk, tmp_path: Path) -> None:
    copy = shutil.copy(tape_of(signed), tmp_path / "evidence.tape")
    assert signed.reenact("fsck", str(copy), "--key", "ours.pub").returncode == 0


@pytest.mark.parametrize("command", ["fsck", "verify"])
def test_another_key_is_not_enough(signed: Desk, command: str) -> None:
    done = signed.reenact(command, "last", "--key", "theirs.pub")
    assert done.returncode == 1
    told = " ".join((done.stdout + done.stderr).split())
    assert f"it is signed by {named(signed)}, and not by {named(signed, 'theirs')}" in told
    assert "VERIFIED" not in told


@pytest.mark.parametrize("command", ["fsck", "verify"])
def test_a_tape_made_anew_is_not_signed(signed: Desk, command: str) -> None:
    """All on it fits together, and the program does what it says."""
    path = tape_of(signed)
    anew(path, journal(path))
    assert signed.reenact(command, "last").returncode == 0
    done = signed.reenact(command, "last", "--key", "ours.pub")
    assert done.returncode == 1
    assert f"it is not signed, and should be by {named(signed)}" in " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize("command", ["fsck", "verify", "replay"])
def test_a_signature_of_another_tape_is_found_even_without_a_key(signed: Desk, command: str) -> None:
    path = tape_of(signed)
    before = seals.read(path)
    anew(path, journal(path))
    seal = seals.read(path)
    assert seal.digest != before.digest
    seals.change(path, replace(seal, signatures=before.signatures))
    done = signed.reenact(command, "last")
    assert done.returncode == 1
    assert f"its signature by {named(signed)} is wrong" in " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize("command", ["fsck", "verify"])
def test_another_run_under_the_name_of_one_is_found(signed: Desk, command: str) -> None:
    path = tape_of(signed)
    path.rename(path.with_name("agent-0000.tape"))
    done = signed.reenact(command, "agent-0000", "--key", "ours.pub")
    assert done.returncode == {"fsck": 1, "verify": 2}[command]
    assert f"it holds the run {path.stem}" in " ".join((done.stdout + done.stderr).split())


def test_without_the_library_it_says_what_to_install(signed: Desk) -> None:
    def reenact(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", WITHOUT, *words],
            cwd=signed.folder,
            env=signed.environment(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    for words in ("keygen k", "sign last --key ours", "fsck last --key ours.pub", "verify last --key ours.pub"):
        done = reenact(*words.split())
        assert (done.returncode, done.stdout) == (2, "")
        assert "pip install 'reenact[sign]'" in " ".join(done.stderr.split())
    done = reenact("fsck", "last")
    assert done.returncode == 0
    assert "(not checked: install reenact[sign])" in " ".join(done.stdout.split())
