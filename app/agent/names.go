package agent

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/SCKelemen/unicode/uts39"
	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/problem"
)

// This file decides which names and handles are refused, so that no agent looks like the service,
// its staff, a reference row or a ranked agent. Names are compared as people see them. They are
// normalized by NFKC, without case, spaces, punctuation and accents. Then they are mapped to the
// skeleton of Unicode TR 39, in which a Cyrillic М equals a Latin M and a zero equals an o.

// Names holds the names that no agent of this installation may have. A nil Names knows only the
// built-in words.
type Names struct {
	claims []string // keys that no key may contain
	ranked RankedLike
}

// RankedLike returns the handle of a ranked agent other than self whose name or handle has one of
// the keys, or "" if there is none.
type RankedLike func(ctx context.Context, db bun.IDB, keys []string, self uuid.UUID) (handle string, err error)

// service is the name of the service. No agent's name may contain it.
const service = "Pulsecast"

// minClaim is the least length of a key that no name may contain. Shorter keys are parts of
// ordinary words.
const minClaim = 5

// offices are words that no name may have.
var offices = []string{"admin", "administrator", "moderator", "official", "staff"}

// NewNames returns the Names of an installation. They also refuse the name of its operator and the
// host of its address. ranked may be nil.
func NewNames(operator, baseURL string, ranked RankedLike) *Names {
	n := &Names{ranked: ranked}
	claimed := []string{operator}
	if base, err := url.Parse(baseURL); err == nil {
		if _, err := netip.ParseAddr(base.Hostname()); err != nil && base.Hostname() != "localhost" {
			claimed = append(claimed, strings.TrimPrefix(base.Hostname(), "www."))
		}
	}
	for _, name := range claimed {
		if key := nameKey(name); len(key) >= minClaim {
			n.claims = append(n.claims, key)
		}
	}
	return n
}

// check returns nil for an allowed name, and otherwise a 422 invalid_request that says what to
// send. self is the agent that wants the name, or uuid.Nil if it is new. An official name may be
// reserved or look like another agent's.
func (n *Names) check(ctx context.Context, db bun.IDB, name string, self uuid.UUID, official bool) error {
	if message := checkSpelling(name); message != "" {
		return wrongName(message)
	}
	if official {
		return nil
	}
	keys := nameKeys(name)
	// A handle such as admin-2 is refused under every number, so the name that leads to it is too.
	if n.keepsBack(name) || n.impersonates(romanize(name)) {
		return &KeptBackError{wrongName("is reserved for the service and its staff; send another name")}
	}
	kept, err := reservedKeys(ctx, db)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if slices.Contains(kept, key) {
			return &KeptBackError{wrongName("is reserved; send another name")}
		}
	}
	if n == nil || n.ranked == nil || len(keys) == 0 {
		return nil
	}
	handle, err := n.ranked(ctx, db, keys, self)
	if err == nil && handle != "" {
		return &KeptBackError{wrongName("looks like the ranked agent @" + handle + "; send a name that is less similar")}
	}
	return err
}

// KeptBackError is returned for a name that only an official agent may have. It wraps the 422
// invalid_request.
type KeptBackError struct{ refusal error }

func (e *KeptBackError) Error() string { return e.refusal.Error() }

// Unwrap returns the 422 invalid_request.
func (e *KeptBackError) Unwrap() error { return e.refusal }

func wrongName(message string) error {
	return problem.InvalidRequest(problem.Field{Field: "name", Message: message})
}

// keepsBack reports whether a name or handle looks like the service, its operator, its staff or a
// part of the site.
func (n *Names) keepsBack(name string) bool {
	builtIn := func(key string) bool { return slices.Contains(builtInKeys, key) }
	return slices.ContainsFunc(nameKeys(name), builtIn) || n.impersonates(name)
}

// impersonates reports whether a name or handle contains the name of the service or its operator,
// or a word for its staff.
func (n *Names) impersonates(name string) bool {
	claims := []string{serviceKey}
	if n != nil {
		claims = append(claims, n.claims...)
	}
	for _, key := range nameKeys(name) {
		if slices.ContainsFunc(claims, func(claim string) bool { return strings.Contains(key, claim) }) {
			return true
		}
	}
	return slices.ContainsFunc(words(name), func(word string) bool {
		return slices.ContainsFunc(nameKeys(word), func(key string) bool { return slices.Contains(officeKeys, key) })
	})
}

var (
	serviceKey  = nameKey(service)
	builtInKeys = keysOf(reserved)
	officeKeys  = keysOf(offices)
)

func keysOf(names []string) []string {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = nameKey(name)
	}
	return keys
}

// nameKey returns the key by which a name is compared. It is stored beside the name.
func nameKey(name string) string {
	return skeleton(cases.Fold().String(norm.NFKC.String(unboxed(name))))
}

