"""What a malicious page, program or run name sends: refused without data, and the server stays well."""

import json
import re
import select

import pytest

from surefoot.web import connections, security
from tests.unit.web.conftest import SECRET, TOKEN, XSS, Served, make_run, status_of, whole_answer

BEARER = {"Authorization": f"Bearer {TOKEN}"}
ADDRESSES = [
    "/",
    "/api/runs",
    "/api/news?run=run",
    "/page/app.js",
    "/api/model?run=run",
    "/api/episode?run=run",
]
UPGRADE = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
TRAVERSALS = [
    "/page/../server.py",
    "/page/..%2fserver.py",
    "/page/%2e%2e/%2e%2e/server.py",
    "/page/..%252fserver.py",
    "/page/..%5cserver.py",
    "/page/....//server.py",
    "/page//etc/passwd",
    "/page/%00index.html",
    "/page/index.html%00",
    "/page/.%c0%ae/server.py",
    "/page/file:///etc/passwd",
    "/page/",
    "/../../../../etc/passwd",
    "//etc/passwd",
    "/%2fetc%2fpasswd",
    "/static/../../etc/passwd",
    "/.git/config",
    "/runs/run/config.json",
    "/run/config.json",
]
OUTSIDE = [
    "../elsewhere",
    "..%2felsewhere",
    "%2e%2e/elsewhere",
    "run/../../elsewhere",
    "/etc",
    ".",
    "",
    "run%00",
    XSS,
]
BAD_CHECKPOINTS = ["..", "../..", "step_1/../..", "step_x", "step_1%00", "best_-1", "step_" + "9" * 500, XSS]
BAD_NUMBERS = [
    *(
        "seed=-1",
        "seed=1e9",
        "seed=99999999999999",
        "seed=%D9%A1",
        "seed=NaN",
        "from=-1",
        "from=99999",
        "count=0",
    ),
    *("count=1000000", "count=x", "exploration=nan", "exploration=-1", "exploration=inf", "exploration=x"),
    *(
        "estimator=x",
        "risk=os:system",
        "risk=subprocess:run:1",
        "risk=mean-sd:nan",
        "risk=mean-sd:-1",
        f"risk={XSS}",
    ),
    *("risk=mean-sd:1:2", "actions=x", "actions=-1", "actions=1x99999.1x99999", "actions=1x", "actions=%00"),
    *("actions=" + "1." * 5_000 + "1",),
]


