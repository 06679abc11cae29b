package acctest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/cli"
)

// TestNodesGuide runs what docs/guides/shared-ledger.md says of three nodes, block by block,
// on a simulated MAAS.
func TestNodesGuide(t *testing.T) {
	program := os.Getenv("MAASLXD_CLUSTER_BIN")
	if program == "" {
		t.Skip("MAASLXD_CLUSTER_BIN names no capi-bridge that was built with dqlite: make test-cluster")
	}
	x := newSimulatedTarget(t)
	_, page, found := strings.Cut(readGuide(t, ledgerGuide), "\n## A ledger on three nodes\n")
	if !found {
		t.Fatal("the guide has no section on three nodes")
	}
	configuration := configurationOf(t, ledgerGuide, "The runner red")
	folder, tools, w := t.TempDir(), t.TempDir(), newEmptyWorkspace(t)
	writeStandIn(t, tools, "capi-bridge", "exec '"+program+"' \"$@\"")
	writeStandIn(t, tools, "terraform", "exec '"+w.cli.Path+"' \"$@\"")
	required := "terraform {\n  required_providers {\n    maaslxd = {\n      source = \"" + cli.ProviderSource + "\"\n    }\n  }\n}\n"
	if err := os.Mkdir(filepath.Join(folder, "red"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "red", "main.tf"), []byte(required+configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	guide := guide{t: t, folder: folder, env: append(w.env, "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"), "MAAS_API_URL="+x.url, "MAAS_API_KEY="+x.key)}
	t.Cleanup(func() { guide.kill("a", "b", "c") })
	wants := map[string]string{
		"See who is a member":                  "127.0.0.1:7453",
		"Run both at once":                     "red/red-1",
		"Kill a node, and go on":               "1 added",
		"Replace a node that lost its disk":    "is no longer a member",
		"Back the ledger up":                   "",
		"Begin a cluster":                      "cluster-key.pem",
		"Start three nodes":                    "",
		"Give each runner a certificate":       "",
		"Write the configuration of blue":      "",
		"Continue with the last node":          "This node is the only member now.",
		"Empty the folders of the other nodes": "",
	}
	blocks := map[string]string{}
	for _, fence := range shellBlocks.FindAllStringSubmatch(page, -1) {
		title, _, _ := strings.Cut(strings.TrimPrefix(fence[1], "# "), "\n")
		want, known := wants[title]
		if !known {
			t.Errorf("nobody knows what the block %q is to do", title)
		}
		delete(wants, title)
		blocks[title] = fence[1]
		if title == "Continue with the last node" {
			guide.kill("b", "c") // they are lost
		}
		if out := guide.run(title, fence[1]); !strings.Contains(out, want) {
			t.Errorf("%s: want %q in\n%s", title, want, out)
		}
	}
	for title := range wants {
		t.Errorf("the guide has no block %q", title)
	}
	blue, err := os.ReadFile(filepath.Join(folder, "blue", "main.tf"))
	if want := required + strings.ReplaceAll(configuration, "red", "blue"); err != nil || string(blue) != want {
		t.Errorf("blue has %v:\n%s\nwant\n%s", err, blue, want)
	}
	for _, title := range []string{"Start three nodes", "See who is a member"} {
		guide.run(title+" again", blocks[title])
	}
	if out := guide.run("rows", "capi-bridge ledger rows --dir c"); !strings.Contains(out, "red/red-2") {
		t.Errorf("the nodes that joined the last one do not have its rows:\n%s", out)
	}
	x.wantNoOvercommit(t)
	for _, name := range []string{"red-0", "red-2", "blue-1"} {
		if m := x.findMachine(t, name); m.StatusName != "Ready" {
			t.Errorf("%s is %s", name, m.StatusName)
		}
	}
}

// guide runs the blocks of a page in a folder.
type guide struct {
	t      *testing.T
	folder string
	env    []string
}

// run runs a block. Its background processes go on.
func (g guide) run(title, block string) string {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), 5*time.Minute)
	defer cancel()
	out := filepath.Join(g.t.TempDir(), "out")
	file, err := os.Create(out)
	if err != nil {
		g.t.Fatal(err)
	}
	defer file.Close()
	cmd := exec.CommandContext(ctx, "sh", "-euc", block)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = g.folder, g.env, file, file
	failed := cmd.Run()
	text, err := os.ReadFile(out)
	if err != nil {
		g.t.Fatal(err)
	}
	if failed != nil {
		g.t.Fatalf("%s: %v\n%s", title, failed, text)
	}
	return string(text)
}

// kill kills nodes.
func (g guide) kill(nodes ...string) {
	for _, name := range nodes {
		text, err := os.ReadFile(filepath.Join(g.folder, name+".pid"))
		if err != nil {
			continue // it was never started
		}
		var pid int
		for _, digit := range strings.TrimSpace(string(text)) {
			pid = 10*pid + int(digit-'0')
		}
		if pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
		}
	}
}
