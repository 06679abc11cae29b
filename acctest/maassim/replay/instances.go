package replay

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// instancePlanner plans the changes in the LXD between the exchanges.
type instancePlanner struct {
	*evidence
	host    string                // the LXD's name
	changes map[int][]worldChange // before the exchange of that index
}

// planInstances finds the instances that somebody made or deleted in the LXD, and the
// exchanges before which that happened.
func (p *instancePlanner) planInstances() {
	placed := map[string]bool{}
	for i, seen := range p.seen {
		for _, s := range seen {
			if s.PodID == "" || p.madeBy(s.ID) >= 0 || p.sightings(s.ID)[0].index != i {
				continue
			}
			at := p.lastRefreshBefore(i, s)
			if j := p.enlistmentOfFound(at, s); j >= 0 {
				n, _ := enlistmentOf(p.exchanges[j])
				placed[n.Instance] = true
				p.planInstance(j, s, sim.Instance{Project: cmp.Or(n.Project, "default"), Name: n.Instance, MACs: macsOf(s.MAC)})
			} else if at >= 0 && !placed[s.Hostname] {
				placed[s.Hostname] = true
				p.planInstance(at, s, sim.Instance{Project: p.projectOfHost(s.PodID, s.PodName), Name: s.Hostname, MACs: macsOf(s.MAC)})
			}
		}
	}
	for i, e := range p.exchanges {
		n, ok := enlistmentOf(e)
		if !ok || placed[n.Instance] || !p.hadInstance(i) {
			continue
		}
		placed[n.Instance] = true
		p.planEnlisted(i, n)
	}
	p.planRemovals()
}

func macsOf(mac string) []string {
	if mac == "" {
		return nil
	}
	return []string{mac}
}

// planEnlisted makes the instance of an enlistment before it. If MAAS later found another
// MAC in LXD, the instance gets that one.
func (p *instancePlanner) planEnlisted(i int, n enlistment) {
	s := sighting{Hostname: n.Instance}
	if o, ok := p.bodies[i].(map[string]any); ok {
		s.ID = textOf(o["system_id"])
	}
	p.planInstance(i, s, sim.Instance{Project: cmp.Or(n.Project, "default"), Name: n.Instance, MACs: macsOf(n.MAC)})
}

// planInstance makes an instance before an exchange, with the size that MAAS found.
func (p *instancePlanner) planInstance(at int, s sighting, made sim.Instance) {
	made.Host, made.Cores, made.MemoryMiB = p.host, 1, 1024
	for _, later := range p.sightings(s.ID) {
		if later.Cores > 0 {
			made.Cores, made.MemoryMiB = later.Cores, later.MemoryMiB
		}
		made.DiskBytes = max(made.DiskBytes, later.DiskBytes)
	}
	p.changes[at] = append(p.changes[at], worldChange{"somebody made the instance " + made.Name, func(q *player) {
		q.noteSteeringError(q.world.AddInstance(made))
	}})
}

// planRemovals deletes the instance of a machine before the exchange that shows its
// absence.
func (p *instancePlanner) planRemovals() {
	for _, id := range p.machineIDs() {
		there := false
		for j := range p.exchanges {
			now, told := p.instancePresence(j, id)
			if told && there && !now {
				p.planRemoval(j, id)
				break
			}
			if told {
				there = now
			}
			if p.hasVanished(j, id) {
				break
			}
		}
	}
}

// hasVanished tells whether exchange j shows that MAAS lost a machine that nobody deleted.
// Then the refresh before it found no instance.
func (p *instancePlanner) hasVanished(j int, id string) bool {
	e := p.exchanges[j]
	if machineOf(e) != id || e.Request.Method != http.MethodGet || e.Response.Status != http.StatusNotFound {
		return false
	}
	last, all := -1, p.sightings(id)
	for _, s := range all {
		if s.index < j {
			last = s.index
		}
	}
	if last < 0 || slices.ContainsFunc(p.exchanges[last:j], func(e recording.Exchange) bool {
		return machineOf(e) == id && (e.Request.Method == http.MethodDelete || e.Op() == "release")
	}) {
		return true
	}
	sync := -1
	for k := last + 1; k < j; k++ {
		if e := p.exchanges[k]; triggersRefresh(e) {
			if e.Request.Method == http.MethodPut {
				return true // another project: MAAS removes the machine by itself
			}
			sync = k
		}
	}
	if sync >= 0 {
		p.planRemoval(sync, id)
	}
	return true
}

func (p *instancePlanner) planRemoval(at int, id string) {
	p.changes[at] = append(p.changes[at], worldChange{"somebody deleted the instance of " + id, func(q *player) {
		m, ok := q.simulatedMachine(id)
		if !ok {
			return
		}
		for _, i := range q.world.Instances() {
			if i.MachineID == m.SystemID || i.MachineID == "" && i.Name == m.Hostname {
				q.noteSteeringError(q.world.RemoveInstance(i.Host, i.Project, i.Name))
				return
			}
		}
	}})
}
