package problem_test

import (
	"testing"

	"github.com/pulsecast/pulsecast/app/problem"
)

func TestDetailOfFieldsHasOneStopEach(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		messages []string
		want     string
	}{
		{[]string{"is required"}, "Nothing was stored. a is required."},
		{[]string{"is not a field; did you mean marketId?", "is required"}, "Nothing was stored. a is not a field; did you mean marketId? b is required."},
		{[]string{"is required: send a key. Get one at /agents/new."}, "Nothing was stored. a is required: send a key. Get one at /agents/new."},
		{[]string{"x", "x", "x", "x", "x"}, "Nothing was stored. a x. b x. c x. And 2 more; see errors."},
	} {
		var fields []problem.Field
		for i, message := range tt.messages {
			fields = append(fields, problem.Field{Field: string(rune('a' + i)), Message: message})
		}
		if p := problem.InvalidRequest(fields...); p.Detail != tt.want || len(p.Fields) != len(fields) {
			t.Errorf("%q, want %q", p.Detail, tt.want)
		}
	}
}