// fold returns a text without case and in the form NFKC, so that searches find the same names on all databases. It takes
// the lower case first, because folding alone would keep the dot of the Turkish İ apart from its i.
func fold(text string) string {
	return norm.NFKC.String(cases.Fold().String(strings.ToLower(norm.NFKC.String(text))))
}

// nameKeys returns the keys of a name without case and as it is written. Both are needed, because a
// Cyrillic capital Н looks like an H, although the small one doesn't.
func nameKeys(name string) []string {
	keys := []string{nameKey(name), nameKey(skeleton(norm.NFKC.String(unboxed(name))))}
	return slices.DeleteFunc(slices.Compact(keys), func(key string) bool { return key == "" })
}

// unboxed replaces letters in black circles and squares, such as 🅿, by plain letters. NFKC replaces
// only those in white ones.
func unboxed(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '\U0001F150' && r <= '\U0001F169':
			return 'A' + r - '\U0001F150'
		case r >= '\U0001F170' && r <= '\U0001F189':
			return 'A' + r - '\U0001F170'
		}
		return r
	}, name)
}

// skeleton returns the TR 39 skeleton of a name's letters and digits, without accents. It replaces
// i by l, because a capital I looks like an l.
func skeleton(name string) string {
	marks := func(r rune) rune {
		if unicode.IsPunct(r) || unicode.IsSpace(r) || unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}
	letters := func(r rune) rune {
		switch {
		case r == 'i':
			return 'l'
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			return r
		}
		return -1
	}
	return strings.Map(letters, uts39.Skeleton(strings.Map(marks, norm.NFD.String(name))))
}

// checkSpelling returns "" if the characters of a name are allowed, and otherwise the rest of a
// sentence that begins with the name.
func checkSpelling(name string) string {
	for _, r := range name {
		switch {
		case plaintext.Invisible(r):
			return fmt.Sprintf("has the invisible character U+%04X; leave it out", r)
		case r != ' ' && unicode.Is(unicode.Zs, r):
			return fmt.Sprintf("has the space U+%04X; send a plain space", r)
		case unicode.Is(smallCapitals, r):
			return fmt.Sprintf("has the small capital U+%04X; send an ordinary letter", r)
		}
	}
	for _, word := range words(name) {
		if scripts := scriptsOf(word); !together(scripts) {
			return fmt.Sprintf("mixes %s letters in the word %q; write each word in one script", strings.Join(scripts, " and "), word)
		}
	}
	return ""
}

// smallCapitals holds letters of phonetic notations that look like plain capitals. TR 39 has few of
// them, and no language writes words with them.
var smallCapitals = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x0262, Hi: 0x026A, Stride: 8}, {Lo: 0x0274, Hi: 0x0280, Stride: 12}, {Lo: 0x028F, Hi: 0x0299, Stride: 10},
	{Lo: 0x029C, Hi: 0x029F, Stride: 3}, {Lo: 0x1D00, Hi: 0x1D2B, Stride: 1}, {Lo: 0xA730, Hi: 0xA731, Stride: 1},
}}

// words splits a name at everything but letters, marks and digits.
func words(name string) []string {
	return strings.FieldsFunc(norm.NFKC.String(name), func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.N) })
}

// scriptsOf lists the scripts of a word, without Common and Inherited.
func scriptsOf(word string) []string {
	var found []string
	for _, r := range word {
		if script := scriptOf(r); script != "" && !slices.Contains(found, script) {
			found = append(found, script)
		}
	}
	return found
}

func scriptOf(r rune) string {
	if r < unicode.MaxASCII {
		if unicode.IsLetter(r) {
			return "Latin"
		}
		return ""
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) && name != "Common" && name != "Inherited" {
			return name
		}
	}
	return ""
}

// combinations lists the scripts that one word may mix, as in TR 39 (Highly Restrictive).
var combinations = [][]string{
	{"Latin", "Han", "Hiragana", "Katakana"}, {"Latin", "Han", "Bopomofo"}, {"Latin", "Han", "Hangul"},
}

func together(scripts []string) bool {
	return len(scripts) <= 1 || slices.ContainsFunc(combinations, func(allowed []string) bool {
		return !slices.ContainsFunc(scripts, func(script string) bool { return !slices.Contains(allowed, script) })
	})
}

// maxReserved is the most handles reserved by admins that a name is compared with.
const maxReserved = 1000

// reservedKeys returns the keys of the handles that admins reserved.
func reservedKeys(ctx context.Context, db bun.IDB) ([]string, error) {
	var handles []string
	err := db.NewSelect().Model((*ReservedHandle)(nil)).Column("handle").OrderExpr("handle").Limit(maxReserved).Scan(ctx, &handles)
	if err != nil {
		return nil, fmt.Errorf("read reserved handles: %w", err)
	}
	return keysOf(handles), nil
}
