package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLeaveOutAbsent leaves out the backend whose folder is missing, and keeps
// the existing one.
func TestLeaveOutAbsent(t *testing.T) {
	dir, scratch := t.TempDir(), t.TempDir()
	for name, content := range map[string]string{
		"go.mod": `module example.com/tf

go 1.26

require (
	example.com/tf/away v0.0.0
	example.com/tf/here v0.0.0
	example.com/other v1.2.3
)

replace example.com/tf/away => ./away

replace example.com/tf/here => ./here

replace example.com/other => example.com/fork v1.2.4
`,
		"go.sum":      "",
		"here/go.mod": "module example.com/tf/here\n",
		backendList: `package init

import (
	backendAway "example.com/tf/away"
	backendHere "example.com/tf/here"
)

var all = map[string]any{
	"away": func() any { return backendAway.New() },
	"here": func() any { return backendHere.New() },
}
`,
	} {
		writeFile(t, filepath.Join(dir, name), content)
	}
	if err := copyWithoutMissingBackends(dir, scratch); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]string{
		"go.mod":    {"example.com/tf/here v0.0.0", "=> ./here", "=> example.com/fork v1.2.4"},
		backendList: {`backendHere "example.com/tf/here"`, "backendHere.New()"},
	} {
		got, err := os.ReadFile(filepath.Join(scratch, file))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(got), "way") {
			t.Errorf("%s still has the backend that is away:\n%s", file, got)
		}
		for _, text := range want {
			if !strings.Contains(string(got), text) {
				t.Errorf("%s lacks %q:\n%s", file, text, got)
			}
		}
	}
}

// TestLeaveOutUnknown refuses a module that does not import the missing
// modules: this code was not written for such a Terraform.
func TestLeaveOutUnknown(t *testing.T) {
	if _, err := withoutImports([]byte("package init\n"), []string{"example.com/tf/away"}); err == nil || !strings.Contains(err.Error(), "imports none of") {
		t.Errorf("got %v", err)
	}
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
