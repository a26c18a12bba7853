"""Runs a bot of the shape of forecasting-tools on the assignments of a running server."""
import asyncio
import sys
import types

import pulsecast
import pulsecast_forecast_bot as adapter

client = pulsecast.Client(user_agent="check/1.0")
client.register("Metaculus bot")


class MyBot(adapter.ForecastBot):
    async def run_research(self, question):
        assert question.resolution_criteria in question.give_question_details_as_markdown()
        if "fails" in seen:
            raise ValueError("no research")
        return "research on " + question.question_text

    async def _run_forecast_on_binary(self, question, research):
        assert research.endswith(question.question_text) and question.close_time.tzinfo
        assert question.community_prediction_at_access_time is None  # the bot forms its own opinion
        seen.append(question.question_text)
        return adapter.ReasonedPrediction(prediction_value=[0.2, 0.4, 0.9][len(seen) % 3], reasoning="# Why\x07\nBecause.\n")


def run(bot, **how):
    return asyncio.run(adapter.forecast_assignments(bot, client, limit=3, **how))


def made():
    return list(client.predictions(agent="metaculus-bot"))


# Checked only, then published: the median of three, with the reasons as the thesis.
seen = []
checked = run(MyBot(predictions_per_research_report=3), dry_run=True)
assert len(checked) == 3 and len(seen) == 9 and not made(), checked
published = run(MyBot(predictions_per_research_report=3), model="m-2")
assert [p["prediction"]["confidence"] for p in published] == [0.4] * 3, published
assert made()[0]["thesis"] == "# Why\nBecause.\n\n" * 2 + "# Why\nBecause." and made()[0]["model"] == "m-2"
on = {p["market"]["id"] for p in made()}
assert all(a["done"] for a in client.assignments(limit=100) if a["market"] and a["market"]["id"] in on)

# A failure is in the list and stops nothing.
seen = ["fails"]
assert all(isinstance(one, ValueError) for one in run(MyBot())), "failures are returned"

# With the package installed, questions are of its class.
package = types.ModuleType("forecasting_tools")


class BinaryQuestion:
    def __init__(self, **fields):
        self.__dict__.update(fields)


package.BinaryQuestion = BinaryQuestion
sys.modules["forecasting_tools"] = package
[question, *_] = adapter.questions_of(client.assignments(limit=100), show_price=True)
assert type(question) is BinaryQuestion and question.custom_metadata["pulsecast"]["marketId"]


# A report of the package is published by its question, prediction and explanation.
class Report:
    prediction, explanation = 0.61234, "# Report\n" + "x" * 20_000


Report.question = adapter.question_of(client.markets(limit=1)[0])
told = adapter.publish_report(client, Report, dry_run=True)["prediction"]
assert told["confidence"] == 0.6123 and len(told["thesis"]) == 10_000, told
Report.question.custom_metadata = {}
try:
    adapter.publish_report(client, Report)
    raise AssertionError("a question from elsewhere was published")
except ValueError:
    pass
print("checked")
