package compose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/placement"
)

// checkProfileExists refuses a profile that no host has: that is a typing error rather than
// missing room. If the profiles of a host are unknown yet, placement waits for them.
func checkProfileExists(hosts []engine.VMHost, profile string) error {
	const most = 5
	var refusal error
	var lines []string
	for _, h := range hosts {
		err := h.CheckProfile(profile)
		switch {
		case err == nil:
			return nil
		case h.MAASMakesVMs():
			return err
		case h.UnusableReason() != "":
			continue
		case !h.IsInventoryKnown():
			return nil
		}
		refusal = err
		lines = append(lines, fmt.Sprintf("host %s, project %q: %s", h.Name, h.Project, engine.JoinNames(h.Profiles)))
	}
	if len(lines) < 2 {
		return refusal
	}
	if len(lines) > most {
		lines = append(lines[:most], fmt.Sprintf("and %d more", len(lines)-most))
	}
	return engine.MarkTerminal(&engine.Error{
		Type: engine.ProfileNotFound, Message: fmt.Sprintf("no host has a profile %q in its project", profile),
		Hint: fmt.Sprintf("There are: %s. Make one on a host: lxc profile create %s --project PROJECT.", strings.Join(lines, "; "), profile),
	})
}

// checkStoragePoolsExist refuses a storage pool that no host has, for the same reason.
func checkStoragePoolsExist(hosts []engine.VMHost, disks []engine.Disk) error {
	var known []string
	for _, h := range hosts {
		switch {
		case h.UnusableReason() != "":
			continue
		case !h.IsInventoryKnown():
			return nil
		}
		for _, p := range h.StoragePools {
			known = append(known, p.Name)
		}
	}
	slices.Sort(known)
	for _, d := range disks {
		if d.Pool != "" && len(known) > 0 && !slices.Contains(known, d.Pool) {
			return engine.NoStoragePoolError(fieldpath.New("disks").Key(d.Name).Child("pool"), "", d.Pool, slices.Compact(known))
		}
	}
	return nil
}

// checkSettingsPossible refuses options and devices that no host can give a VM. If hosts with
// another version of LXD can, the others are skipped.
func checkSettingsPossible(hosts []engine.VMHost, want engine.VMSpec) error {
	var refusal error
	for _, h := range hosts {
		if h.UnusableReason() != "" {
			continue
		}
		if refusal = settingsError(h, want); refusal == nil {
			return nil
		}
	}
	return refusal
}

// settingsError says why a VM on the host cannot have the wanted options, devices, bridges and
// MACs; nil: it can.
func settingsError(h engine.VMHost, want engine.VMSpec) error {
	if h.MAASMakesVMs() {
		return errors.Join(engine.CheckInstanceOfMAAS(len(want.Config), len(want.Devices)), engine.CheckInterfacesOfMAAS(want.Interfaces))
	}
	return h.CheckBootMode(want.Config)
}

// needsFreshInventory tells that an error is about something that no host has, but that
// somebody may just have made: room, a profile, a storage pool.
func needsFreshInventory(err error) bool {
	if _, ok := errors.AsType[*placement.FitError](err); ok {
		return true
	}
	if spec, ok := errors.AsType[*engine.SpecError](err); ok {
		return errors.Is(spec, engine.ErrNotFound)
	}
	typed, ok := errors.AsType[*engine.Error](err)
	return ok && typed.Type == engine.ProfileNotFound
}

// Sites are the VM hosts on which a VM may be made, from one inventory.
type Sites struct {
	hosts      []engine.VMHost // the best one first
	candidates []engine.Candidate
}

func (s Sites) findHost(key string) (engine.VMHost, bool) {
	i := slices.IndexFunc(s.hosts, func(h engine.VMHost) bool { return h.HostKey == key })
	if i < 0 {
		return engine.VMHost{}, false
	}
	return s.hosts[i], true
}

// FindSites finds the hosts on which the VM fits, without the excluded ones.
func (f *Finder) FindSites(ctx context.Context, key engine.Key, want engine.VMSpec, exclude []string) (Sites, error) {
	if want.Host != "" {
		return f.siteOfNamedHost(ctx, want)
	}
	return f.findPlacedSites(ctx, key, want, exclude, LeavingVM{})
}

// CheckPlaced says why placement finds no host for a VM once another VM has left.
func (f *Finder) CheckPlaced(ctx context.Context, key engine.Key, want engine.VMSpec, leaving LeavingVM) error {
	_, err := f.findPlacedSites(ctx, key, want, nil, leaving)
	return err
}

// findPlacedSites asks placement. If nothing fits, it asks once more with a fresh inventory:
// VMs may just have gone, or hosts and profiles may be new.
func (f *Finder) findPlacedSites(ctx context.Context, key engine.Key, want engine.VMSpec, exclude []string, leaving LeavingVM) (Sites, error) {
	need, err := f.placementNeed(ctx, key, want, exclude)
	if err != nil {
		return Sites{}, err
	}
	found, err := f.findSitesForImage(ctx, need, want, leaving)
	if needsFreshInventory(err) {
		f.Names.Refresh(engine.ListHosts)
		f.refreshImagesAfter(err)
		f.networks.dropOlderThan(time.Second)
		found, err = f.findSitesForImage(ctx, need, want, leaving)
	}
	for _, explain := range []func(context.Context, engine.VMSpec, error) error{f.imageFitError, f.networkFitError} {
		if err := explain(ctx, want, err); err != nil {
			return found, err
		}
	}
	return found, engine.PlacementError(want.Name, err)
}

