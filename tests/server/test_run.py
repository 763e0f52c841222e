"""`godwit run`: one answer, a chat from a pipe, and a chat at a terminal."""

import os
import pty
import re
import select
import subprocess
import termios
import time

import pytest

PROMPT = ">>> "


@pytest.fixture(scope="module")
def command():
    binary, model = os.environ.get("GODWIT_BINARY"), os.environ.get("GODWIT_MODEL")
    if not binary or not model:
        pytest.skip("GODWIT_BINARY and GODWIT_MODEL are not set")
    return [binary, "run", model, "--temperature", "0"]


def pipe(command, text, *flags):
    done = subprocess.run([*command, "--max-tokens", "6", *flags], input=text,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_each_line_of_a_pipe_is_a_turn(command):
    first, second, third = pipe(command, "hello\nmore\n/clear\nhello\n")
    assert first == third
    assert pipe(command, "more\n") != [second]  # what came before counts


def test_piped_commands(command):
    plain = pipe(command, "hello\n")
    assert pipe(command, "\n/exit\nhello\n") == []
    assert "/clear" in "\n".join(pipe(command, "/help\n"))
    brief = pipe(command, "hello\n", "--system", "Be brief.")
    assert pipe(command, "hello\n/system Be brief.\nhello\n") == plain + brief
    assert plain != brief


def test_an_unknown_command_ends_a_pipe_with_its_name(command):
    done = subprocess.run(command, input="/nonsense\n", capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "/nonsense" in done.stderr


class Terminal:
    """The program at a terminal of its own."""

    def __init__(self, command, state):
        self.process, self.output = None, ""
        self.side, other = pty.openpty()
        environment = {**os.environ, "XDG_STATE_HOME": str(state), "TERM": "xterm",
                       "LC_ALL": "C.UTF-8"}

        def take_terminal():
            os.setsid()
            import fcntl
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other,
                                        env=environment, preexec_fn=take_terminal)
        os.close(other)

    def type(self, text):
        self.output = ""
        os.write(self.side, text.encode())

    def expect(self, pattern, seconds=60):
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.output):
            left = deadline - time.monotonic()
            assert left > 0, f"{pattern} did not come: {self.output!r}"
            if select.select([self.side], [], [], left)[0]:
                try:
                    self.output += os.read(self.side, 65536).decode(errors="replace")
                except OSError:
                    raise AssertionError(f"ended before {pattern}: {self.output!r}") from None
        if pattern.endswith(PROMPT):
            # The prompt is written before the terminal hands over keys one by one; a Ctrl-C until
            # then would take what was typed with it.
            while termios.tcgetattr(self.side)[3] & termios.ICANON:
                assert time.monotonic() < deadline, "the line editor does not begin"

    def status(self):
        return self.process.wait(timeout=30)


@pytest.fixture
def terminal(command, tmp_path):
    started = []

    def start(*flags):
        started.append(Terminal([*command, *flags], tmp_path))
        started[-1].expect(">>> ")
        return started[-1]
    yield start
    for one in started:
        one.process.kill()
        one.process.wait()
        os.close(one.side)


def test_terminal_chats_and_quits_with_ctrl_d(terminal):
    chat = terminal("--max-tokens", "4")
    chat.type("hello\r")
    chat.expect(r"hello\r\n(.|\n)+>>> ")
    chat.type("/help\r")
    chat.expect(r"/system TEXT(.|\n)*>>> ")
    chat.type("\x04")
    assert chat.status() == 0


def test_terminal_remembers_lines_across_runs(terminal, tmp_path):
    chat = terminal("--max-tokens", "2")
    chat.type("first gr\u00fc\u00df line\r")
    chat.expect(r"\r\n(.|\n)*>>> ")
    chat.type("/exit\r")
    assert chat.status() == 0
    history = tmp_path / "godwit" / "history"
    assert history.stat().st_mode & 0o077 == 0
    again = terminal("--max-tokens", "2")
    again.type("\x10\x10")  # Ctrl-P twice: the line before /exit
    again.expect("gr\u00fc\u00df")


def test_ctrl_c_stops_the_answer_and_twice_quits(terminal):
    chat = terminal("--max-tokens", "1000", "--max-model-len", "1024")
    chat.type("a long story\r")
    chat.expect(r"story\r\n.*\w{3}")
    chat.type("\x03")
    chat.expect(r">>> ")
    chat.type("\x03")
    assert chat.status() == 0


def test_ctrl_c_drops_a_line_and_goes_on(terminal):
    chat = terminal("--max-tokens", "2")
    chat.type("half a li")
    chat.expect("half a li")
    chat.type("\x03")
    chat.expect(r"\^C(.|\n)*>>> ")
    chat.type("\x03")
    chat.expect("again quits(.|\n)*>>> ")
    chat.type("whole\r")
    chat.expect(r"whole\r\n(.|\n)*>>> ")
    chat.type("\x04")
    assert chat.status() == 0
