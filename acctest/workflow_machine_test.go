package acctest_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestAccWorkflowTypoMachine changes one word of an existing machine, in each
// attribute that replaces it. The plan is an error, and nothing is released.
func TestAccWorkflowTypoMachine(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(machineOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, "node1")
	cases := map[string]struct{ config, want string }{
		"Machine":       {testMachine("db", `machine = "node9"`, deployNoble), `Cannot replace machine db no machine "node9" before machine db is destroyed`},
		"MachineByCase": {testMachine("db", `machine = "NODE1"`, deployNoble), `"NODE1" Did you mean "node1"`},
		"Image":         {testMachine("db", `machine = "node1"`, `deploy = { image = "ubuntu/nobel" }`), `deploy.image "ubuntu/nobel"`},
		"Kernel":        {testMachine("db", `machine = "node1"`, `deploy = { image = "ubuntu/noble", kernel = "ga-99.04" }`), `deploy.kernel "ga-99.04"`},
		"NIC":           {machineOnNode1(`interfaces = { lan = { ip = "10.77.0.42", nic = "eth9" } }`), `interfaces.lan.nic "eth9" Known:`},
		"Subnet":        {machineOnNode1(`interfaces = { lan = { ip = "10.77.0.42", subnet = "mars" } }`), `interfaces.lan subnet "mars"`},
		"Address":       {machineOnNode1(`interfaces = { lan = { ip = "10.99.0.1" } }`), `interfaces.lan.ip 10.99.0.1`},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			if isOnSite() && title == "MachineByCase" {
				t.Skip("it is about the spelling of a name in the simulated model")
			}
			w.configure(t, x.config(tc.config))
			w.wantRefusedPlan(t, tc.want)
			if m := x.findMachine(t, "node1"); m.StatusName != "Deployed" || m.SystemID != made.SystemID || m.Owner != made.Owner {
				t.Errorf("the machine was touched: %+v", m)
			}
		})
	}
	w.configure(t, x.config(testMachine("db", `machine = "node1"`, `deploy = { image = "ubuntu/nobel" }`)))
	for _, args := range [][]string{{"-replace=" + machineAddress}, nil} { // forced, and tainted
		if args == nil {
			w.run(t, "taint", machineAddress)
		}
		cmd, out := w.command(t.Context(), append([]string{"apply", "-auto-approve", "-no-color"}, args...)...)
		if err := cmd.Run(); err == nil || !wordsPattern("ubuntu/nobel").MatchString(out.String()) {
			t.Errorf("want an error, got %v:\n%s", err, out)
		}
		if m := x.findMachine(t, "node1"); m.StatusName != "Deployed" {
			t.Errorf("the machine was released: %+v", m)
		}
	}
	w.run(t, "untaint", machineAddress)
	for _, same := range []string{`machine = "node1.maas"`, fmt.Sprintf("machine = %q", made.SystemID)} {
		w.configure(t, x.config(testMachine("db", same, deployNoble)))
		w.run(t, "apply", "-auto-approve", "-no-color")
		w.wantEmptyPlan(t)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccWorkflowReplaceMachine: the plan says what a replacement does.
func TestAccWorkflowReplaceMachine(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(machineOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, x.config(testMachine("db", `machine = "node2"`, deployNoble)))
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern("Warning: The machine will be replaced MAAS releases node1 and deploys the other machine destroys the data on its disks").MatchString(out) {
		t.Errorf("want a warning, got:\n%s", out)
	}
}

// TestAccWorkflowMachineTwice has two resources for one machine. The second is
// refused with the owner's name, and neither harms the machine.
func TestAccWorkflowMachineTwice(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	named := func(label, name string) string { return labelledMachine(label, name, `machine = "node1"`, deployNoble) }
	newWorkspace(t, x.config(named("a", "db")+named("b", "db"))).wantRefusedPlan(t,
		"Cannot create machine db name: another resource of this configuration has the same name machine db")
	w := newWorkspace(t, x.config(named("a", "db-a")+named("b", "db-b")))
	cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
	if err := cmd.Run(); err == nil || !wordsPattern(`Cannot create machine db- machine node1 is not Ready but belongs to the MAAS user`).MatchString(unwrapMessage(out.String())) {
		t.Errorf("want one to be refused, got %v:\n%s", err, out)
	}
	if n, counted := x.countDeployments(); counted && n != 1 || x.findMachine(t, "node1").StatusName != "Deployed" {
		t.Errorf("it is %s after %d deployments", x.findMachine(t, "node1").StatusName, n)
	}
	// Other configurations, one of the same owner and one of another.
	other := newWorkspace(t, x.config(testMachine("db-c", `machine = "node1"`, deployNoble)))
	other.wantRefusedCreate(t, x, "machine", `machine: machine node1 is not Ready but Deployed, and belongs to the MAAS user it was made for "tf-acc/machines/db- Choose another machine.`)
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
	x.wantUntouched(t)
}

// TestAccWorkflowMachineLost applies a configuration that lost its state. A
// finished machine is not taken twice, and the error says how to import it.
func TestAccWorkflowMachineLost(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	x.tagLentMachines(t, "metal")
	w := newWorkspace(t, x.config(testMachine("db", `selector = { tags = ["metal"], min_cores = 8 }`, deployNoble)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	id := w.systemID(t)
	w.wantNotInItsOwnWay(t, machineAddress, "was deployed or adopted for this name earlier")
	w.run(t, "state", "rm", machineAddress)
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern(`Warning: Cannot create machine db as things are was deployed or adopted for this name earlier, and is finished system id ` + id).MatchString(out) {
		t.Errorf("want a warning of the machine that the state lost, got:\n%s", out)
	}
	w.wantRefusedCreate(t, x, "name", `Cannot create machine db name: the machine was deployed or adopted for this name earlier, and is finished system id `+id+` If the state of this configuration has lost it, import it: terraform import ADDRESS `+id)
	w.run(t, "import", "-no-color", machineAddress, id)
	if got := joinActions(w.planActionsOn(t, machineAddress)); got != "update" { // the state stores the selector
		t.Errorf("after the import the plan wants %s", got)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1", "node2", "small")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccWorkflowMachineMarksDeleted deletes the owner data of a machine by hand. The apply
// writes the marks again, and does not deploy it again.
func TestAccWorkflowMachineMarksDeleted(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(machineOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	id := w.systemID(t)
	x.editMachine(t, "node1", sim.MachineEdit{OwnerData: &map[string]string{}})
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern(`Plan: 0 to add, 1 to change, 0 to destroy Warning: machine db has lost its marks`).MatchString(out) {
		t.Errorf("want a plan that only writes the marks, and a warning, got:\n%s", out)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	if n, counted := x.countDeployments(); counted && n != 1 || w.systemID(t) != id {
		t.Errorf("it is %s, was %s, and was deployed %d times", w.systemID(t), id, n)
	}
	x.editMachine(t, "node1", sim.MachineEdit{OwnerData: &map[string]string{}})
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccWorkflowImportMachine imports machines with generated configuration.
// This provider deployed one of them. Another user deployed the other, which is
// marked and later released.
func TestAccWorkflowImportMachine(t *testing.T) {
	t.Parallel()
	for title, unmark := range map[string]bool{"Ours": false, "Others": true} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t)
			w := newWorkspace(t, x.config(machineOnNode1(`interfaces = { lan = { ip = "10.77.0.42" } }`)))
			w.run(t, "apply", "-auto-approve", "-no-color")
			name := "db"
			if unmark {
				name = "node1"
				x.editMachine(t, "node1", sim.MachineEdit{OwnerData: &map[string]string{}})
			}
			adopted, generated := importWithGeneratedConfig(t, x.config(""), machineAddress, "node1")
			for _, want := range []string{`name = "` + name + `"`, `machine = "node1"`, `image = "ubuntu/noble"`, `ip = "10.77.0.42"`} {
				if !strings.Contains(strings.Join(strings.Fields(generated), " "), want) {
					t.Errorf("the generated configuration lacks %s:\n%s", want, generated)
				}
			}
			if n, counted := x.countDeployments(); counted && n != 1 {
				t.Errorf("it was deployed %d times", n)
			}
			adopted.run(t, "destroy", "-auto-approve", "-no-color")
			if err := x.checkReady("node1")(nil); err != nil {
				t.Error(err)
			}
			x.wantUntouched(t)
		})
	}
}

// TestAccWorkflowImportNoMachine imports objects that are not a
// maaslxd_machine, and a VM host that does not exist.
func TestAccWorkflowImportNoMachine(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	for id, want := range map[string]string{
		"node1": "is an LXD host. Import it as a maaslxd_vm_host", "node2": "is Ready, and nothing is installed on it", "node9": "MAAS knows no such machine",
	} {
		o := newWorkspace(t, x.config(machineOnNode1()))
		cmd, out := o.command(t.Context(), "import", "-no-color", machineAddress, id)
		if err := cmd.Run(); err == nil || !wordsPattern(`Cannot import "`+id+`" `+want).MatchString(unwrapMessage(out.String())) {
			t.Errorf("want the import of %s refused, got %v:\n%s", id, err, out)
		}
	}
	newWorkspace(t, x.config(hostOnNode1())).wantCommandFailure(t,
		`Cannot import "kvm9" MAAS knows no such VM host, and no such machine. Import a VM host by the system id the hostname or the FQDN of its machine, or by its own name in MAAS.`,
		"import", "-no-color", hostAddress, "kvm9")
}

// TestAccWorkflowMachineNames swaps the names of two machines, and gives the
// former name of one to another, in the same apply.
func TestAccWorkflowMachineNames(t *testing.T) {
	t.Parallel()
	named := func(label, name, machine string) string {
		return labelledMachine(label, name, fmt.Sprintf("machine = %q", machine), deployNoble)
	}
	for title, steps := range map[string][]string{
		"Swapped":  {named("a", "one", "node1") + named("b", "two", "node2"), named("a", "two", "node1") + named("b", "one", "node2")},
		"Left":     {named("a", "one", "node1"), named("a", "two", "node1") + named("b", "one", "node2")},
		"Replaced": {named("a", "one", "node1"), named("b", "one", "node2")},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t)
			w := newWorkspace(t, x.config(steps[0]))
			for _, step := range steps {
				w.configure(t, x.config(step))
				w.run(t, "apply", "-auto-approve", "-no-color")
				w.wantEmptyPlan(t)
			}
			if n, counted := x.countDeployments(); counted && n != 2 {
				t.Errorf("machines were deployed %d times", n)
			}
			w.run(t, "destroy", "-auto-approve", "-no-color")
			if err := x.checkReady("node1", "node2")(nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAccMachineBadInput applies machines that cannot be allocated as their
// configuration says. It wants one error that names the attribute and a way
// out. No machine may be allocated.
func TestAccMachineBadInput(t *testing.T) {
	t.Parallel()
	testRefusedHosts(t, map[string]badHost{
		"UnknownMachine": {reason: "MAAS has no such machine.", body: testMachine("db", `machine = "node9"`), at: "machine", want: `Cannot create machine db machine: MAAS has no machine "node9" Give a hostname, an FQDN or a system id`},
		"MachineNew":     {reason: "MAAS has not commissioned the machine yet.", world: withNode1Status("New"), body: machineOnNode1(), at: "machine", want: `machine: machine node1 is not Ready but New. Commission it in MAAS`},
		"MachineOwned":   {reason: "Somebody uses the machine.", world: withNode1Status("Deployed"), body: machineOnNode1(), at: "machine", want: `machine: machine node1 is not Ready but Deployed, and belongs to the MAAS user admin adopt or import it`},
		"Architecture":   {reason: "MAAS itself reports the wrong architecture only at the deployment.", world: makeNode1ARM, body: machineOnNode1(), at: "machine", want: `machine: machine node1 has the architecture arm64/generic, but MAAS has ubuntu/noble for amd64 only. Choose another machine`},
		"TooMuchAsked":   {reason: "No machine has so many cores.", body: testMachine("db", `selector = { min_cores = 999 }`), at: "selector", want: `none of Ready machines at least 999 cores`},
		"UnknownZone":    {reason: "An unknown zone is named, and the known ones are listed.", body: testMachine("db", `selector = { zone = "az9" }`), at: "selector", want: `selector.zone zone "az9" az1`},
		"UnknownPool":    {reason: "An unknown resource pool is named.", body: testMachine("db", `selector = { pool = "nope" }`), at: "selector", want: `selector.pool resource pool "nope"`},
		"UnknownImage":   {reason: "An unknown image is named, and the known ones are listed.", body: testMachine("db", `machine = "node1"`, `deploy = { image = "ubuntu/nobel" }`), want: `deploy.image "ubuntu/nobel" ubuntu/noble`},
		"AddressTaken": {
			reason: "Another host has the address.", body: machineOnNode1(`interfaces = { lan = { ip = "10.77.0.43" } }`), want: `interfaces.lan.ip 10.77.0.43`,
			before: func(t *testing.T, x *metalTarget) {
				x.postForm(t, "dnsresources/", map[string][]string{"fqdn": {"www.maas"}, "ip_addresses": {"10.77.0.43"}})
			},
		},
		"UnknownSubnet": {reason: "An unknown subnet is named.", body: machineOnNode1(`interfaces = { lan = { ip = "10.77.0.42", subnet = "mars" } }`), want: `interfaces.lan subnet "mars"`},
		"Both":          {reason: "Machine and selector exclude each other.", body: machineOnNode1(`selector = {}`), at: "selector", want: `Both a machine and a selector Remove one of them`},
		"Neither":       {reason: "Nothing chooses a machine.", body: testMachine("db", deployNoble), want: `Neither a machine nor a selector selector = {} takes any`},
	})
}

// TestAccWorkflowMachineOfOthers refuses to destroy a machine that another
// owner has by now.
func TestAccWorkflowMachineOfOthers(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(machineOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	x.releaseMachine(t, "node1")
	taker := newWorkspace(t, x.config(testMachine("other", `machine = "node1"`, deployNoble)))
	taker.run(t, "apply", "-auto-approve", "-no-color")
	before := x.findMachine(t, "node1")
	cmd, out := w.command(t.Context(), "destroy", "-refresh=false", "-auto-approve", "-no-color")
	if err := cmd.Run(); err == nil || !wordsPattern("cannot release machine node1 belongs to tf-acc/machines/other").MatchString(unwrapMessage(out.String())) {
		t.Errorf("want it refused, got %v:\n%s", err, out)
	}
	if diff := cmp.Diff(before, x.findMachine(t, "node1"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the other's machine was touched (-before +after):\n%s", diff)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color") // a refresh sees the other owner
	if m := x.findMachine(t, "node1"); m.StatusName != "Deployed" {
		t.Errorf("it is %s", m.StatusName)
	}
	taker.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccMachineUnknown plans machines with attributes that are known only
// after other resources are made. That is no error. A value that turns out
// wrong is refused before any machine is taken.
func TestAccMachineUnknown(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	unknown := func(input, body string) string {
		return fmt.Sprintf("resource \"terraform_data\" \"late\" {\n  input = %s\n}\n", input) + body
	}
	w := newWorkspace(t, x.config(unknown(`"node1"`, testMachine("db", `machine = terraform_data.late.output`, `selector = {}`))))
	cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
	if err := cmd.Run(); err == nil || !wordsPattern("Both a machine and a selector Remove one of them").MatchString(unwrapMessage(out.String())) {
		t.Errorf("want it refused, got %v:\n%s", err, out)
	}
	if m := x.findMachine(t, "node1"); m.StatusName != "Ready" {
		t.Errorf("it was taken all the same: %s", m.StatusName)
	}
	w.configure(t, x.config(unknown(`{ name = "db", machine = "node1", image = "ubuntu/noble", ip = "10.77.0.42", zone = "az2", erase = "quick" }`,
		labelledMachine("a", "a", `machine = terraform_data.late.output.machine`, `deploy = { image = terraform_data.late.output.image }`,
			`interfaces = { lan = { ip = terraform_data.late.output.ip } }`, `release = { erase = terraform_data.late.output.erase }`)+
			strings.Replace(labelledMachine("b", "NAME", `selector = { zone = terraform_data.late.output.zone }`), `"NAME"`, "terraform_data.late.output.name", 1))))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	if a, b := x.findMachine(t, "node1"), x.findMachine(t, "node2"); a.StatusName != "Deployed" || b.StatusName != "Deployed" || a.IPAddresses[0] != "10.77.0.42" {
		t.Errorf("they are %s with %v, and %s", a.StatusName, a.IPAddresses, b.StatusName)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1", "node2")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccWorkflowMachineLeftBehind kills an apply that deploys a second
// machine. The plan of a destroy must say what it leaves behind.
func TestAccWorkflowMachineLeftBehind(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, slowTransitions)
	first, second := labelledMachine("a", "kept", `machine = "node2"`, deployNoble), labelledMachine("b", "late", `machine = "node1"`, deployNoble)
	w := newWorkspace(t, x.config(first))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, x.config(first+second))
	x.holdMachine("node1")
	cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	x.awaitDeploying(t, "node1")
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatalf("the run ended well before it was killed:\n%s", out)
	}
	x.resumeMachines("node1")
	want := "This destroy leaves what an earlier apply began machine late (" + x.findMachine(t, "node1").SystemID + " Apply first"
	if out := w.run(t, "plan", "-destroy", "-no-color"); !wordsPattern(want).MatchString(unwrapMessage(out)) {
		t.Errorf("want a warning that names it:\n%s", out)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1", "node2")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccExampleMachines applies, plans again, imports and destroys the
// examples.
func TestAccExampleMachines(t *testing.T) {
	t.Parallel()
	const folder, db = "examples/resources/maaslxd_machine/", "maaslxd_machine.db"
	x := newHostExampleTarget(t)
	w := newWorkspace(t, x.config(""))
	w.copyRepositoryFiles(t, folder+"resource.tf", folder+"resource_selector.tf", folder+"cloud-init.yaml")
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	id := x.findMachine(t, "node1").SystemID
	for _, command := range scriptCommands(t, folder+"import.sh") {
		w.run(t, "state", "rm", db)
		w.run(t, strings.Fields(strings.ReplaceAll(command, exampleID, id))...)
	}
	w.run(t, "state", "rm", db)
	w.copyRepositoryFiles(t, folder+"import-by-string-id.tf")
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	w.importByIdentity(t, db, folder, id)
	if n, counted := x.countDeployments(); counted && n != 2 {
		t.Errorf("machines were deployed %d times", n)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1", "node2", "node3")(nil); err != nil {
		t.Error(err)
	}
}
