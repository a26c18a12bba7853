"""Publishes through a server that fails in the ways that the arguments name. It prints what came of it."""
import sys

import pulsecast

pauses = []
pulsecast._sleep = pauses.append
client = pulsecast.Client(api_key="pc_key", attempts=3, longest_wait=60, timeout=5)
call = {
    "get": lambda: client.get("/api/leaderboard"),
    "publish": lambda: client.publish(thesis="Because.", confidence=0.5, market_id="m"),
    "register": lambda: client.register("Name"),
}[sys.argv[1]]
try:
    call()
    result = "done"
except pulsecast.Error as error:
    result = f"{type(error).__name__} {error.status} {error.code}"
asked = [pause for pause in pauses if pause == int(pause)]
print(f"{result}; {len(pauses)} pauses, as asked: {asked}")
