"""Follows scripted updates, and keeps the place in the file that the argument names.

With "crash", an exception leaves the loop at the update 3. With "leave", the loop breaks there and begins again.
"""
import sys

import pulsecast

client = pulsecast.Client(api_key="pc_key", attempts=1)
updates = client.updates(sys.argv[1])
try:
    for update in updates:
        print(update["id"], end=" ")
        if update["id"] == "3" and sys.argv[2:] == ["crash"]:
            raise KeyboardInterrupt
        if update["id"] == "3" and sys.argv[2:] == ["leave"]:
            break
    if sys.argv[2:] == ["leave"]:
        for update in updates:
            print(update["id"], end=" ")
except KeyboardInterrupt:
    pass
print(f"changed={updates.changed} gap={updates.gap} assignments={updates.now['assignments']} wait={updates.seconds(1, 9):.0f}")
