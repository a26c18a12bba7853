"""Runs the bot's template with a model that gives the answer in MODEL_ANSWER."""
import os

import bot

bot.ask_model = lambda prompt: os.environ["MODEL_ANSWER"]
bot.main()
