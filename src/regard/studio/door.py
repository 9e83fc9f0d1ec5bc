"""The door of a studio that others can reach: a page that asks for the token, and nothing else."""

from __future__ import annotations

import base64
import hashlib

from fastapi.responses import Response

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { display: grid; place-items: center; min-height: 90vh; margin: 1rem; }
form { display: grid; gap: 0.75rem; width: min(26rem, 100%); }
h1, p { margin: 0; }
input, button { font: inherit; padding: 0.6rem 0.8rem; }
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>regard studio</title>
<style>{style}</style>
</head>
<body>
<main>
<form method="get" action="/">
<h1>regard studio</h1>
<p{role}>{said}</p>
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button>Open</button>
</form>
</main>
</body>
</html>
"""


def door(is_wrong: bool) -> Response:
    """A form; what is typed comes back as the address that `regard studio` printed would."""
    asks = "This studio asks for its token: it stands in the address that `regard studio` printed."
    said = "That is not the token. " + asks if is_wrong else asks
    role = ' role="alert"' if is_wrong else ""
    return Response(
        _PAGE.format(style=_STYLE, said=said, role=role),
        401,
        {"content-security-policy": _POLICY, "www-authenticate": "Bearer"},
        "text/html; charset=utf-8",
    )
