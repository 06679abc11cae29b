package replay

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// passages are statuses that a machine does not stay in: what ends them happens
// between exchanges.
var passages = []string{
	"Commissioning", "Testing", "Deploying", "Releasing", "Disk erasing", "Entering rescue mode", "Exiting rescue mode",
}

// statusKept are operations whose answer shows the status that was there before.
var statusKept = []string{"power_on", "power_off", "set_owner_data", "lock", "unlock", "set_storage_layout", "details", "update"}

// needsRest are operations that MAAS refuses while a machine is in a passage.
var needsRest = []string{"deploy", "allocate", "commission", "test", "rescue_mode", "exit_rescue_mode", "mark_fixed"}

// usesPower are operations that MAAS refuses while a power action is under way.
var usesPower = []string{"deploy", "release", "abort", "commission", "rescue_mode", "exit_rescue_mode", "test"}

// A power action ends within powerTime, and MAAS looks at the power again
// within queryTime of a machine's getting Ready.
const (
	tick      = 100 * time.Millisecond
	powerTime = 5 * time.Second
	queryTime = 90 * time.Second
)

// passTime lets time pass until the condition holds, at most so long.
func passTime(limit time.Duration, until func() bool) bool {
	for waited := time.Duration(0); ; waited += tick {
		if until() {
			return true
		}
		if waited >= limit {
			return false
		}
		time.Sleep(tick)
	}
}

// simulated is the simulator's machine for a recorded one.
func (p *player) simulated(recordedID string) (sim.Machine, bool) {
	id, known := p.match.bound["node"][recordedID]
	if !known {
		return sim.Machine{}, false
	}
	for _, m := range p.world.Machines() {
		if m.SystemID == id {
			return m, true
		}
	}
	return sim.Machine{}, false
}

// infer brings the world to where the answer to an exchange implies that it was.
func (p *player) infer(i int) {
	e := p.exchanges[i]
	for _, change := range p.changes[i] {
		p.note("before %s: %s", e, change.reason)
		change.play(p)
	}
	p.away.sayWhatIsAway(e)
	p.awaitInventory(i)
	for _, s := range p.found.seen[i] {
		if e.Request.Method == http.MethodGet {
			p.bindNewcomer(s)
		}
		p.bringTo(e, s)
	}
	p.readyFor(i)
	others{p}.sayWhatOthersDid(i)
	p.bindIDs(i)
	p.collide(i)
}

// bringTo ends passages and lets power actions end until the machine is as the
// answer shows it.
func (p *player) bringTo(e recording.Exchange, s sighting) {
	m, ok := p.simulated(s.ID)
	if !ok {
		return
	}
	op := e.Op()
	reads := e.Request.Method == http.MethodGet || e.Request.Method == http.MethodPut || slices.Contains(statusKept, op)
	if reads && m.StatusName != s.Status {
		p.endPassage(e, s)
	}
	if e.Request.Method == http.MethodPost && op != "" && slices.Contains(needsRest, op) {
		p.finishPassage(e, s.ID)
	}
	if s.Power == "on" || s.Power == "off" {
		p.awaitPower(s)
	}
}

// endPassage ends what is under way as the answer shows that it ended.
func (p *player) endPassage(e recording.Exchange, s sighting) {
	arrived := func() bool { m, ok := p.simulated(s.ID); return ok && m.StatusName == s.Status }
	if passTime(powerTime, arrived) {
		return
	}
	m, _ := p.simulated(s.ID)
	switch {
	case !slices.Contains(passages, m.StatusName) || slices.Contains(passages, s.Status) && s.Status != "Testing":
	case s.Status == "Failed commissioning" && numberOf(s.Body["commissioning_status"]) < 0:
		p.note("before %s: %s said that it failed, and none of its scripts did", e, s.Hostname)
		p.steer(p.world.FailUnscripted(m.SystemID))
	case strings.HasPrefix(s.Status, "Failed"):
		p.note("before %s: %s failed on %s", e, m.StatusName, s.Hostname)
		message := strings.TrimPrefix(strings.TrimPrefix(s.Message, "Marking node failed"), " - ")
		p.steer(p.world.Fail(m.SystemID, message))
	default:
		p.note("before %s: %s ended on %s", e, m.StatusName, s.Hostname)
		furnish(p, m, s)
		p.steer(p.world.Finish(m.SystemID))
	}
}

