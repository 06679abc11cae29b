package replay

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

//go:embed world.json
var worldJSON []byte

// World is the default world of a replay: one LXD server with two storage pools, a subnet
// with DHCP, and no VM host.
func World() (sim.Model, error) {
	m, err := sim.ReadModel(strings.NewReader(string(worldJSON)))
	if err != nil {
		return m, fmt.Errorf("cannot read the world of recordings: %w", err)
	}
	return m, nil
}

// player sends the recorded requests to a simulator.
type player struct {
	world     *sim.Sim
	exchanges []recording.Exchange
	model     sim.Model
	evidence  *evidence
	basis     *inferenceBasis
	outages   *outages
	lastPower powerRequests
	changes   map[int][]worldChange // by exchange: the changes in the LXD before it
	hooks
	match         *matcher
	problems      [][]Problem
	inferred      []bool // by exchange: whether it is about an inferred object
	notes         []string
	sentAhead     map[int]chan simResponse // exchanges that were sent before their turn
	trustedPair   certificatePair
	untrustedPair certificatePair
	highestID     map[string]int // by collection: the highest id that a row had in the simulator
}

// worldChange is what happened before an exchange and was not recorded: time passed,
// guests booted, and other clients called LXD or MAAS.
type worldChange struct {
	reason string
	apply  func(*player)
}

// hooks add what a recording does not show, where the caller knows it. Without
// knownChanges the replay infers what happened between the exchanges.
type hooks struct {
	knownChanges map[int]worldChange // before the exchange of that number
	sentTogether map[int]int         // exchanges that were sent at the same time

	headerOf       func(recording.Exchange) string                   // the Authorization header, or empty
	acceptOf       func(recording.Exchange) string                   // the Accept header, or empty
	certificatesOf func(*player, recording.Exchange) certificatePair // the pair for the placeholders of a certificate and its key
	formOf         func(recording.Exchange) map[string]any
	byUser         func(recording.Exchange) bool // whether the sender is no administrator
}

// newPlayer builds the world of a story. The caller closes that world at the end.
func newPlayer(exchanges []recording.Exchange, model sim.Model) (*player, error) {
	p := &player{
		model: model, evidence: gatherEvidence(exchanges), exchanges: exchanges, match: newMatcher(chosenNamesIn(exchanges)), problems: make([][]Problem, len(exchanges)),
		sentAhead: map[int]chan simResponse{}, lastPower: powerRequests{}, highestID: map[string]int{"zones": 1}, inferred: make([]bool, len(exchanges)),
	}
	p.basis = newInferenceBasis(p.evidence)
	p.outages = &outages{player: p, movedAddresses: map[string]bool{}, trustedByHost: map[string]bool{}}
	var err error
	if p.trustedPair, err = newCertificatePair(); err != nil {
		return nil, err
	}
	if p.untrustedPair, err = newCertificatePair(); err != nil {
		return nil, err
	}
	for i := range model.Hosts {
		model.Hosts[i].TrustedCertificates = append(model.Hosts[i].TrustedCertificates, p.trustedPair.certificate)
	}
	if p.world, err = sim.New(model); err != nil {
		return nil, err
	}
	return p, nil
}

// chosenNamesIn are the names and addresses that requests chose.
func chosenNamesIn(exchanges []recording.Exchange) map[string]bool {
	spoken := map[string]bool{}
	for _, e := range exchanges {
		form := e.FormValues()
		for _, name := range []string{"name", "hostname", "ip", "ip_addresses"} {
			for _, value := range form[name] {
				for word := range strings.FieldsSeq(value) {
					spoken[word] = true
				}
			}
		}
	}
	return spoken
}

