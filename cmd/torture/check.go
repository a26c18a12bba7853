package main

import (
	"fmt"
	"time"
)

// check is one way to attack the program.
type check struct {
	name  string
	tries string // the sentence that says what is tried
	holds string // the sentence that says what must hold
	// limits returns the sentence with the limits of time in effect; nil if there are none.
	limits func(*scale) string
	run    func(*lab)
	idle   bool // it mostly waits, so it runs beside other checks
	long   bool // it takes longer than most, so it starts before others
	suite  bool // the suite tries the same in its own way, so the short form leaves it out
}

var checks = []check{
	{
		name:  "nodes",
		tries: "A node is killed (SIGKILL) at a random moment while agents publish with idempotency keys and markets close. Then it is started again.",
		holds: "Every acknowledged prediction exists exactly once. Every key gives one prediction, and a retry succeeds at once. Updates continue from their cursor. At the end, every settlement is among the updates and the ledger equals its rebuild.",
		run:   killNodes,
	},
	{
		name:  "databases",
		tries: "Postgres is killed (SIGKILL to all its processes) or stopped immediately (SIGQUIT) under a node that keeps running.",
		holds: "The same as for nodes. During an outage, answers are 200 or 503.",
		limits: func(s *scale) string {
			return fmt.Sprintf("Publishing works again within %s.", s.patience(publishingLimit))
		},
		run: killDatabases,
	},
	{
		name:  "backups",
		tries: "A backup, or the node beside it, is killed while the backup is written.",
		holds: "The same as for nodes. A backup that was reported as written can be restored.",
		run:   killBackups,
		long:  true,
	},
	{
		name:  "sealing",
		tries: "The sealer of a day of the archive is killed (SIGKILL) at a random moment, on both databases. Another sealer continues its work.",
		holds: "The day is sealed once. It holds every reading once, its hashes are right, and it links to the day before.",
		run:   killSealers,
		suite: true,
	},
	{
		name:  "cluster",
		tries: "Three nodes serve behind haproxy, on one Postgres and one Redis. One after another is killed or stopped while agents publish.",
		holds: "The same as for nodes. Every lease is renewed or taken over. An author reads its own prediction at once, on every node. A node that is stopped by SIGTERM loses no request.",
		limits: func(s *scale) string {
			return fmt.Sprintf("The jobs run every %s, and their leases pass to other nodes within %s.", shortInterval, s.patience(2*shortInterval))
		},
		run: rollNodes,
	},
	{
		name:  "outages",
		tries: "The disk of Postgres is filled, Postgres is stopped and frozen, a transaction locks the predictions, Redis is frozen and stopped, and the sources hang. On another node, the identity provider hangs and is stopped, another process locks the SQLite database, and the disk of that database is filled. Requests of every kind continue meanwhile.",
		holds: "Requests that need the missing part are answered 503 with Retry-After and all others 200. So without the identity provider, only keys that are new to the node are answered 503. Lists and pages that can't be made are answered from the last good copy, marked as stale. Afterwards every answer is 200 and current again.",
		limits: func(s *scale) string {
			return fmt.Sprintf("The answers to every round of requests come within %s, and to at most %d of all rounds on a node within %s. The recovery takes at most %s, and after at most %d outage of a node %s. To this is added the time in which the database opens a connection for each request of a round, measured without the node. Without the identity provider, a new key is answered up to %s later, and the recovery takes up to %s more. At the moment when Redis freezes, a request takes at most %s longer, in the fastest of %d freezes.",
				s.patience(answerLimit), stalls, s.patience(answerHardLimit), s.patience(returnLimit), stalls, s.patience(returnHardLimit),
				s.patience(newKeyExtra), s.patience(providerRest), s.patience(frozenRedisCost), redisFreezes)
		},
		run:  takeAway,
		long: true,
	},
	{
		name:  "optional parts",
		tries: "A node uses PgBouncer before its Postgres, a streaming replica, and an archive in a bucket. PgBouncer is killed and frozen. The replica is killed, frozen, and made to lag by a pause. The store of the bucket is killed and frozen, while several clients read the archive at a time. Requests of every kind continue meanwhile.",
		holds: "Without the pooler, requests that need the primary are answered 503 with Retry-After, and public reads go to the replica. Without the replica, no request is refused, public reads go to the primary, and an author reads its own predictions at once. Without the store, what is read from the archive is answered 503 with Retry-After or from the last good copy, marked as stale. All other requests are answered 200. Afterwards every answer is 200 and current again. The node's own counts show to which server reads go.",
		limits: func(s *scale) string {
			return fmt.Sprintf("Answers come, and the node recovers, within the same limits as above. An answer from the archive takes at most %s. REPLICA_MAX_LAG is %s, and a visitor sees every prediction within %s. Public reads go to the replica again within %s.",
				s.patience(archiveLimit), replicaMaxLag, s.patience(visitorLag), s.patience(replicaReturn))
		},
		run:   takeOptionalParts,
		suite: true,
	},
	{
		name:  "slow clients",
		tries: "Clients send headers or bodies byte by byte, connect and send no request, or send requests and never read.",
		holds: "Other clients are answered as before. The server closes every such connection, and its number of open descriptors returns to what it was.",
		limits: func(s *scale) string {
			return fmt.Sprintf("Other clients are answered within %s. The connections are closed within %s.", s.patience(slowest), s.patience(s.slowClientLimit()))
		},
		run:  crawl,
		idle: true,
	},
	{
		name:  "fuzzer",
		tries: "Random requests, valid and invalid, are made from the OpenAPI document for every operation, on SQLite without Redis and on Postgres with it.",
		holds: "Every answer matches the document. None is 5xx, and the program keeps running.",
		run:   fuzz,
	},
	{
		name:  "parsers",
		tries: "Every native fuzz target runs, first on its seeds and then on inputs that Go makes. Each parser has one. If the fuzz engine fails without a failing input, the target runs again, three times at most.",
		holds: "No input makes a parser panic, hang, or break a rule that its target checks.",
		run:   parsers,
		suite: true,
	},
	{
		name:  "wire",
		tries: "Raw bytes are sent: malformed requests of many shapes, and unusual but well-formed ones.",
		holds: "Malformed requests are refused and their connections close. Unusual ones are understood.",
		run:   shapes,
		suite: true,
	},
	{
		name:  "expensive requests",
		tries: "One address, then twenty, send the most expensive requests, four at a time each and one more with each of five keys, as fast as their limits allow, on both databases. Others publish and read the list, the board page and health meanwhile.",
		holds: "Every request of other clients is answered 200. Attackers are refused at their limits.",
		limits: func(s *scale) string {
			return fmt.Sprintf("Each database holds %s predictions. For each of the other requests, the time within which 99 %% are answered (p99) is at most %d times its undisturbed time plus %s. None waits longer than %s.",
				grouped(s.searchable()), waitFactor, s.waitFloor(), s.patience(longestWait))
		},
		run:  besiege,
		long: true,
	},
	{
		name:  "soak",
		tries: "A node on Postgres and Redis is kept busy with publishing, reading, pages and streams.",
		holds: fmt.Sprintf("No answer is 5xx. Afterwards the node has at most %d more goroutines, %d more descriptors and %d MiB more of resident memory than before.", goroutinesKept, soakDescriptors, memoryKept),
		run:   soak,
	},
}

