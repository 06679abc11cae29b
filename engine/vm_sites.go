package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/engine/placement"
)

// sites are the VM hosts on which a VM may be made, of one inventory.
type sites struct {
	hosts      []VMHost // the best one first
	candidates []Candidate
}

func (s sites) host(key string) (VMHost, bool) {
	i := slices.IndexFunc(s.hosts, func(h VMHost) bool { return h.HostKey == key })
	if i < 0 {
		return VMHost{}, false
	}
	return s.hosts[i], true
}

// sites finds the hosts on which the VM fits, without those that are excluded.
func (v *vms) sites(ctx context.Context, key Key, want VMSpec, exclude []string) (sites, error) {
	if want.Host != "" {
		return v.namedSite(ctx, want)
	}
	return v.placedSites(ctx, key, want, exclude)
}

// placedSites asks placement, once more on a fresh inventory if nothing fits:
// VMs may just have gone, or hosts and profiles come.
func (v *vms) placedSites(ctx context.Context, key Key, want VMSpec, exclude []string) (sites, error) {
	need, err := v.placementNeed(ctx, key, want, exclude)
	if err != nil {
		return sites{}, err
	}
	found, err := v.place(ctx, need)
	var misfit *placement.FitError
	if errors.As(err, &misfit) || lacksProfile(err) {
		v.Names.Refresh(ListHosts)
		v.networks.expire(time.Second)
		found, err = v.place(ctx, need)
	}
	return found, unplaced(want.Name, err)
}

// placementNeed is the VM as placement sees it. Networks go by CIDR.
func (v *vms) placementNeed(ctx context.Context, key Key, want VMSpec, exclude []string) (placement.Need, error) {
	need := placement.Need{
		Key: string(key), Zone: want.Placement.Zone, Pool: want.Placement.Pool, Tags: want.Placement.Tags, Project: want.Placement.Project,
		Profile: want.Profile, Cores: want.Cores, PinnedCores: want.PinnedCores, MemoryMiB: want.MemoryMiB,
		HugePages: want.HugePages, Strategy: want.Placement.Strategy, Excluded: exclude, Disks: draws(want.Disks),
	}
	for _, i := range want.Interfaces {
		subnet, err := v.subnet(ctx, "interfaces."+i.Name, i.Subnet)
		if err != nil {
			return need, err
		}
		need.Networks = append(need.Networks, subnet.CIDR)
	}
	return need, nil
}

// draws are disks as placement sees them.
func draws(disks []Disk) []placement.Disk {
	var list []placement.Disk
	for _, d := range disks {
		list = append(list, placement.Disk{SizeGB: d.SizeGB, Pool: d.Pool})
	}
	return list
}

// place lists the hosts that fit by one inventory, with what the ledger needs
// to choose among them. The group is the ledger's matter: only it knows the
// members that are being made.
func (v *vms) place(ctx context.Context, need placement.Need) (sites, error) {
	hosts, err := v.Composer.Hosts(ctx)
	if err != nil {
		return sites{}, err
	}
	networks, err := v.attached(ctx, hosts, need.Networks)
	if err != nil {
		return sites{}, err
	}
	projects, err := v.inProject(ctx, hosts, need.Project)
	if err != nil {
		return sites{}, err
	}
	if err := withProfile(hosts, need.Profile); err != nil {
		return sites{}, err
	}
	// Where no host tells of huge pages, only its LXD can refuse the VM.
	need.HugePages = need.HugePages && slices.ContainsFunc(hosts, VMHost.tellsHugePages)
	byID := map[string]VMHost{}
	placeable := make([]placement.Host, 0, len(hosts))
	for _, h := range hosts {
		p := h.placeable()
		p.Networks = networks[h.MachineID]
		if project, ok := projects[h.HostKey]; ok {
			p.Projects = []string{project}
		}
		byID[p.ID] = h
		placeable = append(placeable, p)
	}
	fitting, err := placement.Fit(placeable, need)
	if err != nil {
		return sites{}, err
	}
	var s sites
	for n, f := range fitting {
		host := byID[f.HostID]
		c := host.candidate()
		c.Rank, c.Step = rank(f, need.Strategy, n)
		s.hosts, s.candidates = append(s.hosts, host), append(s.candidates, c)
	}
	return s, nil
}

