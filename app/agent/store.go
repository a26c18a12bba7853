package agent

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/problem"
)

// Store reads and writes agents, their keys and sessions.
type Store struct {
	// Names says which names agents may have in this installation. If it is nil, only the built-in
	// words are reserved.
	Names *Names
}

// New describes an agent to create.
type New struct {
	Profile
	// Handle is the exact handle to use. If it is "", Create makes one from HandleFrom(Name).
	Handle  string
	Kind    Kind // "" means Ordinary
	Issuer  string
	Subject string // unique together with Issuer
	Owner   string
	Sample  bool
	ID      uuid.UUID // uuid.Nil means a new id
	At      time.Time // the time of creation; must not be zero
	// Official allows a name that is reserved or that looks like another agent's.
	Official bool

	neutral bool // the handle is also the name
}

// errSubjectTaken is returned if a concurrent call has created the agent of the subject.
var errSubjectTaken = errors.New("subject already has an agent")

// Create stores a new agent under a free handle. Errors: 422 invalid_request for a profile or
// handle that breaks the rules, 409 handle_taken if n.Handle is in use.
func (s Store) Create(ctx context.Context, db bun.IDB, n New) (*Agent, error) {
	if n.Kind == "" {
		n.Kind = Ordinary
	}
	if err := s.CheckNew(ctx, db, &n); err != nil {
		return nil, err
	}
	at := database.Stored(n.At)
	a := &Agent{
		ID: database.NewID(at), Handle: n.Handle, Profile: n.Profile, Kind: n.Kind, Status: Active, Visibility: Public,
		Issuer: n.Issuer, Subject: n.Subject, Owner: n.Owner, Sample: n.Sample, CreatedAt: at,
	}
	if n.ID != uuid.Nil {
		a.ID = n.ID
	}
	if n.Handle != "" {
		return a, s.createAs(ctx, db, a)
	}
	base, kept := HandleFrom(n.Name), s.Names.keepsBack
	if n.Official {
		kept = Reserved
	}
	for range 20 {
		handle, err := s.freeHandle(ctx, db, base, kept)
		if err == nil && handle == "" {
			handle, err = s.freeHandle(ctx, db, neutralBase, Reserved)
		}
		if err != nil {
			return nil, err
		}
		if a.Handle = handle; n.neutral {
			a.Profile = publicProfile(a)
		}
		switch inserted, err := s.insert(ctx, db, a); {
		case err != nil:
			return nil, err
		case inserted:
			return a, nil
		}
	}
	return nil, fmt.Errorf("create agent: no free handle like %q", base)
}

// CheckNew trims and checks the profile of an agent to create. It returns 422 invalid_request if
// the profile breaks the rules.
func (s Store) CheckNew(ctx context.Context, db bun.IDB, n *New) error {
	if n.neutral {
		return nil
	}
	if err := n.Check(); err != nil || n.Kind == Reference {
		return err
	}
	return s.Names.check(ctx, db, n.Name, uuid.Nil, n.Official)
}

// createAs stores an agent under exactly the handle a.Handle.
func (s Store) createAs(ctx context.Context, db bun.IDB, a *Agent) error {
	if err := checkHandle(a.Handle); err != nil {
		return err
	}
	if a.Kind == Ordinary {
		kept, err := s.reservedNow(ctx, db, a.Handle)
		if err != nil {
			return err
		}
		closed, err := closedHandles(ctx, db, []string{a.Handle})
		if err != nil {
			return err
		}
		if kept || len(closed) > 0 {
			return problem.InvalidRequest(problem.Field{Field: "handle", Message: "is reserved; choose another"})
		}
	}
	inserted, err := s.insert(ctx, db, a)
	if err == nil && !inserted {
		err = problem.New(problem.CodeHandleTaken, fmt.Sprintf("The handle %q is in use; choose another.", a.Handle))
	}
	return err
}

