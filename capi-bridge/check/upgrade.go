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
Rehearses the upgrade of MAAS to the version without VM hosts. It shows what MAAS
would drop of each VM host and VM, what the machines' records keep of that, and what
you must do first. With the fleet's key pair it also asks each LXD. It changes nothing.`

// upgradeOptions are the options of check upgrade.
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
		r.reportNote("this MAAS no longer has VM hosts: nothing is left to drop")
	}
	if r.credentials == nil {
		r.reportSkipped("no LXD server was asked: no key pair is given", "Give --lxd-client-cert and --lxd-client-key, on a machine where Terraform or the bridge runs: after the upgrade they ask the LXD servers from there.")
	}
	return r.finish(r.run(ctx, can))
}

// probeTimeout limits the check of one LXD.
const probeTimeout = 10 * time.Second

// rehearsal is one run of check upgrade.
type rehearsal struct {
	*findings
	client      *maas.Client
	prober      engine.Probe
	credentials *engine.Credentials // nil: do not ask the LXDs
}

func (r *rehearsal) run(ctx context.Context, can engine.Capabilities) error {
	if !can.VMHosts {
		return r.checkHostMachines(ctx, can, nil)
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
	return r.checkHostMachines(ctx, can, hosts)
}

// checkHostMachines checks the hosts of which MAAS has no VM host: those made in LXD itself, or all of a MAAS
// that no longer has VM hosts.
func (r *rehearsal) checkHostMachines(ctx context.Context, can engine.Capabilities, known []engine.VMHost) error {
	machines, err := r.client.Machines.MachinesWhere(ctx, engine.MachineFilter{Tags: []string{engine.HostTag}})
	if err != nil {
		return err
	}
	if len(machines) == 0 && !can.VMHosts {
		r.reportSkipped("no machine has the tag "+engine.HostTag+", so no VM host was looked at", "If this fleet has VM hosts, "+recordByHand)
	}
	for _, m := range machines {
		if slices.ContainsFunc(known, func(h engine.VMHost) bool { return h.MachineID == m.SystemID }) {
			continue
		}
		record, ok := m.HostRecord()
		if !ok {
			r.reportFailure(fmt.Sprintf("machine %s has the tag %s but records no address of an LXD", machineTitle(m), engine.HostTag), "Apply its maaslxd_vm_host, which records the address. If there is none, "+recordByHand)
			continue
		}
		r.reportOK("VM host %s: machine %s", record.Name, machineTitle(m))
		r.checkHostLXD(ctx, record)
	}
	return nil
}

func machineTitle(m engine.Machine) string { return fmt.Sprintf("%s (%s)", m.Hostname, m.SystemID) }

// checkVMHost reports what MAAS would drop of a VM host, and whether its
// machine records it.
func (r *rehearsal) checkVMHost(ctx context.Context, h engine.VMHost, all []engine.VMHost) error {
	others := slices.ContainsFunc(all, func(o engine.VMHost) bool { return o.ID != h.ID && o.MachineID == h.MachineID && h.MachineID != "" })
	switch {
	case h.MachineID == "":
		r.reportFailure(fmt.Sprintf("VM host %s: MAAS knows no machine that its LXD runs on, so nothing finds the host after the upgrade", h.Name),
			"Refresh the VM host in MAAS. If that finds no machine, let MAAS deploy the machine first.")
		return r.checkLXDOf(ctx, h, "")
	case others:
		r.reportFailure(fmt.Sprintf("VM host %s: its LXD is also another VM host, and a machine can record only one", h.Name),
			"Remove all of them but one, with their VMs. See docs/guides/day-two.md, Several VM hosts on one LXD server.")
		return r.checkLXDOf(ctx, h, "")
	}
	m, err := r.client.Machines.Machine(ctx, h.MachineID)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		r.reportFailure(fmt.Sprintf("VM host %s: its LXD runs on node %s, which is a controller of MAAS and not a machine", h.Name, h.MachineID),
			"After the upgrade only a machine can be a host: move its VMs to another host.")
		return nil
	case err != nil:
		return err
	}
	if err := r.checkHostRecord(ctx, h, m); err != nil {
		return err
	}
	return r.checkLXDOf(ctx, h, m.OwnerData[engine.ServerFingerprintData])
}

// checkHostRecord checks what the machine of a VM host records.
func (r *rehearsal) checkHostRecord(ctx context.Context, h engine.VMHost, m engine.Machine) error {
	e, err := r.client.Hosts.Endpoint(ctx, h)
	if err != nil {
		return err
	}
	if lacks := missingInRecord(h, e, m); len(lacks) > 0 {
		r.reportFailure(fmt.Sprintf("VM host %s: MAAS would drop values that its machine %s does not record: %s", h.Name, machineTitle(m), strings.Join(lacks, "; ")), recordHint(m))
		return nil
	}
	r.reportOK("VM host %s: its machine %s records all that MAAS would drop: %s", h.Name, machineTitle(m), strings.Join(droppedByMAAS(h, e), ", "))
	if m.OwnerData[engine.ServerFingerprintData] == "" {
		r.reportNote("VM host %s: the certificate of its LXD is not recorded; after the upgrade the first one that it shows is trusted", h.Name)
	}
	return nil
}

