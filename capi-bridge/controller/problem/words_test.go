package problem

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// terraformWords are words and settings of Terraform, which users of Cluster API do not have.
var terraformWords = regexp.MustCompile(`(?i)terraform|\btofu\b|\bplan(s|ned)?\b|\bappl(y|ies)\b|state rm|\bfrom (the|this) state\b|provider block|` +
	`create_before_destroy|depends_on|MAAS_API_|MAASLXD_|(^|[^-])composer\b|\bdestroy|\bmaaslxd_[a-z]|\bimport (it|them)\b|\b(this|another|one) configuration\b|\bapi_(url|key)\b`)

// texts are the string literals below a folder that have several words, by position.
func texts(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil && strings.Contains(text, " ") {
					found[files.Position(literal.Pos()).String()] = text
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// messagesOf are the messages of all kinds of errors that have this text and all ways out.
func messagesOf(text string) []string {
	var messages []string
	for _, err := range []error{
		&engine.Refusal{Message: text, Hint: text, Ways: engine.AllWays, Err: engine.ErrConflict},
		&engine.SpecError{Field: fieldpath.New("zone"), Message: text, Hint: text, Ways: engine.AllWays},
		&engine.Error{Type: engine.HostUnavailable, Message: text, Hint: text, Ways: engine.AllWays},
		&engine.LedgerError{Ledger: "ledger.db", Err: &engine.Refusal{Message: text, Hint: text}},
		errors.New(text),
	} {
		messages = append(messages, FromError(err).Message)
	}
	return messages
}

// TestConditionsDoNotSpeakOfTerraform: no text of the engine or of cloud-init brings a word of
// Terraform into a condition or an event.
func TestConditionsDoNotSpeakOfTerraform(t *testing.T) {
	t.Parallel()
	const settings = "engine/maas/api/" // its hints name api_url, and TestHintsOfMAASAreNotShown keeps them out
	count := 0
	for _, folder := range []string{"../../../engine", "../../../cloudinit"} {
		for at, text := range texts(t, folder) {
			count++
			if strings.Contains(filepath.ToSlash(at), settings) {
				text = regexp.MustCompile(`\bapi_(url|key)\b`).ReplaceAllString(text, "")
			}
			for _, message := range messagesOf(text) {
				if word := terraformWords.FindString(message); word != "" {
					t.Errorf("%s: a condition would say %q: %s", at, word, message)
				}
			}
		}
	}
	if count < 1000 {
		t.Errorf("the engine has %d texts, want 1000 or more", count)
	}
	for _, sentinel := range []error{engine.ErrGone, engine.ErrHidden, engine.ErrForbidden, engine.ErrUnavailable, engine.ErrUnclear, engine.ErrNotFound, engine.ErrBusy} {
		if word := terraformWords.FindString(FromError(sentinel).Message); word != "" {
			t.Errorf("%v: a condition would say %q", sentinel, word)
		}
	}
}

// TestTerraformWordsAreFound: the rule finds what it is for.
func TestTerraformWordsAreFound(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Plan again when its LXD answers.", "Bring it back, and apply again.", "run terraform plan", "Remove composer, or set it.", "remove it from the state",
		"terraform state rm ADDRESS", "Set MAAS_API_KEY.", "import it: terraform import ADDRESS", "Check api_url.", "the action maaslxd_snapshot takes one",
	} {
		if slices.ContainsFunc(messagesOf(text), func(message string) bool { return !terraformWords.MatchString(message) }) {
			t.Errorf("the rule does not find %q", text)
		}
	}
}

// TestHintsOfMAASAreNotShown: the hints of the client of MAAS name Terraform's settings.
func TestHintsOfMAASAreNotShown(t *testing.T) {
	t.Parallel()
	e := &api.Error{Message: "connection refused", Hint: "Check api_url.", Kind: engine.ErrUnavailable}
	if got := FromError(e).Message; strings.Contains(got, "api_url") || !strings.Contains(got, "connection refused") {
		t.Errorf("got %q", got)
	}
}

// TestGoneNamesTheFlag: a MAAS without VM hosts needs another composer, which is a flag here.
func TestGoneNamesTheFlag(t *testing.T) {
	t.Parallel()
	if got := FromError(&api.Error{Message: "this MAAS has no VM hosts", Kind: engine.ErrGone}).Message; !strings.Contains(got, "--composer=auto") {
		t.Errorf("got %q", got)
	}
}