// finishPassage ends a passage in which MAAS would have refused what it did.
func (p *player) finishPassage(e recording.Exchange, id string) {
	m, ok := p.simulated(id)
	if !ok || !e.OK() || !slices.Contains(passages, m.StatusName) {
		return
	}
	rested := func() bool { m, ok := p.simulated(id); return !ok || !slices.Contains(passages, m.StatusName) }
	if m.StatusName == "Releasing" && passTime(powerTime, rested) {
		return
	}
	p.note("before %s: %s ended on %s", e, m.StatusName, m.Hostname)
	for _, s := range p.found.sightings(id) {
		if s.at >= e.Number && s.Status != m.StatusName {
			furnish(p, m, s)
			break
		}
	}
	p.steer(p.world.Finish(m.SystemID))
}

// awaitPower lets time pass until MAAS shows the power of the answer. An answer
// shows the power before the request: power actions come later.
func (p *player) awaitPower(s sighting) {
	m, ok := p.simulated(s.ID)
	if !ok || m.PowerState == s.Power {
		return
	}
	limit := powerTime
	if !m.PowerBusy && m.StatusName == "Ready" || m.StatusName == "Failed commissioning" || m.StatusName == "Failed testing" {
		limit = queryTime
	}
	passTime(limit, func() bool { m, ok := p.simulated(s.ID); return !ok || m.PowerState == s.Power })
}

// readyFor lets a power action end that would have kept MAAS from what it did.
func (p *player) readyFor(i int) {
	e := p.exchanges[i]
	id := machineOf(e)
	if _, ok := p.simulated(id); !ok {
		return
	}
	busy := func() bool { m, ok := p.simulated(id); return ok && m.PowerBusy }
	if e.Op() == "query_power_state" && e.OK() {
		p.awaitAnswer(i, id)
		return
	}
	if e.Request.Method == http.MethodDelete && e.OK() && !p.found.leaked(i) {
		passTime(powerTime, func() bool { return !busy() })
	}
	if e.Request.Method == http.MethodPost && e.OK() && slices.Contains(needsRest, e.Op()) {
		p.finishPassage(e, id)
	}
	if e.Request.Method == http.MethodPost && e.OK() && p.lastPower.other(id, e.Op()) {
		passTime(powerTime, func() bool { return !busy() })
	}
	if e.Request.Method == http.MethodGet && e.Response.Status == http.StatusNotFound {
		passTime(powerTime, func() bool { _, ok := p.simulated(id); return !ok })
	}
}

// powerRequests are the power operations that were asked for last, by recorded
// system id.
type powerRequests map[string]string

// other tells whether an operation needs another power action than the one that
// was asked for last: MAAS takes only the same one twice.
func (last powerRequests) other(id, op string) bool {
	switch op {
	case "power_on", "power_off":
		other := last[id] != op
		last[id] = op
		return other
	}
	if slices.Contains(usesPower, op) {
		delete(last, id)
		return true
	}
	return false
}

// awaitAnswer lets a power action end where LXD's power was another one when
// MAAS asked. Where none was asked for since an answer showed another power,
// somebody turned the instance on or off in LXD.
func (p *player) awaitAnswer(i int, id string) {
	var answer struct{ State string }
	e := p.exchanges[i]
	m, ok := p.simulated(id)
	if !ok || !decode(e, &answer) || m.PowerState == answer.State || answer.State != "on" && answer.State != "off" {
		return
	}
	if m.PowerBusy {
		passTime(powerTime, func() bool { m, ok := p.simulated(id); return !ok || !m.PowerBusy })
		return
	}
	if !p.found.turnedInLXD(i, id, answer.State) {
		return
	}
	for _, instance := range p.world.Instances() {
		if instance.MachineID == m.SystemID {
			p.note("before %s: somebody turned the instance of %s %s", e, m.Hostname, answer.State)
			p.steer(p.world.SetRunning(instance.Host, instance.Project, instance.Name, answer.State == "on"))
		}
	}
}

// awaitInventory lets time pass until a VM host has the inventory of the answer.
func (p *player) awaitInventory(i int) {
	for _, recorded := range p.found.hostsIn(i) {
		total, _ := recorded["total"].(map[string]any)
		if numberOf(total["cores"]) > 0 && p.exchanges[i].Request.Method != http.MethodPost {
			p.inventory(textOf(recorded["id"]))
		}
	}
	if e := p.exchanges[i]; e.OK() && e.Request.Method == http.MethodPost {
		p.inventory(hostOf(e))
	}
}

func (p *player) inventory(recordedHost string) {
	id, known := p.match.bound["VM host"][recordedHost]
	if !known {
		return
	}
	passTime(powerTime, func() bool {
		var host struct{ Total struct{ Cores int } }
		return !decodeBody(p.try(http.MethodGet, "vm-hosts/"+id+"/", nil), &host) || host.Total.Cores > 0
	})
}
