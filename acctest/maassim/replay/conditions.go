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

// What MAAS says where its rack controllers are gone, and where an LXD is.
var (
	noRack = regexp.MustCompile(`No rack controllers connected|any rack controller`)
	noLXD  = regexp.MustCompile(`Failed to connect to the LXD REST API: HTTPSConnectionPool\(host='([^']+)', port=(\d+)\)`)
)

// weather is what is away in the world of a replay.
type weather struct {
	*player
	rackAway, lxdAway bool
	distrusted        bool
	worked            map[string]bool // VM hosts whose LXD trusted MAAS
	moved             map[string]bool // addresses that somebody gave to VM hosts
}

// sayWhatIsAway connects or disconnects the rack controller and the LXD, as the
// answer tells that they were.
func (p *weather) sayWhatIsAway(e recording.Exchange) {
	var text string
	decode(e, &text)
	if noRack.MatchString(text) {
		p.setRack(e, sim.Unreachable)
	} else if e.OK() && needsRack(e) {
		p.setRack(e, sim.OK)
	}
	p.sayWhoIsTrusted(e, text)
	if away := noLXD.FindStringSubmatch(text); away != nil {
		p.loseLXD(e, away[1]+":"+away[2])
	} else if e.OK() && needsRack(e) && p.lxdAway {
		p.note("before %s: the LXD was there again", e)
		p.lxdAway = false
		p.steer(p.world.SetLXD(p.model.Hosts[0].Name, sim.OK))
	}
}

// sayWhoIsTrusted makes the LXD distrust MAAS's certificate where a VM host lost
// its trust, and trust it again where MAAS could go on.
func (p *weather) sayWhoIsTrusted(e recording.Exchange, text string) {
	lxd := p.model.Hosts[0].Name
	switch id := hostOf(e); {
	case e.OK() && needsRack(e):
		p.worked[id] = true
		if p.distrusted {
			p.distrusted = false
			p.note("before %s: the LXD trusted MAAS again", e)
			p.steer(p.world.TrustCertificate(lxd, p.trusted.certificate))
		}
	case p.worked[id] && !p.distrusted && strings.Contains(text, "Certificate is not trusted"):
		p.distrusted = true
		p.note("before %s: the LXD trusted MAAS no more", e)
		p.steer(p.world.DistrustCertificate(lxd, p.trusted.certificate))
	}
}

func (p *weather) setRack(e recording.Exchange, c sim.Condition) {
	if p.rackAway == (c == sim.Unreachable) {
		return
	}
	p.rackAway = c == sim.Unreachable
	p.note("before %s: the rack controller was %s", e, c)
	p.steer(p.world.SetRack(c))
}

// needsRack tells whether an operation that succeeded asked an LXD.
func needsRack(e recording.Exchange) bool {
	if e.Op() == "query_power_state" {
		var answer struct{ State string }
		return decode(e, &answer) && (answer.State == "on" || answer.State == "off")
	}
	return hostOf(e) != "" && (e.Op() == "compose" || e.Op() == "refresh")
}

// loseLXD makes the LXD unreachable, or moves the VM host to the address where
// nothing answered.
func (p *weather) loseLXD(e recording.Exchange, address string) {
	known := "https://" + address
	switch host, bound := p.match.bound["VM host"][hostOf(e)]; {
	case strings.HasSuffix(p.address(), address) && !p.lxdAway:
		p.lxdAway = true
		p.note("before %s: the LXD was away", e)
		p.steer(p.world.SetLXD(p.model.Hosts[0].Name, sim.Unreachable))
	case bound && !p.moved[hostOf(e)+known] && !p.told(e, known):
		p.moved[hostOf(e)+known] = true
		p.note("before %s: somebody gave the VM host the address %s", e, known)
		p.call(http.MethodPut, "vm-hosts/"+host+"/", url.Values{"power_address": {known}})
	}
}

// told tells whether a request before gave the VM host this address.
func (p *weather) told(e recording.Exchange, address string) bool {
	return slices.ContainsFunc(p.exchanges, func(before recording.Exchange) bool {
		return before.Number < e.Number && strings.Contains(before.FormValues().Get("power_address"), strings.TrimPrefix(address, "https://"))
	})
}

// collision is how long after the first compose of a name the second met it: by
// what LXD said to the second.
var collisions = map[string]time.Duration{
	`busy running a "create"`:          time.Millisecond,
	`"instances" entry already exists`: 250 * time.Millisecond,
}

// collide sends two composes of one name at the same time, where the answers
// tell that one met the other.
func (p *player) collide(i int) {
	if p.exchanges[i].Op() != "compose" || p.underway[p.exchanges[i].Number] != nil {
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
		for text, after := range collisions {
			if first.OK() && second.Response.Status == http.StatusServiceUnavailable && strings.Contains(string(second.Response.Body), strings.ReplaceAll(text, `"`, `\"`)) {
				p.note("before %s: %s was sent at the same time", p.exchanges[i], p.exchanges[j])
				p.sendAhead([]recording.Exchange{first}, first.Number)
				time.Sleep(after)
				p.sendAhead([]recording.Exchange{second}, second.Number)
				return
			}
		}
	}
}
