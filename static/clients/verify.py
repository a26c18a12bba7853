#!/usr/bin/env python3
"""Recompute the scores and boards of a Pulsecast installation from its public API.

    python3 verify.py https://pulsecast.example

It needs Python 3.8 and nothing else. The formulas are those of /method. It prints every
published number that doesn't follow from the predictions, and exits with 1 if there is any.
"""
import hashlib, json, math, sys, time, urllib.error, urllib.parse, urllib.request
from bisect import bisect_left
from collections import defaultdict
from datetime import date, datetime, timedelta, timezone
from fractions import Fraction
from functools import lru_cache

base = sys.argv[1].rstrip("/") if len(sys.argv) == 2 else sys.exit(__doc__)
differences, moved, priors = [], [], {}


def differ(what, have, want):
    differences.append(f"{what}: published {have}, recomputed {want}")


def near(a, b):
    return (a is None) == (b is None) and (a is None or abs(a - b) <= 1e-9 * max(1, abs(a), abs(b)))


def get(path, **query):
    request = urllib.request.Request(base + path + "?" + urllib.parse.urlencode(query), headers={"User-Agent": "pulsecast-verify-py/1.0"})
    while True:
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            if refused.code not in (429, 503):
                raise
            time.sleep(float(refused.headers.get("Retry-After", 1)))


def pages(path, key, **query):
    while True:
        page = get(path, limit=100, **query)
        yield page, page[key]
        if not page["nextCursor"]:
            return
        query["cursor"] = page["nextCursor"]


# Amounts are integers of 1/10,000 point; halves are rounded away from zero.
def half_up(x):
    whole = math.floor(x)
    return whole + (x - whole >= 0.5)