// placementNeed is the VM as placement sees it. Networks are CIDRs. Sizes that a plan does not
// know yet count as the smallest possible ones.
func (f *Finder) placementNeed(ctx context.Context, key engine.Key, want engine.VMSpec, exclude []string) (placement.Need, error) {
	need := placement.Need{
		Key: string(key), Zone: want.Placement.Zone, Pool: want.Placement.Pool, Tags: want.Placement.Tags, Project: want.Placement.Project,
		Profile: want.Profile, Cores: max(1, want.Cores), PinnedCores: want.PinnedCores, MemoryMiB: max(1, want.MemoryMiB),
		HugePages: want.HugePages, Image: want.Deploy.ImageText(), Strategy: want.Placement.Strategy, Excluded: exclude, Disks: engine.PlacementDisks(want.Disks),
	}
	for _, i := range want.Interfaces {
		if i.Bridge != "" {
			need.Networks = append(need.Networks, bridgeNetwork(i.Bridge))
		}
		if i.Network().IsEmpty() {
			continue // a plan does not know it yet
		}
		subnet, err := f.FindNetwork(ctx, fieldpath.New("interfaces").Key(i.Name), i.Network())
		if err != nil {
			return need, err
		}
		need.Networks = append(need.Networks, subnet.CIDR)
	}
	return need, nil
}

// findSitesForImage is findFittingSites with the architectures for which MAAS has the image.
func (f *Finder) findSitesForImage(ctx context.Context, need placement.Need, want engine.VMSpec, leaving LeavingVM) (found Sites, err error) {
	if need.Architectures, err = engine.ImageArchitectures(ctx, f.Catalog, want.Deploy); err != nil {
		return Sites{}, err
	}
	return f.findFittingSites(ctx, need, want, leaving)
}

// findFittingSites lists the hosts that fit by one inventory, with what the ledger needs to
// choose among them. The ledger handles the group: only it knows the members that are still
// being made.
func (f *Finder) findFittingSites(ctx context.Context, need placement.Need, want engine.VMSpec, leaving LeavingVM) (Sites, error) {
	hosts, err := f.Composer.Hosts(ctx)
	if err != nil {
		return Sites{}, err
	}
	networks, err := f.networksOfHosts(ctx, hosts, need.Networks)
	if err != nil {
		return Sites{}, err
	}
	projects, err := f.FindHostProjects(ctx, hosts, need.Project)
	if err != nil {
		return Sites{}, err
	}
	if err := errors.Join(checkProfileExists(hosts, need.Profile), checkStoragePoolsExist(hosts, want.Disks), checkSettingsPossible(hosts, want)); err != nil {
		return Sites{}, err
	}
	// If the huge pages of all hosts are unknown, only an LXD can refuse the VM.
	need.HugePages = need.HugePages && slices.ContainsFunc(hosts, engine.VMHost.HasHugePages)
	byID, placeable := map[string]engine.VMHost{}, make([]placement.Host, len(hosts))
	for n, h := range hosts {
		byID[h.HostKey], placeable[n] = h, placementHost(leaving.HostWithoutVM(h), networks[h.HostKey], projects[h.HostKey])
		if err := settingsError(h, want); err != nil {
			placeable[n].UnusableReason = cmp.Or(placeable[n].UnusableReason, err.Error())
		}
	}
	fitting, err := placement.FindCandidates(placeable, need)
	if err != nil {
		return Sites{}, err
	}
	var s Sites
	for n, f := range fitting {
		host := byID[f.HostID]
		c := hostCandidate(host)
		c.Rank, c.Step = rankCandidate(f, need.Strategy, n)
		s.hosts, s.candidates = append(s.hosts, host), append(s.candidates, c)
	}
	return s, nil
}

// placementHost is the host as placement sees it, with its networks and its project if they are
// wanted.
func placementHost(h engine.VMHost, networks []string, project string) placement.Host {
	p := h.PlacementHost()
	p.Networks = networks
	if project != "" {
		p.Projects = []string{project}
	}
	return p
}

// networksOfHosts lists the networks of the hosts, by their keys, if any network is wanted.
func (f *Finder) networksOfHosts(ctx context.Context, hosts []engine.VMHost, wanted []string) (map[string][]string, error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	networks, err := f.readHostNetworks(ctx, hosts...)
	if err != nil {
		return nil, err
	}
	names := map[string][]string{}
	for _, h := range hosts {
		names[h.HostKey] = networks.networkNames(h)
	}
	return names, nil
}

// rankCandidate ranks a candidate by how full the VM makes its host, in millionths. step is how
// much fuller each further VM makes it that the inventory cannot show yet. Equal hosts keep
// placement's order, which differs from VM to VM.
func rankCandidate(c placement.Candidate, strategy placement.Strategy, place int) (rank, step int64) {
	const millionths, ties = 1_000_000, 1 << 12
	full, share := int64(c.Fullness*millionths), int64(c.AddedFullness*millionths)
	if strategy == placement.Pack {
		full, share = -full, -share
	}
	return full*ties + int64(min(place, ties-1)), share * ties
}
