package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/maaslxd/maaslxd/acctest/cli"
)

// newTags is the change of the demo: one tag more.
const newTags = `tags=["demo","changed"]`

// demo is one run: a simulator, and a Terraform that works on it.
type demo struct {
	terraform *terraform
	bin       string
	world     string // file of the simulated world
	dir       string // temporary; the configuration's copy and its state
	simulator *simulator
	created   map[string]vm
}

// newDemo finds a CLI and copies the configuration to a directory of its own,
// so that no state is left in the repository.
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
	overrides := filepath.Join(dir, "cli.tfrc")
	if err := errors.Join(cli.WriteOverrides(overrides, bin), copyConfiguration(config, dir)); err != nil {
		d.close()
		return nil, err
	}
	d.terraform = newTerraform(found, dir, found.WithOverrides(os.Environ(), overrides))
	return d, nil
}

// copyConfiguration copies the *.tf files.
func copyConfiguration(from, to string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.tf"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s has no *.tf file; name another directory with -config", from)
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

// close ends the simulator and removes the temporary directory.
func (d *demo) close() {
	d.simulator.stop()
	os.RemoveAll(d.dir)
}

// heading sets a phase off from the one before.
func (d *demo) heading(title string) {
	fmt.Printf("\n%s\n", d.terraform.bold("== "+title+" =="))
}

// start starts the simulator and hands its address and key to Terraform.
func (d *demo) start(ctx context.Context) error {
	simulator, err := startSimulator(ctx, filepath.Join(d.bin, "maassim"), d.world)
	if err != nil {
		return err
	}
	d.simulator = simulator
	d.terraform.env = append(d.terraform.env, simulator.exports...)
	d.terraform.env = append(d.terraform.env, "MAASLXD_LEDGER="+filepath.Join(d.dir, "ledger.db"))
	return nil
}

// create applies the configuration and shows what came of it.
func (d *demo) create(ctx context.Context) error {
	if err := d.terraform.brief(ctx, "apply", "-auto-approve"); err != nil {
		return err
	}
	vms, err := d.show(ctx)
	if err != nil {
		return err
	}
	d.created = vms
	return checkDeployed(vms)
}

// replan wants a plan without changes.
func (d *demo) replan(ctx context.Context) error {
	err := d.terraform.brief(ctx, "plan", "-detailed-exitcode")
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 2 {
		return errors.New("the plan after the apply has changes, want none")
	}
	return err
}

// change plans other tags, makes sure that nothing is replaced, and applies.
func (d *demo) change(ctx context.Context) error {
	if err := d.terraform.run(ctx, "plan", "-out=change.tfplan", "-var", newTags); err != nil {
		return err
	}
	plan, err := d.terraform.output(ctx, "show", "-json", "change.tfplan")
	if err != nil {
		return err
	}
	if err := checkInPlace(plan, len(d.created)); err != nil {
		return err
	}
	if err := d.terraform.brief(ctx, "apply", "change.tfplan"); err != nil {
		return err
	}
	vms, err := d.show(ctx)
	if err != nil {
		return err
	}
	return checkKept(d.created, vms)
}

// destroy destroys everything.
func (d *demo) destroy(ctx context.Context) error {
	return d.terraform.brief(ctx, "destroy", "-auto-approve", "-var", newTags)
}

// inspect looks at the simulator from outside: no VM may be left.
func (d *demo) inspect(ctx context.Context) error {
	left, err := d.simulator.instances(ctx)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%d instances are left after the destroy: %q", len(left), left)
	}
	fmt.Print("No instance is left on any host.\n\n")
	known, err := d.simulator.machines(ctx)
	if err != nil {
		return err
	}
	for _, m := range known {
		if m.Host != "" {
			return fmt.Errorf("MAAS still knows the VM %s after the destroy", m.Name)
		}
	}
	fmt.Print("MAAS knows no VM.\n\n")
	calls, err := d.simulator.journal(ctx)
	if err != nil {
		return err
	}
	if err := printCalls(os.Stdout, calls); err != nil {
		return err
	}
	fmt.Println("(A tag that MAAS does not know yet fails once, and is then created.)")
	return nil
}

// show prints the VMs as a table and returns them.
func (d *demo) show(ctx context.Context) (map[string]vm, error) {
	text, err := d.terraform.output(ctx, "output", "-json", "vms")
	if err != nil {
		return nil, err
	}
	vms, err := readVMs(text)
	if err != nil {
		return nil, err
	}
	var table bytes.Buffer
	printVMs(&table, vms)
	fmt.Printf("\n%s", table.Bytes())
	return vms, nil
}