// scale sets how much each check tries. A run at full length reaches every setting's "least".
type scale struct {
	Nodes     int           `env:"TORTURE_NODES" default:"200" least:"200" help:"Kills of a node."`
	Databases int           `env:"TORTURE_DATABASES" default:"50" least:"50" help:"Kills of Postgres."`
	Backups   int           `env:"TORTURE_BACKUPS" default:"50" least:"50" help:"Kills during a backup."`
	Sealing   int           `env:"TORTURE_SEALING" default:"50" least:"50" help:"Kills of an archive sealer."`
	Restarts  int           `env:"TORTURE_RESTARTS" default:"30" help:"Kills and restarts of nodes behind haproxy."`
	Outage    time.Duration `env:"TORTURE_OUTAGE" default:"10s" help:"Length of each outage."`
	Clients   int           `env:"TORTURE_CLIENTS" default:"500" help:"Slow clients of each kind."`
	Requests  int           `env:"TORTURE_REQUESTS" default:"20000" help:"Requests of the fuzzer on each backend."`
	Attack    time.Duration `env:"TORTURE_ATTACK" default:"60s" help:"Length of the attack by expensive requests on each backend."`
	Soak      time.Duration `env:"TORTURE_SOAK" default:"10m" help:"Length of the soak."`
	Fuzz      time.Duration `env:"TORTURE_FUZZ" default:"20s" help:"Length of each native fuzz target."`
	Seed      uint64        `env:"TORTURE_SEED" help:"Seed of all random choices. 0 picks a new one."`
	Patience  int           `env:"TORTURE_PATIENCE" default:"1" help:"Factor for every time limit, for a busy machine."`
}

// short returns the scale of the test suite.
func short() *scale {
	return &scale{
		Nodes: 4, Databases: 3, Backups: 4, Sealing: 6, Restarts: 3, Outage: 1500 * time.Millisecond, Clients: 40, Requests: 300,
		Attack: 3 * time.Second, Soak: 4 * time.Second, Fuzz: 2 * time.Second, Patience: 5,
	}
}