// insert stores an agent. It returns false if the handle was taken in the meantime. A conflict
// doesn't fail the statement, because a failed statement would end the transaction.
func (s Store) insert(ctx context.Context, db bun.IDB, a *Agent) (bool, error) {
	res, err := db.NewInsert().Model(a).On("CONFLICT DO NOTHING").Exec(ctx)
	if err != nil {
		return false, fmt.Errorf("create agent: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return n == 1, err
	}
	if a.Subject == "" {
		return false, nil
	}
	taken, err := db.NewSelect().Model((*Agent)(nil)).
		Where("issuer = ?", a.Issuer).Where("subject = ?", a.Subject).Exists(ctx)
	if err == nil && taken {
		err = errSubjectTaken
	}
	return false, err
}

// freeHandle returns the first of base, base-2, … base-100 that is neither reserved nor in use. If
// there is none, it appends a random number, with more digits at each try. So a handle for a name
// that thousands have costs only a few queries. It returns "" if all of these are reserved or in
// use.
func (s Store) freeHandle(ctx context.Context, db bun.IDB, base string, kept func(string) bool) (string, error) {
	const inOrder, atRandom = 100, 50
	numbers := make([]int, inOrder)
	for i := range numbers {
		numbers[i] = i + 1
	}
	for span := 10_000; span <= 1e9; span *= 100 {
		handle, err := s.firstFree(ctx, db, base, numbers, kept)
		if err != nil || handle != "" {
			return handle, err
		}
		numbers = numbers[:atRandom]
		for i := range numbers {
			numbers[i] = inOrder + 1 + rand.IntN(span)
		}
	}
	return "", nil
}

// firstFree returns base with the first of the numbers that gives a free handle, or "" if none
// does.
func (Store) firstFree(ctx context.Context, db bun.IDB, base string, numbers []int, kept func(string) bool) (string, error) {
	tries := make([]string, 0, len(numbers))
	for _, n := range numbers {
		if handle := numbered(base, n); !kept(handle) {
			tries = append(tries, handle)
		}
	}
	if len(tries) == 0 {
		return "", nil
	}
	var used []string
	err := db.NewRaw("SELECT handle FROM agents WHERE handle IN ?0 UNION ALL SELECT handle FROM reserved_handles WHERE handle IN ?0", bun.Tuple(tries)).Scan(ctx, &used)
	if err != nil {
		return "", fmt.Errorf("look for a free handle: %w", err)
	}
	free := slices.DeleteFunc(tries, func(handle string) bool { return slices.Contains(used, handle) })
	closed, err := closedHandles(ctx, db, free)
	if err != nil {
		return "", err
	}
	for _, handle := range free {
		if !slices.Contains(closed, handle) {
			return handle, nil
		}
	}
	return "", nil
}

// BySubject returns the agent of a subject at a provider. If there is none yet, it creates the
// agent from n, exactly once even if several calls run at once. created reports whether this call
// created it.
//
// BySubject returns 403 account_closed for a subject whose account was closed. Otherwise a program
// that is still running would create a new agent unintentionally. A name that breaks the rules
// doesn't keep an agent out: the agent gets a neutral handle, which is also its name.
func (s Store) BySubject(ctx context.Context, db *database.DB, n New) (a *Agent, created bool, err error) {
	// These reads come before the transaction, so that the keys of closed accounts don't take the database's write lock.
	if a, err = s.FindSubject(ctx, db, n.Issuer, n.Subject); a != nil || err != nil {
		return a, false, err
	}
	closed, err := subjectClosed(ctx, db, n.Issuer, n.Subject)
	if err != nil {
		return nil, false, err
	}
	if closed {
		return nil, false, AccountClosed()
	}
	err = db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if a, err = s.createForSubject(ctx, tx, n); err != nil {
			return err
		}
		return generation.Move(ctx, tx, generation.Agents)
	})
	if errors.Is(err, errSubjectTaken) {
		a, err = s.FindSubject(ctx, db, n.Issuer, n.Subject)
		return a, false, err
	}
	return a, err == nil, err
}

// createForSubject creates an agent, under a neutral handle if its name is refused.
func (s Store) createForSubject(ctx context.Context, tx bun.Tx, n New) (*Agent, error) {
	a, err := s.Create(ctx, tx, n)
	if refusal, ok := errors.AsType[*problem.Error](err); ok && refusal.Status == http.StatusUnprocessableEntity {
		n.Profile, n.neutral = Profile{}, true
		return s.Create(ctx, tx, n)
	}
	return a, err
}

// FindSubject returns the agent of a subject at a provider, or nil if there is none yet.
func (s Store) FindSubject(ctx context.Context, db bun.IDB, issuer, subject string) (*Agent, error) {
	return s.one(ctx, db, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("issuer = ?", issuer).Where("subject = ?", subject)
	})
}

// ByID returns the agent with an id. It returns 404 not_found if there is none.
func (s Store) ByID(ctx context.Context, db bun.IDB, id uuid.UUID) (*Agent, error) {
	a, err := s.one(ctx, db, func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("id = ?", id) })
	if a == nil && err == nil {
		err = problem.NotFound("There is no agent " + id.String() + ".")
	}
	return a, err
}

// ByHandle returns the agent with a handle. It returns 404 not_found if there is none.
func (s Store) ByHandle(ctx context.Context, db bun.IDB, handle string) (*Agent, error) {
	missing := problem.NotFound(fmt.Sprintf("There is no agent %.60q. Handles have lower-case letters, digits and hyphens. GET /api/agents?q= finds agents by name.", handle))
	if !ValidHandle(handle) {
		return nil, missing
	}
	a, err := s.one(ctx, db, func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("handle = ?", handle) })
	if a == nil && err == nil {
		err = missing
	}
	return a, err
}

// one returns the agent that where selects, or nil if there is none.
func (Store) one(ctx context.Context, db bun.IDB, where func(*bun.SelectQuery) *bun.SelectQuery) (*Agent, error) {
	a := new(Agent)
	err := where(db.NewSelect().Model(a)).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find agent: %w", err)
	}
	return a.utc(), nil
}

