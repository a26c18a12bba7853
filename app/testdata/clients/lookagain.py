"""Runs the bot's template with a client that has one assignment. It prints when the bot looks, publishes and waits."""
import sys

import bot

sys.argv = ["bot.py", *sys.argv[1:]]
steps = []


class Updates:
    gap, changed, now = False, True, {"assignments": 1}

    def __iter__(self):
        steps.append("look")
        return iter(())

    def wait(self):
        steps.append("wait")
        raise KeyboardInterrupt


class Client:
    def __init__(self, **settings):
        pass

    def updates(self, path):
        return Updates()

    def assignments(self, limit):
        return [{"id": "a", "done": False, "title": "Will it?", "outcome": "Yes", "market": {"id": "m", "question": "Will it?"}}]

    def market(self, id):
        return {"market": {
            "prices": [0.4, 0.6], "question": "Will it?", "outcomes": ["Yes", "No"], "description": "If it does.", "endDate": None,
        }}

    def news(self, limit, q):
        return []

    def publish(self, dry_run, **fields):
        steps.append("check" if dry_run else "publish")
        return {"readAs": "", "warnings": []}


bot.Client = Client
try:
    bot.main()
except KeyboardInterrupt:
    print(" ".join(steps))
