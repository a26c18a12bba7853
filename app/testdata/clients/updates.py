"""Follows scripted updates, and keeps the place in the file that the argument names."""
import sys

import pulsecast

client = pulsecast.Client(api_key="pc_key", attempts=1)
updates = client.updates(sys.argv[1])
try:
    for update in updates:
        print(update["id"], end=" ")
        if update["id"] == "3" and sys.argv[2:] == ["crash"]:
            raise KeyboardInterrupt
except KeyboardInterrupt:
    pass
print(f"changed={updates.changed} gap={updates.gap} assignments={updates.now['assignments']} wait={updates.seconds(1, 9):.0f}")