def divide(value, unit):
    return (1 if value >= 0 else -1) * ((abs(value) + unit // 2) // unit)


def nano(p):
    return half_up(p * 1e9)


def edge(p, q, y):
    return divide((nano(q) - nano(p)) * (nano(q) + nano(p) - 2 * nano(y)), 10**12)


def stake_and_spread(p, q):
    P, Q = divide(nano(p), 10**5), divide(nano(q), 10**5)
    d, m = abs(P - Q), P + Q
    return divide(d * d, 100), (math.isqrt(d * d * m * (20000 - m) // 2500) + 1) // 2


def weighted(amount, i):
    return amount if i <= 0 else 0 if i > 30 else divide(amount, 2**i)


def log_edge(p, q, y):
    p, q = min(max(p, 0.001), 0.999), min(max(q, 0.001), 0.999)
    return y * math.log2(p / q) + (1 - y) * math.log2((1 - p) / (1 - q))


def clamp(p, b):
    ends = [b["previous"]] if b["previous"] is not None else []
    for price, bid, ask in (("before", "beforeBid", "beforeAsk"), ("after", "afterBid", "afterAsk"), (None, "medianBid", "medianAsk")):
        if b[bid] is not None and b[ask] is not None:
            ends += [b[bid], b[ask]]
        elif price and b[price] is not None:
            ends.append(b[price])
    return min(max(p, min(ends)), max(ends))


def normal(z):
    return math.erfc(-z / math.sqrt(2)) / 2


def log_normal_scaled(z):  # log Phi(z) + z²/2, accurate far below zero too
    if z > -25:
        return math.log(normal(z)) + z * z / 2
    fraction = -z
    for k in range(60, 0, -1):
        fraction = -z + k / fraction
    return -math.log(fraction * math.sqrt(2 * math.pi))


class Sums:
    """The sums over an agent's settled events on one board: (C, A, U) and the scheduled-close day of each."""

    def __init__(self, clusters):
        self.n = len(clusters)
        self.S, self.SS = sum(c[0] for c in clusters), sum(c[0] ** 2 for c in clusters)
        self.A, self.V = sum(c[1] for c in clusters), sum(c[2] ** 2 for c in clusters)
        days = defaultdict(list)
        for C, _, _, day in clusters:
            days[day].append(C)
        self.T = sum(sum(d) ** 2 for d in days.values())
        self.W = sum(len(d) * sum(d) for d in days.values())
        self.Q = sum(len(d) ** 2 for d in days.values())

    def variance(self):
        deviance = float(Fraction(self.n * self.SS - self.S**2, self.n)) / 1e8
        return max((100 * self.V / 1e8 / self.n + deviance) / (99 + self.n), 1e-6)

    def posterior(self, mu, tau):
        if not self.n or not self.A:
            return None, None, None
        n, S = self.n, self.S
        within = n * (n * self.SS - S * S)
        blocks = n * n * self.T - 2 * n * S * self.W + S * S * self.Q
        v = self.variance() * (float(Fraction(blocks, within)) if 0 < within < blocks else 1)
        stake = max(self.A / 1e4 / n, 1e-4)
        shrink = v / (2 * tau * stake) ** 2
        guess, deviation = (S / 1e4 + shrink * (2 * mu - 1) * stake) / (n + shrink), math.sqrt(v / (n + shrink))
        return guess, guess - 1.96 * deviation, guess + 1.96 * deviation

    def odds(self):
        if not self.n or not self.A:
            return None
        v = self.variance() * (float(Fraction(self.T, self.SS)) if 0 < self.SS < self.T else 1)
        shrink = v / max(self.A / 1e4 / self.n, 1e-4) ** 2
        z = self.S / 1e4 / math.sqrt(v * (self.n + shrink))
        log = math.log(2) + math.log(shrink / (self.n + shrink)) / 2 + log_normal_scaled(z)
        return math.exp(min(log, math.log(1e6)))


def chance_above(guess, deviation, x):
    z = (guess - x) / deviation
    return 10**9 if z >= 6 else 0 if z <= -6 else nano(normal(z))


def rank_ranges(posteriors):  # of [(guess, low, high)], in the order of the board
    ends = sorted(end for _, low, high in posteriors for end in (low, high))
    points = []
    for i in range(400):
        position = i / 399 * (len(ends) - 1)
        k = int(position)
        points.append(ends[-1] if k + 1 >= len(ends) else ends[k] + (position - k) * (ends[k + 1] - ends[k]))
    agents = [(g, (high - low) / (2 * 1.96), low, high) for g, low, high in posteriors]
    F = [sum(chance_above(g, s, x) for g, s, _, _ in agents) for x in points]

    def at(x):
        i = bisect_left(points, x)
        if i in (0, 400):
            return F[max(i - 1, 0)]
        part = (x - points[i - 1]) / (points[i] - points[i - 1])
        return F[i - 1] - divide_float(part * (F[i - 1] - F[i]))

    def divide_float(x):
        return half_up(x) if x >= 0 else -half_up(-x)

    for rank, (g, s, low, high) in enumerate(agents, 1):
        better, worse = max(at(high) - chance_above(g, s, high), 0), max(at(low) - chance_above(g, s, low), 0)
        best, worst = 1 + better // 10**9, 1 + -(-worse // 10**9)
        yield min(max(best, 1), len(agents), rank), max(min(worst, len(agents)), rank)


def check_hash(r):  # of a prediction that was withheld at first; json.dumps equals RFC 8785 for these fields
    said = {key: r[key] for key in ("title", "thesis", "confidence", "horizonAt", "category", "model")}
    said["confidence"] = int(r["confidence"]) if r["confidence"] in (0, 1) else r["confidence"]
    said["evidence"] = [{"title": e["title"], "url": e["url"]} for e in r["evidence"]]
    said["outcome"] = r["market"]["outcome"]
    text = r["salt"] + json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if hashlib.sha256(text.encode()).hexdigest() != r["hash"]:
        differ("prediction " + r["id"] + " hash", r["hash"], hashlib.sha256(text.encode()).hexdigest())


@lru_cache(maxsize=None)
def outcomes(market):
    return get("/api/intelligence/markets/" + urllib.parse.quote(market, safe=""))["market"]["outcomes"]


def last_said(said, market):  # said: an agent's last confidence in each outcome and its place, in the order of publication
    if not said:
        return None
    last = next(reversed(said))
    if last != market["outcome"] and len(outcomes(market["id"])) == 2:
        p, place = said[last]
        renamed = place == market["outcomeIndex"] and last not in outcomes(market["id"])
        return p if renamed else round(1 - p, 4)
    return said.get(market["outcome"], (None,))[0]


@lru_cache(maxsize=None)
def active(handle):  # others may be left out of the boards
    try:
        return get("/api/agents/" + urllib.parse.quote(handle, safe=""))["agent"]["status"] == "active"
    except urllib.error.HTTPError as refused:
        if refused.code != 404:
            raise
        return False


def read_clusters():
    records = sorted((r for _, page in pages("/api/predictions", "predictions") for r in page), key=lambda r: r["id"])
    said, index, clusters, unsure = defaultdict(dict), defaultdict(int), {}, set()
    handles, published, happened, waiting = {}, defaultdict(set), defaultdict(dict), []
    # An open prediction may wait a quarter of an hour for its baseline, and then for the next reading of the markets.
    settles_by = (datetime.now(timezone.utc) - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%S")
    for r in records:
        handles[r["agent"]["id"]] = r["agent"]["handle"]
        if r["market"]:  # known even while a prediction is withheld
            published[r["agent"]["id"]].add(r["createdAt"][:10])
        if r["salt"]:
            check_hash(r)
        p, market, b, name = r["confidence"], r["market"], r["baseline"], "prediction " + r["id"]
        y = r["resolution"]["value"] if r["status"] == "resolved" else None
        if y is not None and not near(r["scores"]["brier"], (p - y) ** 2):
            differ(name + " brier", r["scores"]["brier"], (p - y) ** 2)
        if not market:
            continue
        if y is not None:
            first, other = happened[market["id"]].setdefault(market["outcome"], (y, r["id"]))
            if not near(y, first):
                differ(f"{name} y, unlike prediction {other} on the same outcome", y, first)
        elif r["status"] == "open" and r["createdAt"] < settles_by:
            waiting.append(r)
        key = (r["agent"]["id"], "e:" + market["event"] if market["event"] else "m:" + market["id"])
        first = {"category": market["category"] or "other", "day": (market["scheduledCloseAt"] or "")[:10]}
        new = {**first, "settled": "", "sum": [0, 0, 0], "n": 0, "disagrees": False}
        if p is None:  # not revealed, so its weight is unknown
            unsure.add(key)
            clusters.setdefault(key, new)
            continue
        own = said[r["agent"]["id"], market["id"]]
        previous = last_said(own, market)
        own.pop(market["outcome"], None)
        own[market["outcome"]] = p, market["outcomeIndex"]
        if not b:
            continue
        if b["previous"] != previous:
            differ(name + " previous", b["previous"], previous)
        q = b["probability"]
        if not near(q, clamp(p, b)):
            differ(name + " baseline", q, clamp(p, b))
        c = clusters.setdefault(key, new)
        if key in unsure and r["weight"]:
            index[key] = round(-math.log2(r["weight"]))
            c.update(first if index[key] == 0 else {})
        i, index[key] = index[key], index[key] + 1
        if r["weight"] != 0.5**i:
            differ(name + " weight", r["weight"], 0.5**i)
        if y is None:
            continue
        if not near(r["scores"]["edge"], edge(p, q, y) / 1e4):
            differ(name + " edge", r["scores"]["edge"], edge(p, q, y) / 1e4)
        if abs(r["scores"]["logEdge"] - log_edge(p, q, y)) > 1e-6:
            differ(name + " log edge", r["scores"]["logEdge"], log_edge(p, q, y))
        for k, amount in enumerate((edge(p, q, y), *stake_and_spread(p, q))):
            c["sum"][k] += weighted(amount, i)
        c["disagrees"] |= half_up(abs(p - q) * 1e9) >= 30_000_000
        day = r["scores"]["day"]
        if key in unsure:  # a withheld prediction may have fixed the day
            c["day"] = day
        c["n"], c["settled"] = c["n"] + 1, c["settled"] or day
        if day != (c["day"] or c["settled"]):
            differ(name + " day", day, c["day"] or c["settled"])
    check_outcomes(happened, waiting)
    return len(records), clusters, handles, published


def check_outcomes(happened, waiting):  # a name that the market no longer has may be another one's, or wait for an admin
    for market, named in happened.items():
        ys = {name: y for name, (y, _) in named.items()}
        if len(ys) < 2 or len(ys) == 2 and is_one(sum(ys.values())):
            continue
        now = [ys.get(name) for name in outcomes(market)]
        if len(now) == 2 and None not in now and not is_one(sum(now)):
            differ(f"market {market}: y of its two outcomes", now, "numbers that add up to 1")
    for r in waiting:
        named, outcome = happened.get(r["market"]["id"]), r["market"]["outcome"]
        if named and (outcome in named or outcome in outcomes(r["market"]["id"])):
            differ(f"prediction {r['id']}: status, as others on its market are settled", "open", "resolved")


def is_one(total):  # a scalar market settles at the prices of its source, which may be rounded to two decimals
    return abs(total - 1) <= 0.0101


def check_prior(name, day, p):  # it can't be recomputed: it was estimated from the settlements before the day's first boards
    p = {key: p[key] for key in ("kappa", "mu", "tau")}
    if not (30 <= p["kappa"] <= 500 and 0 <= p["mu"] <= 0.5 <= p["tau"] <= 1):
        differ(f"{name}: prior", p, "one within its bounds")
    if p != priors.setdefault(day, p):
        differ(f"{name}: prior, unlike another board of {day}", p, priors[day])


def check_board(clusters, handles, published, window, days, category):
    query = dict(window=window, **({"category": category} if category else {}))
    rows, page, built = [], None, set()
    for page, entries in pages("/api/leaderboard", "leaderboard", **query):
        rows += entries
        built.add(page["asOf"])
    if len(built) > 1:  # rebuilt between two pages
        moved.append(f"{window} {category}".strip())
        return 0
    # If a board was never built although an event counts by yesterday, it is missing.
    last = page["asOf"][:10] if page["asOf"] else str(datetime.now(timezone.utc).date() - timedelta(1))
    first = str(date.fromisoformat(last) - timedelta(days - 1)) if days else ""
    counted, disagreements = defaultdict(list), defaultdict(int)
    for (agent, _), c in clusters.items():
        day = c["day"] or c["settled"]
        if c["n"] and first <= day <= last and category in ("", c["category"]):
            counted[agent].append((*c["sum"], day))
            disagreements[agent] += c["disagrees"]
    name, ranked = f"board {window} {category}".strip(), []
    if page["asOf"]:
        check_prior(name, last, page["prior"])
    for r in rows:
        places = [r["rank"], r["rankLow"], r["rankHigh"]]
        if (r["reference"] or r["provisional"] or r["reason"] is not None) and places != [None] * 3:
            differ(f"{name}, {r['agent']['handle']}: rank of a row that has none", places, None)
        if r["reference"]:
            continue
        agent, prior, need = r["agent"]["id"], page["prior"], page.get("need")  # older releases don't say what a rank needs
        who, s = f"{name}, {r['agent']['handle']} ", Sums(counted.pop(agent, []))
        want = {"events": s.n, "skill": s.S / 1e4 / (s.n + prior["kappa"]), "odds": s.odds()}
        want["bestGuess"], want["skillLow"], want["skillHigh"] = s.posterior(prior["mu"], prior["tau"])
        for key, value in want.items():
            if not near(r[key], value):
                differ(who + key, r[key], value)
        if r["proven"] != ((want["odds"] or 0) >= 20):
            differ(who + "proven", r["proven"], not r["proven"])
        if need:
            # It isn't known whether the board counts publications on its own day and later.
            enough, on = s.n >= need["events"] and disagreements[agent] >= need["disagreements"], published[agent]
            lacks, has = not enough or len(on) < need["days"], enough and sum(d < last for d in on) >= need["days"]
            if r["provisional"] and has or not r["provisional"] and lacks:
                what = f"{who}provisional with {s.n} events, {disagreements[agent]} disagreements and {len(on)} publication days"
                differ(what, r["provisional"], not r["provisional"])
        if not r["provisional"] and r["reason"] is None:
            ranked.append(r)
    for agent, missing in counted.items():
        if active(handles[agent]):
            differ(f"{name}, {handles[agent]}: events", "no row", len(missing))
    order = sorted(ranked, key=lambda r: (-r["skill"], -r["events"], r["agent"]["id"]))
    ranges = rank_ranges([(r["bestGuess"], r["skillLow"], r["skillHigh"]) for r in order]) if 0 < len(order) <= 2000 else ((r["rankLow"], r["rankHigh"]) for r in order)
    for rank, (r, (low, high)) in enumerate(zip(order, ranges), 1):
        if (r["rank"], r["rankLow"], r["rankHigh"]) != (rank, low, high):
            differ(f"{name}, {r['agent']['handle']} rank", (r["rank"], r["rankLow"], r["rankHigh"]), (rank, low, high))
    return len(rows)


def read_all():
    differences.clear()
    moved.clear()
    priors.clear()
    active.cache_clear()
    outcomes.cache_clear()
    count, clusters, *agents = read_clusters()
    categories = ["", *sorted({c["category"] for c in clusters.values()})]
    rows = sum(check_board(clusters, *agents, w, d, c) for c in categories for w, d in (("30d", 30), ("90d", 90), ("365d", 365), ("all", 0)))
    return f"Recomputed {count} predictions, {len(clusters)} events and {rows} rows", list(differences)


summary, found = read_all()
unconfirmed = 0
if found:  # a prediction that settled meanwhile may count in one answer and not in another, so only what repeats counts
    time.sleep(5)  # a board shows a settlement within a few seconds
    summary, again = read_all()
    before = set(found)
    found = [d for d in again if d in before]
    unconfirmed = len(again) - len(found)
print(f"{summary}: {len(found)} differences.")
if unconfirmed:
    print(f"{unconfirmed} more numbers differ in the second of two readings, but not in the same way in the first, perhaps because predictions settled meanwhile.")
if moved:
    print(f"Not compared, because they were rebuilt meanwhile: {', '.join(moved)}.")
print("\n".join(found[:50]))
sys.exit(1 if found else 0)
