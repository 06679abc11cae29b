package acctest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// Guides that several tests read.
const (
	keysGuide      = "keys-and-certificates"
	ledgerGuide    = "shared-ledger"
	migratingGuide = "migrating"
	planRules      = "../reference/plan-rules"
)

// terraformBlocks are the Terraform blocks of a page.
var terraformBlocks = regexp.MustCompile("(?s)```terraform\n(.*?)```")

// readGuide is the text of a guide.
func readGuide(t *testing.T, guide string) string {
	t.Helper()
	text, err := os.ReadFile("../docs/guides/" + guide + ".md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blockOf is the block of a guide, of one language, that begins with a comment of that title.
func blockOf(t *testing.T, guide string, language *regexp.Regexp, title string) string {
	t.Helper()
	for _, block := range language.FindAllStringSubmatch(readGuide(t, guide), -1) {
		if text, found := strings.CutPrefix(block[1], "# "+title+"\n"); found {
			return text
		}
	}
	t.Fatalf("the guide %s has no block %q", guide, title)
	return ""
}

// configurationOf is the configuration in a guide that begins with a comment of that title.
func configurationOf(t *testing.T, guide, title string) string {
	t.Helper()
	return blockOf(t, guide, terraformBlocks, title)
}

// TestGuidesAreCopied: the guides that the registry shows are those of the templates.
func TestGuidesAreCopied(t *testing.T) {
	t.Parallel()
	const shown, sources = "../docs/guides", "../terraform-provider-maaslxd/templates/guides"
	if diff := cmp.Diff(fileNames(t, sources), fileNames(t, shown)); diff != "" {
		t.Fatalf("guides (-templates +docs):\n%s", diff)
	}
	for _, name := range fileNames(t, sources) {
		source, err := os.ReadFile(filepath.Join(sources, name))
		if err != nil {
			t.Fatal(err)
		}
		if text := readGuide(t, strings.TrimSuffix(name, ".md")); text != string(source) {
			t.Errorf("docs/guides/%s is not as its template: make generate copies it", name)
		}
	}
}

// TestGuideInstallsAsREADME: the first guide installs the provider by the commands of the
// README, which TestScriptREADME runs.
func TestGuideInstallsAsREADME(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range []string{
		blockOf(t, "first-fleet", shellBlocks, "Install the provider"),
		blockOf(t, "first-fleet", shellBlocks, "Name the MAAS"),
		configurationOf(t, "first-fleet", "The provider"),
		configurationOf(t, "first-fleet", "The first VM host and two VMs"),
		blockOf(t, "first-fleet", shellBlocks, "Apply"),
	} {
		if !strings.Contains(strings.ReplaceAll(string(readme), " # a Ready machine of your MAAS", ""), block) {
			t.Errorf("the README does not have these lines:\n%s", block)
		}
	}
}

// quotedErrors are the fixed parts of what the first cells of a guide's tables quote, with
// the whole quotations.
func quotedErrors(t *testing.T, guide string) map[string]string {
	t.Helper()
	cell, quote := regexp.MustCompile("(?m)^\\| (`[^|]*)"), regexp.MustCompile("`([^`]+)`")
	gap := regexp.MustCompile(`…|\d[\d.]*s?`) // names and numbers differ
	parts := map[string]string{}
	for _, first := range cell.FindAllStringSubmatch(readGuide(t, guide), -1) {
		for _, quoted := range quote.FindAllStringSubmatch(first[1], -1) {
			for _, part := range gap.Split(quoted[1], -1) {
				if part = strings.Trim(part, " :/"); len(part) >= 6 && !strings.HasPrefix(part, "--") {
					parts[part] = quoted[1]
				}
			}
		}
	}
	return parts
}

// programTexts are all sources but tests, with the quotation marks that a user sees.
func programTexts(t *testing.T) string {
	t.Helper()
	var sources strings.Builder
	for _, name := range repositoryFiles(t) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		sources.WriteString(strings.ReplaceAll(string(text), `\"`, `"`))
	}
	return sources.String()
}

// TestGuidesQuoteErrors: the errors that the guides tell the way out of are those of the
// programs.
func TestGuidesQuoteErrors(t *testing.T) {
	t.Parallel()
	elsewhere := map[string]string{
		"is in use: it is mounted":                "the program puts it together of two parts",
		"certificate signed by unknown authority": "Go says it",
	}
	sources := programTexts(t)
	for _, guide := range []string{"troubleshooting", "existing-nodes", ledgerGuide} {
		parts := quotedErrors(t, guide)
		if len(parts) < 9 {
			t.Errorf("the guide %s quotes %d parts of errors, want 9 or more", guide, len(parts))
		}
		for part, quoted := range parts {
			if elsewhere[part] == "" && !strings.Contains(sources, part) {
				t.Errorf("the guide %s has the error %q, and no program says %q", guide, quoted, part)
			}
		}
	}
}

// TestAccGuideFirstFleet makes the first fleet as the guide says, lets it grow, and destroys it.
func TestAccGuideFirstFleet(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	first := configurationOf(t, "first-fleet", "The first VM host and two VMs")
	w := newWorkspace(t, x.config(first))
	if out := w.run(t, "apply", "-auto-approve", "-no-color"); !strings.Contains(out, "Plan: 3 to add") {
		t.Errorf("the guide says 3 to add, got:\n%s", out)
	}
	w.wantEmptyPlan(t)
	w.configure(t, x.config(first+configurationOf(t, "first-fleet", "A second VM host, and VMs that choose theirs")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	hosts := map[string]string{}
	if err := json.Unmarshal([]byte(w.run(t, "output", "-json", "api")), &hosts); err != nil {
		t.Fatal(err)
	}
	if len(hosts) != 2 || hosts["api-1"] == hosts["api-2"] {
		t.Errorf("want each VM on a VM host of its own, got %v", hosts)
	}
	for name := range hosts {
		if got := x.findMachine(t, name).StatusName; got != "Deployed" {
			t.Errorf("%s is %s, want it Deployed", name, got)
		}
	}
	tools := t.TempDir()
	writeStandIn(t, tools, "terraform", fmt.Sprintf("exec '%s' \"$@\"", w.cli.Path))
	destroy := exec.CommandContext(t.Context(), "sh", "-euc", blockOf(t, "first-fleet", shellBlocks, "Destroy"))
	destroy.Dir, destroy.Stdin = w.dir, strings.NewReader("yes\n")
	destroy.Env = append(w.env, "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := destroy.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := x.checkNothingLeft("node1", "node2")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccGuideSimulator starts the simulator by the commands of the first guide, and makes the
// fleet of the guide on it.
func TestAccGuideSimulator(t *testing.T) {
	t.Parallel()
	if isOnSite() {
		t.Skip("runs only on the simulator, which the guide starts")
	}
	skipUnlessInColumn(t)
	tools, clone := t.TempDir(), filepath.Join(t.TempDir(), "maaslxd")
	world, err := os.ReadFile("../examples/demo/world.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{filepath.Join(clone, "examples/demo"), filepath.Join(clone, "../my-fleet")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(clone, "examples/demo/world.json"), world, 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	writeStandIn(t, tools, "make", fmt.Sprintf("[ \"$*\" = build ] && exec go build -C '%s' -o '%s/bin/' ./maassim", here, clone))
	simulator := exec.CommandContext(t.Context(), "sh", "-euc",
		blockOf(t, "first-fleet", shellBlocks, "Simulate a MAAS")+"env | grep ^MAAS_API_\necho \"PID=$!\"")
	simulator.Dir = clone
	simulator.Env = append(os.Environ(), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	simulator.Stderr = os.Stderr // no pipe, because the simulator outlives the script
	out, err := simulator.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() { endPrintedProcess(t, string(out)) })

	w := newWorkspace(t, firstFleet(t)).newCIRunner(t, false)
	w.env = append(w.env, regexp.MustCompile(`(?m)^MAAS_API_.*$`).FindAllString(string(out), -1)...)
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// endPrintedProcess ends the process whose id a script has printed as PID=….
func endPrintedProcess(t *testing.T, out string) {
	t.Helper()
	id, err := strconv.Atoi(regexp.MustCompile(`(?m)^PID=(\d+)$`).FindStringSubmatch(out)[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(id, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

// TestAccGuideDayTwo applies the VMs of the guide on the fleet of the first guide: one is off,
// one is protected, and one is redeployed.
func TestAccGuideDayTwo(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	config := firstFleet(t)
	for _, title := range []string{"A VM that is off", "A VM that nobody deletes by mistake", "Redeploy with each release"} {
		config += configurationOf(t, "day-two", title)
	}
	w := newWorkspace(t, x.config(config))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	if got := x.findMachine(t, "spare-1").PowerState; got != "off" {
		t.Errorf("spare-1 is %s, want it off", got)
	}
	for _, name := range []string{"spare-1", "books-1", "worker-1"} {
		if got := x.findMachine(t, name).Host; got != "kvm-1" {
			t.Errorf("%s is on %s, want it on kvm-1", name, got)
		}
	}
	w.wantCommandFailure(t, `VM books-1 is protected from deletion`, "destroy", "-auto-approve", "-no-color")
	_, failure := x.invokeAction(t, "maaslxd_redeploy", map[string]any{"machine": x.findMachine(t, "books-1").SystemID})
	if !wordsPattern("locked in MAAS If deletion_protection of books-1 is true set it to false and apply").MatchString(failure) {
		t.Errorf("want a refusal that names the attribute, got %q", failure)
	}

	worker := x.findMachine(t, "worker-1").SystemID
	config = strings.ReplaceAll(config, "2026-11", "2026-12")
	w.configure(t, x.config(config))
	if got := joinActions(w.planActionsOn(t, "maaslxd_vm.worker")); got != "update" {
		t.Errorf("the plan wants %s, want an update in place", got)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	if m := x.findMachine(t, "worker-1"); m.SystemID != worker || m.StatusName != "Deployed" {
		t.Errorf("worker-1 is %+v, want the same machine, Deployed", m)
	}
	for _, rescue := range []string{"enter", "exit"} { // the guide: meanwhile a plan shows no change
		if _, failure := x.invokeAction(t, "maaslxd_rescue", map[string]any{"machine": worker, "rescue": rescue}); failure != "" {
			t.Fatal(failure)
		}
		w.wantEmptyPlan(t)
	}
	config = strings.ReplaceAll(config, "deletion_protection = true", "deletion_protection = false")
	w.configure(t, x.config(config))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccGuideMovedAddress changes a VM from count to for_each by the block of the guide, which
// changes nothing. Without the block, the plan destroys the VM, and says what is missing.
func TestAccGuideMovedAddress(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	api := func(each, name string) string {
		return x.config(fmt.Sprintf("resource \"maaslxd_vm\" \"api\" {\n  %s\n  name = %s\n  vm_host = %q\n}\n", each, name, x.host))
	}
	w := newWorkspace(t, api("count = 1", `"api-1"`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	each := api(`for_each = toset(["api-1"])`, "each.key")
	w.configure(t, each)
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern("1 to destroy").MatchString(out) || !wordsPattern("write a moved block").MatchString(out) {
		t.Errorf("want a warning that names the moved block, got:\n%s", out)
	}
	w.configure(t, each+configurationOf(t, "day-two", "The VM gets another address in the configuration"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	if out := w.run(t, "state", "list"); !strings.Contains(out, `maaslxd_vm.api["api-1"]`) {
		t.Errorf("the state has %s", out)
	}
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccGuideRestartAndRescue restarts a VM, and enters rescue mode, by the actions of the guide.
func TestAccGuideRestartAndRescue(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(firstFleet(t)+configurationOf(t, "day-two", "Restart a VM once")+configurationOf(t, "day-two", "Enter rescue mode")))
	w.needsCLI114(t)
	w.run(t, "apply", "-auto-approve", "-no-color")
	x.simulatorOrSkip().ResetJournal()
	w.run(t, "apply", "-auto-approve", "-no-color", "-invoke=action.maaslxd_power.restart")
	x.waitUntil(t, "web-1 is on", func() bool { return x.findMachine(t, "web-1").PowerState == "on" })
	if made := countChanges(x.simulatorOrSkip().Journal()); len(made) == 0 {
		t.Error("nothing was called")
	}
	w.run(t, "apply", "-auto-approve", "-no-color", "-invoke=action.maaslxd_rescue.enter")
	m := x.findMachine(t, "web-1")
	if m.StatusName != "Rescue mode" {
		t.Errorf("web-1 is %q", m.StatusName)
	}
	if _, failure := x.invokeAction(t, "maaslxd_rescue", map[string]any{"machine": m.SystemID, "rescue": "exit"}); failure != "" {
		t.Error(failure)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccGuideSnapshot takes a snapshot of a VM and restores it by the actions of the guide.
func TestAccGuideSnapshot(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, listenOnLoopback)
	w := newWorkspace(t, x.configReachingLXD(firstFleet(t)+configurationOf(t, "day-two", "Take a snapshot, and restore it")))
	w.needsCLI114(t)
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "apply", "-auto-approve", "-no-color", "-invoke=action.maaslxd_snapshot.web")
	if got := x.listSnapshots(t, "web-1"); len(got) != 1 || got[0] != "before-upgrade" {
		t.Errorf("web-1 has the snapshots %v, want before-upgrade", got)
	}
	w.run(t, "apply", "-auto-approve", "-no-color", "-invoke=action.maaslxd_restore.web")
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// firstFleet is the configuration of the first guide before its last step, without the
// provider.
func firstFleet(t *testing.T) string {
	t.Helper()
	return configurationOf(t, "first-fleet", "The first VM host and two VMs") +
		configurationOf(t, "first-fleet", "A second VM host, and VMs that choose theirs")
}

// TestGuideCIPair makes a pair as the guide says. The provider takes it, and a pair that is
// there is not written over.
func TestGuideCIPair(t *testing.T) {
	t.Parallel()
	needsOpenSSL(t)
	folder := t.TempDir()
	pair := func() string {
		runShell(t, "ci-runners", folder, "Make a pair for CI")
		certificate, err := os.ReadFile(filepath.Join(folder, "lxd-client.crt"))
		if err != nil {
			t.Fatal(err)
		}
		fingerprint, err := fleetkey.Fingerprint(string(certificate))
		if err != nil {
			t.Fatal(err)
		}
		return fingerprint
	}
	first := pair()
	if second := pair(); second != first {
		t.Errorf("the second time the pair is %s, want %s", second, first)
	}
	info, err := os.Stat(filepath.Join(folder, "lxd-client.key"))
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others can read the key: %v, %v", info, err)
	}
}

// TestAccGuideCI applies the configuration of the guide as a CI job: the environment names MAAS.
func TestAccGuideCI(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t)
	config := configurationOf(t, "ci-runners", "A provider block for CI")
	w := newWorkspace(t, strings.Replace(config, `"ci"`, "\"ci\"\n  poll_interval = \"50ms\"", 1)).newCIRunner(t, true)
	w.env = append(w.env, "MAAS_API_URL="+x.url, "MAAS_API_KEY="+x.key)
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	for _, name := range []string{"build-1", "build-2"} {
		if got := x.findMachine(t, name).StatusName; got != "Deployed" {
			t.Errorf("%s is %s", name, got)
		}
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccGuideExistingNodes registers an LXD that runs already, as the guide says.
func TestAccGuideExistingNodes(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, listenOnLoopback)
	x.makeLXDTrustNewKey(t, "stray")
	config := configurationOf(t, "existing-nodes", "Register an LXD server that runs already")
	w := newWorkspace(t, x.configWithProbe("direct", strings.Replace(config, "10.0.0.250", x.findLXD(t, "stray").Address, 1)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	if got := x.listVMHosts(t); len(got) != 1 || got[0].Name != "kvm-old" {
		t.Errorf("MAAS has the VM hosts %+v", got)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestGuideLXDClient: the guide shows the example that TestAccWorkflowLXDClient runs.
func TestGuideLXDClient(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("../" + lxdClientExample)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(example), configurationOf(t, "beside-other-providers", "Reach the LXD server of a VM host")); diff != "" {
		t.Errorf("(-example +guide):\n%s", diff)
	}
}

// TestAccGuideLedgerService makes a VM with the ledger of a service, as the guide says.
func TestAccGuideLedgerService(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t)
	service := startLedgerService(t)
	w := newEmptyWorkspace(t)
	if err := service.command(t.Context(), "client", "add", "ci", "--region=*", "--prefix=ci", "--out", filepath.Join(w.dir, "keys")); err != nil {
		t.Fatal(err)
	}
	config := configurationOf(t, ledgerGuide, "A client of the ledger service")
	w.configure(t, strings.Replace(config, "https://ledger.example.com:7443", service.address, 1)+x.vm("web-1"))
	w.env = append(w.env, "MAAS_API_URL="+x.url, "MAAS_API_KEY="+x.key, "MAASLXD_LEDGER_KEY="+filepath.Join("keys", "ci.key"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	if got := x.findMachine(t, "web-1").StatusName; got != "Ready" {
		t.Errorf("web-1 is %s", got)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccPlanRules removes the lines of the examples, and wants what their comments say.
func TestAccPlanRules(t *testing.T) {
	t.Parallel()
	const element, stateAlone = "Lines that are removed in an element", "update of the state alone"
	cases := map[string]struct{ reason, title, line, other, want string }{
		"Kept":      {"Without the line cores, the VM keeps its cores.", "Lines that are removed", "cores ", "", "no-op"},
		"TakenBack": {"An explicit default gives the VM its default number of cores.", "Lines that are removed", "cores ", "cores = 1", "delete,create"},
		"TakenOff":  {"The configuration had added the tag, so the update removes it.", "Lines that are removed", "tags ", "", "update"},
		"Meant":     {"An ip implies the mode static, so only the state changes.", element, "mode ", "", stateAlone},
		"Element":   {"A line that is removed in an element means null, and not the former value.", element, "ip ", "", "delete,create"},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newSimulatedTarget(t)
			config := strings.NewReplacer("kvm1", "lxd1", "10.0.0.5", "10.77.0.5").Replace(configurationOf(t, planRules, tc.title))
			w := newWorkspace(t, x.config(config))
			w.run(t, "apply", "-auto-approve", "-no-color")
			before := x.findMachine(t, "web-1").SystemID
			w.configure(t, x.config(regexp.MustCompile(`(?m)^ *`+tc.line+`.*$`).ReplaceAllString(config, tc.other)))
			if got := joinActions(w.planActionsOn(t, "maaslxd_vm.web")); !strings.HasPrefix(tc.want, got) {
				t.Errorf("%s\nthe plan wants %s, want %s", tc.reason, got, tc.want)
			}
			x.simulatorOrSkip().ResetJournal()
			w.run(t, "apply", "-auto-approve", "-no-color")
			if made := countChanges(x.simulatorOrSkip().Journal()); tc.want == stateAlone && len(made) != 0 {
				t.Errorf("%s\nMAAS was called: %v", tc.reason, made)
			}
			w.wantEmptyPlan(t)
			if stays := x.findMachine(t, "web-1").SystemID == before; stays != (tc.want != "delete,create") {
				t.Errorf("%s\nweb-1 stays: %t", tc.reason, stays)
			}
		})
	}
}
