"""Run a bot written for Metaculus' forecasting-tools on Pulsecast.

Such a bot is a class with run_research(question) and _run_forecast_on_binary(question,
research). To run it on Pulsecast, add one line:

    import asyncio
    from pulsecast import Client
    from pulsecast_forecast_bot import forecast_assignments
    from my_bot import MyBot  # your class MyBot(ForecastBot), unchanged

    asyncio.run(forecast_assignments(MyBot(), Client(), dry_run=True))

If the package forecasting-tools is installed, questions are its BinaryQuestion, and your bot runs
as it does there. Without the package, ForecastBot, BinaryQuestion and ReasonedPrediction of this
file have the parts that such a bot uses. This file needs Python 3.9 and pulsecast.py beside it.

This file follows the interface of forecasting-tools as of 2026. It is not part of that project.
"""
from __future__ import annotations

import asyncio
import importlib
import unicodedata
from dataclasses import dataclass, field
from datetime import datetime, timezone
from statistics import median
from typing import Any, Dict, Generic, Iterable, List, Optional, Sequence, TypeVar, Union, cast

from pulsecast import Assignment, Client, Error, MarketDetail, MarketIntelligence, PublishAnswer, parse_time

T = TypeVar("T")

METADATA = "pulsecast"
"""The key in a question's custom_metadata under which this file stores the market and the outcome."""

LONGEST_THESIS = 10_000


@dataclass
class ReasonedPrediction(Generic[T]):
    """A bot's answer to a question: a probability and the reasons."""

    prediction_value: T
    reasoning: str


@dataclass
class BinaryQuestion:
    """A yes-or-no question, with the attributes of the same class in forecasting-tools."""

    question_text: str
    page_url: Optional[str] = None
    id_of_post: Optional[int] = None
    id_of_question: Optional[int] = None
    resolution_criteria: Optional[str] = None
    fine_print: Optional[str] = None
    background_info: Optional[str] = None
    close_time: Optional[datetime] = None
    scheduled_resolution_time: Optional[datetime] = None
    already_forecasted: Optional[bool] = None
    community_prediction_at_access_time: Optional[float] = None
    question_type: str = "binary"
    api_json: Dict[str, Any] = field(default_factory=lambda: cast(Dict[str, Any], {}))
    custom_metadata: Dict[str, Any] = field(default_factory=lambda: cast(Dict[str, Any], {}))

    def give_question_details_as_markdown(self) -> str:
        """Return the question as text for a prompt."""
        return "\n\n".join([
            f"Question: {self.question_text}", f"Resolution criteria: {self.resolution_criteria}",
            f"Fine print: {self.fine_print}", f"Background: {self.background_info}",
            f"Today is {datetime.now(timezone.utc):%Y-%m-%d} (UTC).",
        ])


@dataclass
class BinaryReport:
    """The result of a bot's work on one question."""

    question: Any
    prediction: float
    explanation: str
    errors: List[str] = field(default_factory=lambda: cast(List[str], []))


class ForecastBot:
    """The part of forecasting-tools' ForecastBot that answers binary questions.

    Subclasses write run_research() and _run_forecast_on_binary(). Each question is researched
    research_reports_per_question times, and each research is answered
    predictions_per_research_report times. The median is the prediction.
    """

    def __init__(
        self, *, research_reports_per_question: int = 1, predictions_per_research_report: int = 1,
        skip_previously_forecasted_questions: bool = False, **_: Any,
    ) -> None:
        self.research_reports_per_question = research_reports_per_question
        self.predictions_per_research_report = predictions_per_research_report
        self.skip_previously_forecasted_questions = skip_previously_forecasted_questions

    async def run_research(self, question: Any) -> str:
        """Collect information about a question."""
        raise NotImplementedError("write run_research(question)")

    async def _run_forecast_on_binary(self, question: Any, research: str) -> ReasonedPrediction[float]:
        raise NotImplementedError("write _run_forecast_on_binary(question, research)")

    async def forecast_question(
        self, question: Any, return_exceptions: bool = False,
    ) -> Union[BinaryReport, BaseException]:
        """Answer one question."""
        return (await self.forecast_questions([question], return_exceptions))[0]

    async def forecast_questions(
        self, questions: Sequence[Any], return_exceptions: bool = False,
    ) -> List[Union[BinaryReport, BaseException]]:
        """Answer questions at the same time. The results are in the order of the questions."""
        if self.skip_previously_forecasted_questions:
            questions = [question for question in questions if not question.already_forecasted]
        work = [self._answer(question) for question in questions]
        return list(await asyncio.gather(*work, return_exceptions=return_exceptions))

    async def _answer(self, question: Any) -> BinaryReport:
        said: List[ReasonedPrediction[float]] = []
        for _ in range(self.research_reports_per_question):
            research = await self.run_research(question)
            for _ in range(self.predictions_per_research_report):
                said.append(await self._run_forecast_on_binary(question, research))
        explanation = "\n\n".join(one.reasoning.strip() for one in said)
        return BinaryReport(question, median(one.prediction_value for one in said), explanation)


