package api

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/contract"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/problem"
)

// longName is the length from which a name may differ in two letters instead of one.
const longName = 7

var separators = strings.NewReplacer("_", "", "-", "")

// intended returns the known name that a misspelled one probably stands for, or "".
func intended(name string, known []string) string {
	return cmp.Or(respelled(name, known), mistyped(name, known))
}

// respelled returns the known name that differs from a name only in letter case, and in _ and -, or "".
func respelled(name string, known []string) string {
	bare := separators.Replace(name)
	for _, k := range known {
		if strings.EqualFold(bare, k) {
			return k
		}
	}
	return ""
}

// mistyped returns the known name that differs from a name in one letter (two if the known name is long), apart
// from the differences that respelled ignores, or "".
func mistyped(name string, known []string) string {
	fold := func(s string) string { return separators.Replace(strings.ToLower(s)) }
	folded := fold(name)
	for _, k := range known {
		most := 1
		if len(k) >= longName {
			most = 2
		}
		// A larger difference in length can't be a misspelling, and needn't be compared.
		if d := utf8.RuneCountInString(folded) - len(k); d <= most && d >= -most-1 && levenshtein.ComputeDistance(folded, fold(k)) <= most {
			return k
		}
	}
	return ""
}

// tolerated matches parameters that other programs add to addresses. They have no meaning here.
var tolerated = regexp.MustCompile(`^(_|utm_)`)

// knownParameters refuses query parameters that an operation doesn't have. If a misspelled filter were
// ignored, the answer would not fit the request.
func knownParameters(method, route string) fiber.Handler {
	operation := sync.OnceValues(func() ([]string, error) {
		o, err := contract.Find(method, inBraces(route))
		if err != nil {
			return nil, err
		}
		return o.QueryParameters(), nil
	})
	return func(c *fiber.Ctx) error {
		if len(c.Context().URI().QueryString()) == 0 {
			return c.Next()
		}
		known, err := operation()
		if err != nil {
			return err
		}
		var unknown error
		c.Context().QueryArgs().VisitAll(func(key, _ []byte) {
			if unknown == nil && !slices.Contains(known, string(key)) && !tolerated.Match(key) {
				unknown = unknownParameter(string(key), known)
			}
		})
		if unknown != nil {
			return unknown
		}
		return c.Next()
	}
}

var pathParameter = regexp.MustCompile(`:(\w+)`)

// inBraces returns a route as the document writes it: "/api/agents/{handle}".
func inBraces(route string) string { return pathParameter.ReplaceAllString(route, "{$1}") }

func unknownParameter(name string, known []string) error {
	shown := fmt.Sprintf("%.64q", name)
	refusal := func(message string) error {
		p := problem.InvalidParameter(shown, message)
		p.Fields[0].Field = plaintext.Cut(strings.ToValidUTF8(name, "\uFFFD"), 64)
		return p
	}
	switch meant := intended(name, known); {
	case meant != "":
		return refusal("is not a parameter of this operation; did you mean " + meant + "?")
	case len(known) == 0:
		return refusal("is not a parameter of this operation, which has none; leave it out")
	}
	return refusal("is not a parameter of this operation; it has " + strings.Join(known, ", "))
}

// refuseMisspelled fails fields whose names nearly match a known field of the object. prefix is put before
// their names in the refusal. A body can have tens of thousands of unknown names, so only the first maxUnknown are
// compared letter by letter, and only maxUnknown are refused by name.
func (o *object) refuseMisspelled(to *object, prefix string, known []string) {
	unknown, refused := o.unknown(), 0
	for i, name := range unknown {
		meant := respelled(name, known)
		if meant == "" && i < maxUnknown {
			meant = mistyped(name, known)
		}
		if meant == "" {
			continue
		}
		o.read[name] = true
		to.fail(prefix+name, "is not a field; did you mean %s?", meant)
		if refused++; refused == maxUnknown {
			break
		}
	}
	if refused > 0 && len(unknown) > maxUnknown {
		to.wrong[len(to.wrong)-1].Message += fmt.Sprintf(" %d more fields are unknown.", len(unknown)-refused)
	}
}
