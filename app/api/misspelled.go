package api

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"
	"github.com/hbollon/go-edlib"

	"github.com/pulsecast/pulsecast/app/contract"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/problem"
)

// longName is the length from which a name may differ in two edits instead of one. shortStem is the length from which a
// name is taken for the beginning of another.
const (
	longName  = 7
	shortStem = 3
)

var separators = strings.NewReplacer("_", "", "-", "")

// folded returns a name without the differences that respelled ignores.
func folded(name string) string { return separators.Replace(strings.ToLower(name)) }

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

// mistyped returns the known name that differs from a name in one edit (two if the known name is long), apart
// from the differences that respelled ignores, or "". An edit inserts, deletes or replaces a letter, or swaps two.
func mistyped(name string, known []string) string {
	bare := folded(name)
	for _, k := range known {
		most := 1
		if len(k) >= longName {
			most = 2
		}
		// A larger difference in length can't be a misspelling, and needn't be compared.
		if d := utf8.RuneCountInString(bare) - len(k); d <= most && d >= -most && edlib.OSADamerauLevenshteinDistance(bare, folded(k)) <= most {
			return k
		}
	}
	return ""
}

// related returns the known name that a name begins, or whose first word it begins with, or "". So dry and dryness stand
// for dryRun, and marketSlug for marketId.
func related(name string, known []string) string {
	bare := folded(name)
	for _, k := range known {
		first := k
		if end := strings.IndexFunc(k, unicode.IsUpper); end > 0 {
			first = k[:end]
		}
		if strings.HasPrefix(bare, first) || len(bare) >= shortStem && strings.HasPrefix(folded(k), bare) {
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

// refuseMisspelled fails fields whose names nearly match a known field of the object; see refuseIntended.
func (o *object) refuseMisspelled(to *object, prefix string, known []string) {
	o.refuseIntended(to, prefix, known, func(name string) string { return respelled(name, known) })
}

// refuseRelated is like refuseMisspelled, and also fails fields that are related to idempotencyKey, or to one of choices
// that the object doesn't have. Choices decide about what is published for good, so that none must be ignored.
func (o *object) refuseRelated(known, choices []string) {
	known = append(slices.Clone(known), keyField)
	open := append(slices.DeleteFunc(slices.Clone(choices), o.has), keyField)
	o.refuseIntended(o, "", known, func(name string) string { return cmp.Or(respelled(name, known), related(name, open)) })
}

// keyField is the name under which MCP takes an idempotency key. Over HTTP it is a header.
const keyField = "idempotencyKey"

// refuseIntended fails unknown fields that stand for a known one, as match says or because they are mistyped. prefix is put
// before their names in the refusal. A body can have tens of thousands of unknown names, so only the first maxUnknown
// are compared letter by letter, and only maxUnknown are refused by name.
func (o *object) refuseIntended(to *object, prefix string, known []string, match func(name string) string) {
	unknown, refused := o.unknown(), 0
	for i, name := range unknown {
		meant := match(name)
		if meant == "" && i < maxUnknown {
			meant = mistyped(name, known)
		}
		if meant == "" {
			continue
		}
		o.read[name] = true
		if meant == keyField {
			to.fail(prefix+name, "is not a field; send it as the header Idempotency-Key")
		} else {
			to.fail(prefix+name, "is not a field; did you mean %s?", meant)
		}
		if refused++; refused == maxUnknown {
			break
		}
	}
	to.countOthers(len(unknown), refused)
}

// refuseUnknown fails every field that isn't known, for objects that change something at once. has says which fields there
// are.
func (o *object) refuseUnknown(known []string, has string) {
	unknown := o.unknown()
	for _, name := range unknown[:min(len(unknown), maxUnknown)] {
		if meant := intended(name, known); meant != "" {
			o.fail(name, "is not a field; did you mean %s?", meant)
		} else {
			o.fail(name, "is not a field; this operation has %s", has)
		}
	}
	o.countOthers(len(unknown), min(len(unknown), maxUnknown))
}

// countOthers adds the number of unknown fields that the refusal doesn't name.
func (o *object) countOthers(unknown, refused int) {
	if refused == 0 || unknown <= maxUnknown {
		return
	}
	last := &o.wrong[len(o.wrong)-1].Message
	if !strings.HasSuffix(*last, "?") {
		*last += "."
	}
	*last += fmt.Sprintf(" %d more fields are unknown.", unknown-refused)
}
