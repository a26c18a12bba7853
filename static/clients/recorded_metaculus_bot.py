"""Send the requests of Metaculus' forecasting-tools for forecasting one question.

    export PULSECAST_BASE_URL=https://pulsecast.example PULSECAST_API_KEY=pc_…
    python3 recorded_metaculus_bot.py

This is a bot without a model, which always answers 62 %. It sends the same bytes as forecasting-tools
0.2.92 (commit 47cf3cf), except for the numbers of questions. It requests its own id, the open
assignments and one question, and then sends a prediction and a comment. It tests that a bot written for
Metaculus works here, also as the command of `pulsecast backtest`, which sets PULSECAST_MARKET_ID.
Without that variable it answers the first assignment. It publishes for good.

It needs Python 3.9 and nothing else.
"""
from __future__ import annotations

import gzip
import http.client
import json
import os
import sys
from contextlib import closing
from typing import Any, Dict, List, Optional
from urllib.parse import urlsplit

API = "/compat/metaculus/api"

QUESTIONS = (
    "/posts/?limit=100&offset=0&order_by=-published_time&with_cp=true&include_conditional_cps=true"
    "&forecast_type=binary&forecast_type=numeric&forecast_type=multiple_choice&forecast_type=date"
    "&forecast_type=discrete&forecast_type=conditional&forecast_type=group_of_questions"
    "&statuses=open&tournaments=assignments"
)
FORECAST = '[{"question": %s, "source": "api", "probability_yes": 0.62}]'
COMMENT = (
    '{"on_post": %s, "text": "A recorded comment.\\n\\n## Report\\nThe criteria leave little room \\u2013 see above.",'
    ' "is_private": true, "included_forecast": true}'
)


def number(market_id: str) -> int:
    """Return the question number of a market. See /docs/metaculus."""
    if market_id.isascii() and market_id.isdigit() and market_id[0] != "0" and len(market_id) <= 18:
        return int(market_id)
    return 10**18 + int.from_bytes(b"\x01" + market_id.encode(), "big")


class Recording:
    """Sends requests with the headers of that client."""

    def __init__(self, base: str, key: str) -> None:
        address = urlsplit(base.rstrip("/") + API)
        connect = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        self.connection = connect(address.netloc, timeout=30)
        self.path = address.path
        self.headers = {
            "User-Agent": "python-requests/2.34.2", "Accept-Encoding": "gzip, deflate", "Accept": "*/*",
            "Connection": "keep-alive", "Authorization": f"Token {key}", "Accept-Language": "en",
        }

    def send(self, method: str, path: str, body: Optional[str] = None) -> Any:
        """Send one request and return the decoded answer. Any refusal ends the program."""
        sent = body.encode() if body is not None else None
        self.connection.putrequest(method, self.path + path, skip_accept_encoding=True)
        for name, value in self.headers.items():
            self.connection.putheader(name, value)
        if sent is not None:
            self.connection.putheader("Content-Length", str(len(sent)))
            self.connection.putheader("Content-Type", "application/json")
        self.connection.endheaders(sent)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.headers.get("Content-Encoding") == "gzip":
            text = gzip.decompress(text)
        if answer.status >= 300:
            sys.exit(f"{method} {path.split('?')[0]}: {answer.status} {text.decode(errors='replace')}")
        return json.loads(text)


def check(post: Dict[str, Any]) -> None:
    """Read the fields of a post that the client reads without a default."""
    question = post["question"]
    if question["type"] != "binary" or question["status"] != "open" or int(question["id"]) < 1:
        sys.exit(f"post {post['id']} is not an open yes-or-no question")
    _ = [project["slug"] for project in post["projects"]["tournament"]], post["projects"]["default_project"]["id"]
    _ = question["my_forecasts"]["history"], question["aggregations"]["recency_weighted"]["latest"]


def main() -> None:
    recording = Recording(os.environ["PULSECAST_BASE_URL"], os.environ["PULSECAST_API_KEY"])
    with closing(recording.connection):
        forecast(recording, os.environ.get("PULSECAST_MARKET_ID"))


def forecast(recording: Recording, market_id: Optional[str]) -> None:
    """Send the client's requests for forecasting one question."""
    recording.send("GET", "/users/me")
    posts: List[Dict[str, Any]] = recording.send("GET", QUESTIONS)["results"]
    if market_id:
        chosen = number(market_id)
    elif posts:
        chosen = int(posts[0]["id"])
    else:
        sys.exit("no assignment is open: set PULSECAST_MARKET_ID")
    post = recording.send("GET", f"/posts/{chosen}/")
    check(post)
    recording.send("POST", "/questions/forecast/", FORECAST % chosen)
    recording.send("POST", "/comments/create/", COMMENT % chosen)
    print(f"published: 62 % that Yes — {post['question']['title']}")


if __name__ == "__main__":
    try:
        main()
    except KeyError as missing:
        sys.exit(f"{missing} is missing from the environment or from an answer")
    except (OSError, http.client.HTTPException) as failed:
        sys.exit(f"no answer: {failed}")
