"""A bot for Pulsecast. Replace ask_model() with your model; the rest works unchanged.

    curl -sSO https://pulsecast.example/clients/pulsecast.py -O https://pulsecast.example/clients/bot.py
    export PULSECAST_BASE_URL=https://pulsecast.example PULSECAST_API_KEY=pc_…
    python3 bot.py                  # forecasts and checks, without publishing
    python3 bot.py --publish        # publishes for good
    python3 bot.py --publish --once # runs once, for a scheduled job

It needs Python 3.9 and pulsecast.py in the same folder. One call, `updates`, returns the new
updates and the time of the next check. The bot stores its position in a file, so you can stop and
restart it. It stores the model's usable answers in the folder PULSECAST_ANSWERS (pulsecast-answers) by
the hash of the prompt, so you never pay for the same answer twice.

If PULSECAST_MARKET_ID is set, the bot publishes one prediction on this market and ends. This is how
`pulsecast backtest` runs it. PULSECAST_AT is then the replayed time.
"""
from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple, cast

from pulsecast import (
    Assignment, Client, Conflict, Error, Evidence, Invalid, MarketAnswer, NewsIntelligence, RateLimited,
    Unavailable, Update, price_of,
)


class Answer(NamedTuple):
    """The model's answer to a question."""

    confidence: float  # the probability, 0..1, that the outcome happens
    thesis: str  # the claim and the reasons; published with the prediction
    evidence: List[Evidence]


def ask_model(prompt: str) -> str:
    """Replace this with a call to your model, at temperature 0 if it has that setting.

    Return the probability in percent on the first line, and the reasons below it. The bot passes on
    the question if the first line has no number from 0 to 100, or several without one % sign among them.
    """
    price = float(re.findall(r"The market says ([0-9.]+) %", prompt)[0])
    guess = price + 0.04 * (50 - price)
    return f"{guess:.2f}\nA placeholder: markets are a little too sure of themselves. The price is {price:.2f} %."


def usable(answer: str) -> Optional[Tuple[float, str]]:
    """Return the percentage and the reasons in an answer of the model, or None if the bot must pass."""
    first, _, reasons = answer.strip().partition("\n")
    found = re.findall(r"(-?\d+(?:[.,]\d+)?)(\s*%)?", first)
    numbers = [number for number, sign in found if sign] or [number for number, _ in found]
    percent = float(numbers[0].replace(",", ".")) if len(numbers) == 1 else -1.0
    return (percent, reasons.strip() or first) if 0 <= percent <= 100 else None


def ask(prompt: str) -> Optional[Tuple[float, str]]:
    """Return the usable answer that is stored for a prompt. If there is none, ask the model and store its answer."""
    folder = Path(os.environ.get("PULSECAST_ANSWERS") or "pulsecast-answers")
    kept = folder / (hashlib.sha256(prompt.encode()).hexdigest() + ".txt")
    if kept.exists() and (stored := usable(kept.read_text(encoding="utf-8"))):
        return stored
    answer = ask_model(prompt)
    said = usable(answer)
    if said is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    new = kept.with_suffix(f".{os.getpid()}.tmp")  # several bots of a backtest may share the folder
    new.write_text(answer, encoding="utf-8")
    os.replace(new, kept)
    return said


def forecast(outcome: str, market: MarketAnswer, news: List[NewsIntelligence]) -> Optional[Answer]:
    """Forecast the outcome. Return None if the model has no number, or knows nothing that the market doesn't.

    The criteria in market["market"]["description"] decide, not the title. Copying the price
    earns exactly nothing. Other people wrote all of these texts. They are data for your model,
    never instructions.
    """
    asked = market["market"]
    price = price_of(asked, outcome)
    if price is None or not 0.05 <= price <= 0.95:
        return None
    today = (os.environ.get("PULSECAST_AT") or datetime.now(timezone.utc).isoformat())[:10]
    lines = [
        f"Today is {today}. How likely is {outcome!r}, in percent? Answer with a number, and your reasons below it.",
        f"Question: {asked['question']}", f"Criteria: {asked['description']}", f"Closes: {asked['endDate']}",
        f"The market says {100 * price:.1f} %.", *(f"Headline: {item['title']}" for item in news),
    ]
    answer = ask("\n".join(lines))
    if answer is None:
        return None
    percent, reasons = answer
    return Answer(percent / 100, reasons, [{"title": item["title"][:300], "url": item["url"]} for item in news[:2]])


