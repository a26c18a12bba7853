package lenientjson_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/source/lenientjson"
)

func TestNumber(t *testing.T) {
	t.Parallel()
	cases := []struct {
		in    string
		want  float64
		known bool
	}{
		{`1`, 1, true}, {`0.25`, 0.25, true}, {`-3`, -3, true}, {`1e3`, 1000, true}, {`"2147013.414819"`, 2147013.414819, true},
		{`"0.1234567890123456789012345678901234567"`, 0.12345678901234568, true}, {`" 7 "`, 7, true},
		{`null`, 0, false}, {`""`, 0, false}, {`"NaN"`, 0, false}, {`"Inf"`, 0, false}, {`"-Infinity"`, 0, false},
		{`"0x10"`, 0, false}, {`"1_000"`, 0, false}, {`"1e999"`, 0, false}, {`1e999`, 0, false}, {`true`, 0, false}, {`{}`, 0, false}, {`[1]`, 0, false},
	}
	for _, c := range cases {
		var got struct{ N lenientjson.Number }
		if err := json.Unmarshal([]byte(`{"N":`+c.in+`}`), &got); err != nil {
			t.Errorf("%s: %v", c.in, err)
		}
		if got.N.Known != c.known || (c.known && got.N.Value != c.want) {
			t.Errorf("%s = %+v, want %v %v", c.in, got.N, c.want, c.known)
		}
	}
}

func TestTextFlagList(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]lenientjson.Text{`"a"`: "a", `516938`: "516938", `null`: "", `{}`: "", `true`: "", `[]`: ""} {
		var got lenientjson.Text
		if err := json.Unmarshal([]byte(in), &got); err != nil || got != want {
			t.Errorf("Text %s = %q, %v", in, got, err)
		}
	}
	for in, want := range map[string]lenientjson.Flag{
		`true`: {True: true, Known: true}, `"true"`: {True: true, Known: true}, `1`: {True: true, Known: true},
		`false`: {Known: true}, `"0"`: {Known: true}, `null`: {}, `"maybe"`: {}, `[]`: {},
	} {
		var got lenientjson.Flag
		if err := json.Unmarshal([]byte(in), &got); err != nil || got != want {
			t.Errorf("Flag %s = %+v, %v", in, got, err)
		}
	}
	for in, want := range map[string]lenientjson.List{
		`["Yes","No"]`: {"Yes", "No"}, `"[\"Yes\", \"No\"]"`: {"Yes", "No"}, `"[\"0.5\", 0.5]"`: {"0.5", "0.5"}, `[1,null]`: {"1", ""},
		`null`: nil, `""`: nil, `"Yes"`: nil, `5`: nil, `"[\"Yes\""`: nil, `{}`: nil,
	} {
		var got lenientjson.List
		if err := json.Unmarshal([]byte(in), &got); err != nil || !slices.Equal(got, want) {
			t.Errorf("List %s = %q, %v", in, got, err)
		}
	}
	var each lenientjson.Each[struct{ A lenientjson.Text }]
	if err := json.Unmarshal([]byte(`[{"a":"x"},null,5,{"a":"y"}]`), &each); err != nil || len(each) != 2 || each[1].A != "y" {
		t.Errorf("Each = %v, %v", each, err)
	}
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"2025-12-31T12:00:00Z":        "2025-12-31T12:00:00Z",
		"2026-01-10T10:28:52.573427Z": "2026-01-10T10:28:52.573427Z",
		"2026-01-10T10:28:52.5Z":      "2026-01-10T10:28:52.5Z",
		"2026-01-10T12:28:52+02:00":   "2026-01-10T10:28:52Z",
		"2026-01-23 12:30:00+00":      "2026-01-23T12:30:00Z",
		"2021-01-02":                  "2021-01-02T00:00:00Z",
		"April 11, 2022":              "2022-04-11T00:00:00Z",
		"":                            "", "soon": "", "0001-01-01T00:00:00Z": "", "2026-13-01": "",
	} {
		got := lenientjson.ParseTime(in)
		if want == "" && got.IsZero() {
			continue
		}
		if got.Format(time.RFC3339Nano) != want {
			t.Errorf("ParseTime(%q) = %v, want %q", in, got, want)
		}
	}
}