// attached lists the networks of the hosts, by the system ids of their
// machines, where any network is wanted.
func (v *vms) attached(ctx context.Context, hosts []VMHost, wanted []string) (map[string][]string, error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	machines := make([]string, len(hosts))
	for n, h := range hosts {
		machines[n] = h.MachineID
	}
	networks, err := v.networks.of(ctx, v.Machines, machines)
	if err != nil {
		return nil, fmt.Errorf("cannot tell the networks of the VM hosts: %w", err)
	}
	return networks, nil
}

// rank orders a candidate by how full the VM makes its host, in millionths,
// and says how much fuller each further VM makes it that the inventory cannot
// show yet. Equal hosts keep placement's order, which differs from VM to VM.
func rank(c placement.Candidate, strategy placement.Strategy, place int) (rank, step int64) {
	const millionths, ties = 1_000_000, 1 << 12
	full, share := int64(c.Fullness*millionths), int64(c.Share*millionths)
	if strategy == placement.Pack {
		full, share = -full, -share
	}
	return full*ties + int64(min(place, ties-1)), share * ties
}

// tellsHugePages tells whether the host is known to have huge pages.
func (h VMHost) tellsHugePages() bool { return h.HugePagesMiB.Total > 0 }

// placeable is the host as placement sees it. What may pass is NeverReached, what
// stays is Unusable.
func (h VMHost) placeable() placement.Host {
	p := placement.Host{
		ID: h.HostKey, Name: h.Name, Type: placement.TypeLXD,
		Zone: h.Zone, Pool: h.Pool, Tags: h.Tags, Architectures: h.Architectures, Profiles: h.offered(),
		Cores: placement.Amount(h.Cores), MemoryMiB: placement.Amount(h.MemoryMiB), HugePagesMiB: placement.Amount(h.HugePagesMiB),
		CPUOvercommit: h.CPUOvercommit, MemoryOvercommit: h.MemoryOvercommit,
		NeverReached: !h.reached() && h.unusable() == "", Silence: h.unreached(), Unusable: h.unusable(),
	}
	for _, s := range h.StoragePools {
		p.StoragePools = append(p.StoragePools, placement.StoragePool{
			Name: s.Name, TotalBytes: s.TotalBytes, FreeBytes: s.AvailableBytes, Default: s.Default,
		})
	}
	return p
}

// unplaced turns placement's errors into the engine's. Where only room is
// missing, or a host that MAAS has not reached, a later try may do better.
func unplaced(name string, err error) error {
	var misfit *placement.FitError
	var need *placement.NeedError
	switch {
	case errors.As(err, &need):
		return &SpecError{Field: need.Field, Message: need.Message, Err: ErrInvalid}
	case !errors.As(err, &misfit):
		return err
	}
	refusal := error(&Error{
		Type: InsufficientResources, Message: fmt.Sprintf("no VM host fits %s: %v", name, misfit), Hint: misfitHint(misfit),
	})
	if !misfit.MayPass() {
		refusal = Terminal(refusal)
	}
	return refusal
}

// misfitHint names the first hosts and what each lacks.
func misfitHint(misfit *placement.FitError) string {
	const most = 5
	var lines []string
	hosts := misfit.Misfits()
	for _, m := range hosts[:min(most, len(hosts))] {
		lines = append(lines, m.String())
	}
	if len(hosts) > most {
		lines = append(lines, fmt.Sprintf("and %d more", len(hosts)-most))
	}
	if len(lines) == 0 {
		return "Register an LXD server as a VM host in MAAS first."
	}
	return strings.Join(lines, "; ") + "."
}
