// Words finds sentences that must be read twice, and names that say nothing.
//
//	words [FOLDER]
//
// FOLDER is the root of a git repository, by default the current folder. Words
// reads what git tracks there:
//
//   - Markdown files, and with them the descriptions of the schema, which the
//     generated pages of the registry repeat: a sentence has at most 30 words.
//   - string literals in Go files that are not tests, such as errors, diagnostics,
//     conditions and the texts of --help: the same.
//   - names of functions, methods, types, constants and variables of packages: a name
//     is not one word of the list in names.txt.
//
// It prints one line for each finding, and exits with 1 if there is one.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// finding is one sentence or name, and its position.
type finding struct {
	file string // path below the root
	line int
	text string
}

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	if err := run(os.Stdout, root); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

// run prints all findings in the tracked files below the root.
func run(out io.Writer, root string) error {
	files, err := trackedFiles(root)
	if err != nil {
		return err
	}
	count := 0
	for _, file := range files {
		findings, err := checkFile(root, file)
		if err != nil {
			return err
		}
		for _, f := range findings {
			fmt.Fprintf(out, "%s:%d: %s\n", f.file, f.line, f.text)
		}
		count += len(findings)
	}
	if count > 0 {
		return fmt.Errorf("%d findings: a sentence has at most %d words, and a name says what it does or is", count, maxSentenceWords)
	}
	return nil
}

// trackedFiles are the files that git tracks, below the root.
func trackedFiles(root string) ([]string, error) {
	out, err := exec.Command("git", "-C", root, "ls-files", "-z", "*.go", "*.md").Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list the files of %s: %w", root, err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), nil
}

// checkFile reads one file. A tracked file that was removed has no findings.
func checkFile(root, file string) ([]finding, error) {
	content, err := os.ReadFile(filepath.Join(root, file))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var findings []finding
	switch {
	case strings.HasPrefix(filepath.Base(file), "zz_"), strings.Contains(file, "testdata/"):
		return nil, nil
	case strings.HasSuffix(file, ".md"):
		findings = checkMarkdown(content)
	default:
		if findings, err = checkGo(file, content); err != nil {
			return nil, err
		}
	}
	for i := range findings {
		findings[i].file = file
	}
	return findings, nil
}
