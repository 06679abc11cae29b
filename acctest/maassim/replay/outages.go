package replay

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// MAAS's messages when its rack controllers, or an LXD, cannot be reached.
var (
	noRackMessage = regexp.MustCompile(`No rack controllers connected|any rack controller`)
	noLXDMessage  = regexp.MustCompile(`Failed to connect to the LXD REST API: HTTPSConnectionPool\(host='([^']+)', port=(\d+)\)`)
)

// outages tells which parts of a replay's world cannot be reached.
type outages struct {
	*player
	rackAway, lxdAway bool
	distrusted        bool
	trustedByHost     map[string]bool // VM hosts whose LXD trusted MAAS
	movedAddresses    map[string]bool // addresses that a request gave to VM hosts
}

// applyOutages connects or disconnects the rack controller and the LXD, as the recorded
// answer shows.
func (p *outages) applyOutages(e recording.Exchange) {
	var text string
	decode(e, &text)
	if noRackMessage.MatchString(text) {
		p.setRack(e, sim.ConditionUnreachable)
	} else if e.OK() && reachedLXD(e) {
		p.setRack(e, sim.ConditionOK)
	}
	p.applyTrust(e, text)
	if away := noLXDMessage.FindStringSubmatch(text); away != nil {
		p.loseLXD(e, away[1]+":"+away[2])
	} else if e.OK() && reachedLXD(e) && p.lxdAway {
		p.addNote("before %s: the LXD was reachable again", e)
		p.lxdAway = false
		p.noteSteeringError(p.world.SetLXDCondition(p.model.Hosts[0].Name, sim.ConditionOK))
	}
}

// applyTrust makes the LXD distrust MAAS's certificate where a VM host lost its trust. It
// restores the trust where MAAS succeeded again.
func (p *outages) applyTrust(e recording.Exchange, text string) {
	lxd := p.model.Hosts[0].Name
	switch id := hostOf(e); {
	case e.OK() && reachedLXD(e):
		p.trustedByHost[id] = true
		if p.distrusted {
			p.distrusted = false
			p.addNote("before %s: the LXD trusted MAAS again", e)
			p.noteSteeringError(p.world.TrustCertificate(lxd, p.trustedPair.certificate))
		}
	case p.trustedByHost[id] && !p.distrusted && strings.Contains(text, "Certificate is not trusted"):
		p.distrusted = true
		p.addNote("before %s: the LXD no longer trusted MAAS", e)
		p.noteSteeringError(p.world.DistrustCertificate(lxd, p.trustedPair.certificate))
	}
}

func (p *outages) setRack(e recording.Exchange, c sim.Condition) {
	if p.rackAway == (c == sim.ConditionUnreachable) {
		return
	}
	p.rackAway = c == sim.ConditionUnreachable
	p.addNote("before %s: the rack controller was %s", e, c)
	p.noteSteeringError(p.world.SetRackCondition(c))
}

// reachedLXD tells whether a successful operation called an LXD.
func reachedLXD(e recording.Exchange) bool {
	if e.Op() == "query_power_state" {
		var answer struct{ State string }
		return decode(e, &answer) && (answer.State == "on" || answer.State == "off")
	}
	return hostOf(e) != "" && (e.Op() == "compose" || e.Op() == "refresh")
}

// loseLXD makes the LXD unreachable, or moves the VM host to the address where
// nothing answered.
func (p *outages) loseLXD(e recording.Exchange, address string) {
	known := "https://" + address
	switch host, bound := p.match.simulatedOf["VM host"][hostOf(e)]; {
	case strings.HasSuffix(p.address(), address) && !p.lxdAway:
		p.lxdAway = true
		p.addNote("before %s: the LXD was unreachable", e)
		p.noteSteeringError(p.world.SetLXDCondition(p.model.Hosts[0].Name, sim.ConditionUnreachable))
	case bound && !p.movedAddresses[hostOf(e)+known] && !p.wasGivenAddress(e, known):
		p.movedAddresses[hostOf(e)+known] = true
		p.addNote("before %s: somebody gave the VM host the address %s", e, known)
		p.callMAAS(http.MethodPut, "vm-hosts/"+host+"/", url.Values{"power_address": {known}})
	}
}

// wasGivenAddress tells whether an earlier request gave the VM host this address.
func (p *outages) wasGivenAddress(e recording.Exchange, address string) bool {
	return slices.ContainsFunc(p.exchanges, func(before recording.Exchange) bool {
		return before.Number < e.Number && strings.Contains(before.FormValues().Get("power_address"), strings.TrimPrefix(address, "https://"))
	})
}

// collisionDelays are how long after the first compose of a name the second one came, by
// LXD's message to the second.
var collisionDelays = map[string]time.Duration{
	`busy running a "create"`:          time.Millisecond,
	`"instances" entry already exists`: 250 * time.Millisecond,
}

// sendColliding sends two composes of one name at the same time, where the answers show
// that they collided.
func (p *player) sendColliding(i int) {
	if p.exchanges[i].Op() != "compose" || p.sentAhead[p.exchanges[i].Number] != nil {
		return
	}
	for j := i + 1; j < min(i+4, len(p.exchanges)); j++ {
		first, second := p.exchanges[i], p.exchanges[j]
		if second.Op() != "compose" || first.FormValues().Get("hostname") != second.FormValues().Get("hostname") {
			continue
		}
		if second.OK() {
			first, second = second, first
		}
		for text, after := range collisionDelays {
			if first.OK() && second.Response.Status == http.StatusServiceUnavailable && strings.Contains(string(second.Response.Body), strings.ReplaceAll(text, `"`, `\"`)) {
				p.addNote("before %s: %s was sent at the same time", p.exchanges[i], p.exchanges[j])
				p.sendAhead([]recording.Exchange{first}, first.Number)
				time.Sleep(after)
				p.sendAhead([]recording.Exchange{second}, second.Number)
				return
			}
		}
	}
}
