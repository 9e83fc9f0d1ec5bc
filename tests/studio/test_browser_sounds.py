"""Sounds in the studio: one is recorded or dropped as the question; what goes wrong is said in words."""

import base64
import io
import wave
from unittest.mock import patch

import numpy as np
import pytest

import regard
from regard.data import wav
from regard.data.toys.spelling import spelled
from regard.training import Listener
from tests.studio.browser import CHROMIUM, PATIENCE, needed, settled, watched
from tests.studio.kit import server

pytestmark = needed
FAKE = ["--no-sandbox", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]


DROP = """(data) => {
    const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
    const given = new DataTransfer();
    given.items.add(new File([bytes], "said.wav", { type: "audio/wav" }));
    document.querySelector("form").dispatchEvent(
        new DragEvent("drop", { dataTransfer: given, bubbles: true, cancelable: true }));
}"""


def stereo(seconds, rate):
    """A hum in two channels of 16 bits, as data."""
    hum = np.sin(2 * np.pi * 220 * np.arange(int(seconds * rate)) / rate)
    both = np.rint(np.stack([hum, 0.5 * hum], 1) * 20_000).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(2)
        written.setsampwidth(2)
        written.setframerate(rate)
        written.writeframes(both.tobytes())
    return base64.b64encode(file.getvalue()).decode()


@pytest.fixture(scope="module")
def studio_server(tmp_path_factory):
    """A studio over a listener that has hardly begun to learn: what it says does not matter here."""
    folder = tmp_path_factory.mktemp("sounds")
    every = {"train.steps": 4, "train.evaluate_every": 4, "train.checkpoint_every": 4}
    settings = every | {"decode.max_length": 5, "data.examples": 40}
    with patch.dict("regard.data.toys.toy._COUNTS", {"train": 40, "valid": 4}):
        regard.train(
            preset="chan2016",
            out=folder / "runs" / "spelled",
            settings=settings,
            listener=Listener(),
            device="cpu",
        )
    with server(folder / "runs" / "spelled", folder=folder, more=("--no-open",)) as one:
        yield one
        assert one.process.poll() is None, one.log.read_text()


@pytest.fixture
def recorder(chromium):
    """Chromium with a microphone that beeps, and nobody to ask whether it may be used."""
    browser = chromium.browser_type.launch(executable_path=CHROMIUM, args=FAKE)
    yield browser
    browser.close()


def opened(browser, address, script=""):
    page = browser.new_context(viewport={"width": 1280, "height": 860}).new_page()
    if script:
        page.add_init_script(script)
    faults = watched(page, address)
    page.goto(f"{address}#view=answer")
    page.get_by_role("button", name="Record…").wait_for()
    return page, faults


def test_what_is_recorded_is_the_question(recorder, address):
    page, faults = opened(recorder, address)
    page.get_by_role("button", name="Record…").click()
    page.get_by_text("Stop and ask · 1 of 10 s").click()
    page.locator("form audio[src^='data:audio/wav']").wait_for()
    url = page.locator("form audio").get_attribute("src")
    clip = wav.decode(wav.from_url(url), "recorded")
    assert clip.rate == 16_000
    assert 0.2 < clip.seconds <= 10
    assert np.abs(clip.samples).max() > 0.01
    page.wait_for_function(
        "own => [...document.querySelectorAll('audio')].filter((a) => a.src === own).length > 0",
        arg=url,
    )
    page.locator("ol.steps button").first.wait_for()
    page.locator(".loading").wait_for(state="detached")
    assert not page.get_by_role("alert").count()
    assert not faults, faults


def test_a_page_that_is_left_lets_the_microphone_go(recorder, address):
    kept = """const own = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
        navigator.mediaDevices.getUserMedia = async (asked) => (window.given = await own(asked));"""
    page, faults = opened(recorder, address, kept)
    page.get_by_role("button", name="Record…").click()
    page.get_by_role("button", name="Stop and ask").wait_for()
    page.evaluate("location.hash = 'view=lessons'")
    page.wait_for_function(
        "() => window.given.getTracks().every((track) => track.readyState === 'ended')"
    )
    assert not faults, faults


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("NotAllowedError", "does not let this page use the microphone: allow it"),
        ("NotFoundError", "No microphone was found"),
        ("NotReadableError", "another program uses it"),
    ],
)
def test_a_microphone_that_gives_nothing_is_told_in_words(chromium, address, name, words):
    script = f"""navigator.mediaDevices.getUserMedia = () =>
        Promise.reject(new DOMException("x", "{name}"));"""
    page, faults = opened(chromium, address, script)
    page.get_by_role("button", name="Record…").click()
    page.get_by_role("alert").get_by_text(words).wait_for()
    page.get_by_role("button", name="Record…").wait_for()
    assert not faults, faults
    page.context.close()


def test_a_page_that_may_not_record_says_where_it_may(chromium, address):
    script = "Object.defineProperty(navigator, 'mediaDevices', { value: undefined });"
    page, faults = opened(chromium, address, script)
    page.get_by_role("button", name="Record…").click()
    page.get_by_role("alert").get_by_text("only at localhost or over https").wait_for()
    assert not faults, faults
    page.context.close()


def test_a_dropped_sound_is_asked_about(page, address):
    page.goto(f"{address}#view=answer")
    page.get_by_role("button", name="Record…").wait_for()
    page.evaluate(DROP, base64.b64encode(wav.encode(spelled("spell:bano/5"))).decode())
    page.locator("form audio").wait_for(timeout=PATIENCE)
    page.locator("ol.steps button").first.wait_for()
    # Above the spectrogram a bar for each weight; the sound plays from where the step looked.
    settled(page, "answer")
    page.wait_for_function("""() => {
        const image = document.querySelector(".places svg image")?.getBoundingClientRect();
        const bars = [...document.querySelectorAll(".places svg rect")];
        const isAbove = (one) => one.getBoundingClientRect().bottom <= image.top + 1;
        return image && bars.length > 0 && bars.every(isAbove);
    }""")
    page.evaluate("""() => {
        const own = document.querySelector("main .sheet audio");
        own.addEventListener("playing", () => (window.heard = own.currentTime), { once: true });
    }""")
    page.get_by_role("button", name="Play around").click()
    page.wait_for_function("() => window.heard !== undefined")


def test_a_large_sound_is_made_smaller_and_a_long_one_is_told_its_length(page, address):
    """1.4 seconds of 96 kHz in stereo were `too long a sound`."""
    page.goto(f"{address}#view=answer")
    page.get_by_role("button", name="Record…").wait_for()
    asked = "() => decodeURIComponent(location.hash).includes('data:audio/wav')"
    page.evaluate(DROP, stereo(20, 16_000))
    page.get_by_text("lasts 20 seconds, and the studio takes 14: cut it.").wait_for()
    assert not page.evaluate(asked)
    page.evaluate(DROP, stereo(1.4, 96_000))
    page.wait_for_function(asked, timeout=PATIENCE)
    page.locator("ol.steps button").first.wait_for()
    heard = page.evaluate("() => decodeURIComponent(location.hash).match(/base64,([^&]*)/)[1]")
    clip = wav.decode(base64.b64decode(heard), "the page's")
    assert clip.rate == 16_000
    assert clip.seconds == pytest.approx(1.4, abs=0.05)
    loudest = np.abs(np.fft.rfft(clip.samples)).argmax() / clip.seconds
    assert loudest == pytest.approx(220, abs=3)
