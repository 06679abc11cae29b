package setting_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/engine"
)

// values are one setting of each kind.
type values struct {
	Text   string
	Number int64
	Span   time.Duration
	On     bool
	PEM    string
	PEMs   []string
}

func (v *values) settings(env map[string]string, args []string, out io.Writer) *setting.Settings {
	s := setting.New(setting.Program{Name: "x", Args: args, Getenv: func(key string) string { return env[key] }, Stdout: out}, "About x.")
	s.AddText(&v.Text, "text", "TEXT", "plain", "a text")
	s.AddNumber(&v.Number, "number", "NUMBER", 7, "a number")
	s.AddDuration(&v.Span, "span", "SPAN", time.Second, "a time")
	s.AddSwitch(&v.On, "on", "ON", "a switch")
	s.AddPEM(&v.PEM, "pem", "PEM", "a certificate")
	s.AddPEMs(&v.PEMs, "pems", "PEMS", "certificates")
	return s
}

func TestSettings(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.pem")
	if err := os.WriteFile(file, []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	const inline = "-----BEGIN X"
	cases := map[string]struct {
		reason string
		env    map[string]string
		args   []string
		want   values
	}{
		"Defaults":    {reason: "Nothing is said.", want: values{Text: "plain", Number: 7, Span: time.Second}},
		"Environment": {reason: "Variables alone will do.", env: map[string]string{"TEXT": "e", "NUMBER": "8", "SPAN": "2s", "ON": "true", "PEM": inline, "PEMS": file}, want: values{"e", 8, 2 * time.Second, true, inline, []string{"from a file"}}},
		"Flags":       {reason: "A flag wins, and a list takes the place of the variable's.", env: map[string]string{"TEXT": "e", "PEMS": file, "ON": "true"}, args: []string{"--text=f", "--pems", inline, "--pems", inline + "2", "--on=false"}, want: values{Text: "f", Number: 7, Span: time.Second, PEMs: []string{inline, inline + "2"}}},
		"Empty":       {reason: "An empty variable counts as unset.", env: map[string]string{"TEXT": "", "NUMBER": ""}, want: values{Text: "plain", Number: 7, Span: time.Second}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got values
			if err := got.settings(tc.env, tc.args, io.Discard).Read(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSettingsHelp(t *testing.T) {
	t.Parallel()
	var (
		out bytes.Buffer
		v   values
	)
	s := v.settings(nil, []string{"-h"}, &out)
	if err := s.Read(); !errors.Is(err, flag.ErrHelp) || setting.ExitCode(err, io.Discard) != 0 {
		t.Errorf("got %v", err)
	}
	want := "About x.\n\nFlags, with the variables that stand in for them:\n  --text, TEXT\n      a text (default plain)\n  --number, NUMBER\n      a number (default 7)\n" +
		"  --span, SPAN\n      a time (default 1s)\n  --on, ON\n      a switch\n  --pem, PEM\n      a certificate\n  --pems, PEMS\n      certificates\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !slices.Equal(s.ListVariables(), []string{"TEXT", "NUMBER", "SPAN", "ON", "PEM", "PEMS"}) {
		t.Errorf("got %v", s.ListVariables())
	}
}

// TestExitCode: what went wrong is said once, with the way out.
func TestExitCode(t *testing.T) {
	t.Parallel()
	refusal := &engine.Refusal{Message: "pool a is there", Hint: "Take another.", Err: engine.ErrConflict}
	cases := map[string]struct {
		reason string
		err    error
		want   int
		says   string
	}{
		"Good":    {reason: "Nothing went wrong."},
		"Refused": {reason: "It was said.", err: fmt.Errorf("%w: %w", setting.ErrRefused, refusal), want: 3},
		"Failed":  {reason: "So was this.", err: setting.ErrFailed, want: 1},
		"Usage":   {reason: "The flag is named.", err: &setting.UsageError{Flag: "--a", Text: "it is missing", Hint: "Give it."}, want: 2, says: "capi-bridge: --a: it is missing\n  Give it.\n"},
		"Joined":  {reason: "Each is said.", err: errors.Join(refusal, context.Canceled), want: 1, says: "capi-bridge: pool a is there\n  Take another.\ncapi-bridge: it was interrupted\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said bytes.Buffer
			if got := setting.ExitCode(tc.err, &said); got != tc.want || said.String() != tc.says {
				t.Errorf("%s\ngot %d: %q, want %d: %q", tc.reason, got, said.String(), tc.want, tc.says)
			}
		})
	}
}
