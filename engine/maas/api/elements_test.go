package api

import (
	"encoding/json"
	"testing"
)

// TestElementsCheckTheirText decodes lists without package json, which would check the whole
// text first.
func TestElementsCheckTheirText(t *testing.T) {
	t.Parallel()
	type named struct {
		Name string `json:"name"`
	}
	cases := map[string]struct {
		reason, text string
		elements     int // -1: the text is refused
	}{
		"Empty":    {"A MAAS may have none.", ` [] `, 0},
		"Several":  {"All elements are read.", `[{"name":"a"}, {"name":"b"}]`, 2},
		"Odd":      {"An element that cannot be read does not affect others.", `[{"name":1}, {"name":"b"}]`, 2},
		"Cut":      {"The answer ends in the middle of an element.", `[{"name":"a"`, -1},
		"NoEnd":    {"The end of the list is missing.", `[{"name":"a"}`, -1},
		"Trailing": {"Something follows the list.", `[{"name":"a"}] <html>`, -1},
		"Second":   {"A second list follows.", `[] []`, -1},
		"Object":   {"It is an object.", `{"name":"a"}`, -1},
		"Null":     {"It is nothing.", `null`, -1},
		"NoText":   {"The answer has no body.", ``, -1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var direct, byJSON Elements[named]
			err := unmarshal([]byte(tc.text), &direct)
			if jsonErr := json.Unmarshal([]byte(tc.text), &byJSON); (err == nil) != (jsonErr == nil) {
				t.Errorf("%s: got %v, and package json %v", tc.reason, err, jsonErr)
			}
			if (err != nil) != (tc.elements < 0) || err == nil && len(direct.List) != tc.elements {
				t.Errorf("%s: got %d elements, %v, want %d", tc.reason, len(direct.List), err, tc.elements)
			}
		})
	}
}
