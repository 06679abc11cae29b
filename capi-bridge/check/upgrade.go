package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/lxd"
	"github.com/maaslxd/maaslxd/engine/maas"
)

const aboutUpgrade = `
Rehearses the upgrade of MAAS to the version without VM hosts: what it would drop of
each VM host and VM, what is noted on the machines beside that, and what must be done
first. With the fleet's key pair it also asks each LXD. It changes nothing.`

// upgradeOptions are those of check upgrade.
type upgradeOptions struct {
	maasAccess
	clientPair
}

// RunUpgrade rehearses the upgrade to a MAAS without VM hosts.
func RunUpgrade(ctx context.Context, p setting.Program) error {
	var o upgradeOptions
	s := setting.New(p, aboutUpgrade)
	o.maasAccess.addSettings(s, p)
	o.clientPair.addSettings(s)
	if err := s.Read(); err != nil {
		return err
	}
	client, err := o.newClient(p)
	if err != nil {
		return err
	}
	defer client.Close()
	r := rehearsal{client: client, prober: lxd.NewProber(lxd.Config{Timeout: probeTimeout, UserAgent: "capi-bridge/" + p.Version})}
	if o.clientPair.certificate != "" || o.clientPair.key != "" {
		credentials, err := o.clientPair.parseCredentials()
		if err != nil {
			return err
		}
		r.credentials = &credentials
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	r.findings = startFindings(p, "what the MAAS at "+o.endpoint+" would drop with its VM hosts")
	can, err := client.Catalog.Capabilities(ctx)
	if r.reportError(err) {
		return r.finish(nil)
	}
	r.checkCapabilities(can)
	if !can.VMHosts {
		r.reportNote("this MAAS has no VM hosts any more: nothing is left to drop")
	}
	if r.credentials == nil {
		r.reportSkipped("the LXDs were not asked: no key pair is given", "Give --lxd-client-cert and --lxd-client-key, from where Terraform or the bridge runs: after the upgrade the LXDs are asked from there.")
	}
	return r.finish(r.run(ctx, can))
}

// probeTimeout bounds the look at one LXD.
const probeTimeout = 10 * time.Second

// rehearsal is one run of check upgrade.
type rehearsal struct {
	*findings
	client      *maas.Client
	prober      engine.Probe
	credentials *engine.Credentials // nil: the LXDs are not asked
}

func (r *rehearsal) run(ctx context.Context, can engine.Capabilities) error {
	if !can.VMHosts {
		return r.checkHostMachines(ctx)
	}
	hosts, err := r.client.Hosts.Hosts(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(hosts, func(a, b engine.VMHost) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	names := make([]string, len(hosts))
	for n, h := range hosts {
		names[n] = h.Name
	}
	var vms []engine.Machine
	if len(hosts) > 0 {
		if vms, err = r.client.Machines.MachinesWhere(ctx, engine.MachineFilter{Hosts: names}); err != nil {
			return err
		}
	}
	for _, h := range hosts {
		if err := r.checkVMHost(ctx, h, hosts); err != nil {
			return err
		}
		for _, m := range vms {
			if m.HostID == h.ID {
				r.checkVM(m)
			}
		}
	}
	r.reportOK("%d VM hosts and %d VMs were looked at", len(hosts), len(vms))
	return nil
}

// checkHostMachines looks at the hosts of a MAAS that has no VM hosts any more.
func (r *rehearsal) checkHostMachines(ctx context.Context) error {
	machines, err := r.client.Machines.MachinesWhere(ctx, engine.MachineFilter{Tags: []string{engine.HostTag}})
	if err != nil {
		return err
	}
	for _, m := range machines {
		record, ok := m.HostRecord()
		if !ok {
			r.reportFailure(fmt.Sprintf("machine %s has the tag %s, and says no address of an LXD", machineTitle(m), engine.HostTag), "Apply its maaslxd_vm_host, which notes it.")
			continue
		}
		r.reportOK("host %s: machine %s", record.Name, machineTitle(m))
		r.checkHostLXD(ctx, record)
	}
	return nil
}

func machineTitle(m engine.Machine) string { return fmt.Sprintf("%s (%s)", m.Hostname, m.SystemID) }

// checkVMHost says what MAAS would drop of a VM host, and whether it is noted.
func (r *rehearsal) checkVMHost(ctx context.Context, h engine.VMHost, all []engine.VMHost) error {
	others := slices.ContainsFunc(all, func(o engine.VMHost) bool { return o.ID != h.ID && o.MachineID == h.MachineID && h.MachineID != "" })
	switch {
	case h.MachineID == "":
		r.reportFailure(fmt.Sprintf("VM host %s: MAAS knows no machine that its LXD runs on, and nobody finds it afterwards", h.Name),
			"Refresh the VM host in MAAS. If that finds no machine, let MAAS deploy the machine first.")
		return nil
	case others:
		r.reportFailure(fmt.Sprintf("VM host %s: its LXD is another VM host, too, and one machine can note one of them", h.Name),
			"Remove all of them but one, with their VMs. docs/operations.md says more: Several VM hosts of one LXD.")
		return nil
	}
	m, err := r.client.Machines.Machine(ctx, h.MachineID)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		r.reportFailure(fmt.Sprintf("VM host %s: its LXD runs on node %s, which is no machine of MAAS but a controller", h.Name, h.MachineID),
			"Afterwards only a machine can be a host: move its VMs to another one.")
		return nil
	case err != nil:
		return err
	}
	e, err := r.client.Hosts.Endpoint(ctx, h)
	if err != nil {
		return err
	}
	lacks := missingInRecord(h, e, m)
	if len(lacks) > 0 {
		r.reportFailure(fmt.Sprintf("VM host %s: MAAS would drop what its machine %s does not note: %s", h.Name, machineTitle(m), strings.Join(lacks, "; ")), recordHint(m))
		return nil
	}
	r.reportOK("VM host %s: its machine %s notes all that MAAS would drop: %s", h.Name, machineTitle(m), strings.Join(droppedByMAAS(h, e), ", "))
	record, _ := m.HostRecord()
	if record.ServerFingerprint == "" {
		r.reportNote("VM host %s: the certificate of its LXD is not noted: the first one that it shows afterwards is believed", h.Name)
	}
	r.checkHostLXD(ctx, record)
	return nil
}

// recordHint is how a machine comes to note its VM host.
func recordHint(m engine.Machine) string {
	if m.Status != engine.StatusDeployed {
		return fmt.Sprintf("It is %s, and only a Deployed machine can be a host: let MAAS deploy it first.", m.StatusName)
	}
	return "Apply its maaslxd_vm_host once with this version. If there is none, import the VM host first."
}

// droppedByMAAS is what MAAS would drop of a VM host.
func droppedByMAAS(h engine.VMHost, e engine.Endpoint) []string {
	list := []string{"zone " + h.Zone, "pool " + h.Pool, fmt.Sprintf("over-commit %v of cores and %v of memory", h.CPUOvercommit, h.MemoryOvercommit), "project " + e.Project}
	if pool := h.DefaultPool(); pool != "" {
		list = append(list, "default storage pool "+pool)
	}
	if len(h.Tags) > 0 {
		list = append(list, "tags "+strings.Join(h.Tags, " "))
	}
	return list
}

// missingInRecord is what a machine does not note of its VM host, or otherwise.
func missingInRecord(h engine.VMHost, e engine.Endpoint, m engine.Machine) (list []string) {
	if !slices.Contains(m.Tags, engine.HostTag) {
		list = append(list, "the tag "+engine.HostTag)
	}
	// Without the tag nobody looks for a record, but what it says counts all the same.
	m.Tags = append(slices.Clone(m.Tags), engine.HostTag)
	record, ok := m.HostRecord()
	if !ok {
		return append(list, "the address of the LXD")
	}
	if !lxd.IsSameServer(record.Address, e.Address) {
		list = append(list, fmt.Sprintf("address %s (noted is %s)", e.Address, record.Address))
	}
	for _, each := range []struct{ what, has, noted string }{
		{"name", h.Name, record.Name}, {"project", e.Project, record.Project}, {"zone", h.Zone, record.Zone}, {"pool", h.Pool, record.Pool},
		{"default storage pool", h.DefaultPool(), record.DefaultStoragePool},
		{"tags", sortedWords(h.Tags), sortedWords(record.Tags)},
		{"over-commit of cores", fmt.Sprint(h.CPUOvercommit), fmt.Sprint(record.CPUOvercommit)},
		{"over-commit of memory", fmt.Sprint(h.MemoryOvercommit), fmt.Sprint(record.MemoryOvercommit)},
	} {
		if each.has != each.noted {
			list = append(list, fmt.Sprintf("%s %s (noted is %s)", each.what, cmp.Or(each.has, "none"), cmp.Or(each.noted, "none")))
		}
	}
	return list
}

func sortedWords(words []string) string {
	return strings.Join(slices.Sorted(slices.Values(words)), " ")
}

// checkHostLXD asks the LXD of a host, as Terraform and the bridge do after the upgrade.
func (r *rehearsal) checkHostLXD(ctx context.Context, record engine.HostRecord) {
	if r.credentials == nil {
		return
	}
	server, err := r.prober.Server(ctx, record.Endpoint, *r.credentials, record.ServerFingerprint)
	if r.reportError(err) {
		return
	}
	r.reportOK("host %s: its LXD %s trusts the key pair for project %s", record.Name, server.Version, record.Project)
}

// checkVM says what MAAS would drop of a VM, and whose it is.
func (r *rehearsal) checkVM(m engine.Machine) {
	key, finished := engine.KeyIn(m.Description)
	switch phase := m.Status.Phase(); {
	case key != "" && !finished:
		r.reportFailure(fmt.Sprintf("VM %s on %s was begun for %q, and is not finished: MAAS would drop which host it is on", machineTitle(m), m.HostName, key),
			"Apply again until it is finished, or destroy it.")
	case phase == engine.PhaseCommissioning || phase == engine.PhaseDeploying || phase == engine.PhaseReleasing:
		r.reportFailure(fmt.Sprintf("VM %s on %s is %s: the upgrade would cut that off", machineTitle(m), m.HostName, m.StatusName), "Wait until that is over, and run this again.")
	case key == "":
		r.reportNote("VM %s on %s carries no mark: it stays a machine of MAAS, which nobody here manages; import it to have it managed", machineTitle(m), m.HostName)
	default:
		r.reportOK("VM %s on %s, of %q: MAAS would drop its host%s; its MACs tell both afterwards", machineTitle(m), m.HostName, key, storagePoolsText(m))
	}
}

// storagePoolsText says which storage pools of its disks MAAS would drop, too.
func storagePoolsText(m engine.Machine) string {
	var names []string
	for _, d := range m.Disks {
		if d.Pool != "" && !slices.Contains(names, d.Pool) {
			names = append(names, d.Pool)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " and the storage pools of its disks (" + strings.Join(names, ", ") + ")"
}
