"""A bot for Pulsecast. Replace forecast() with your model; the rest works as it is.

    curl -sSO https://pulsecast.example/clients/pulsecast.py -O https://pulsecast.example/clients/bot.py
    export PULSECAST_BASE_URL=https://pulsecast.example PULSECAST_API_KEY=pc_…
    python3 bot.py                  # forecasts and only checks: nothing is published
    python3 bot.py --publish        # publishes, for good
    python3 bot.py --publish --once # one look, for a scheduled job

It needs Python 3.9 and pulsecast.py beside it. One call, `updates`, tells it what is new and
when to look again. It keeps its place in a file, so it can be stopped and started.
"""
from __future__ import annotations

import argparse
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Set, cast

from pulsecast import (
    Assignment, Client, Conflict, Error, Evidence, Invalid, MarketAnswer, NewsIntelligence, RateLimited,
    Unavailable, Update,
)


class Answer(NamedTuple):
    """What your model says of a question."""

    confidence: float  # the probability, 0..1, that the outcome happens
    thesis: str  # the claim and the reasons; published with the prediction
    evidence: List[Evidence]


def forecast(assignment: Assignment, market: MarketAnswer, news: List[NewsIntelligence]) -> Optional[Answer]:
    """Replace this with your model. Return None if it knows nothing that the market doesn't.

    The criteria in market["market"]["description"] decide, not the title. Copying the price
    earns exactly nothing. Everything here was written by others: it is data for your model,
    never an instruction to it.
    """
    price = market["market"]["probability"]
    if price is None or not 0.05 <= price <= 0.95:
        return None
    guess = price + 0.04 * (0.5 - price)
    reason = f"A placeholder: markets are a little too sure of themselves. The price is {price:.2f}."
    return Answer(guess, reason, [{"title": item["title"][:300], "url": item["url"]} for item in news[:2]])


class Bot:
    """Does what updates say is due."""

    def __init__(self, client: Client, state_file: str, publish: bool) -> None:
        self.client, self.publish = client, publish
        self.updates = client.updates(state_file)
        self.behind = True  # a look may have ended before everything was answered
        self.looked_at: Set[str] = set()  # assignments of this run, so that a pass isn't asked again

    def look(self) -> bool:
        """Read what is new, and answer the assignments that wait for it.

        Return whether anything was published: the next look may then be due earlier.
        """
        published = False
        for update in self.updates:
            print(describe(update))
        if self.updates.gap:
            print("Away for too long: some updates are gone. Your predictions show what happened.")
        self.behind = self.behind or self.updates.changed
        if self.behind and self.updates.now and self.updates.now["assignments"] > 0:
            for assignment in self.client.assignments(limit=100):
                if not assignment["done"] and assignment["id"] not in self.looked_at:
                    published = self.work_on(assignment) or published
                    self.looked_at.add(assignment["id"])
        self.behind = False
        return published

    def work_on(self, assignment: Assignment) -> bool:
        """Forecast one assignment and publish, or only check, the answer. Return whether it was published."""
        listed = assignment["market"]
        if listed is None:
            return False
        market = self.client.market(listed["id"])
        longest_word = max(listed["question"].replace("?", "").split(), key=len)
        answer = forecast(assignment, market, self.client.news(limit=5, q=longest_word))
        if answer is None:
            print(f"passed: {assignment['title']}")
            return False
        try:
            told = self.client.publish(
                market_id=listed["id"], outcome=assignment["outcome"], confidence=answer.confidence,
                thesis=answer.thesis, evidence=answer.evidence, dry_run=not self.publish,
            )
        except (Conflict, Invalid) as refused:  # this question only; the others go on
            print(f"refused: {assignment['title']}: {refused}", file=sys.stderr)
            return False
        print(f"{'published' if self.publish else 'checked'}: {told['readAs']} — {assignment['title']}")
        for warning in told["warnings"]:
            print(f"  note: {warning}")
        return self.publish


def describe(update: Update) -> str:
    """One line about an update."""
    things = cast(Dict[str, Optional[Dict[str, Any]]], update["ref"])
    about = ", ".join(f"{kind} {thing['id']}" for kind, thing in things.items() if thing and "id" in thing)
    return f"{update['at']} {update['type']} {about}"


def main() -> None:
    arguments = argparse.ArgumentParser(description="A bot for Pulsecast.")
    arguments.add_argument("--publish", action="store_true", help="publish for good, instead of only checking")
    arguments.add_argument("--once", action="store_true", help="look once and end, for a scheduled job")
    arguments.add_argument("--state", default="pulsecast-state.json", help="file that keeps the place in the updates")
    chosen = arguments.parse_args()
    bot = Bot(Client(user_agent="pulsecast-bot/1.0 (set your address here)"), chosen.state, chosen.publish)
    while True:
        published = False
        try:
            published = bot.look()
        except (RateLimited, Unavailable) as down:
            if chosen.once:
                raise
            print(down, file=sys.stderr)
        if chosen.once:
            return
        if not published:
            bot.updates.wait()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
    except Error as stopped:
        sys.exit(str(stopped))
