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
Checks whether an LXD is set up for VMs: its version, the storage pool, the
bridge, the project, and who may use it. Without --address it asks the LXD of
this node, by its socket (as root). With --address it asks a remote LXD, with the
fleet's key pair. It changes nothing.`

// lxdOptions are the options of check lxd.
type lxdOptions struct {
	setting.Host
	clientPair
	address string
	pinned  string
	timeout time.Duration
}

func (o *lxdOptions) settings(p setting.Program) *setting.Settings {
	s := setting.New(p, aboutLXD)
	s.AddNonEmptyText(&o.address, "address", "address of a remote LXD to ask, such as 10.0.0.5")
	o.clientPair.addSettings(s)
	s.AddText(&o.pinned, "server-fingerprint", "", "", "SHA-256 of the certificate that the LXD at the address must show")
	s.AddTimeout(&o.timeout, time.Minute)
	o.Host.AddSettings(s)
	return s
}

// RunLXD checks an LXD.
func RunLXD(ctx context.Context, p setting.Program) error {
	var o lxdOptions
	if err := o.settings(p).Read(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	switch {
	case o.pinned != "" && !engine.IsFingerprint(o.pinned):
		return &setting.UsageError{Flag: "--server-fingerprint", Text: fmt.Sprintf("%q is not a fingerprint", o.pinned),
			Hint: "Write the 64 hex digits that `lxc info` on the host shows as certificate_fingerprint, in small letters and without colons."}
	case o.address != "":
		return o.checkRemote(ctx, p)
	case o.pinned != "":
		return &setting.UsageError{Flag: "--server-fingerprint", Text: "a socket shows no certificate", Hint: "Give --address, too, or leave it out."}
	}
	return o.checkLocal(ctx, p)
}

// checkRemote checks an LXD over the network, as the fleet sees it.
func (o *lxdOptions) checkRemote(ctx context.Context, p setting.Program) error {
	credentials, err := o.parseCredentials()
	if err != nil {
		return err
	}
	f := startFindings(p, "the LXD at "+o.address+", as the fleet sees it")
	f.hasFingerprintFlag = true
	prober := lxd.NewProber(lxd.Config{Timeout: o.timeout, UserAgent: "capi-bridge/" + p.Version})
	seen, err := setup.InspectEndpoint(ctx, prober, engine.Endpoint{Address: o.address, Project: o.Project}, credentials, o.pinned)
	if f.reportError(err) {
		return f.finish(nil)
	}
	f.reportOK("it trusts the certificate, and shows %s", seen.Fingerprint)
	f.checkLXDServer(seen)
	f.reportProject(seen)
	f.checkStoragePool(seen, o.Pool)
	f.checkBridge(seen, o.Bridge)
	return f.finish(nil)
}

// checkLocal checks the LXD of this node as an administrator, and compares it
// with the settings.
func (o *lxdOptions) checkLocal(ctx context.Context, p setting.Program) error {
	host, err := o.Host.Build()
	if err != nil {
		return err
	}
	o.Socket = cmp.Or(o.Socket, setup.FindSocket(p.Getenv))
	f := startFindings(p, "the LXD at "+o.Socket)
	conn, err := setup.ConnectLocal(ctx, o.Socket, "capi-bridge/"+p.Version)
	if f.reportError(err) {
		return f.finish(nil)
	}
	seen, err := setup.Inspect(ctx, conn, o.Project)
	if f.reportError(err) {
		return f.finish(nil)
	}
	f.checkLXDServer(seen)
	f.reportProject(seen)
	report, err := setup.Apply(ctx, conn, host, setup.Options{DryRun: true})
	if refusal := (*engine.Refusal)(nil); err != nil && (!errors.As(err, &refusal) || len(report.Steps) == 0) {
		return f.finish(err)
	}
	for _, s := range report.Steps {
		f.reportStep(s)
	}
	f.checkTrustedCertificates(seen)
	return f.finish(nil)
}

func (f *findings) reportStep(s setup.Step) {
	text := s.Object + ": " + s.Detail
	switch s.Verdict {
	case setup.Keep:
		f.reportOK("%s", text)
	case setup.Refuse:
		f.reportFailure(text, s.Hint)
	default:
		f.reportFailure(fmt.Sprintf("%s is missing or differs: %s", s.Object, s.Detail), "Run capi-bridge init-host; with --dry-run it only shows the changes.")
	}
}

// checkLXDServer checks the LXD server and its machine.
func (f *findings) checkLXDServer(seen setup.Inspection) {
	f.reportOK("LXD %s on %d cores and %d MiB", seen.Version, seen.Cores, seen.MemoryMiB)
	if seen.TooNewForMAAS {
		f.reportNote("MAAS up to 3.8 cannot make VMs on LXD %s; for any MAAS use snap install lxd --channel=5.21/stable", seen.Version)
	}
	if !seen.RunsVMs {
		f.reportFailure("LXD cannot run virtual machines here", "Check that /dev/kvm exists (virtualization is on in the firmware), and look for qemu in LXD's log.")
	}
}

func (f *findings) reportProject(seen setup.Inspection) {
	switch {
	case !seen.HasProject:
	case len(seen.Instances) == 0:
		f.reportOK("project %s is empty", seen.Project)
	default:
		f.reportOK("project %s holds %s", seen.Project, strings.Join(seen.Instances, ", "))
	}
}

func (f *findings) checkStoragePool(seen setup.Inspection, name string) {
	var names []string
	for _, p := range seen.Pools {
		if p.Name == name && p.Status != "" && p.Status != api.StoragePoolStatusCreated {
			f.reportFailure(fmt.Sprintf("storage pool %s is %s", name, p.Status), "See LXD's log on the host.")
			return
		}
		if p.Name == name {
			f.reportOK("storage pool %s: %s, %d of %d GB free", p.Name, p.Driver, p.FreeBytes/1e9, p.TotalBytes/1e9)
			return
		}
		names = append(names, p.Name)
	}
	f.reportFailure(fmt.Sprintf("there is no storage pool %s; LXD has %s", name, cmp.Or(strings.Join(names, ", "), "none")), "Name another one (--storage-pool), or make it on the host with capi-bridge init-host.")
}

func (f *findings) checkBridge(seen setup.Inspection, name string) {
	var bridges []string
	for _, n := range seen.Networks {
		if n.Type == "bridge" {
			bridges = append(bridges, n.Name)
		}
	}
	if slices.Contains(bridges, name) {
		f.reportOK("bridge %s exists", name)
		return
	}
	f.reportFailure(fmt.Sprintf("there is no bridge %s; the machine has %s", name, cmp.Or(strings.Join(bridges, ", "), "none")), "Name another one (--network-bridge), or make it on the machine.")
}

// checkTrustedCertificates checks who may use the project.
func (f *findings) checkTrustedCertificates(seen setup.Inspection) {
	if len(seen.Trusted) == 0 {
		f.reportFailure("nobody but this machine's root may use project "+seen.Project, "capi-bridge init-host --trusted-certificate FILE lets the fleet in.")
		return
	}
	for _, certificate := range seen.Trusted {
		fingerprint, err := fleetkey.Fingerprint(certificate)
		if err != nil {
			continue // the fleet does not use this kind of certificate
		}
		f.reportOK("the holder of %.12s may use project %s", fingerprint, seen.Project)
	}
}