func (p *player) run() {
	if p.knownChanges == nil {
		plan := &instancePlanner{evidence: p.evidence, host: p.model.Hosts[0].Name, changes: map[int][]worldChange{}}
		plan.planInstances()
		p.changes = plan.changes
		worldStarter{p}.makeInitialWorld()
	}
	for i, e := range p.exchanges {
		noted := len(p.notes)
		p.prepareWorld(i)
		p.basis.markMentioned(i, p.notes[noted:])
		if e.Request.LeftOut {
			continue
		}
		var got simResponse
		if done := p.sentAhead[e.Number]; done != nil {
			if got = <-done; got.panicked != nil {
				panic(got.panicked)
			}
		} else if request, err := p.newRequest(e); err != nil {
			p.problems[i] = []Problem{{Object: e.Request.Path, Path: "request", Text: err.Error()}}
			continue
		} else {
			got = serveRequest(p.world, request)
		}
		p.problems[i] = p.match.compareAnswer(e, got)
		p.inferred[i] = p.basis.markProblems(i, p.problems[i], got)
		p.learnSystemID(e, got)
	}
}

// prepareWorld brings the world to its recorded state before an exchange.
func (p *player) prepareWorld(i int) {
	e := p.exchanges[i]
	if p.knownChanges == nil {
		p.inferState(i)
	}
	if before, ok := p.knownChanges[e.Number]; ok {
		p.addNote("before %s: %s", e, before.reason)
		before.apply(p)
	}
	if partner, ok := p.sentTogether[e.Number]; ok {
		p.sendAhead(p.exchanges[i+1:], partner)
	}
}

func (p *player) addNote(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// sendAhead starts an exchange that was still under way when the next one was answered.
func (p *player) sendAhead(later []recording.Exchange, number int) {
	for _, e := range later {
		if e.Number != number {
			continue
		}
		request, err := p.newRequest(e)
		if err != nil {
			return
		}
		done := make(chan simResponse, 1)
		p.sentAhead[number] = done
		go func() { done <- serveRecovering(p.world, request) }()
		time.Sleep(time.Millisecond)
	}
}

func (p *player) newRequest(e recording.Exchange) (*http.Request, error) {
	var unrecorded map[string]any
	if p.formOf != nil {
		unrecorded = p.formOf(e)
	}
	request, err := p.match.rebuildRequest(e, p.certificatesFor(e), unrecorded)
	if err != nil {
		return nil, fmt.Errorf("cannot rebuild the request: %w", err)
	}
	p.setAuthorization(e, request)
	if p.acceptOf != nil && p.acceptOf(e) != "" {
		request.Header.Set("Accept", p.acceptOf(e))
	}
	return request, nil
}

// learnSystemID binds the machine that a compose made to the recorded id, even where the
// answers differ. So one difference does not cause many.
func (p *player) learnSystemID(e recording.Exchange, got simResponse) {
	otherClients{p}.noteHighestID(e, got)
	if e.Request.Method != http.MethodPost || e.Response.Status != http.StatusOK || got.Status != http.StatusOK {
		return
	}
	var recorded, simulated struct {
		SystemID string `json:"system_id"`
	}
	if json.Unmarshal(e.Response.Body, &recorded) == nil && json.Unmarshal(got.Body, &simulated) == nil && recorded.SystemID != "" && simulated.SystemID != "" {
		p.bindNode(recorded.SystemID, simulated.SystemID)
	}
}

// callMAAS makes a call that was not recorded. The call must succeed.
func (p *player) callMAAS(method, path string, form url.Values) []byte {
	got := p.tryCall(method, path, form)
	if got.Status >= http.StatusMultipleChoices {
		p.addNote("unrecorded %s %s: %d %s", method, path, got.Status, got.Body)
	}
	return got.Body
}

func (p *player) tryCall(method, path string, form url.Values) simResponse {
	request := httptest.NewRequest(method, "http://maas.test"+recording.APIRoot+path, strings.NewReader(form.Encode()))
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	request.Header.Set("Authorization", apiKey(sim.DefaultAdminKey).header(time.Now()))
	return serveRequest(p.world, request)
}

// noteSteeringError notes a failed change of the simulator's world.
func (p *player) noteSteeringError(err error) {
	if err != nil {
		p.addNote("steering: %v", err)
	}
}

func (p *player) bindNode(recorded, simulated string) { p.match.bind("node", "", recorded, simulated) }
func (p *player) bindHost(recorded, simulated string) {
	p.match.bind("VM host", "", recorded, simulated)
}
