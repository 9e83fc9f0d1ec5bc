"""How the server says no: a status, and the same what, where and remedy as everywhere in `regard`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, final

from fastapi.responses import Response

from regard.errors import (
    DataError,
    MemoryLimitError,
    ModelFileError,
    RegardError,
    ResumeError,
    UsageError,
)

STATUS_OF: dict[type[RegardError], int] = {
    UsageError: 422,
    DataError: 422,
    ModelFileError: 409,  # the run, as it is on disk, cannot do this now
    ResumeError: 409,
    MemoryLimitError: 413,
}
NAMES = {
    400: "BadRequest",
    401: "TokenMissing",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    413: "TooLarge",
    415: "NotJson",
    421: "WrongHost",
    422: "Unusable",
    429: "Busy",
    499: "ClientLeft",
    500: "Fault",
    503: "Stopping",
    504: "TooSlow",
}


@final
class Refusal(Exception):  # noqa: N818  a refusal is an answer, too
    """A request that is not served, and why; nothing of the request is repeated but what it named."""

    def __init__(
        self,
        status: int,
        what: str,
        where: str = "",
        remedy: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(what)
        self.status, self.what, self.where, self.remedy = status, what, where, remedy
        self.headers = dict(headers or {})

    @classmethod
    def of(cls, fault: RegardError) -> Refusal:
        """An error of the library, as a status."""
        status = next((code for kind, code in STATUS_OF.items() if isinstance(fault, kind)), 500)
        where = "run" if status in (409, 500) else fault.where  # a path is nobody's business
        return cls(status, fault.what, where, fault.remedy)

    def as_dict(self) -> dict[str, str]:
        """For JSON."""
        name = NAMES.get(self.status, "Refused")
        return {"error": name, "what": self.what, "where": self.where, "remedy": self.remedy}

    def response(self) -> Response:
        """What is sent."""
        return as_json(self.as_dict(), self.status, self.headers)


def as_json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer; a number that is not finite is a fault of ours and never sent."""
    body = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(body.encode(), status, headers, media_type="application/json")
