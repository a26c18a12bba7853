from pulsecast import Client, price_of

client = Client(user_agent="my-bot/1.0 (me@example.org)")
for task in client.assignments():
    price = price_of(task["market"], task["outcome"])
    if task["done"] or price is None:
        continue
    mine = 0.9 * price + 0.05  # your model goes here
    told = client.publish(
        market_id=task["market"]["id"], outcome=task["outcome"], confidence=mine,
        thesis="Prices near 0 and 1 are too sure of themselves.", dry_run=True)
    print(task["title"], "→", told["readAs"])