def hostile(port):
    """Requests by what is wrong with them: target, headers, method."""
    here = f"127.0.0.1:{port}"
    names = [
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        f"{here}.evil.example",
        "",
        "[::1",
    ]
    names += [
        f"localhost.evil.example:{port}",
        f"127.0.0.1@evil.example:{port}",
        f"10.0.0.1:{port}",
        f"0.0.0.0:{port}",
    ]
    for name in names:
        yield "host", ("/api/runs", {**BEARER, "Host": name}, "GET")
    for origin in [
        "http://evil.example",
        "null",
        f"https://{here}",
        "http://127.0.0.1:1",
        f"http://localhost:{port}",
        "x",
    ]:
        yield "origin", ("/api/runs", {**BEARER, "Origin": origin}, "GET")
    for site in ("cross-site", "same-site", "x"):
        yield "site", ("/api/runs", {**BEARER, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}, "GET")
    for method in (
        "POST",
        "PUT",
        "DELETE",
        "PATCH",
        "OPTIONS",
        "TRACE",
        "PROPFIND",
        "get",
        "CONNECT",
        "X" * 100,
    ):
        yield "method", ("/api/runs", BEARER, method)
    for target in ADDRESSES:
        yield "no token", (target, {}, "GET")
        yield "wrong token", (target, {"Authorization": "Bearer x"}, "GET")
        yield "wrong cookie", (target, {"Cookie": f"surefoot-{port}=x; token={TOKEN}"}, "GET")
    for given in (f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer é", "Bearer"):
        yield "bad authorization", ("/api/runs", {"Authorization": given}, "GET")
    for cookie in (
        f"surefoot-1={TOKEN}",
        f"surefoot={TOKEN}",
        "\x01\x02",
        "a" * 4_000,
        f'surefoot-{port}="{TOKEN}',
    ):
        yield "bad cookie", ("/api/runs", {"Cookie": cookie}, "GET")
    yield "token of another place", (f"/api/runs?token={TOKEN}", {}, "GET")
    for target in ("/ws", "/api/news?run=run", "/"):
        yield "websocket", (target, {**UPGRADE, "Sec-WebSocket-Key": "eA=="}, "GET")
    yield "body", ("/api/runs", {**BEARER, "Content-Length": "100000000"}, "GET")
    yield "chunks", ("/api/runs", {**BEARER, "Transfer-Encoding": "chunked"}, "GET")
    yield "long address", ("/api/runs?x=" + "y" * 20_000, BEARER, "GET")
    yield "long header", ("/api/runs", {**BEARER, "X": "y" * 100_000}, "GET")
    yield "many headers", ("/api/runs", {**BEARER, **{f"X{i}": "y" * 50 for i in range(2_000)}}, "GET")
    for target in TRAVERSALS:
        yield "traversal", (target, BEARER, "GET")
    for name in OUTSIDE:
        yield "outside", (f"/api/model?run={name}", BEARER, "GET")
        yield "outside", (f"/api/news?run={name}", BEARER, "GET")
    for name in BAD_CHECKPOINTS:
        yield "checkpoint", (f"/api/episode?run=run&checkpoint={name}", BEARER, "GET")
    for query in BAD_NUMBERS:
        yield "numbers", (f"/api/episode?run=run&checkpoint=step_1&{query}", BEARER, "GET")


BROKEN = [
    b"",
    b"\x00" * 100,
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 10,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"A" * 70_000,
]


@pytest.fixture(autouse=True)
def no_rate(monkeypatch):
    """So many requests that the rate alone would refuse them; it has a test of its own."""
    monkeypatch.setattr(security, "BURST", 100_000.0)
    monkeypatch.setattr(security, "RATE", 100_000.0)


def test_more_than_a_hundred_hostile_requests_get_no_data_and_no_server_error(served):
    requests = list(hostile(served.port))
    wrong = []
    for why, (target, headers, method) in requests:
        answer = served.get(target, headers, method)
        if not is_refusal(answer):
            wrong.append((why, target[:80], answer[:200]))
    wrong += [
        ("broken", raw[:40], answer) for raw in BROKEN if raw and not is_refusal(answer := served.send(raw))
    ]
    assert len(requests) + len(BROKEN) > 150
    assert not wrong
    assert SECRET.encode() in served.allowed("/api/runs")


def is_refusal(answer):
    """Whether a connection was closed, or an answer says no and tells nothing."""
    status = status_of(answer)
    told = (
        SECRET.encode() in answer
        or b"outside of the runs" in answer
        or b"root:" in answer
        or b"import" in answer
    )
    return (status == 0 or 400 <= status < 500) and not told


def test_what_has_the_token_is_answered(served):
    for target in ("/api/runs", "/page/app.js", f"/?token={TOKEN}"):
        assert status_of(served.allowed(target)) == 200
    assert status_of(served.get(f"/?token={TOKEN}")) == 200
    with_cookie = {
        "Cookie": f"a=b; surefoot-{served.port}={TOKEN}",
        "Origin": f"http://127.0.0.1:{served.port}",
    }
    assert SECRET.encode() in served.get("/api/runs", with_cookie)
    assert SECRET.encode() not in served.get("/api/runs", BEARER, "HEAD")


def test_the_cookie_is_kept_to_the_site_and_from_scripts(served):
    answer = served.get(f"/?token={TOKEN}").decode("latin-1")
    (cookie,) = re.findall(r"set-cookie: (.*)\r\n", answer)
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} < set(cookie.split("; "))
    assert "set-cookie" not in served.get("/?token=wrong").decode("latin-1")


