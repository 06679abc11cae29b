package replay

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// transientStatuses are statuses that a machine leaves by itself. The transition ends
// between two exchanges.
var transientStatuses = []string{
	"Commissioning", "Testing", "Deploying", "Releasing", "Disk erasing", "Entering rescue mode", "Exiting rescue mode",
}

// statusKeepingOps are operations whose answer shows the status from before the operation.
var statusKeepingOps = []string{"power_on", "power_off", "set_owner_data", "lock", "unlock", "set_storage_layout", "details", "update"}

// opsRefusedInTransition are operations that MAAS refuses during a transition of the
// machine.
var opsRefusedInTransition = []string{"deploy", "allocate", "commission", "test", "rescue_mode", "exit_rescue_mode", "mark_fixed"}

// opsRefusedWhilePowering are operations that MAAS refuses while a power action is under way.
var opsRefusedWhilePowering = []string{"deploy", "release", "abort", "commission", "rescue_mode", "exit_rescue_mode", "test"}

// A power action ends within powerActionTimeout. MAAS queries the power again within
// powerQueryTimeout after a machine is Ready.
const (
	pollInterval       = 100 * time.Millisecond
	powerActionTimeout = 5 * time.Second
	powerQueryTimeout  = 90 * time.Second
)

// waitUntil lets time pass until the condition holds, or until the limit.
func waitUntil(limit time.Duration, until func() bool) bool {
	for waited := time.Duration(0); ; waited += pollInterval {
		if until() {
			return true
		}
		if waited >= limit {
			return false
		}
		time.Sleep(pollInterval)
	}
}

