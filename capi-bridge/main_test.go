package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"debug/elf"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/maaslxd/maaslxd/acctest/executable"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/lxd/lxdtest"
)

// TestMain puts capi-bridge on PATH.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"capi-bridge": main})
}

// TestScripts runs testdata/script.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata/script"})
}

// makeKey makes the fleet's pair in a folder, with its certificate beside it.
func makeKey(t *testing.T, folder string) fleetkey.Key {
	t.Helper()
	key, err := fleetkey.LoadOrCreate(filepath.Join(folder, fleetkey.KeyFile), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"fleet.crt": key.Certificate, "fleet.key": key.Key} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return key
}

// exitStatus is what a command ended with.
func exitStatus(t *testing.T, err error) int {
	t.Helper()
	exit := (*exec.ExitError)(nil)
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

// readOperations are the shell blocks of a guide by their first line.
func readOperations(t *testing.T, guide string) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../docs/guides/" + guide + ".md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]string{}
	for _, fence := range regexp.MustCompile("(?s)```sh\n# (.*?)\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		blocks[fence[1]] = fence[2]
	}
	return blocks
}

// TestOperations runs what the guides say of nodes and checks, on a simulated site.
func TestOperations(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	admin, fleet := makeKey(t, t.TempDir()), makeKey(t, folder)
	s := sim.StartServer(t, sim.Model{LXDListen: sim.LXDListenPorts, Hosts: []sim.HostModel{{
		Name: "node1", Cores: 8, MemoryMiB: 16384, Unregistered: true, TrustedCertificates: []string{admin.Certificate},
	}}})
	node := s.LXDs()[0]
	pair, err := tls.X509KeyPair([]byte(admin.Certificate), []byte(admin.Key))
	if err != nil {
		t.Fatal(err)
	}
	host, _, err := net.SplitHostPort(node.Address)
	if err != nil {
		t.Fatal(err)
	}
	socket := lxdtest.ServeSocket(t, node.Listening[0], &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{pair}, InsecureSkipVerify: true}})
	env := append(os.Environ(), "LXD_SOCKET="+socket, "NETWORK_BRIDGE=maasbr0", "LISTEN_ADDRESS="+host, "NODE_NAME=node1",
		"NODE_IP="+node.Listening[0], "MAAS_API_URL="+s.URL, "MAAS_API_KEY="+s.APIKey(),
		"MAASLXD_LXD_CLIENT_CERT="+fleet.Certificate, "MAASLXD_LXD_CLIENT_KEY="+fleet.Key)
	const nodes, upgrade = "existing-nodes", "moving-off-vm-hosts"
	for _, step := range []struct {
		guide  string
		title  string
		status int
		says   string
	}{
		{nodes, "Is the LXD of this node set up?", 1, "check lxd: failed"},
		{nodes, "Say what would be done on this node", 0, "; did nothing"},
		{nodes, "Set up the LXD of this node", 0, "node1: done; "},
		{nodes, "Set up the LXD of this node", 0, "node1: nothing to do"},
		{nodes, "Is the LXD of this node set up?", 0, "check lxd: passed"},
		{nodes, "Does the fleet reach it?", 0, "check lxd: passed"},
		{nodes, "Can MAAS use it?", 0, "check vm-host: passed"},
		{nodes, "Is this a MAAS to work with?", 0, "check maas: passed"},
		{upgrade, "What would an upgrade of MAAS drop?", 0, "check upgrade: passed"},
	} {
		block, ok := readOperations(t, step.guide)[step.title]
		if !ok {
			t.Errorf("the guide %s has no block %q", step.guide, step.title)
			continue
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-euc", block)
		cmd.Dir, cmd.Env = folder, env
		out, err := cmd.CombinedOutput()
		if got := exitStatus(t, err); got != step.status || !strings.Contains(string(out), step.says) {
			t.Errorf("%s: status %d, want %d and %q:\n%s", step.title, got, step.status, step.says, out)
		}
	}
}

