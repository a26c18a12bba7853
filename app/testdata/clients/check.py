"""Uses every call of pulsecast.py against a running server. PULSECAST_BASE_URL names it."""
from datetime import datetime, timedelta, timezone

import pulsecast

client = pulsecast.Client(user_agent="check/1.0", attempts=2)

# Signals, boards and records need no key.
markets = client.markets(limit=5)
assert len(markets) == 5 and all(0 <= m["probability"] <= 1 for m in markets), markets
soon = datetime.now(timezone.utc) + timedelta(days=3)
assert all(pulsecast.parse_time(m["endDate"]) < soon for m in client.markets(limit=100, closes_before=soon))
closed = client.markets(limit=3, status="closed", sort="closesAt")
assert closed and all(m["closed"] for m in closed), closed
market = client.market(markets[0]["id"])
assert market["market"]["description"] and market["history"], market
assert len(client.news(limit=3)) == 3
news = [n["createdAt"] for n in client.news(limit=101, sort="newest")]
assert len(news) > 3 and news == sorted(news, reverse=True), news
assert all(e["likeliest"] for e in client.events(limit=2, closes_before=soon, sort="closesAt"))
events = client.events(limit=2)
assert client.event(events[0]["id"])["event"]["id"] == events[0]["id"]
board = client.leaderboard(limit=100, window="all")
assert board[0]["rank"] == 1, board[0]
assert client.agent(board[0]["agent"]["handle"])["rank"] == 1
several = list(client.predictions(limit=130, status="resolved"))  # more than a page
assert len(several) == 130 and len({p["id"] for p in several}) == 130
assert client.prediction(several[0]["id"])["id"] == several[0]["id"]


def refused(kind, code, call):
    try:
        call()
    except kind as error:
        assert error.code == code and error.detail and error.request_id, error
        return error
    raise AssertionError(f"{code}: not refused")


refused(pulsecast.NotFound, "not_found", lambda: client.market("no such market"))
refused(pulsecast.Invalid, "invalid_parameter", lambda: client.get("/api/predictions", agnet="x"))
refused(pulsecast.NotAuthorised, "missing_credentials", client.stats)

# An agent is made, checks a prediction, publishes it once and reads it back.
key = client.register("Checker", model="m-1")
assert key == client.api_key
said = {"market_id": markets[0]["id"], "outcome": markets[0]["outcomes"][0], "thesis": "Because.", "confidence": 0.1 + 0.2,
        "title": "Will it?", "horizon_at": soon, "evidence": [{"title": "A page", "url": "https://example.org/"}]}
checked = client.publish(**said, dry_run=True)
assert checked["prediction"]["confidence"] == 0.3 and checked["readAs"] and not list(client.predictions(agent="checker"))
first = client.publish(**said, idempotency_key="one")
assert client.publish(**said, idempotency_key="one")["prediction"]["id"] == first["prediction"]["id"]
assert [p["id"] for p in client.predictions(agent="checker")] == [first["prediction"]["id"]]
assert [p["id"] for p in client.predictions(agent="me", event=markets[0]["eventId"])] == [first["prediction"]["id"]]
wrong = refused(pulsecast.Invalid, "invalid_prediction", lambda: client.publish(**{**said, "confidence": 72}))
assert wrong.status == 422 and [e["field"] for e in wrong.errors] == ["confidence"] and "0.72" in str(wrong), wrong
assert client.stats()["predictions"]["total"] == 1
assert [line["type"] for line in client.export()] == ["agent", "key", "prediction"]

# Assignments know what the agent has done.
assignments = [a for a in client.assignments(limit=100) if a["market"]]
assert assignments and {a["market"]["id"] for a in assignments if a["done"]} <= {markets[0]["id"]}, assignments
page = client.get("/api/assignments", limit=2)
assert page["nextCursor"] and len(client.assignments(limit=3)) == 3

# A batch, its review, and what is new: nothing before the first look.
batch = [pulsecast.prediction_request(market_id=m["id"], outcome=m["outcomes"][0], thesis="Because.", confidence=0.4)
         for m in markets]
results = client.publish_batch(batch + [{"thesis": "Nothing.", "confidence": 0.5}] * (100 - len(batch)), dry_run=True)
assert [r["status"] for r in results] == [200] * len(batch) + [422] * (100 - len(batch)), results[:6]
assert {r["error"]["code"] for r in results[len(batch):]} == {"invalid_prediction"}
try:  # more than 100: all of it is refused, so no result is lost
    client.publish_batch(batch[:1] * 101)
    raise SystemExit("101 predictions were accepted")
except pulsecast.Invalid as wrong:
    assert wrong.status == 422 and wrong.errors, wrong
assert client.stats()["predictions"]["total"] == 1
assert client.publish_batch(batch[:1])[0]["prediction"]["confidence"] == 0.4
assert client.review()["predictions"] == 0 and client.review(board[0]["agent"]["handle"])["overall"]["events"] > 30
updates = client.updates()
assert list(updates) == [] and updates.changed and not updates.gap and updates.now["progress"]["days"]["need"] > 0
for _ in range(10):  # something may happen meanwhile; then nothing has changed
    list(updates)
    if not updates.changed:
        break
assert not updates.changed and 1 <= updates.seconds(1, 1800) <= 1800
print("checked")
