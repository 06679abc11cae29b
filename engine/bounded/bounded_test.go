package bounded

import (
	"errors"
	"strings"
	"testing"
)

func TestReadAll(t *testing.T) {
	t.Parallel()
	limits := Limits{Bytes: 200, Objects: 4, Values: 6}
	cases := map[string]struct {
		reason string
		text   string
		ok     bool
	}{
		"Within":        {"What is real passes.", `[{"a":1},{"b":[1,2,3]}]`, true},
		"NoJSON":        {"Whether it is JSON is the decoder's affair.", `<html>`, true},
		"Bytes":         {"A long text.", `"` + strings.Repeat("x", 200) + `"`, false},
		"Objects":       {"Small elements become large structs.", `[{},{},{},{}]`, false},
		"Nested":        {"Wherever they stand.", `{"a":[[[[1]]]]}`, false},
		"Values":        {"Numbers and texts take memory, too.", `[1,2,3,4,5,6,7,8]`, false},
		"InText":        {"What stands in a text is no value.", `["{{{{{{[[[[,,,,,,,,,,"]`, true},
		"EscapedQuote":  {"An escaped quote ends no text.", `["\"{{{{{{,,,,,,,,"]`, true},
		"EscapedEscape": {"An escaped backslash escapes nothing.", `["\\",{},{},{},{}]`, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// One byte at a time: a text may be cut anywhere.
			body, err := ReadAll(oneByOne{strings.NewReader(tc.text)}, limits)
			if errors.Is(err, ErrTooLarge) == tc.ok {
				t.Errorf("%s got %v", tc.reason, err)
			}
			if tc.ok && string(body) != tc.text {
				t.Errorf("got %q, want the text as it was", body)
			}
		})
	}
}

type oneByOne struct{ r *strings.Reader }

func (o oneByOne) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }
