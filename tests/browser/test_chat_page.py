"""The chat page in a headless Chromium (Debian's package), driven by Playwright."""

import json
import os
import re
import shutil

import pytest

playwright = pytest.importorskip("playwright.sync_api")

HOSTILE = "<script>document.title = 'broken'</script><img src=x onerror=\"document.title='b'\">"


@pytest.fixture(scope="session")
def browser():
    path = os.environ.get("GODWIT_CHROMIUM") or shutil.which("chromium")
    if not path:
        pytest.skip("chromium is not installed: tools/install_packages ci")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def page(browser, server):
    context = browser.new_context()
    opened = context.new_page()
    opened.set_default_timeout(30000)
    problems = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.goto(server.url)
    yield opened
    context.close()
    assert problems == []


def limit(page, tokens):
    page.get_by_text("Settings").click()
    page.get_by_label("Longest answer").fill(str(tokens))
    page.get_by_label("Temperature").fill("0")


def say(page, text):
    page.get_by_label("Message", exact=True).fill(text)
    page.keyboard.press("Enter")


def answered(page, count):
    """Waits until `count` answers are whole."""
    playwright.expect(page.locator(".assistant")).to_have_count(count)
    playwright.expect(page.locator(".note")).to_have_count(count)
    playwright.expect(page.get_by_role("button", name="Send")).to_be_visible()


def events(*texts, ends=True):
    """A stream of the server with these pieces."""
    parts = [{"choices": [{"delta": {"content": text}, "finish_reason": None}]} for text in texts]
    body = "".join(f"data: {json.dumps(part)}\n\n" for part in parts)
    return body + ("data: [DONE]\n\n" if ends else "")


def test_sends_and_shows_the_answer(page, server, model):
    playwright.expect(page.locator("#model")).to_have_text(model)
    limit(page, 8)
    say(page, "Hello")
    answered(page, 1)
    assert page.locator(".user").inner_text() == "Hello"
    assert page.locator(".assistant").inner_text().strip()
    assert "tokens" in page.locator(".note").inner_text()


def test_keeps_the_history_until_a_new_chat(page):
    sent = []
    page.on("request", lambda request: request.post_data and sent.append(
        json.loads(request.post_data)["messages"]))
    limit(page, 4)
    page.get_by_label("System message").fill("Be brief.")
    say(page, "one")
    answered(page, 1)
    first = page.locator(".assistant").first.text_content()
    say(page, "two")
    answered(page, 2)
    assert sent[1] == [{"role": "system", "content": "Be brief."},
                       {"role": "user", "content": "one"},
                       {"role": "assistant", "content": first},
                       {"role": "user", "content": "two"}]
    page.get_by_role("button", name="New chat").click()
    playwright.expect(page.locator(".message")).to_have_count(0)
    say(page, "three")
    answered(page, 1)
    assert sent[2][-1] == {"role": "user", "content": "three"} and len(sent[2]) == 2


def test_streams_and_stops_in_the_middle(page, server):
    stopped = server.metric("vllm:request_success_total", 'finished_reason="abort"')
    say(page, "Tell me a long story.")
    box = page.locator(".assistant")
    playwright.expect(box).to_have_text(re.compile(r"\w"))
    early = box.text_content()
    page.wait_for_function(
        "length => document.querySelector('.assistant').textContent.length > length",
        arg=len(early))  # it grows while it is written
    page.get_by_role("button", name="Stop").click()
    playwright.expect(page.get_by_text("stopped")).to_be_visible()
    playwright.expect(page.get_by_role("button", name="Send")).to_be_visible()
    assert box.text_content()
    for _ in range(1000):
        if server.metric("vllm:request_success_total", 'finished_reason="abort"') > stopped:
            break
        page.evaluate("0")
    else:
        raise AssertionError("the server did not stop")


def test_shows_the_servers_refusal_and_gives_the_question_back(page):
    limit(page, 10 ** 9)
    say(page, "Hello")
    playwright.expect(page.locator(".failed")).to_contain_text("max_tokens")
    assert page.get_by_label("Message", exact=True).input_value() == "Hello"


def test_says_when_the_server_is_gone(browser, start_server):
    server = start_server()
    page = browser.new_page()
    page.goto(server.url)
    server.stop()
    say(page, "Hello")
    playwright.expect(page.locator(".failed")).to_be_visible()
    assert page.get_by_label("Message", exact=True).input_value() == "Hello"
    page.close()


def test_an_error_within_a_stream_is_shown_beside_what_came(page):
    body = events("half an", ends=False) + 'data: {"error": {"message": "the device is gone"}}\n\n'
    page.route("**/v1/chat/completions", lambda route: route.fulfill(
        status=200, content_type="text/event-stream", body=body))
    say(page, "Hello")
    playwright.expect(page.locator(".failed")).to_have_text("the device is gone")
    assert page.locator(".assistant").text_content() == "half an"


def test_markup_stays_text(page):
    page.route("**/v1/chat/completions", lambda route: route.fulfill(
        status=200, content_type="text/event-stream", body=events(HOSTILE[:9], HOSTILE[9:])))
    say(page, HOSTILE)
    playwright.expect(page.locator(".assistant")).to_have_text(HOSTILE)
    assert page.locator(".user").text_content() == HOSTILE
    assert page.title() == "godwit"
    assert page.locator("#log script, #log img").count() == 0


def test_keyboard_is_enough(page):
    playwright.expect(page.get_by_label("Message", exact=True)).to_be_focused()
    page.keyboard.type("first")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("second")
    assert page.get_by_label("Message", exact=True).input_value() == "first\nsecond"
    for name in ("Send", "Settings"):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent").strip() == name
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    playwright.expect(page.get_by_label("Temperature")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.type("4")
    playwright.expect(page.get_by_label("Longest answer")).to_have_value("4")
    page.keyboard.press("Shift+Tab")
    for _ in range(3):
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    answered(page, 1)
    playwright.expect(page.get_by_label("Message", exact=True)).to_be_focused()
