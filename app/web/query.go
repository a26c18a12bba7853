package web

import (
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/views/components"
)

// pageSize is how many rows a list shows.
const pageSize = 24

// maxChoices is how many choices a row of filters shows.
const maxChoices = 14

// maxParameter is the greatest length of a parameter, in characters.
const maxParameter = 400

// address is a page's address with the filters that the page supports. A filter is a link to the
// same page with one parameter changed.
type address struct {
	path   string
	values url.Values
}

// readAddress reads the named parameters and ignores all others.
func readAddress(c *fiber.Ctx, names ...string) (address, error) {
	a := address{path: c.Route().Path, values: url.Values{}}
	if hasSubject(c) {
		a.path = strings.Clone(c.Path())
	}
	for _, name := range names {
		value := strings.TrimSpace(strings.Clone(c.Query(name)))
		if value == "" {
			continue
		}
		if wrong := plaintext.CheckLength(value, 0, maxParameter, false); wrong != "" {
			return a, problem.InvalidParameter(name, wrong)
		}
		a.values.Set(name, value)
	}
	return a, nil
}

// String returns the canonical address: the same for every spelling, and without ignored
// parameters.
func (a address) String() string { return join(a.path, a.values) }

func (a address) get(name string) string { return a.values.Get(name) }

// choice returns a parameter that must be one of the given words. If it is missing, it returns the
// first.
func (a address) choice(name string, words ...string) (string, error) {
	value := a.get(name)
	if value == "" {
		return words[0], nil
	}
	if !slices.Contains(words, value) {
		must := "must be one of " + strings.Join(words, ", ")
		if words[0] == "" {
			must = "must be " + strings.Join(words[1:], ", ") + ", or left out"
		}
		return "", problem.InvalidParameter(name, must)
	}
	return value, nil
}

// with returns the address with one parameter changed. "" removes the parameter. Any change except
// to the cursor leads to the first page.
func (a address) with(name, value string) string {
	values := url.Values{}
	for k, v := range a.values {
		if k != "cursor" {
			values[k] = v
		}
	}
	if value == "" {
		values.Del(name)
	} else {
		values.Set(name, value)
	}
	return join(a.path, values)
}

func join(path string, values url.Values) string {
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

func (a address) pages(next string) components.Pages {
	var p components.Pages
	if a.get("cursor") != "" {
		p.First = a.with("cursor", "")
	}
	if next != "" {
		p.Next = a.with("cursor", next)
	}
	return p
}

// option is one value of a filter, and its label.
type option struct{ value, label string }

// chips returns the links of one filter and marks the current one. The first option removes the
// parameter from the address.
func (a address) chips(name string, options ...option) []components.Chip {
	set := a.get(name)
	var out []components.Chip
	found := false
	for i, o := range options {
		value := o.value
		if i == 0 {
			value = ""
		}
		current := set == o.value || (i == 0 && set == "")
		found = found || current
		out = append(out, components.Chip{Label: o.label, Href: a.with(name, value), Current: current})
	}
	if !found {
		out = append(out, components.Chip{Label: set, Href: a.with(name, set), Current: true})
	}
	return out
}

// openChips is chips for words that come from data. The first choice is all of them.
func (a address) openChips(name string, words []string) []components.Chip {
	options := []option{{"", "All"}}
	for _, w := range words {
		options = append(options, option{w, w})
	}
	return a.chips(name, options...)
}

// search returns the search field of the page. It keeps the other filters.
func (a address) search(label string) components.Search {
	s := components.Search{Action: a.path, Label: label, Words: a.get("q")}
	for name := range a.values {
		if name != "q" && name != "cursor" {
			s.Keep = append(s.Keep, components.Field{Name: name, Value: a.get(name)})
		}
	}
	slices.SortFunc(s.Keep, func(x, y components.Field) int { return strings.Compare(x.Name, y.Name) })
	return s
}

// narrowed returns whether a list shows anything except its first page without filters. Search
// engines need only that page.
func (a address) narrowed() bool { return len(a.values) > 0 }
