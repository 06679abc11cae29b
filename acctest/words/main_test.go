package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// long has 31 words, one of which is a value in code.
const long = "The provider asks MAAS for the machine and waits for the answer of the server and then it asks again for `a b c d` and waits once more until that answer has arrived."

func TestReportedSentences(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, file, content string
		want                  []string // parts of each printed line
	}{
		"ShortSentence": {
			reason: "A page of short sentences has no finding.",
			file:   "docs/a.md", content: "# What a plan checks\n\nThe plan asks MAAS. What does it ask?\n",
		},
		"LongSentence": {
			reason: "A sentence of 31 words is read twice.",
			file:   "docs/a.md", content: "# Title\n\nShort. " + long + "\n",
			want: []string{"docs/a.md:3: a sentence of 31 words: The provider asks"},
		},
		"LongSentenceOverLines": {
			reason: "A paragraph goes on over the ends of its lines.",
			file:   "docs/a.md", content: strings.ReplaceAll(long, " and ", "\nand "),
			want: []string{"docs/a.md:1: a sentence of 31 words"},
		},
		"LongCell": {
			reason: "The cells of a table are sentences, too.",
			file:   "docs/a.md", content: "| a | b |\n|---|---|\n| x | " + long + " |\n",
			want: []string{"docs/a.md:3: a sentence of 31 words"},
		},
		"TwoCells": {
			reason: "Two cells of a table are two sentences.",
			file:   "docs/a.md", content: "| a | b |\n|---|---|\n| " + clause + " | " + clause + " |\n",
		},
		"Code": {
			reason: "A block of code is no sentence.",
			file:   "docs/a.md", content: "```\n" + long + "\n```\n",
		},
		"CodeInFront": {
			reason: "A sentence may begin with code.",
			file:   "docs/a.md", content: clause + ". `auto`: " + clause + ".\n",
		},
		"Abbreviation": {
			reason: "An abbreviation ends no sentence.",
			file:   "docs/a.md", content: strings.Replace(long, "for the machine", "for e.g. Machines", 1),
			want: []string{"docs/a.md:1: a sentence of"},
		},
		"FrontMatter": {
			reason: "The header of a guide is no prose, and its lines count.",
			file:   "docs/a.md", content: "---\npage_title: \"A\"\n---\n\n" + long,
			want: []string{"docs/a.md:5: "},
		},
		"RelativeClauseInFront": {
			reason: "The subject of a sentence stands in front.",
			file:   "docs/a.md", content: "What is not done by then is gone on with.",
			want: []string{"docs/a.md:1: a sentence without its subject in front: What is not"},
		},
		"Message": {
			reason: "Messages are read like docs, also where they are put together.",
			file:   "a.go", content: "package a\n\nconst hint = \"" + clause + " and \" +\n\t\"" + clause + "\"\n",
			want: []string{"a.go:3: a sentence of 33 words"},
		},
		"MessageOfTest": {
			reason: "The literals of tests are input as often as text.",
			file:   "a_test.go", content: "package a\n\nconst hint = \"" + clause + " and " + clause + "\"\n",
		},
		"Script": {
			reason: "A script or a query in a literal is no sentence.",
			file:   "a.go", content: "package a\n\nconst script = `" + strings.Repeat("a=$1 ", 40) + "`\n",
		},
		"MeaninglessFunction": {
			reason: "A function of that name is found by no search.",
			file:   "a.go", content: "package a\n\nfunc beside() {}\n",
			want: []string{"a.go:3: the name beside says neither"},
		},
		"MeaninglessNames": {
			reason: "Methods, types, constants and variables have names, too, and so have those of tests.",
			file:   "a_test.go", content: "package a\n\ntype Known struct{}\n\nfunc (Known) gone() {}\n\nconst never = 1\n\nvar again = 2\n",
			want: []string{"a_test.go:3: the name Known", "a_test.go:5: the name gone", "a_test.go:7: the name never", "a_test.go:9: the name again"},
		},
		"BareVerb": {
			reason: "A function says what it acts on; a method has a receiver.",
			file:   "a.go", content: "package a\n\nfunc take() {}\n\ntype lease struct{}\n\nfunc (lease) take() {}\n",
			want: []string{"a.go:3: the function take has a verb and no object"},
		},
		"ForeignMethod": {
			reason: "The package errors asks for this name.",
			file:   "a.go", content: "package a\n\ntype nameError struct{}\n\nfunc (nameError) Is(error) bool { return false }\n",
		},
		"Generated": {
			reason: "Nobody writes generated code.",
			file:   "zz_a.go", content: "package a\n\nfunc beside() {}\n",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			err := run(&out, repository(t, c.file, c.content))
			lines := strings.FieldsFunc(out.String(), func(r rune) bool { return r == '\n' })
			if (err != nil) != (len(c.want) > 0) || len(lines) != len(c.want) {
				t.Fatalf("%s\ngot %v and\n%s", c.reason, err, out.String())
			}
			for i, want := range c.want {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("%s\ngot  %s\nwant %s…", c.reason, lines[i], want)
				}
			}
		})
	}
}

// clause is a sentence of 16 words.
const clause = "The manager repairs manual changes of the machine within a few minutes and tells the user"

// repository is a git repository that tracks one file.
func repository(t *testing.T, name, content string) string {
	t.Helper()
	root := t.TempDir()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}} {
		if out, err := exec.Command("git", append([]string{"-C", root}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return root
}
