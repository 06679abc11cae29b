package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/cli"
)

// newZones is the change of the demo: one host moves to the other zone.
const newZones = `zones={node1="az1",node2="az2",node3="az2"}`

// The places that show the change: the plan, and the table.
const (
	movedAddress = `module.fleet.maaslxd_vm_host.all["node2"]`
	movedHost    = "kvm-node2"
	movedTo      = "az2"
)

// demo is one run: a simulator, and a Terraform that uses it.
type demo struct {
	terraform *terraform
	bin       string
	world     string // file of the simulated model
	dir       string // temporary; holds copies of the configurations, state, ledger and key
	simulator *simulator
	created   []instance
}

// newDemo finds a CLI and copies the configuration and the module beside it to
// a new directory, so that nothing is left in the repository.
func newDemo(ctx context.Context, bin, config string) (*demo, error) {
	finder, err := cli.NewFinder(ctx)
	if err != nil {
		return nil, err
	}
	found, err := finder.Find(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "maaslxd-demo-")
	if err != nil {
		return nil, err
	}
	d := &demo{bin: bin, dir: dir, world: filepath.Join(config, "world.json")}
	overrides, root := filepath.Join(dir, "cli.tfrc"), filepath.Join(dir, "demo")
	if err := errors.Join(
		cli.WriteOverrides(overrides, bin),
		copyConfiguration(config, root),
		copyConfiguration(filepath.Join(config, "..", "fleet"), filepath.Join(dir, "fleet")),
	); err != nil {
		d.close()
		return nil, err
	}
	d.terraform = newTerraform(found, root, withoutProviderVariables(found.WithOverrides(os.Environ(), overrides)))
	return d, nil
}

// withoutProviderVariables is the environment without the user's settings for
// the provider: the demo has a ledger and a key of its own.
func withoutProviderVariables(environ []string) []string {
	return slices.DeleteFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, "MAASLXD_") })
}

// copyConfiguration copies the *.tf files to a new directory.
func copyConfiguration(from, to string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.tf"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s has no *.tf file; name another directory with -config", from)
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// close stops the simulator and removes the temporary directory.
func (d *demo) close() {
	d.simulator.stop()
	os.RemoveAll(d.dir)
}

// printHeading prints the heading of a phase.
func (d *demo) printHeading(title string) {
	fmt.Printf("\n%s\n", d.terraform.inBold("== "+title+" =="))
}

// showStart starts the simulator, shows what it has, and gives its address and
// key to Terraform.
func (d *demo) showStart(ctx context.Context) error {
	simulator, err := startSimulator(ctx, filepath.Join(d.bin, "maassim"), d.world)
	if err != nil {
		return err
	}
	d.simulator = simulator
	d.terraform.env = append(d.terraform.env, simulator.exports...)
	d.terraform.env = append(d.terraform.env, "MAASLXD_LEDGER="+d.ledger())
	return d.checkBareMachines(ctx)
}

// ledger is the path of the demo's own ledger. The fleet's key is made beside
// it.
func (d *demo) ledger() string { return filepath.Join(d.dir, "ledger.db") }

// create applies the configuration and shows the result.
func (d *demo) create(ctx context.Context) error {
	if err := d.terraform.run(ctx, "get"); err != nil {
		return err
	}
	if err := d.terraform.runBriefly(ctx, "apply", "-auto-approve"); err != nil {
		return err
	}
	fleet, err := d.showFleet(ctx)
	if err != nil {
		return err
	}
	if err := checkFleet(fleet); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(d.ledger()), "lxd-client.pem")); err != nil {
		return fmt.Errorf("the fleet's key was not made beside the ledger: %w", err)
	}
	return d.checkVMs(ctx)
}

// checkVMs checks that each VM has an address and runs. It stores the VMs for a
// later comparison.
func (d *demo) checkVMs(ctx context.Context) error {
	var addresses map[string][]string
	if err := d.terraform.readOutput(ctx, "addresses", &addresses); err != nil {
		return err
	}
	if err := checkAddresses(addresses); err != nil {
		return err
	}
	var err error
	if d.created, err = d.simulator.instances(ctx); err != nil {
		return err
	}
	return checkRunning(d.created)
}

// replan checks that a plan has no changes.
func (d *demo) replan(ctx context.Context) error { return d.checkNoChanges(ctx) }

// checkNoChanges checks that a plan with the arguments has no changes.
func (d *demo) checkNoChanges(ctx context.Context, args ...string) error {
	err := d.terraform.runBriefly(ctx, append([]string{"plan", "-detailed-exitcode"}, args...)...)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 2 {
		return errors.New("the plan after the apply has changes, want none")
	}
	return err
}

// change plans another zone for a host and checks that this is the only change
// and replaces nothing. Then it applies.
func (d *demo) change(ctx context.Context) error {
	if err := d.terraform.runBriefly(ctx, "plan", "-out=change.tfplan", "-var", newZones); err != nil {
		return err
	}
	plan, err := d.terraform.output(ctx, "show", "-json", "change.tfplan")
	if err != nil {
		return err
	}
	if err := checkInPlace(plan, movedAddress); err != nil {
		return err
	}
	if err := d.terraform.runBriefly(ctx, "apply", "change.tfplan"); err != nil {
		return err
	}
	fleet, err := d.showFleet(ctx)
	if err != nil {
		return err
	}
	if got := fleet[movedHost].Zone; got != movedTo {
		return fmt.Errorf("%s is in zone %s after the change, want %s", movedHost, got, movedTo)
	}
	now, err := d.simulator.instances(ctx)
	if err != nil {
		return err
	}
	if err := checkKept(d.created, now); err != nil {
		return err
	}
	fmt.Print("The same VMs are on the same hosts, and run.\n\n")
	return d.checkNoChanges(ctx, "-var", newZones)
}

// destroy destroys everything.
func (d *demo) destroy(ctx context.Context) error {
	return d.terraform.runBriefly(ctx, "destroy", "-auto-approve", "-var", newZones)
}

// checkNothingLeft reads the simulator's state without the provider. Nothing
// may be left.
func (d *demo) checkNothingLeft(ctx context.Context) error {
	left, err := d.simulator.instances(ctx)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%d instances are left after the destroy: %+v", len(left), left)
	}
	fmt.Println("No instance is left.")
	listening, err := d.simulator.countLXDs(ctx)
	if err != nil {
		return err
	}
	if listening > 0 {
		return fmt.Errorf("%d LXDs are left after the destroy", listening)
	}
	fmt.Println("No LXD is left.")
	if err := d.checkBareMachines(ctx); err != nil {
		return err
	}
	fmt.Println("No VM and no VM host is left in MAAS. The machines are Ready, without an owner, and without a mark.")
	return nil
}

// checkBareMachines shows the machines, and checks that all are bare metal.
func (d *demo) checkBareMachines(ctx context.Context) error {
	machines, err := d.simulator.machines(ctx)
	if err != nil {
		return err
	}
	printMachines(os.Stdout, machines)
	return checkBare(machines)
}

// inspect shows the calls that the whole run made.
func (d *demo) inspect(ctx context.Context) error {
	calls, err := d.simulator.journal(ctx)
	if err != nil {
		return err
	}
	return printCalls(os.Stdout, calls)
}

// showFleet prints the fleet as a table and returns it.
func (d *demo) showFleet(ctx context.Context) (map[string]host, error) {
	var fleet map[string]host
	if err := d.terraform.readOutput(ctx, "fleet", &fleet); err != nil {
		return nil, err
	}
	fmt.Println()
	printFleet(os.Stdout, fleet)
	return fleet, nil
}