// checkLXDOf asks the LXD of a VM host at the address that MAAS has, whatever is recorded: a
// wrong record must be corrected to that address.
func (r *rehearsal) checkLXDOf(ctx context.Context, h engine.VMHost, serverFingerprint string) error {
	e, err := r.client.Hosts.Endpoint(ctx, h)
	if err != nil {
		return err
	}
	r.checkHostLXD(ctx, engine.HostRecord{Name: h.Name, Endpoint: e, ServerFingerprint: serverFingerprint})
	return nil
}

// recordByHand is the way to the records without Terraform.
const recordByHand = "write the records by hand: see docs/guides/moving-off-vm-hosts.md, Before the upgrade."

// recordHint says how to make a machine record its VM host. A host without a key was made by
// other programs or by hand, so no maaslxd_vm_host manages it.
func recordHint(m engine.Machine) string {
	if m.Status != engine.StatusDeployed {
		return fmt.Sprintf("The machine is %s, and only a Deployed machine can be a host: let MAAS deploy it first.", m.StatusName)
	}
	_, ok := m.HostRecord()
	switch {
	case m.MarkedBy() == "" && ok: // the marks were written by hand, and hold no more than that
		return "Import it as a maaslxd_vm_host and apply, which records the rest. Without the rest, the VM host gets zone and pool of its machine."
	case m.MarkedBy() == "":
		return "Import it as a maaslxd_vm_host and apply. Or " + recordByHand
	case !ok:
		return "Apply its maaslxd_vm_host once with this version. If there is none, import it as one and apply. Or " + recordByHand
	}
	return "Change its maaslxd_vm_host, for example a tag, and apply: that writes them again, but for the address. To correct the address, " + recordByHand
}

// droppedByMAAS lists what MAAS would drop of a VM host.
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

// missingInRecord lists what a machine does not record of its VM host, or
// records differently.
func missingInRecord(h engine.VMHost, e engine.Endpoint, m engine.Machine) (list []string) {
	if !slices.Contains(m.Tags, engine.HostTag) {
		list = append(list, "the tag "+engine.HostTag)
	}
	// Without the tag nobody looks for a record, but the record's values count
	// all the same.
	m.Tags = append(slices.Clone(m.Tags), engine.HostTag)
	record, ok := m.HostRecord()
	if !ok {
		return append(list, "the address of the LXD")
	}
	if !lxd.IsSameServer(record.Address, e.Address) {
		list = append(list, fmt.Sprintf("address %s (recorded: %s)", e.Address, record.Address))
	}
	for _, each := range []struct{ what, has, noted string }{
		{"name", h.Name, record.Name}, {"project", e.Project, record.Project}, {"zone", h.Zone, record.Zone}, {"pool", h.Pool, record.Pool},
		{"default storage pool", h.DefaultPool(), record.DefaultStoragePool},
		{"tags", sortedWords(h.Tags), sortedWords(record.Tags)},
		{"over-commit of cores", engine.RatioText(h.CPUOvercommit), engine.RatioText(record.CPUOvercommit)},
		{"over-commit of memory", engine.RatioText(h.MemoryOvercommit), engine.RatioText(record.MemoryOvercommit)},
	} {
		if each.has != each.noted {
			list = append(list, fmt.Sprintf("%s %s (recorded: %s)", each.what, cmp.Or(each.has, "none"), cmp.Or(each.noted, "none")))
		}
	}
	return list
}

func sortedWords(words []string) string {
	return strings.Join(slices.Sorted(slices.Values(words)), " ")
}

// checkHostLXD asks the LXD of a host, as Terraform and the bridge do after the
// upgrade.
func (r *rehearsal) checkHostLXD(ctx context.Context, record engine.HostRecord) {
	if r.credentials == nil {
		return
	}
	server, err := r.prober.Server(ctx, record.Endpoint, *r.credentials, record.ServerFingerprint)
	if err != nil {
		r.reportError(fmt.Errorf("VM host %s: %w", record.Name, err))
		return
	}
	r.reportOK("VM host %s: its LXD %s trusts the key pair for project %s", record.Name, server.Version, record.Project)
}

// checkVM reports what MAAS would drop of a VM, and who owns it.
func (r *rehearsal) checkVM(m engine.Machine) {
	key, finished := engine.KeyIn(m.Description)
	switch phase := m.Status.Phase(); {
	case key != "" && !finished:
		r.reportFailure(fmt.Sprintf("VM %s on %s was begun for %q and is not finished: MAAS would forget its host", machineTitle(m), m.HostName, key),
			"Apply again until it is finished, or destroy it.")
	case phase == engine.PhaseCommissioning || phase == engine.PhaseDeploying || phase == engine.PhaseReleasing:
		r.reportFailure(fmt.Sprintf("VM %s on %s is %s: the upgrade would interrupt that", machineTitle(m), m.HostName, m.StatusName), "Wait until that is over, and run this again.")
	case key == "":
		r.reportNote("VM %s on %s carries no mark: it stays a machine of MAAS that maaslxd does not manage; import it if maaslxd should", machineTitle(m), m.HostName)
	default:
		r.reportOK("VM %s on %s, of %q: MAAS would drop its host%s; after the upgrade, its MAC addresses tell what was dropped", machineTitle(m), m.HostName, key, storagePoolsText(m))
	}
}

// storagePoolsText names the storage pools of the VM's disks that MAAS would
// drop as well.
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
