package recording_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
)

const wholeExchange = `{"name": "v", "note": null, "request": {"method": "GET", "path": "/MAAS/api/2.0/version/", "query": {"op": "x"}, "form": {},
	"authenticated": false, "content_type": null}, "response": {"status": 200, "body_is_json": true, "body": {"version": "3.4"}}}`

// TestLoadRecording checks that the error about an invalid folder names the file.
func TestLoadRecording(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		files   map[string]string
		stories int
		err     string // empty if it can be read
	}{
		"Whole":        {"one story", map[string]string{"001-v.json": wholeExchange}, 1, ""},
		"Folders":      {"each is a story", map[string]string{"a/001-v.json": wholeExchange, "b/001-v.json": wholeExchange, "README.md": "x"}, 2, ""},
		"Nothing":      {"no exchange", map[string]string{"readme.json": "{}"}, 0, "no file like 001-name.json"},
		"Broken":       {"no JSON", map[string]string{"001-v.json": "{"}, 0, "001-v.json: not an exchange: unexpected end"},
		"Truncated":    {"the disk was full", map[string]string{"001-v.json": wholeExchange[:150]}, 0, "001-v.json: not an exchange: unexpected end"},
		"Empty":        {"the disk was full", map[string]string{"001-v.json": ""}, 0, "001-v.json: not an exchange"},
		"OtherForm":    {"of another program", map[string]string{"002-v.json": `{"entries": []}`}, 0, `002-v.json: not an exchange: "" is not a method`},
		"OtherType":    {"a list", map[string]string{"001-v.json": `[]`}, 0, "001-v.json: not an exchange"},
		"BadForm":      {"a number", map[string]string{"001-v.json": strings.Replace(wholeExchange, `"form": {}`, `"form": 3`, 1)}, 0, "neither an object nor a text"},
		"BadMethod":    {"no token", map[string]string{"001-v.json": strings.Replace(wholeExchange, "GET", "G T", 1)}, 0, `"G T" is not a method`},
		"BadPath":      {"no path", map[string]string{"001-v.json": strings.Replace(wholeExchange, "/MAAS/", "MAAS/", 1)}, 0, "does not begin with /"},
		"BadStatus":    {"no answer", map[string]string{"001-v.json": strings.Replace(wholeExchange, "200", "0", 1)}, 0, "0 is not a status"},
		"NoBody":       {"no answer", map[string]string{"001-v.json": strings.Replace(wholeExchange, `"body":`, `"corpse":`, 1)}, 0, "no body"},
		"NameOverflow": {"no number", map[string]string{"99999999999999999999-v.json": wholeExchange}, 0, "does not begin with a number"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, content := range tc.files {
				path := filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			stories, err := recording.LoadStories(dir)
			if tc.err == "" && (err != nil || len(stories) != tc.stories) {
				t.Errorf("%s: got %d stories, %v", tc.reason, len(stories), err)
			}
			if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.err)
			}
		})
	}
}

// FuzzParse checks that no content of a file causes a panic.
func FuzzParse(f *testing.F) {
	f.Add("001-v.json", []byte(wholeExchange))
	f.Add("x", []byte(`{"request": {"method": "GET", "path": "//%zz"}, "response": {"status": 200, "body": 1}}`))
	f.Fuzz(func(t *testing.T, file string, content []byte) {
		e, err := recording.ParseExchange(file, content)
		if err == nil && (e.Request.Method == "" || len(e.Route()) == 0) {
			t.Errorf("%q was read as %v", content, e)
		}
		_, _, _, _ = e.String(), e.Op(), e.FormValues(), e.Media()
	})
}
