package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/engine/lxd"
	"github.com/maaslxd/maaslxd/engine/lxd/setup"
)

const aboutLXD = `
Looks whether an LXD is set up for VMs: its version, the storage pool, the
bridge, the project, and who may use it. Without --address it asks the LXD of this
node, by its socket (as root); with --address one far away, by the fleet's key
pair. It changes nothing.`

// lxdOptions are those of check lxd.
type lxdOptions struct {
	setting.Host
	pair
	address string
	pinned  string
	timeout time.Duration
}

func (o *lxdOptions) settings(p setting.Program) *setting.Settings {
	s := setting.New(p, aboutLXD)
	s.Text(&o.address, "address", "", "", "address of an LXD to ask over the network, such as 10.0.0.5")
	o.pair.add(s)
	s.Text(&o.pinned, "server-fingerprint", "", "", "SHA-256 of the certificate that the LXD at the address must show")
	s.Timeout(&o.timeout, time.Minute)
	o.Host.Add(s)
	return s
}

// LXD checks an LXD.
func LXD(ctx context.Context, p setting.Program) error {
	var o lxdOptions
	if err := o.settings(p).Read(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	switch {
	case o.pinned != "" && !engine.IsFingerprint(o.pinned):
		return &setting.UsageError{Flag: "--server-fingerprint", Text: fmt.Sprintf("%q is no fingerprint", o.pinned),
			Hint: "Write the 64 hex digits, in small letters and without colons, that `lxc info` says on the host as certificate_fingerprint."}
	case o.address != "":
		return o.remote(ctx, p)
	case o.pinned != "":
		return &setting.UsageError{Flag: "--server-fingerprint", Text: "a socket shows no certificate", Hint: "Give --address, too, or leave it out."}
	}
	return o.local(ctx, p)
}

// remote looks with the fleet's eyes.
func (o *lxdOptions) remote(ctx context.Context, p setting.Program) error {
	credentials, err := o.credentials()
	if err != nil {
		return err
	}
	f := begin(p, "the LXD at "+o.address+", as the fleet sees it")
	prober := lxd.NewProber(lxd.Config{Timeout: o.timeout, UserAgent: "capi-bridge/" + p.Version})
	seen, err := setup.InspectEndpoint(ctx, prober, engine.Endpoint{Address: o.address, Project: o.Project}, credentials, o.pinned)
	if f.failure(err) {
		return f.end(nil)
	}
	f.ok("it trusts the certificate, and shows %s", seen.Fingerprint)
	f.machine(seen)
	f.project(seen)
	f.pool(seen, o.Pool)
	f.bridge(seen, o.Bridge)
	return f.end(nil)
}

// local looks with an administrator's, and compares with what is asked for.
func (o *lxdOptions) local(ctx context.Context, p setting.Program) error {
	host, err := o.Host.Host()
	if err != nil {
		return err
	}
	o.Socket = cmp.Or(o.Socket, setup.Socket(p.Getenv))
	f := begin(p, "the LXD at "+o.Socket)
	conn, err := setup.Local(ctx, o.Socket, "capi-bridge/"+p.Version)
	if f.failure(err) {
		return f.end(nil)
	}
	seen, err := setup.Inspect(ctx, conn, o.Project)
	if f.failure(err) {
		return f.end(nil)
	}
	f.machine(seen)
	f.project(seen)
	report, err := setup.Apply(ctx, conn, host, setup.Options{DryRun: true})
	if refusal := (*engine.Refusal)(nil); err != nil && (!errors.As(err, &refusal) || len(report.Steps) == 0) {
		return f.end(err)
	}
	for _, s := range report.Steps {
		f.step(s)
	}
	f.trusted(seen)
	return f.end(nil)
}

func (f *findings) step(s setup.Step) {
	text := s.Object + ": " + s.Detail
	switch s.Verdict {
	case setup.Keep:
		f.ok("%s", text)
	case setup.Refuse:
		f.fail(text, s.Hint)
	default:
		f.fail(fmt.Sprintf("%s: it is to be, and is not: %s", s.Object, s.Detail), "capi-bridge init-host would see to it; with --dry-run it only says so.")
	}
}

// machine is what LXD is, and what it runs on.
func (f *findings) machine(seen setup.Inspection) {
	f.ok("LXD %s on %d cores and %d MiB", seen.Version, seen.Cores, seen.MemoryMiB)
	if seen.OutrunsMAAS {
		f.note("MAAS up to 3.8 cannot make VMs on LXD %s; snap install lxd --channel=5.21/stable can be used by all", seen.Version)
	}
	if !seen.RunsVMs {
		f.fail("LXD cannot run virtual machines here", "See whether /dev/kvm is there (virtualization is on in the firmware), and what LXD's log says of qemu.")
	}
}

func (f *findings) project(seen setup.Inspection) {
	switch {
	case !seen.HasProject:
	case len(seen.Instances) == 0:
		f.ok("project %s is empty", seen.Project)
	default:
		f.ok("project %s holds %s", seen.Project, strings.Join(seen.Instances, ", "))
	}
}

func (f *findings) pool(seen setup.Inspection, name string) {
	var names []string
	for _, p := range seen.Pools {
		if p.Name == name && p.Status != "" && p.Status != api.StoragePoolStatusCreated {
			f.fail(fmt.Sprintf("storage pool %s is %s", name, p.Status), "See LXD's log on the host.")
			return
		}
		if p.Name == name {
			f.ok("storage pool %s: %s, %d of %d GB free", p.Name, p.Driver, p.FreeBytes/1e9, p.TotalBytes/1e9)
			return
		}
		names = append(names, p.Name)
	}
	f.fail(fmt.Sprintf("there is no storage pool %s, but %s", name, cmp.Or(strings.Join(names, ", "), "none at all")), "Name another one (--storage-pool), or make it on the host: capi-bridge init-host.")
}

func (f *findings) bridge(seen setup.Inspection, name string) {
	var bridges []string
	for _, n := range seen.Networks {
		if n.Type == "bridge" {
			bridges = append(bridges, n.Name)
		}
	}
	if slices.Contains(bridges, name) {
		f.ok("bridge %s is there", name)
		return
	}
	f.fail(fmt.Sprintf("the machine has no bridge %s, but %s", name, cmp.Or(strings.Join(bridges, ", "), "none at all")), "Name another one (--network-bridge), or make it on the machine.")
}

// trusted are those who may use the project.
func (f *findings) trusted(seen setup.Inspection) {
	if len(seen.Trusted) == 0 {
		f.fail("nobody but this machine's root may use project "+seen.Project, "capi-bridge init-host --trusted-certificate FILE lets the fleet in.")
		return
	}
	for _, certificate := range seen.Trusted {
		fingerprint, err := fleetkey.Fingerprint(certificate)
		if err != nil {
			continue // of a kind that the fleet does not use
		}
		f.ok("the holder of %.12s may use project %s", fingerprint, seen.Project)
	}
}
