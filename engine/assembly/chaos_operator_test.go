package assembly_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// operate is what people do to MAAS and its LXDs meanwhile.
func (s *schedule) operate(stop <-chan struct{}) {
	d := s.newDice("operator")
	for range s.disturbances.acts {
		if !s.pause(stop, time.Duration(d.IntN(60_000))*time.Millisecond+137*time.Microsecond) {
			return
		}
		act := pickRandom(d, (*schedule).pressRefresh, (*schedule).refresh, (*schedule).deleteVM, (*schedule).removeInstance,
			(*schedule).markBroken, (*schedule).fail, (*schedule).loseLXD, (*schedule).loseRack, (*schedule).addForeign)
		act(s, d)
		s.witness.observeLXDs()
	}
}

func (s *schedule) anyHost(d *rand.Rand) string { return pickRandom(d, s.model.Hosts...).Name }

// pressRefresh is the button of the UI, which can take newborns away.
func (s *schedule) pressRefresh(d *rand.Rand) {
	host := s.anyHost(d)
	s.note("operator", "presses refresh of %s", host)
	s.witness.observeLXDs()
	defer s.witness.noteOperatorAct(host, "")()
	err := s.sim.RefreshHost(host)
	s.note("operator", "refreshed %s: %v", host, err)
	s.witness.observeLXDs()
}

// refresh is MAAS's own, or a script's.
func (s *schedule) refresh(d *rand.Rand) {
	n := d.IntN(len(s.model.Hosts))
	err := s.admin.Hosts.SyncHost(s.t.Context(), engine.VMHost{ID: n + 1}, "")
	s.note("operator", "refreshes %s by the API: %v", s.model.Hosts[n].Name, err)
}

// anyVM is a VM that MAAS knows, of any owner, if there is one.
func (s *schedule) anyVM(d *rand.Rand, status ...string) (sim.Machine, bool) {
	vms := slices.DeleteFunc(s.sim.Machines(), func(m sim.Machine) bool {
		return m.Host == "" || m.HostedHosts != "" || len(status) > 0 && !slices.Contains(status, m.StatusName)
	})
	if len(vms) == 0 {
		return sim.Machine{}, false
	}
	return pickRandom(d, vms...), true
}

func (s *schedule) deleteVM(d *rand.Rand) {
	m, ok := s.anyVM(d)
	if !ok {
		return
	}
	s.witness.observeLXDs()
	defer s.witness.noteOperatorAct(m.Host, m.Hostname)()
	s.note("operator", "deletes %s (%s, %s): %v", m.Hostname, m.SystemID, m.StatusName, s.sim.DeleteMachine(m.SystemID))
	s.witness.observeLXDs()
}

func (s *schedule) removeInstance(d *rand.Rand) {
	instances := s.sim.Instances()
	if len(instances) == 0 {
		return
	}
	i := pickRandom(d, instances...)
	s.witness.observeLXDs()
	defer s.witness.noteOperatorAct(i.Host, i.Name)()
	s.note("operator", "removes the instance %s on %s: %v", i.Name, i.Host, s.sim.RemoveInstance(i.Host, i.Project, i.Name))
	s.witness.observeLXDs()
}

func (s *schedule) markBroken(d *rand.Rand) {
	if m, ok := s.anyVM(d); ok {
		broken := "Broken"
		s.note("operator", "marks %s (%s) broken: %v", m.Hostname, m.SystemID, s.sim.EditMachine(m.SystemID, sim.MachineEdit{StatusName: &broken}))
	}
}

func (s *schedule) fail(d *rand.Rand) {
	if m, ok := s.anyVM(d, "Commissioning", "Deploying"); ok {
		s.note("world", "%s (%s) fails while %s: %v", m.Hostname, m.SystemID, m.StatusName, s.sim.FailMachine(m.SystemID, "disk on fire"))
	}
}

func (s *schedule) loseLXD(d *rand.Rand) {
	s.makeLXDUnreachable(s.anyHost(d), 0, time.Duration(1+d.IntN(40))*time.Second)
}

func (s *schedule) loseRack(d *rand.Rand) {
	s.setRack(sim.ConditionUnreachable)
	time.AfterFunc(time.Duration(1+d.IntN(20))*time.Second, func() { s.setRack(sim.ConditionOK) })
}

// addForeign makes an instance in LXD that is no one's business, perhaps of a
// name that somebody wants.
func (s *schedule) addForeign(d *rand.Rand) {
	i := sim.Instance{Host: s.anyHost(d), Name: pickRandom(d, "stray", "red-1", "blue-1", "both"), Running: d.IntN(2) == 0}
	s.witness.noteForeignInstance(i.Host, i.Name)
	s.note("operator", "makes an instance %s on %s: %v", i.Name, i.Host, s.sim.AddInstance(i))
}

// makeLXDUnreachable makes an LXD unreachable for a while, later.
func (s *schedule) makeLXDUnreachable(host string, after, during time.Duration) {
	time.AfterFunc(after, func() {
		s.setLXD(host, sim.ConditionUnreachable)
		time.AfterFunc(during, func() { s.setLXD(host, sim.ConditionOK) })
	})
}

func (s *schedule) setLXD(host string, c sim.Condition) {
	s.checkNoError(s.sim.SetLXDCondition(host, c))
	s.witness.noteReachability(host, c == sim.ConditionOK)
	s.note("world", "the LXD of %s is %s", host, c)
}

func (s *schedule) setRack(c sim.Condition) {
	s.checkNoError(s.sim.SetRackCondition(c))
	for _, h := range s.model.Hosts {
		s.witness.noteReachability("rack of "+h.Name, c == sim.ConditionOK)
	}
	s.note("world", "the rack is %s", c)
}

// span is a time in which something was so; without an end it still is.
type span struct{ from, to time.Time }

func (p span) String() string { return fmt.Sprintf("%s to %s", p.from, p.to) }

// overlaps reports whether the two have a moment in common.
func (p span) overlaps(q span) bool {
	return (q.to.IsZero() || !p.from.After(q.to)) && (p.to.IsZero() || !q.from.After(p.to))
}
