package acctest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// smallDisks are small because a storage pool of the driver dir copies a VM's
// root disk for each snapshot.
const smallDisks = `disks = { root = { size_gb = 1 } }`

// invokeReachingLXD calls an action with the settings of x.configReachingLXD
// and further ones. The progress messages include warnings.
func (x *metalTarget) invokeReachingLXD(t *testing.T, action string, config map[string]any, settings ...string) (progress []string, failure string) {
	t.Helper()
	all := map[string]any{
		"api_url": x.url, "api_key": x.key, "owner": "tf-acc", "poll_interval": x.pollInterval(), "probe": "direct", "ledger": filepath.Join(x.folder, "ledger.db"),
	}
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		all[name] = value
	}
	if isLXDColumn() && x.sim == nil {
		all["composer"] = "lxd"
	}
	return invokeActionWith(t, all, action, config)
}

// listSnapshots are the names of an instance's snapshots in LXD.
func (x *metalTarget) listSnapshots(t *testing.T, name string) []string {
	t.Helper()
	names, err := x.connectLXD(t, "node1").GetInstanceSnapshotNames(name)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestAccWorkflowSnapshot takes snapshots of a VM of any composer, restores
// one, and destroys the VM with them.
func TestAccWorkflowSnapshot(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, listenOnLoopback)
	needBoots(t)
	vm := func(attributes ...string) string {
		return x.configReachingLXD(hostOnNode1() + vmOnTestHost("web", append(attributes, smallDisks, x.deploy())...))
	}
	w := newWorkspace(t, vm())
	w.run(t, "apply", "-auto-approve", "-no-color")
	id := x.findMachine(t, "web").SystemID
	take := func(reason, want string, config map[string]any) {
		t.Helper()
		config["machine"], config["name"] = id, "before"
		if _, failure := x.invokeReachingLXD(t, "maaslxd_snapshot", config); want == "" && failure != "" || want != "" && !wordsPattern(want).MatchString(failure) {
			t.Errorf("%s\nwant %q, got %q", reason, want, failure)
		}
	}
	restore := func(reason, want string, config map[string]any) {
		t.Helper()
		config["machine"] = id
		if config["name"] == nil {
			config["name"] = "before"
		}
		if _, failure := x.invokeReachingLXD(t, "maaslxd_restore", config); want == "" && failure != "" || want != "" && !wordsPattern(want).MatchString(failure) {
			t.Errorf("%s\nwant %q, got %q", reason, want, failure)
		}
		x.waitUntil(t, "web is on", func() bool { return x.findMachine(t, "web").PowerState == "on" })
	}
	take("It runs.", "", map[string]any{"expires_in": "24h"})
	take("It is there.", `Cannot take snapshot before of VM name: web has a snapshot before already replace = true`, map[string]any{})
	take("It may go.", "", map[string]any{"replace": true})
	if diff := cmp.Diff([]string{"before"}, x.listSnapshots(t, "web")); diff != "" {
		t.Errorf("snapshots (-want +got):\n%s", diff)
	}
	restore("It runs.", `Cannot restore snapshot before of VM web runs, and must be stopped allow_stopping = true`, map[string]any{})
	restore("There is no such snapshot.", `name: web has no snapshot later It has: before`, map[string]any{"name": "later", "allow_stopping": true})
	restore("It may be stopped.", "", map[string]any{"allow_stopping": true})
	restore("Twice is harmless.", "", map[string]any{"allow_stopping": true})
	if all := x.instances(); x.canInspectLXDs() && (len(all) != 1 || !all[0].Running) {
		t.Errorf("afterwards: %+v", all)
	}
	w.wantEmptyPlan(t)

	w.configure(t, vm(`deletion_protection = true`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	take("A lock does not forbid it.", "", map[string]any{"replace": true})
	restore("It is protected.", `cannot restore web: it is locked in MAAS`, map[string]any{"allow_stopping": true})
	w.wantEmptyPlan(t)
	w.configure(t, vm())
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if all := x.instances(); x.canInspectLXDs() && len(all) != 0 {
		t.Errorf("left: %+v", all)
	}
}

// TestAccGoneSnapshotChanges restores a VM whose size, options and disks have
// changed since. The plan shows what LXD took back, and an apply sets it again.
func TestAccGoneSnapshotChanges(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	vm := func(attributes ...string) string {
		return x.configReachingLXD(hostOnNode1() + vmOnTestHost("web", attributes...))
	}
	w := newWorkspace(t, vm(`memory_mib = 1024`, smallDisks, `config = { "user.team" = "billing" }`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	take := func(name string) (warned string) {
		t.Helper()
		progress, failure := x.invokeReachingLXD(t, "maaslxd_snapshot", map[string]any{"machine": "web", "name": name})
		if failure != "" {
			t.Fatal(failure)
		}
		return strings.Join(progress, "\n")
	}
	restore := func(name string) string {
		t.Helper()
		_, failure := x.invokeReachingLXD(t, "maaslxd_restore", map[string]any{"machine": "web", "name": name})
		return failure
	}
	take("small")
	w.configure(t, vm(`memory_mib = 2048`, smallDisks, `config = { "user.team" = "shop" }`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	marks := x.readMarks(t, "web")
	if failure := restore("small"); failure != "" {
		t.Fatal(failure)
	}
	x.wantInstance(t, "web", map[string]string{"user.team": "billing", "security.secureboot": "false"})
	if diff := cmp.Diff(marks, x.readMarks(t, "web")); diff != "" {
		t.Errorf("marks (-before +after):\n%s", diff)
	}
	if got := strings.Join(w.planActions(t), ","); got != "update" {
		t.Errorf("the snapshot took the size back, and the plan wants %s", got)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	x.wantInstance(t, "web", map[string]string{"user.team": "shop", "security.secureboot": "false"})
	w.wantEmptyPlan(t)

	w.configure(t, vm(`memory_mib = 2048`, `disks = { root = { size_gb = 1 }, data = { size_gb = 1 } }`, `config = { "user.team" = "shop" }`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	if failure := restore("small"); !wordsPattern(`cannot restore snapshot small of web: it is older than a disk of the VM default/web-disk1 Choose a later snapshot`).MatchString(failure) {
		t.Errorf("want a refusal, got %q", failure)
	}
	if warned := take("whole"); !wordsPattern(`The snapshot does not hold all disks web has data disks default/web-disk1`).MatchString(warned) {
		t.Errorf("it does not warn: %q", warned)
	}
	if failure := restore("whole"); failure != "" {
		t.Error(failure)
	}
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkNothingLeft("node1")(nil); err != nil {
		t.Error(err)
	}
}

// readMarks are the options by which the provider recognises an instance.
func (x *metalTarget) readMarks(t *testing.T, name string) map[string]string {
	t.Helper()
	i, _, err := x.connectLXD(t, "node1").GetInstance(name)
	if err != nil {
		t.Fatal(err)
	}
	marks := map[string]string{}
	for key, value := range i.Config {
		if strings.Contains(key, ".maaslxd.") {
			marks[key] = value
		}
	}
	return marks
}

// TestAccSnapshotRefused names what prevents a snapshot or a restore, and
// changes nothing.
func TestAccSnapshotRefused(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, listenOnLoopback)
	w := newWorkspace(t, x.configReachingLXD(hostOnNode1()+vmOnTestHost("web", smallDisks)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	const snapshot, restore = "maaslxd_snapshot", "maaslxd_restore"
	cases := map[string]struct {
		reason, action string
		config         map[string]any
		settings       []string
		want           string
	}{
		"Slash":      {"LXD uses the name in a path, so it cannot have a slash.", snapshot, map[string]any{"name": "a/b"}, nil, `Invalid name It cannot contain`},
		"Space":      {"LXD refuses a space in the name of a snapshot.", restore, map[string]any{"name": "a b"}, nil, `Invalid name It cannot contain`},
		"Dots":       {"LXD would write into another folder.", snapshot, map[string]any{"name": ".."}, nil, `Invalid name folder`},
		"NoName":     {"LXD would choose a name of its own.", snapshot, map[string]any{"name": ""}, nil, `Invalid name Give the snapshot a name`},
		"Expiry":     {"A duration has no unit for days.", snapshot, map[string]any{"expires_in": "7d"}, nil, `Invalid expires_in "7d" is not a duration "168h"`},
		"Soon":       {"LXD looks for expired snapshots only once a minute.", snapshot, map[string]any{"expires_in": "5s"}, nil, `Invalid expires_in "5s" is not a duration of a minute or more`},
		"Unknown":    {"MAAS has no machine of this name.", snapshot, map[string]any{"machine": "mars"}, nil, `Cannot take snapshot s1 of VM mars MAAS knows no such machine`},
		"BareMetal":  {"Bare metal has no snapshots.", snapshot, map[string]any{"machine": "node2"}, nil, `it is not marked as a VM of owner tf-acc Import it`},
		"OtherOwner": {"The VM belongs to another owner.", restore, nil, []string{"owner=somebody"}, `cannot restore VM web it is marked as made for tf-acc/web, not for owner somebody`},
		"NoSnapshot": {"The VM has no snapshot of this name.", restore, nil, nil, `name: web has no snapshot s1 maaslxd_snapshot takes one`},
	}
	if !isLXDColumn() {
		tc := cases["Unknown"]
		tc.reason, tc.config, tc.settings, tc.want = "With probe = maas, the provider itself connects to no LXD.", nil, []string{"probe=maas"}, `this provider asks no LXD: probe is "maas" lxc snapshot`
		cases["OnlyMAAS"] = tc
	}
	for name, tc := range cases {
		config := map[string]any{"machine": x.siteNameOf(t, "web"), "name": "s1"}
		for key, value := range tc.config {
			config[key] = value
		}
		if m, ok := config["machine"].(string); ok && strings.HasPrefix(m, "node") {
			config["machine"] = x.siteNameOf(t, m)
		}
		if _, failure := x.invokeReachingLXD(t, tc.action, config, tc.settings...); !wordsPattern(tc.want).MatchString(failure) {
			t.Errorf("%s: %s\nwant %q, got %q", name, tc.reason, tc.want, failure)
		}
	}
	if names := x.listSnapshots(t, "web"); len(names) != 0 {
		t.Errorf("snapshots were taken: %v", names)
	}
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccWorkflowActionsCLI makes the CLI invoke the actions that change a VM
// for good. It takes a snapshot before a change, restores it, and deploys the
// VM from scratch.
func TestAccWorkflowActionsCLI(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, listenOnLoopback)
	needBoots(t)
	invoked := func(kind, name, body string) string {
		return "action \"maaslxd_" + kind + "\" \"" + name + "\" {\n  config {\n    machine = maaslxd_vm.test.id\n" + body + "  }\n}\n"
	}
	w := newWorkspace(t, x.configReachingLXD(hostOnNode1()+vmOnTestHost("web", smallDisks, x.deploy())+
		invoked("snapshot", "before", "    name = \"before\"\n")+
		invoked("restore", "before", "    name = \"before\"\n    allow_stopping = true\n")+
		invoked("redeploy", "again", "")))
	w.needsCLI114(t)
	invoke := func(action string) {
		t.Helper()
		w.run(t, "apply", "-auto-approve", "-no-color", "-invoke=action.maaslxd_"+action)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, "web")
	invoke("snapshot.before")
	if diff := cmp.Diff([]string{"before"}, x.listSnapshots(t, "web")); diff != "" {
		t.Errorf("snapshots (-want +got):\n%s", diff)
	}
	invoke("restore.before")
	x.waitUntil(t, "web is on", func() bool { return x.findMachine(t, "web").PowerState == "on" })
	invoke("redeploy.again")
	if now := x.findMachine(t, "web"); now.SystemID != made.SystemID || now.StatusName != "Deployed" {
		t.Errorf("it is %s, %s", now.SystemID, now.StatusName)
	}
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}