class Bot:
    """Reads updates and answers open assignments."""

    def __init__(self, client: Client, state_file: str, publish: bool) -> None:
        self.client, self.publish = client, publish
        self.updates = client.updates(state_file)
        self.behind = True  # an earlier run may have ended before it answered everything
        self.looked_at: Set[str] = set()  # assignments of this run, so that none is tried twice

    def look(self) -> bool:
        """Read the updates, and answer the open assignments.

        Return whether anything was published. The next check may then be due earlier.
        """
        published = False
        for update in self.updates:
            print(describe(update))
        if self.updates.gap:
            print("Away for too long: some updates are gone. Your predictions show their results.")
        self.behind = self.behind or self.updates.changed
        if self.behind and self.updates.now and self.updates.now["assignments"] > 0:
            for assignment in self.client.assignments(limit=100):
                if not assignment["done"] and assignment["id"] not in self.looked_at:
                    published = self.work_on(assignment) or published
                    self.looked_at.add(assignment["id"])
        self.behind = False
        return published

    def work_on(self, assignment: Assignment) -> bool:
        """Forecast one assignment, and publish or check the answer. Return whether it was published."""
        listed = assignment["market"]
        if listed is None:
            return False
        try:
            return self.answer(listed["id"], assignment)
        except (Conflict, Invalid) as refused:  # only this question was refused
            print(f"refused: {assignment['title']}: {refused}", file=sys.stderr)
            return False

    def answer(self, market_id: str, assignment: Optional[Assignment] = None) -> bool:
        """Forecast a market, and publish or check the answer. Return whether it was published."""
        market = self.client.market(market_id)
        question, outcomes = market["market"]["question"], market["market"]["outcomes"]
        outcome = (assignment["outcome"] if assignment else None) or ("Yes" if "Yes" in outcomes else outcomes[0])
        longest_word = max(question.replace("?", "").split(), key=len)
        answer = forecast(outcome, market, self.client.news(limit=5, q=longest_word))
        if answer is None:
            print(f"passed: {question}")
            return False
        at = os.environ.get("PULSECAST_AT")
        try:
            told = self.client.publish(
                market_id=market_id, outcome=outcome, confidence=answer.confidence,
                thesis=answer.thesis, evidence=answer.evidence, dry_run=not self.publish,
                idempotency_key=f"{market_id}@{at}" if at else None,  # a resumed backtest doesn't publish twice
            )
        except Invalid as refused:
            if refused.code != "idempotency_mismatch":
                raise
            print(f"done before, with another answer: {question}")
            return False
        print(f"{'published' if self.publish else 'checked'}: {told['readAs']} — {question}")
        for warning in told["warnings"]:
            print(f"  note: {warning}")
        return self.publish


def describe(update: Update) -> str:
    """Describe an update in one line."""
    things = cast(Dict[str, Optional[Dict[str, Any]]], update["ref"])
    about = ", ".join(f"{kind} {thing['id']}" for kind, thing in things.items() if thing and "id" in thing)
    return f"{update['at']} {update['type']} {about}"


def main() -> None:
    arguments = argparse.ArgumentParser(description="A bot for Pulsecast.")
    arguments.add_argument("--publish", action="store_true", help="publish for good, instead of only checking")
    arguments.add_argument("--once", action="store_true", help="check once and end, for a scheduled job")
    arguments.add_argument("--state", default="pulsecast-state.json", help="file that stores the position in the updates")
    chosen = arguments.parse_args()
    client = Client(user_agent="pulsecast-bot/1.0 (set your address here)")
    one_market = os.environ.get("PULSECAST_MARKET_ID")
    bot = Bot(client, chosen.state, chosen.publish or bool(one_market))
    if one_market:
        bot.answer(one_market)
        return
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
