package polymarket

import (
	"encoding/json"
	"strings"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/source/lenientjson"
)

// wireTags are the tags of a market or an event: an array, a string that contains an array, or a string that is
// the only tag. Null and invalid tags are left out.
type wireTags []wireTag

// UnmarshalJSON never fails.
func (t *wireTags) UnmarshalJSON(raw []byte) error {
	var text lenientjson.Text
	_ = text.UnmarshalJSON(raw)
	if s := strings.TrimSpace(string(text)); strings.HasPrefix(s, "[") {
		raw = []byte(s)
	} else if s != "" {
		*t = wireTags{wireTag(s)}
		return nil
	}
	var each lenientjson.Each[wireTag]
	_ = each.UnmarshalJSON(raw)
	*t = wireTags(each)
	return nil
}

// wireTag is a tag's slug, or its label if it has no slug. The JSON is an object or a string.
type wireTag string

// UnmarshalJSON never fails.
func (t *wireTag) UnmarshalJSON(raw []byte) error {
	var s lenientjson.Text
	_ = s.UnmarshalJSON(raw)
	var object struct {
		Label lenientjson.Text `json:"label"`
		Slug  lenientjson.Text `json:"slug"`
	}
	if s == "" && json.Unmarshal(raw, &object) == nil {
		if s = object.Slug; strings.TrimSpace(string(s)) == "" {
			s = object.Label
		}
	}
	*t = wireTag(s)
	return nil
}

// slugs returns the tags as they are stored.
func (t wireTags) slugs() []string {
	names := make([]string, len(t))
	for i, tag := range t {
		names[i] = name(lenientjson.Text(tag))
	}
	return market.TagSlugs(names...)
}
