"""The page comes from a list in memory: nothing else on any disk can be named (S12, S17)."""

import pytest
from starlette.testclient import TestClient

from regard.errors import UsageError
from regard.studio.app import create_app
from regard.studio.state import read_page
from tests.studio.conftest import BASE


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    (folder / "assets").mkdir()
    (folder / "index.html").write_text("<!doctype html><title>studio</title>")
    (folder / "assets" / "index-a1.js").write_text("void 0;")
    (folder / "assets" / "index-a1.js.map").write_text("{}")
    (folder / "secret").write_text("secret")
    (folder.parent / "outside.html").write_text("outside")
    (folder / "link.html").symlink_to(folder.parent / "outside.html")
    return read_page(folder)


@pytest.fixture(scope="module")
def client(make, built):
    with TestClient(create_app(make(page=built)), base_url=BASE) as one:
        yield one


def test_the_files_of_a_page(client, built):
    assert list(built) == ["assets/index-a1.js", "index.html"]
    front = client.get("/")
    assert front.headers["content-type"] == "text/html; charset=utf-8"
    assert front.headers["cache-control"] == "no-cache"
    script = client.get("/assets/index-a1.js")
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "immutable" in script.headers["cache-control"]
    again = client.get("/", headers={"if-none-match": front.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


PATHS = [
    "/../pyproject.toml",
    "/assets/../../outside.html",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/..%2f..%2fetc/passwd",
    "/..%5c..%5cwindows",
    "/%252e%252e/etc/passwd",
    "/....//....//etc/passwd",
    "/assets/..;/secret",
    "/link.html",
    "/secret",
    "/assets",
    "/assets/",
    "//etc/passwd",
    "/etc/passwd",
    "/index.html%00.js",
    "/%00",
    "/C:/windows",
    "/static/../secret",
    "/assets/index-a1.js.map",
    "/page.py",
    "/~root",
]


@pytest.mark.parametrize("path", PATHS)
def test_nothing_else_can_be_named(client, path):
    answer = client.request("GET", BASE + path)
    assert answer.status_code == 404, answer.text
    assert "root:" not in answer.text
    assert "outside" not in answer.text


@pytest.mark.parametrize("path", PATHS)
def test_nor_without_a_client_that_tidies_the_path(client, path):
    """The path as it is, straight into the application."""
    import asyncio
    from urllib.parse import unquote

    found = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        found.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1:8321")],
        "http_version": "1.1",
        "scheme": "http",
        "server": ("127.0.0.1", 8321),
        "client": ("127.0.0.1", 1),
    }
    asyncio.run(client.app(scope, receive, send))
    assert found[0]["status"] == 404


def test_ten_thousand_ranges_are_one_answer(client):
    ranges = "bytes=" + ",".join(f"{n}-{n}" for n in range(10_000))
    answer = client.get("/", headers={"range": ranges})
    assert answer.status_code == 200
    assert len(answer.content) < 100


def test_a_page_that_is_not_built_is_an_error_before_anything_is_served(tmp_path):
    with pytest.raises(UsageError) as caught:
        read_page(tmp_path)
    assert "not built" in caught.value.what
    assert "make page" in caught.value.remedy
    assert "--no-page" in caught.value.remedy


def test_a_studio_without_a_page_answers_programs(make):
    with TestClient(create_app(make(page={})), base_url=BASE) as client:
        answer = client.get("/")
        assert (answer.status_code, "openapi.json" in answer.json()["remedy"]) == (404, True)
        assert client.get("/api/about").status_code == 200