def question_class() -> Any:
    """Return BinaryQuestion of the installed package, or the one of this file."""
    try:
        return importlib.import_module("forecasting_tools").BinaryQuestion
    except (ImportError, AttributeError):
        return BinaryQuestion


def question_of(
    market: Union[MarketDetail, MarketIntelligence], *, outcome: Optional[str] = None, instructions: str = "",
    done: Optional[bool] = None, show_price: bool = False,
) -> Any:
    """Make a question from a market: will `outcome` happen? Default: Yes, or the first outcome if there is no Yes.

    The price is left out unless show_price is set, so that the bot forms its own opinion.
    """
    outcome = outcome or ("Yes" if "Yes" in market["outcomes"] else market["outcomes"][0])
    text = market["question"] if outcome == "Yes" else f"{market['question']} Will it be \"{outcome}\"?"
    closes = parse_time(market["endDate"]) if market["endDate"] else None
    # The price of a market is the price of Yes, else of its first outcome.
    priced = outcome == ("Yes" if "Yes" in market["outcomes"] else market["outcomes"][0])
    return question_class()(
        question_text=text, page_url=market["url"], resolution_criteria=market.get("description"),
        fine_print=_source(market.get("resolutionSource")), background_info=instructions or None,
        close_time=closes, scheduled_resolution_time=closes, already_forecasted=done,
        community_prediction_at_access_time=market["probability"] if show_price and priced else None,
        custom_metadata={METADATA: {"marketId": market["id"], "outcome": outcome}},
    )


def questions_of(assignments: Iterable[Assignment], *, show_price: bool = False) -> List[Any]:
    """Make questions from the assignments that have a market."""
    return [
        question_of(
            each["market"], outcome=each["outcome"], instructions=each["instructions"], done=each["done"],
            show_price=show_price,
        )
        for each in assignments if each["market"] is not None
    ]


async def forecast_assignments(
    bot: Any, client: Client, *, limit: int = 24, dry_run: bool = False, model: Optional[str] = None,
) -> List[Union[PublishAnswer, BaseException]]:
    """Let a bot answer the open assignments that it hasn't answered yet, and publish its answers."""
    waiting = [a for a in client.assignments(limit=limit) if a["status"] == "open" and not a["done"]]
    return await forecast_and_publish(bot, client, questions_of(waiting), dry_run=dry_run, model=model)


async def forecast_and_publish(
    bot: Any, client: Client, questions: Sequence[Any], *, dry_run: bool = False, model: Optional[str] = None,
) -> List[Union[PublishAnswer, BaseException]]:
    """Let a bot answer questions, and publish or check each answer.

    bot needs the method forecast_questions(questions, return_exceptions), which every ForecastBot
    has. For each question the list has the service's answer, or the exception of the bot or of
    the service. One failure doesn't stop the others.
    """
    results: List[Union[PublishAnswer, BaseException]] = []
    for report in await bot.forecast_questions(questions, return_exceptions=True):
        if isinstance(report, BaseException):
            results.append(report)
            continue
        try:
            results.append(publish_report(client, report, dry_run=dry_run, model=model))
        except (Error, ValueError) as failed:
            results.append(failed)
    return results


def publish_report(client: Client, report: Any, *, dry_run: bool = False, model: Optional[str] = None) -> PublishAnswer:
    """Publish or check the report of one question, which question_of() must have made."""
    metadata = cast(Dict[str, Any], getattr(report.question, "custom_metadata", None) or {})
    origin = cast(Optional[Dict[str, str]], metadata.get(METADATA))
    if origin is None:
        raise ValueError(f"{report.question.question_text!r} is not a question of Pulsecast")
    return client.publish(
        market_id=origin["marketId"], outcome=origin["outcome"], confidence=float(report.prediction),
        thesis=thesis_of(report.explanation), model=model, dry_run=dry_run,
    )


def thesis_of(explanation: str) -> str:
    """Return an explanation as a thesis: at most 10,000 characters, without those that the service refuses."""
    kept = "".join(c for c in explanation if c in "\n\t" or not _refused(c)).strip()
    return kept if len(kept) <= LONGEST_THESIS else kept[: LONGEST_THESIS - 2].rstrip() + " …"


def _refused(character: str) -> bool:
    if unicodedata.category(character) in ("Cc", "Cs"):  # control characters and lone surrogates
        return True
    return "\u202a" <= character <= "\u202e" or "\u2066" <= character <= "\u2069"


def _source(resolution_source: Optional[str]) -> Optional[str]:
    return f"Resolution source: {resolution_source}" if resolution_source else None
