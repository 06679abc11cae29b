package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testModule is a module with one rule and its tests.
var testModule = map[string]string{
	"go.mod":        "module example.com/world\n\ngo 1.26\n",
	"room/room.go":  "package room\n\n// Fits tells whether there is room.\nfunc Fits(need, free int) bool {\n\treturn need <= free\n}\n",
	"room/.ignored": "a file that a walk must bring along\n",
	"room/room_test.go": `package room

import (
	"os"
	"testing"
	"testing/synctest"
)

func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan bool)
		go func() { <-end }()
		if Fits(1, 1) {
			close(end)
		}
	})
}

func TestFits(t *testing.T) {
	t.Run("Larger", func(t *testing.T) {
		if Fits(2, 1) {
			t.Error("2 fit into 1")
		}
	})
}

func TestEqual(t *testing.T) {
	if !Fits(1, 1) {
		panic("1 does not fit into 1")
	}
}

func TestSkipped(t *testing.T) { t.Skip("always") }

func TestNoMAAS(t *testing.T) {
	if os.Getenv("MAAS_API_URL") != "" {
		t.Error("the test sees the MAAS of the environment")
	}
}
`,
}

// patchOf is a patch that replaces the line of the rule by another one.
func patchOf(run, line string) string {
	return "Need is compared wrongly.\nTest: ./room -run " + run + "\n--- a/room/room.go\n+++ b/room/room.go\n" +
		"@@ -4,3 +4,3 @@\n func Fits(need, free int) bool {\n-\treturn need <= free\n+\t" + line + "\n }\n"
}

// secondsPattern matches the durations in a report, which differ each time.
var secondsPattern = regexp.MustCompile(` *\d+\.\d s( \(and +\d+ s to build\))?| *\d+\.\d\n`)

func TestMutants(t *testing.T) {
	t.Setenv("MAAS_API_URL", "http://maas.example.com:5240/MAAS")
	cases := map[string]struct {
		reason  string
		patches map[string]string
		only    string
		want    string   // the report, without seconds
		err     []string // parts of the error; nil: no error
	}{
		"BadPatch": {
			reason:  "A patch that cannot be read is named, whatever is to be tried.",
			patches: map[string]string{"rule-01/always": patchOf("^TestFits$", "return true"), "rule-02/bad": "no diff\n"},
			only:    "rule-01",
			err:     []string{"rule-02/bad: there is no diff"},
		},
		"Dies": {
			reason:  "An assertion that fails kills the mutant, and the report names it.",
			patches: map[string]string{"rule-01/always": patchOf("^TestFits$", "return true"), "rule-02/always": patchOf("^TestNoMAAS$", "return true")},
			only:    "rule-01",
			want: `1 mutants; their tests must pass on the unbroken tree first
  go test ./room -run '^TestFits$'
died  rule-01/always: TestFits/Larger

rule     mutants  died  survived  seconds
rule-01  1        1     0
all      1        1     0
`,
		},
		"Survives": {
			reason:  "A test that passes on the mutant is an error that says what nobody notices.",
			patches: map[string]string{"rule-01/always": patchOf("^TestNoMAAS$", "return true"), "rule-01/less": patchOf("^TestFits$", "return false")},
			want: `2 mutants; their tests must pass on the unbroken tree first
  go test ./room -run '^TestNoMAAS$'
  go test ./room -run '^TestFits$'
SURVIVED  rule-01/always: go test ./room -run '^TestNoMAAS$' passes
SURVIVED  rule-01/less: go test ./room -run '^TestFits$' passes

rule     mutants  died  survived  seconds
rule-01  2        0     2
all      2        0     2
`,
			err: []string{"rule-01/always survived", "rule-01/less survived", "Need is compared wrongly."},
		},
		"Panics": {
			reason:  "A panic is no assertion.",
			patches: map[string]string{"rule-01/less": patchOf("^TestEqual$", "return need < free")},
			err:     []string{"rule-01/less survived", "panics"},
		},
		"Outlives": {
			reason:  "synctest's verdict on a goroutine that does not end counts as an assertion.",
			patches: map[string]string{"rule-01/less": patchOf("^TestEnds$", "return need < free")},
		},
		"DoesNotCompile": {
			reason:  "A mutant that does not compile proves nothing.",
			patches: map[string]string{"rule-01/typo": patchOf("^TestFits$", "return needs <= free")},
			err:     []string{"rule-01/typo: the tests of ./room do not compile"},
		},
		"DoesNotApply": {
			reason:  "A patch of a line that is not there any more is named before anything runs.",
			patches: map[string]string{"rule-01/old": strings.ReplaceAll(patchOf("^TestFits$", "return true"), "need <= free", "need < free")},
			err:     []string{"old.patch does not apply"},
		},
		"NoTest": {
			reason:  "A test that is not there any more passes everywhere.",
			patches: map[string]string{"rule-01/always": patchOf("^TestFormer$", "return true")},
			err:     []string{"rule-01/always: on the unbroken tree", "matches no test"},
		},
		"Skipped": {
			reason:  "A test that is skipped notices nothing.",
			patches: map[string]string{"rule-01/always": patchOf("^TestSkipped$", "return true")},
			err:     []string{"rule-01/always: on the unbroken tree", "is skipped"},
		},
		"NoReason": {
			reason:  "A patch says what it breaks.",
			patches: map[string]string{"rule-01/silent": strings.TrimPrefix(patchOf("^TestFits$", "return true"), "Need is compared wrongly.\n")},
			err:     []string{"rule-01/silent: say before the diff what is broken"},
		},
		"NoneOfThatName": {
			reason:  "A filter that fits nothing must not look like one whose mutants died.",
			patches: map[string]string{"rule-01/always": patchOf("^TestFits$", "return true")},
			only:    "rule-13",
			err:     []string{`no mutant has "rule-13" in its path`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range testModule {
				writeFile(t, filepath.Join(root, file), text)
			}
			for file, text := range tc.patches {
				writeFile(t, filepath.Join(root, "acctest", "mutants", file+".patch"), text)
			}
			var out bytes.Buffer
			err := run(t.Context(), &out, root, tc.only)
			if tc.want != "" {
				report := secondsPattern.ReplaceAllStringFunc(out.String(), func(figure string) string {
					if strings.HasSuffix(figure, "\n") {
						return "\n"
					}
					return ""
				})
				if diff := cmp.Diff(tc.want, report); diff != "" {
					t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
				}
			}
			if (err != nil) != (len(tc.err) > 0) {
				t.Fatalf("%s\ngot the error %v", tc.reason, err)
			}
			for _, part := range tc.err {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s\nthe error lacks %q:\n%v", tc.reason, part, err)
				}
			}
		})
	}
}

// TestEveryRuleHasMutants wants at least four mutants for each of the twelve
// rules.
func TestEveryRuleHasMutants(t *testing.T) {
	t.Parallel()
	mutants, err := readMutants(".", "")
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]int{}
	for _, m := range mutants {
		rules[m.rule]++
	}
	if len(rules) != 12 {
		t.Errorf("got mutants of %d rules, want 12", len(rules))
	}
	for rule, n := range rules {
		if n < 4 {
			t.Errorf("%s has %d mutants, want at least 4", rule, n)
		}
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