// simulatedMachine is the simulator's machine for a recorded one.
func (p *player) simulatedMachine(recordedID string) (sim.Machine, bool) {
	id, known := p.match.simulatedOf["node"][recordedID]
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

// inferState brings the world to the state that the answer to an exchange implies.
func (p *player) inferState(i int) {
	e := p.exchanges[i]
	for _, change := range p.changes[i] {
		p.addNote("before %s: %s", e, change.reason)
		change.apply(p)
	}
	p.outages.applyOutages(e)
	p.awaitInventory(i)
	for _, s := range p.evidence.seen[i] {
		if e.Request.Method == http.MethodGet {
			p.bindFoundMachine(s)
		}
		p.bringMachineTo(e, s)
	}
	p.awaitIdlePower(i)
	otherClients{p}.applyForeignChanges(i)
	p.bindIDs(i)
	p.sendColliding(i)
}

// bringMachineTo ends transitions and power actions until the machine is as the answer
// shows it.
func (p *player) bringMachineTo(e recording.Exchange, s sighting) {
	m, ok := p.simulatedMachine(s.ID)
	if !ok {
		return
	}
	op := e.Op()
	reads := e.Request.Method == http.MethodGet || e.Request.Method == http.MethodPut || slices.Contains(statusKeepingOps, op)
	if reads && m.StatusName != s.Status {
		p.endTransition(e, s)
	}
	if e.Request.Method == http.MethodPost && op != "" && slices.Contains(opsRefusedInTransition, op) {
		p.finishTransition(e, s.ID)
	}
	if s.Power == "on" || s.Power == "off" {
		p.awaitPower(s)
	}
}

// endTransition ends a transition with the result that the answer shows.
func (p *player) endTransition(e recording.Exchange, s sighting) {
	arrived := func() bool { m, ok := p.simulatedMachine(s.ID); return ok && m.StatusName == s.Status }
	if waitUntil(powerActionTimeout, arrived) {
		return
	}
	m, _ := p.simulatedMachine(s.ID)
	switch {
	case !slices.Contains(transientStatuses, m.StatusName) || slices.Contains(transientStatuses, s.Status) && s.Status != "Testing":
	case s.Status == "Failed commissioning" && numberOf(s.Body["commissioning_status"]) < 0:
		p.addNote("before %s: %s reported a failure, and none of its scripts failed", e, s.Hostname)
		p.noteSteeringError(p.world.FailWithoutScript(m.SystemID))
	case strings.HasPrefix(s.Status, "Failed"):
		p.addNote("before %s: %s failed on %s", e, m.StatusName, s.Hostname)
		message := strings.TrimPrefix(strings.TrimPrefix(s.Message, "Marking node failed"), " - ")
		p.noteSteeringError(p.world.FailMachine(m.SystemID, message))
	default:
		p.addNote("before %s: %s ended on %s", e, m.StatusName, s.Hostname)
		setFoundHardware(p, m, s)
		p.noteSteeringError(p.world.FinishMachine(m.SystemID))
	}
}

// finishTransition ends a transition during which MAAS would have refused the operation.
func (p *player) finishTransition(e recording.Exchange, id string) {
	m, ok := p.simulatedMachine(id)
	if !ok || !e.OK() || !slices.Contains(transientStatuses, m.StatusName) {
		return
	}
	rested := func() bool {
		m, ok := p.simulatedMachine(id)
		return !ok || !slices.Contains(transientStatuses, m.StatusName)
	}
	if m.StatusName == "Releasing" && waitUntil(powerActionTimeout, rested) {
		return
	}
	p.addNote("before %s: %s ended on %s", e, m.StatusName, m.Hostname)
	for _, s := range p.evidence.sightings(id) {
		if s.index >= e.Number && s.Status != m.StatusName {
			setFoundHardware(p, m, s)
			break
		}
	}
	p.noteSteeringError(p.world.FinishMachine(m.SystemID))
}

// awaitPower lets time pass until MAAS shows the power of the answer. An answer shows the
// power from before the request, because power actions come later.
func (p *player) awaitPower(s sighting) {
	m, ok := p.simulatedMachine(s.ID)
	if !ok || m.PowerState == s.Power {
		return
	}
	limit := powerActionTimeout
	if !m.PowerBusy && m.StatusName == "Ready" || m.StatusName == "Failed commissioning" || m.StatusName == "Failed testing" {
		limit = powerQueryTimeout
	}
	waitUntil(limit, func() bool { m, ok := p.simulatedMachine(s.ID); return !ok || m.PowerState == s.Power })
}

// awaitIdlePower waits for the end of a power action during which MAAS would have refused
// the operation.
func (p *player) awaitIdlePower(i int) {
	e := p.exchanges[i]
	id := machineOf(e)
	if _, ok := p.simulatedMachine(id); !ok {
		return
	}
	busy := func() bool { m, ok := p.simulatedMachine(id); return ok && m.PowerBusy }
	if e.Op() == "query_power_state" && e.OK() {
		p.awaitQueriedPower(i, id)
		return
	}
	if e.Request.Method == http.MethodDelete && e.OK() && !p.evidence.wasLeaked(i) {
		waitUntil(powerActionTimeout, func() bool { return !busy() })
	}
	if e.Request.Method == http.MethodPost && e.OK() && slices.Contains(opsRefusedInTransition, e.Op()) {
		p.finishTransition(e, id)
	}
	if e.Request.Method == http.MethodPost && e.OK() && p.lastPower.recordPowerOp(id, e.Op()) {
		waitUntil(powerActionTimeout, func() bool { return !busy() })
	}
	if e.Request.Method == http.MethodGet && e.Response.Status == http.StatusNotFound {
		waitUntil(powerActionTimeout, func() bool { _, ok := p.simulatedMachine(id); return !ok })
	}
}

// powerRequests are the last requested power operations, by recorded system id.
type powerRequests map[string]string

// recordPowerOp tells whether an operation needs another power action than the last
// requested one. MAAS accepts a second request only for the same action.
func (last powerRequests) recordPowerOp(id, op string) bool {
	switch op {
	case "power_on", "power_off":
		other := last[id] != op
		last[id] = op
		return other
	}
	if slices.Contains(opsRefusedWhilePowering, op) {
		delete(last, id)
		return true
	}
	return false
}

// awaitQueriedPower waits for the end of a power action where MAAS's query found another
// power in LXD. If nobody requested a power action since an answer showed another power,
// somebody switched the instance in LXD.
func (p *player) awaitQueriedPower(i int, id string) {
	var answer struct{ State string }
	e := p.exchanges[i]
	m, ok := p.simulatedMachine(id)
	if !ok || !decode(e, &answer) || m.PowerState == answer.State || answer.State != "on" && answer.State != "off" {
		return
	}
	if m.PowerBusy {
		waitUntil(powerActionTimeout, func() bool { m, ok := p.simulatedMachine(id); return !ok || !m.PowerBusy })
		return
	}
	if !p.evidence.wasTurnedInLXD(i, id, answer.State) {
		return
	}
	for _, instance := range p.world.Instances() {
		if instance.MachineID == m.SystemID {
			p.addNote("before %s: somebody switched the instance of %s %s", e, m.Hostname, answer.State)
			p.noteSteeringError(p.world.SetInstanceRunning(instance.Host, instance.Project, instance.Name, answer.State == "on"))
		}
	}
}

// awaitInventory lets time pass until a VM host has the inventory of the answer.
func (p *player) awaitInventory(i int) {
	for _, recorded := range p.evidence.hostsIn(i) {
		total, _ := recorded["total"].(map[string]any)
		if numberOf(total["cores"]) > 0 && p.exchanges[i].Request.Method != http.MethodPost {
			p.awaitHostInventory(textOf(recorded["id"]))
		}
	}
	if e := p.exchanges[i]; e.OK() && e.Request.Method == http.MethodPost {
		p.awaitHostInventory(hostOf(e))
	}
}

func (p *player) awaitHostInventory(recordedHost string) {
	id, known := p.match.simulatedOf["VM host"][recordedHost]
	if !known {
		return
	}
	waitUntil(powerActionTimeout, func() bool {
		var host struct{ Total struct{ Cores int } }
		return !decodeBody(p.tryCall(http.MethodGet, "vm-hosts/"+id+"/", nil), &host) || host.Total.Cores > 0
	})
}
