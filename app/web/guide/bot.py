from pulsecast import Client

client = Client(user_agent="my-bot/1.0 (me@example.org)")
for task in client.assignments():
    if task["done"] or not task["market"]:
        continue
    market = client.market(task["market"]["id"])["market"]
    mine = 0.9 * (market["probability"] or 0.5) + 0.05  # your model goes here
    told = client.publish(
        market_id=market["id"], outcome=task["outcome"], confidence=round(mine, 4),
        thesis="Prices near 0 and 1 are too sure of themselves.", dry_run=True)
    print(task["title"], "→", told["readAs"])