// reserveRoom writes a row of a VM into the ledger's file in a folder.
func reserveRoom(t *testing.T, folder string, key engine.Key) {
	t.Helper()
	rows, err := ledger.OpenFile(t.Context(), filepath.Join(folder, "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	row := engine.Row{Key: key, Name: "web-1", HostKey: "h1", SystemID: "abc", Need: engine.Need{Cores: 2, MemoryMiB: 2048}}
	if err := errors.Join(rows.Region("m1").Bind(t.Context(), row), rows.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestLedgerOperations runs what the guide to shared ledgers says of a ledger's clients and
// rows.
func TestLedgerOperations(t *testing.T) {
	t.Parallel()
	folder, blocks := t.TempDir(), readOperations(t, "shared-ledger")
	run := func(title, says string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-euc", blocks[title])
		cmd.Dir, cmd.Env = folder, append(os.Environ(), "LEDGER_DIR="+filepath.Join(folder, "state"))
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), says) {
			t.Errorf("%s: %v, want %q:\n%s", title, err, says, out)
		}
	}
	for _, step := range []struct{ title, says string }{
		{"Add a client of the ledger", "client ci may use *, and write the rows of ci/"},
		{"List the clients of the ledger", "valid"},
		{"Revoke a client of the ledger", "client ci is revoked"},
		{"List the clients of the ledger", "revoked on"},
	} {
		run(step.title, step.says)
	}
	reserveRoom(t, filepath.Join(folder, "state"), "gone/web-1")
	run("List what the ledger holds", "gone/web-1")
	for _, name := range []string{"ci.crt", "ci.key", "ca.pem"} {
		if _, err := os.Stat(filepath.Join(folder, "keys", name)); err != nil {
			t.Error(err)
		}
	}
}

// TestRealNode sets a real LXD up with the program, and looks at it over its own
// network, as the fleet would.
func TestRealNode(t *testing.T) {
	t.Parallel()
	s := lxdtest.StartForTest(t, "br0")
	folder := t.TempDir()
	makeKey(t, folder)
	local := func(args ...string) (string, int) {
		cmd := exec.CommandContext(t.Context(), "capi-bridge", args...)
		cmd.Dir, cmd.Env = folder, append(os.Environ(), "LXD_SOCKET="+s.Socket, "STORAGE_BACKEND=dir")
		out, err := cmd.CombinedOutput()
		return string(out), exitStatus(t, err)
	}
	said, code := local("check", "lxd")
	for _, want := range []string{"FAIL  storage pool default is missing or differs", "FAIL  nobody but this machine's root may use project maas", "ok    interface br0"} {
		if !strings.Contains(said, want) || code != 1 {
			t.Errorf("status %d, want %q in\n%s", code, want, said)
		}
	}
	if said, code := local("init-host", "--trusted-certificate", "fleet.crt"); code != 0 {
		t.Fatal(said)
	}
	if list := s.LXC(t, "config", "trust", "list", "--format=csv"); !strings.Contains(list, "maaslxd-") {
		t.Errorf("LXD trusts %s", list)
	}
	said, _ = local("check", "lxd")
	wantOnlyVMsFail(t, said)
	cmd := s.CommandInNetwork(t, "capi-bridge", "check", "lxd", "--address", "127.0.0.1", "--lxd-client-cert", "fleet.crt", "--lxd-client-key", "fleet.key")
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	exitStatus(t, err)
	wantOnlyVMsFail(t, string(out))
	if !strings.Contains(string(out), "ok    project maas is empty") || !strings.Contains(string(out), "ok    storage pool default: dir") {
		t.Errorf("got\n%s", out)
	}
	if said, code := local("init-host", "--trusted-certificate", "fleet.crt", "--listen-port", "9443"); code != 3 || !strings.Contains(said, "LXD listens at [::]:8443 instead of [::]:9443") {
		t.Errorf("status %d:\n%s", code, said)
	}
	if said, code := local("init-host", "--trusted-certificate", "fleet.crt", "--listen-port", "9443", "--change-listen-address"); code != 0 || !strings.Contains(said, "changed      listening: at [::]:9443 instead of [::]:8443") {
		t.Errorf("status %d:\n%s", code, said)
	}
}

// wantOnlyVMsFail: the test's machine may lack what VMs take; all else passes.
func wantOnlyVMsFail(t *testing.T, said string) {
	t.Helper()
	rest := strings.ReplaceAll(said, "FAIL  LXD cannot run virtual machines here", "")
	if strings.Contains(rest, "FAIL") || !strings.Contains(said, "check lxd: ") {
		t.Errorf("got\n%s", said)
	}
}

// TestKubeBuildAndTransfer builds for a node, with stand-ins for ssh and scp whose
// node is a folder, and runs what it has brought there.
func TestKubeBuildAndTransfer(t *testing.T) {
	t.Parallel()
	tools, node, calls := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "calls")
	stand := func(name, script string) {
		text := fmt.Sprintf("#!/bin/sh\nprintf '%%s\\n' \"%s $*\" >> '%s'\n[ \"$1\" != -q ] || shift\n[ \"$1\" = -i ] && shift 2\n%s\n", name, calls, script)
		if err := executable.WriteProgram(filepath.Join(tools, name), text); err != nil {
			t.Fatal(err)
		}
	}
	stand("ssh", fmt.Sprintf("shift; cd '%s'; exec sh -c \"$*\"", node))
	stand("scp", fmt.Sprintf("exec cp \"$1\" '%s'/\"${2#*:}\"", node))
	stand("sudo", `exec "$@"`)
	key := filepath.Join(node, "id key")
	if err := os.WriteFile(key, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	script := func(args ...string) (string, int) {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute) // it builds the program
		defer cancel()
		cmd := exec.CommandContext(ctx, "./build-and-transfer.sh", args...)
		cmd.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		return string(out), exitStatus(t, err)
	}
	said, code := script("--host", "node1", "--key="+key, "--user", "ubuntu", "--sudo", "--", "check", "lxd", "--address", "it's $HOME; no")
	if code != 1 && code != 2 || !strings.Contains(said, "--lxd-client-cert: the key pair of the fleet is missing") {
		t.Errorf("status %d:\n%s", code, said)
	}
	wantStatic(t, filepath.Join(node, "capi-bridge"))
	said, code = script("--host", "node1")
	if code != 0 || !strings.Contains(said, "on node1: ./capi-bridge check lxd") {
		t.Errorf("status %d:\n%s", code, said)
	}
	called, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"ssh -i " + key + " ubuntu@node1 uname -m", "scp -q -i " + key, "ubuntu@node1:capi-bridge.new",
		`sudo ./capi-bridge 'check' 'lxd' '--address' 'it'\''s $HOME; no'`, "ssh node1 uname -m",
	} {
		if !bytes.Contains(called, []byte(want)) {
			t.Errorf("want %q in\n%s", want, called)
		}
	}
	for name, args := range map[string][]string{
		"--host is missing": {"--user", "me"}, "--key: /nonexistent cannot be read": {"--host", "n", "--key", "/nonexistent"},
		"--host needs a value": {"--host"}, "check is not known here": {"--host", "n", "check"}, "does not begin with -": {"--host=-oProxyCommand=x"},
	} {
		if said, code := script(args...); code != 2 || !strings.Contains(said, name) {
			t.Errorf("%v: status %d, want %q:\n%s", args, code, name, said)
		}
	}
	if said, code := script("--help"); code != 0 || !strings.Contains(said, "--sudo") {
		t.Errorf("status %d:\n%s", code, said)
	}
}

// wantStatic fails unless the program runs on any node of its kind.
func wantStatic(t *testing.T, path string) {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Error("the program needs libraries of the node")
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o111 == 0 {
		t.Errorf("it cannot be run: %v, %v", info, err)
	}
}
