package check

import (
	"context"
	"fmt"
	"strings"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/lxd"
	"github.com/maaslxd/maaslxd/engine/lxd/setup"
	"github.com/maaslxd/maaslxd/engine/maas"
)

const aboutVMHost = `
Registers the LXD at an address as a VM host in MAAS, waits until MAAS knows its
resources, and removes it again. It registers nothing if MAAS already knows the LXD
or its machine, or if the project holds instances: such a registration could not be
undone completely.`

// vmHostOptions describe the VM host to try.
type vmHostOptions struct {
	clientPair
	address  string
	project  string
	zone     string
	pool     string
	insecure bool

	credentials engine.Credentials
}

func (o *vmHostOptions) addSettings(s *setting.Settings) {
	s.AddText(&o.address, "node-ip", "NODE_IP", "", "address of the LXD, such as 10.0.0.5")
	s.AddText(&o.zone, "zone", "ZONE", "default", "availability zone of the VM host")
	s.AddText(&o.pool, "resource-pool", "RESOURCE_POOL", "default", "resource pool of the VM host")
	s.AddText(&o.project, "project", "LXD_PROJECT", "maas", "LXD project of the VMs")
	o.clientPair.addSettings(s)
	s.AddSwitch(&o.insecure, "allow-insecure-key", "", "allow sending the private key to a MAAS over plain http")
}

// requireCredentials returns an error if an option for the registration is
// missing.
func (o *vmHostOptions) requireCredentials() (err error) {
	if o.address == "" {
		return &setting.UsageError{Flag: "--node-ip", Text: "it is missing", Hint: "Give the address of the node's LXD, or set NODE_IP."}
	}
	o.credentials, err = o.clientPair.parseCredentials()
	return err
}

// RunVMHost checks whether an LXD can become a VM host.
func RunVMHost(ctx context.Context, p setting.Program) error {
	var (
		r maasAccess
		o vmHostOptions
	)
	s := setting.New(p, aboutVMHost)
	r.addSettings(s, p)
	o.addSettings(s)
	if err := s.Read(); err != nil {
		return err
	}
	client, err := r.newClient(p)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := o.requireCredentials(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	f := startFindings(p, fmt.Sprintf("the LXD at %s as a VM host of the MAAS at %s", o.address, r.endpoint))
	can, err := client.Catalog.Capabilities(ctx)
	if f.reportError(err) {
		return f.finish(nil)
	}
	f.checkCapabilities(can)
	f.checkZoneAndPool(ctx, client.Names, o.zone, o.pool)
	if f.failed > 0 {
		return f.finish(nil)
	}
	return f.finish(o.tryRegistration(ctx, f, client, &r, can))
}

// tryRegistration tries the registration, unless something of it would stay.
func (o *vmHostOptions) tryRegistration(ctx context.Context, f *findings, client *maas.Client, r *maasAccess, can engine.Capabilities) error {
	if !can.VMHosts {
		f.reportFailure("this MAAS no longer has VM hosts", "maaslxd makes VMs in LXD itself: use check lxd --address "+o.address+".")
		return nil
	}
	seen, err := setup.InspectEndpoint(ctx, lxd.NewProber(lxd.Config{}), engine.Endpoint{Address: o.address, Project: o.project}, o.credentials, "")
	if err != nil {
		return err
	}
	f.reportOK("the LXD at %s trusts the certificate for project %s", o.address, o.project)
	f.checkLXDServer(seen)
	if len(seen.Pools) == 0 {
		f.reportFailure("the LXD has no storage pool, and MAAS refuses it without one", "Make one on the node with capi-bridge init-host.")
	}
	free, err := o.clearForTrial(ctx, f, client, seen)
	switch {
	case err != nil:
		return err
	case !free, f.failed > 0:
		return nil
	case r.isUnencrypted() && !o.insecure:
		f.reportFailure("MAAS is reached over plain http, and a registration sends the private key there", "Use an https address of MAAS. If you trust the network, you can use --allow-insecure-key.")
		return nil
	}
	t := trial{findings: f, client: client, options: o}
	return t.run(ctx)
}

// clearForTrial reports whether a registration can be undone completely, and
// reports what prevents that.
func (o *vmHostOptions) clearForTrial(ctx context.Context, f *findings, client *maas.Client, seen setup.Inspection) (bool, error) {
	if len(seen.Instances) > 0 {
		f.reportSkipped(fmt.Sprintf("project %s holds %s: MAAS would take them over, and power-cycle them", o.project, strings.Join(seen.Instances, ", ")),
			"Name an empty project (--project) to try the registration.")
		return false, nil
	}
	hosts, err := client.Hosts.Hosts(ctx)
	if err != nil {
		return false, err
	}
	for _, h := range hosts {
		e, err := client.Hosts.Endpoint(ctx, h)
		if err != nil {
			return false, err
		}
		if !lxd.IsSameServer(e.Address, o.address) {
			continue
		}
		if isLeftover(h) {
			if err := (&trial{findings: f, client: client, options: o}).removeHost(ctx, h); err != nil {
				return false, err
			}
			f.reportNote("removed VM host %s, which an earlier check had left behind", h.Name)
			continue
		}
		f.checkRegisteredHost(h, e, o.project)
		return false, nil
	}
	return o.checkMachineUnknown(ctx, f, client, seen)
}

// checkRegisteredHost reports the state of an existing VM host.
func (f *findings) checkRegisteredHost(h engine.VMHost, e engine.Endpoint, project string) {
	switch {
	case e.Project != project:
		f.reportSkipped(fmt.Sprintf("MAAS already has project %s of this LXD, as VM host %s: removing a second VM host would remove the machine of both", e.Project, h.Name), "You need no trial: MAAS reaches the LXD.")
	case h.Version == "" || h.Cores.Total == 0:
		f.reportFailure(fmt.Sprintf("MAAS already has it, as VM host %s, but has never reached it", h.Name), "Check that a rack controller reaches it, and refresh the VM host in MAAS.")
	default:
		f.reportOK("MAAS already has it, as VM host %s: LXD %s, %d cores, %d MiB", h.Name, h.Version, h.Cores.Total, h.MemoryMiB.Total)
	}
}

// checkMachineUnknown reports whether MAAS knows no machine with a MAC address
// of the LXD. A registration would rewrite the interfaces of a known machine,
// and MAAS would call it deployed for ever.
func (o *vmHostOptions) checkMachineUnknown(ctx context.Context, f *findings, client *maas.Client, seen setup.Inspection) (bool, error) {
	macs := map[string]bool{}
	for _, n := range seen.Networks {
		if !n.Managed && n.MAC != "" {
			macs[n.MAC] = true
		}
	}
	machines, err := client.Machines.MachinesWhere(ctx, engine.MachineFilter{})
	if err != nil {
		return false, err
	}
	for _, m := range machines {
		for _, i := range m.Interfaces {
			if macs[i.MAC] {
				f.reportSkipped(fmt.Sprintf("MAAS already knows its machine, %s (%s): a registration would rewrite the machine's interfaces and could not be undone", m.Hostname, m.SystemID),
					"All other checks were made. The bridge registers the bare metal of its clusters for good, and Terraform any other machine.")
				return false, nil
			}
		}
	}
	return true, nil
}