def test_every_answer_forbids_scripts_of_others(served):
    for answer in (
        served.allowed("/"),
        served.allowed("/api/runs"),
        served.get("/"),
        served.allowed("/none"),
    ):
        head = answer.split(b"\r\n\r\n")[0].decode("latin-1")
        policy = re.search(r"content-security-policy: (.*)", head)[1]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "nosniff" in head
        assert "access-control-allow-origin" not in head


def test_names_that_are_markup_are_plain_data(served, tmp_path):
    make_run(tmp_path / "runs" / XSS, env=f"{XSS}<script>alert(1)</script>")
    answer = served.allowed("/api/runs")
    assert b"content-type: application/json" in answer
    names = [each["name"] for each in json.loads(answer.split(b"\r\n\r\n", 1)[1])["runs"]]
    assert XSS in names


def test_links_out_of_the_runs_are_not_followed(served, tmp_path):
    runs = tmp_path / "runs"
    (runs / "linked").symlink_to(tmp_path / "elsewhere")
    (runs / "half").mkdir()
    (runs / "half" / "config.json").symlink_to(tmp_path / "elsewhere" / "config.json")
    assert b"outside of the runs" not in served.allowed("/api/runs")


def test_two_hundred_silent_connections_are_bounded_and_dropped(served):
    opened = [served.connect() for _ in range(200)]
    for each in opened:
        each.sendall(b"GET / HTTP/1.1\r\n")
    closed = [ended(each) for each in opened]
    assert all(closed)
    assert connections.BoundedConnection.open_connections <= connections.MAX_CONNECTIONS
    assert status_of(served.allowed("/api/runs")) == 200


def ended(connection):
    """Whether the server closes a connection without an answer of data."""
    with connection:
        try:
            return not is_data(whole_answer(connection))
        except ConnectionError:
            return True


def is_data(answer):
    return 200 <= status_of(answer) < 300


def test_a_reader_that_takes_nothing_is_dropped(served):
    request = (
        f"GET /page/app.js HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    )
    with served.connect() as connection:
        connection.setblocking(False)
        waiting = request.encode() * 2_000
        while waiting:
            try:
                waiting = waiting[connection.send(waiting) :]
            except BlockingIOError:
                break
        assert status_of(served.allowed("/api/runs")) == 200
        closed = select.poll()
        closed.register(connection, 0)  # Only the end is waited for; nothing is taken.
        assert closed.poll(60_000)
    assert status_of(served.allowed("/api/runs")) == 200


@pytest.mark.parametrize(
    ("host", "names"), [(None, []), ("machine", ["machine", "MACHINE", "10.0.0.5", "[fe80::1]"])]
)
def test_only_names_of_this_server_are_answered_and_addresses_if_others_may_ask(served, host, names):
    served.close()
    opened = Served(served.home, host)
    try:
        for name in (
            "127.0.0.1",
            "localhost",
            "machine",
            "MACHINE",
            "10.0.0.5",
            "[fe80::1]",
            "evil",
            "machine.evil",
        ):
            answer = opened.get("/api/runs", {**BEARER, "Host": f"{name}:{opened.port}"})
            assert status_of(answer) == (200 if name in {"127.0.0.1", "localhost", *names} else 403)
        assert status_of(opened.get("/api/runs", {"Host": f"machine:{opened.port}"})) in {401, 403}
    finally:
        opened.close()


def test_requests_are_bounded_in_rate(served, monkeypatch):
    monkeypatch.setattr(security, "BURST", 5.0)
    monkeypatch.setattr(security, "RATE", 0.0)
    statuses = [status_of(served.allowed("/api/runs")) for _ in range(8)]
    assert statuses == [200] * 5 + [429] * 3


def test_pages_that_listen_are_bounded_in_number(served, monkeypatch):
    from surefoot.web import server

    monkeypatch.setattr(server, "MAX_STREAMS", 0)
    assert status_of(served.allowed("/api/news?run=run")) == 429
