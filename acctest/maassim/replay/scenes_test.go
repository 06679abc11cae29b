package replay

import (
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// settleTime is long enough for a power action and for an inventory.
const settleTime = 3 * time.Second

var (
	guestBooted   = worldChange{"the power action ended", func(p *player) { time.Sleep(settleTime) }}
	inventoryDone = worldChange{"the host's inventory arrived", func(p *player) { time.Sleep(settleTime) }}
)

// finishedGuest ends a transition through MAAS's metadata API.
func finishedGuest(hostname string) worldChange {
	return worldChange{"the guest's part was played through the metadata API", func(p *player) { p.noteSteeringError(p.world.FinishMachine(hostname)) }}
}

// genuineChanges are the changes before each exchange.
var genuineChanges = map[int]worldChange{
	110: {"the other names of the domain were deleted", func(p *player) {
		for _, path := range []string{"dnsresources/2/", "dnsresources/3/", "dnsresourcerecords/1/", "dnsresourcerecords/2/"} {
			p.callMAAS("DELETE", path, nil)
		}
	}},
	169: inventoryDone,
	176: inventoryDone,
	185: inventoryDone,
	190: {"the VM host noscheme was deleted", func(p *player) {
		p.callMAAS("DELETE", "vm-hosts/"+p.match.translate("VM host", "13")+"/", nil)
	}},
	225: {"the VM host went back to its zone and pool", func(p *player) {
		time.Sleep(settleTime)
		p.updateHost("8", url.Values{"zone": {"az1"}, "pool": {"pool1"}})
	}},
	256: {"somebody made a VM in the LXD", func(p *player) {
		p.noteSteeringError(p.world.AddInstance(sim.Instance{Host: "lxd", Project: "default", Name: "ghost"}))
	}},
	259: guestBooted,
	261: guestBooted,
	265: guestBooted,
	270: guestBooted,
	273: guestBooted,
	280: {"two VMs were deleted, one with two cores composed, the ratios set to 1, the foreign VM removed", func(p *player) {
		p.noteSteeringError(p.world.RemoveInstance("lxd", "default", "ghost"))
		p.compose("8", "two-cores", url.Values{"cores": {"2"}, "memory": {"1024"}})
		time.Sleep(settleTime)
		p.deleteMachine("h6fayt")
		p.deleteMachine("sbxpty")
		p.updateHost("8", url.Values{"cpu_over_commit_ratio": {"1"}, "memory_over_commit_ratio": {"1"}})
	}},
	284: {"VMs came and went, and the ratios were set to 10", func(p *player) {
		p.updateHost("8", url.Values{"cpu_over_commit_ratio": {"10"}, "memory_over_commit_ratio": {"10"}})
		for _, hostname := range []string{"two-cores", "cute-hog", "skipc", "na"} {
			p.deleteMachineNamed(p.match.translate("name", hostname))
		}
		p.compose("8", "oc4", url.Values{"cores": {"2"}})
		p.compose("8", "oc5", url.Values{"cores": {"2"}})
		time.Sleep(settleTime)
	}},
	285: {"commissioning was aborted just now", func(p *player) {
		p.callMAAS("POST", "machines/"+p.match.translate("node", "47mcgs")+"/?op=abort", nil)
	}},
	286: {"all VMs were deleted", func(p *player) {
		time.Sleep(settleTime)
		for _, hostname := range []string{"web1", "oc4", "oc5"} {
			p.deleteMachineNamed(hostname)
		}
	}},
	288: guestBooted,
	332: guestBooted,
	333: finishedGuest("web1"),
	337: {"the zone was made again", func(p *player) {
		p.callMAAS("DELETE", "zones/az1/", nil)
		p.callMAAS("POST", "zones/", url.Values{"name": {"az1"}, "description": {"again"}})
	}},
	372: guestBooted,
	374: guestBooted,
	375: finishedGuest("web1"),
	387: guestBooted,
	390: guestBooted,
	393: finishedGuest("web1"),
	395: finishedGuest("web1"),
	398: finishedGuest("web1"),
	399: {"curtin reported a failure", func(p *player) {
		time.Sleep(settleTime)
		p.noteSteeringError(p.world.FailMachine("web1", "Installation failed (refer to the installation log for more information)."))
	}},
	402: finishedGuest("web1"),
	408: guestBooted,
	430: guestBooted,
	435: {"the VM was deleted in LXD", func(p *player) { p.noteSteeringError(p.world.RemoveInstance("lxd", "default", "victim")) }},
	440: {"the VM was deleted in LXD", func(p *player) { p.noteSteeringError(p.world.RemoveInstance("lxd", "default", "victim2")) }},
	441: {"the address was changed to a port where nothing listens", func(p *player) {
		time.Sleep(settleTime)
		p.updateHost("8", url.Values{"power_address": {"https://127.0.0.1:1"}})
	}},
	448: inventoryDone,
	450: {"the LXD was registered once more", func(p *player) {
		p.bindHost("15", p.registerVMHost("again"))
		time.Sleep(settleTime)
	}},
	452: {"the LXD was registered, a VM composed, the rack controller stopped", func(p *player) {
		host := p.registerVMHost("lxd1")
		p.bindHost("16", host)
		time.Sleep(settleTime)
		p.bindNode("hhh4ef", p.compose("16", "norack", url.Values{"cores": {"1"}, "memory": {"1024"}, "skip_commissioning": {"true"}}))
		p.noteSteeringError(p.world.SetRackCondition(sim.ConditionUnreachable))
	}},
	463: {"the rack controller was started; the other LXD takes connections and says nothing", func(p *player) {
		p.noteSteeringError(p.world.SetRackCondition(sim.ConditionOK))
		p.noteSteeringError(p.world.SetLXDCondition("silent", sim.ConditionHanging))
	}},
}

// genuineTogether are exchanges that were sent at the same time: the first was answered
// while the second was under way.
var genuineTogether = map[int]int{421: 422, 423: 424}

func (p *player) updateHost(recordedID string, form url.Values) {
	p.callMAAS("PUT", "vm-hosts/"+p.match.translate("VM host", recordedID)+"/", form)
}

// compose makes a VM on a recorded host and returns its system id.
func (p *player) compose(recordedHost, hostname string, form url.Values) string {
	form.Set("hostname", hostname)
	body := p.callMAAS("POST", "vm-hosts/"+p.match.translate("VM host", recordedHost)+"/?op=compose", form)
	var made struct {
		SystemID string `json:"system_id"`
	}
	if err := json.Unmarshal(body, &made); err != nil {
		p.addNote("compose %s: %v", hostname, err)
	}
	return made.SystemID
}

// lxdURL is the address of the LXD with which the recordings were made.
const lxdURL = "https://127.0.0.1:18444"

// registerVMHost makes a VM host for the LXD and returns its id.
func (p *player) registerVMHost(name string) string {
	body := p.callMAAS("POST", "vm-hosts/", url.Values{
		"type": {"lxd"}, "power_address": {lxdURL}, "password": {trustPlaceholder}, "name": {name},
	})
	var made struct {
		ID int `json:"id"`
	}
	if err := json.Unmarshal(body, &made); err != nil {
		p.addNote("register %s: %v", name, err)
	}
	return fmt.Sprint(made.ID)
}

func (p *player) deleteMachine(recordedID string) {
	p.callMAAS("DELETE", "machines/"+p.match.translate("node", recordedID)+"/", nil)
}

func (p *player) deleteMachineNamed(hostname string) {
	var found []struct {
		SystemID string `json:"system_id"`
	}
	if err := json.Unmarshal(p.callMAAS("GET", "machines/?hostname="+hostname, nil), &found); err != nil || len(found) != 1 {
		p.addNote("want one machine %s, got %v %v", hostname, found, err)
		return
	}
	p.callMAAS("DELETE", "machines/"+found[0].SystemID+"/", nil)
}