// ByIDs returns several agents by id, with one query. Ids without an agent are left out.
func (Store) ByIDs(ctx context.Context, db bun.IDB, ids []uuid.UUID) (map[uuid.UUID]*Agent, error) {
	found := make(map[uuid.UUID]*Agent, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	var agents []*Agent
	planned := database.NewPlanned(db)
	if err := planned.Scan(ctx, planned.In(Select(db), "a.id", ids), &agents); err != nil {
		return nil, fmt.Errorf("find agents: %w", err)
	}
	for _, a := range agents {
		found[a.ID] = a.utc()
	}
	return found, nil
}

// Update calls change with an agent's stored profile and stores the result. If that is the same, it moves no
// generation, because every node would drop its cached lists and what it has cached of the agent. Errors: 404 not_found,
// 403 account_closed, 403 text_hidden if an admin has hidden the profile, 422 invalid_request if
// the result breaks the rules.
func (s Store) Update(ctx context.Context, tx bun.Tx, id uuid.UUID, change func(*Profile)) (*Agent, error) {
	a, err := s.open(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	if err := a.checkEditable(); err != nil {
		return nil, err
	}
	was := a.Profile
	change(&a.Profile)
	if err := a.Check(); err != nil {
		return nil, err
	}
	if a.Profile == was {
		return a, nil
	}
	if a.Name != was.Name {
		if err := s.Names.check(ctx, tx, a.Name, a.ID, false); err != nil {
			return nil, err
		}
	}
	_, err = tx.NewUpdate().Model(a).WherePK().
		Column("name", "name_key", "search_name", "model", "framework", "description", "homepage").Exec(ctx)
	if err != nil {
		return nil, fmt.Errorf("update agent: %w", err)
	}
	return a, changed(ctx, tx, a.ID, generation.Agents)
}

// SetOwner stores the owner that the identity provider names. A closed account gets none.
func (Store) SetOwner(ctx context.Context, db bun.IDB, id uuid.UUID, owner string) error {
	_, err := db.NewUpdate().Model((*Agent)(nil)).Set("owner = ?", owner).Where("id = ?", id).Where("closed_at IS NULL").Exec(ctx)
	if err != nil {
		return fmt.Errorf("set the owner of an agent: %w", err)
	}
	return nil
}

// SetStatus enables or disables an agent. Disabling it ends its sessions and grants. Setting the
// status that the agent has already changes nothing.
func (s Store) SetStatus(ctx context.Context, tx bun.Tx, id uuid.UUID, status Status, now time.Time) (*Agent, error) {
	a, err := s.Lock(ctx, tx, id)
	if err != nil || a.Status == status {
		return a, err
	}
	a.Status, a.DisabledAt = status, time.Time{}
	if status == Disabled {
		a.DisabledAt = database.Stored(now)
		if _, err := tx.NewDelete().Model((*Session)(nil)).Where("agent_id = ?", id).Exec(ctx); err != nil {
			return nil, fmt.Errorf("end the sessions of an agent: %w", err)
		}
		if _, err := endGrants(ctx, tx, "agent_id = ?", id); err != nil {
			return nil, err
		}
	}
	if _, err := tx.NewUpdate().Model(a).WherePK().Column("status", "disabled_at").Exec(ctx); err != nil {
		return nil, fmt.Errorf("set the status of an agent: %w", err)
	}
	// Texts also moves, so that no last good copy lists an agent that was disabled since.
	return a, changed(ctx, tx, a.ID, generation.Agents, generation.Texts)
}

// Touch records that agents were seen. It locks the rows in the order of their ids, so that two
// nodes can't deadlock.
func (Store) Touch(ctx context.Context, db bun.IDB, ids []uuid.UUID, at time.Time) error {
	if len(ids) == 0 {
		return nil
	}
	rows := database.ForUpdate(db.NewSelect().Model((*Agent)(nil)).Column("id").
		Where("id IN ?", bun.Tuple(ids)).OrderExpr("id"))
	_, err := db.NewUpdate().Model((*Agent)(nil)).
		Set("last_seen_at = ?", database.Stored(at)).Where("id IN (?)", rows).Exec(ctx)
	if err != nil {
		return fmt.Errorf("note that agents were seen: %w", err)
	}
	return nil
}

// Lock is like ByID, but locks the agent's row until the transaction ends. Every method that gives or
// takes an agent's access begins with it, so these methods run one after another.
func (s Store) Lock(ctx context.Context, tx bun.Tx, id uuid.UUID) (*Agent, error) {
	a, err := s.one(ctx, tx, func(q *bun.SelectQuery) *bun.SelectQuery {
		return database.ForUpdate(q.Where("id = ?", id))
	})
	if a == nil && err == nil {
		err = problem.NotFound("There is no agent " + id.String() + ".")
	}
	return a, err
}
