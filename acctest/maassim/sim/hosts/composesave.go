package hosts

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// saveVM is MAAS's part of a compose: the second half of its time, then one commit. If it
// fails, the instance stays in LXD without a machine.
func saveVM(w *world.World, v *ComposeRequest, i *world.Instance) (*world.Machine, *rest.Reply) {
	w.Sleep(w.Latency.Compose - w.Latency.Compose/2)
	if bad := applyComposeFaults(w, v, i); bad != nil {
		return nil, bad
	}
	if bad := checkBeforeCommit(w, v); bad != nil {
		return nil, bad
	}
	if bad := tagRaceReply(w, v, i.Server); bad != nil {
		return nil, bad
	}
	m := newVM(w, v.hostname, v.Host, i)
	m.Zone, m.Pool, m.Domain = v.Zone, v.Pool, v.Domain
	m.Pinned, m.Hugepages = v.pinned, v.hugepages
	for _, d := range v.Disks {
		pool, _ := v.poolOf(i.Server, d)
		m.AddDisk(d.sizeBytes, pool, slices.Clone(d.tags), world.LXDDiskModel)
	}
	m.CountComposed()
	v.linkNICs(w, m)
	if v.SkipCommissioning {
		lifecycle.ApplyDefaultLayout(m)
		if len(v.nics) == 0 {
			m.ResetLinks()
		}
		m.Status = world.StatusReady
	}
	return m, nil
}

// checkBeforeCommit finds conflicts that only the database notices, because another
// request committed first.
func checkBeforeCommit(w *world.World, v *ComposeRequest) *rest.Reply {
	var bad rest.Reply
	switch {
	case w.Hosts[v.Host.ID] != v.Host:
		bad = rest.NoObjectReply("Pod")
	case w.MachineNamed(v.hostname) != nil:
		bad = rest.BadFieldReply("hostname", nameTakenText(v.hostname))
	case !v.SkipCommissioning && !w.HasImage("ubuntu", w.DefaultSeries()):
		bad = rest.BadTextReply(NoCommissioningImage(w))
	default:
		return takenIPReply(w, v)
	}
	return &bad
}

// tagRaceReply repeats a compose that lost a race for a new tag. A machine gets its host's
// tags, and MAAS makes those that do not exist. PostgreSQL lets only one of several
// transactions make a tag. MAAS restarts the others, and they fail on the instances that
// they made before.
func tagRaceReply(w *world.World, v *ComposeRequest, l *world.LXD) *rest.Reply {
	if len(namesWithoutTag(w, v.newTags)) == len(v.newTags) {
		return nil
	}
	leakVolumes(w, v, l)
	bad := rest.UnavailableReply("Unable to compose machine because: Failed talking to pod: " + instanceExistsText)
	return &bad
}

// namesWithoutTag lists the names that are not yet tags.
func namesWithoutTag(w *world.World, names []string) (missing []string) {
	for _, name := range names {
		if w.Tags[name] == nil {
			missing = append(missing, name)
		}
	}
	return missing
}

func takenIPReply(w *world.World, v *ComposeRequest) *rest.Reply {
	for _, n := range v.nics {
		if n.ip == "" {
			continue
		}
		ip, err := netip.ParseAddr(n.ip)
		if err != nil {
			continue
		}
		if r := world.RangeOf(w, ip); r != nil && r.Kind == "dynamic" {
			bad := rest.ErrorReply(404, fmt.Sprintf("%s is within the dynamic range from %s to %s", n.ip, r.Start, r.End))
			return &bad
		}
		if world.HasAddressRow(w, ip, false) {
			bad := rest.ErrorReply(404, fmt.Sprintf("The IP address %s is already in use.", n.ip))
			return &bad
		}
	}
	return nil
}
