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

// World is the world in which a recording is replayed that says nothing else:
// one LXD server with two storage pools, a subnet with DHCP, and no VM host.
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
	found     *evidence
	basis     *basis
	away      *weather
	lastPower powerRequests
	changes   map[int][]scene // by exchange: what somebody did in the LXD before it
	hooks
	match    *matcher
	problems [][]Problem
	inferred []bool // by exchange: it is about something inferred
	notes    []string
	underway map[int]chan served // exchanges that were sent ahead of their turn
	trusted  pair
	stranger pair
	highest  map[string]int // by collection: the highest id that a row had here
}

// scene is what happened before an exchange and was not recorded: time that
// passed, guests that booted, changes at LXD, and calls of somebody else.
type scene struct {
	reason string
	play   func(*player)
}

// hooks are what a recording does not tell, where somebody knows it. Without
// scenes, what went on between the exchanges is inferred.
type hooks struct {
	scenes   map[int]scene // before the exchange of that number
	together map[int]int   // exchanges that were sent at the same time

	headerOf func(recording.Exchange) string        // the Authorization header, or empty
	acceptOf func(recording.Exchange) string        // the Accept header, or empty
	pairOf   func(*player, recording.Exchange) pair // for the placeholders of a certificate and its key
	formOf   func(recording.Exchange) map[string]any
	byUser   func(recording.Exchange) bool // no admin sent it
}

// newPlayer builds the world of a story. Close its world at the end.
func newPlayer(exchanges []recording.Exchange, model sim.Model) (*player, error) {
	p := &player{
		model: model, found: gather(exchanges), exchanges: exchanges, match: newMatcher(spokenNames(exchanges)), problems: make([][]Problem, len(exchanges)),
		underway: map[int]chan served{}, lastPower: powerRequests{}, highest: map[string]int{"zones": 1}, inferred: make([]bool, len(exchanges)),
	}
	p.basis = newBasis(p.found)
	p.away = &weather{player: p, moved: map[string]bool{}, worked: map[string]bool{}}
	var err error
	if p.trusted, err = newPair(); err != nil {
		return nil, err
	}
	if p.stranger, err = newPair(); err != nil {
		return nil, err
	}
	for i := range model.Hosts {
		model.Hosts[i].TrustedCertificates = append(model.Hosts[i].TrustedCertificates, p.trusted.certificate)
	}
	if p.world, err = sim.New(model); err != nil {
		return nil, err
	}
	return p, nil
}

// spokenNames are the names and addresses that some request chose.
func spokenNames(exchanges []recording.Exchange) map[string]bool {
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
	if p.scenes == nil {
		plan := &planner{evidence: p.found, host: p.model.Hosts[0].Name, changes: map[int][]scene{}}
		plan.planInstances()
		p.changes = plan.changes
		starter{p}.start()
	}
	for i, e := range p.exchanges {
		noted := len(p.notes)
		p.prepare(i)
		p.basis.infer(i, p.notes[noted:])
		if e.Request.LeftOut {
			continue
		}
		var got served
		if done := p.underway[e.Number]; done != nil {
			if got = <-done; got.panicked != nil {
				panic(got.panicked)
			}
		} else if request, err := p.request(e); err != nil {
			p.problems[i] = []Problem{{Object: e.Request.Path, Path: "request", Text: err.Error()}}
			continue
		} else {
			got = serve(p.world, request)
		}
		p.problems[i] = p.match.compare(e, got)
		p.inferred[i] = p.basis.judge(i, p.problems[i], got)
		p.learn(e, got)
	}
}

// prepare brings the world to where the recorded one was before an exchange.
func (p *player) prepare(i int) {
	e := p.exchanges[i]
	if p.scenes == nil {
		p.infer(i)
	}
	if before, ok := p.scenes[e.Number]; ok {
		p.note("before %s: %s", e, before.reason)
		before.play(p)
	}
	if partner, ok := p.together[e.Number]; ok {
		p.sendAhead(p.exchanges[i+1:], partner)
	}
}

func (p *player) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// sendAhead starts an exchange that was under way when the next one was
// answered.
func (p *player) sendAhead(later []recording.Exchange, number int) {
	for _, e := range later {
		if e.Number != number {
			continue
		}
		request, err := p.request(e)
		if err != nil {
			return
		}
		done := make(chan served, 1)
		p.underway[number] = done
		go func() { done <- serveAhead(p.world, request) }()
		time.Sleep(time.Millisecond)
	}
}

func (p *player) request(e recording.Exchange) (*http.Request, error) {
	var unrecorded map[string]any
	if p.formOf != nil {
		unrecorded = p.formOf(e)
	}
	request, err := p.match.rebuild(e, p.secrets(e), unrecorded)
	if err != nil {
		return nil, fmt.Errorf("cannot rebuild the request: %w", err)
	}
	p.authorize(e, request)
	if p.acceptOf != nil && p.acceptOf(e) != "" {
		request.Header.Set("Accept", p.acceptOf(e))
	}
	return request, nil
}

// learn binds what a compose made to the recorded id even where the answers
// differ otherwise, so that one difference does not make many.
func (p *player) learn(e recording.Exchange, got served) {
	others{p}.learnID(e, got)
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

// call is a call that was not recorded; it must succeed.
func (p *player) call(method, path string, form url.Values) []byte {
	got := p.try(method, path, form)
	if got.Status >= http.StatusMultipleChoices {
		p.note("unrecorded %s %s: %d %s", method, path, got.Status, got.Body)
	}
	return got.Body
}

func (p *player) try(method, path string, form url.Values) served {
	request := httptest.NewRequest(method, "http://maas.test"+recording.APIRoot+path, strings.NewReader(form.Encode()))
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	request.Header.Set("Authorization", apiKey(sim.DefaultAdminKey).header(time.Now()))
	return serve(p.world, request)
}

// steer notes a change behind the client's back that was not possible.
func (p *player) steer(err error) {
	if err != nil {
		p.note("steering: %v", err)
	}
}

func (p *player) bindNode(recorded, simulated string) { p.match.bind("node", "", recorded, simulated) }
func (p *player) bindHost(recorded, simulated string) {
	p.match.bind("VM host", "", recorded, simulated)
}
