package assembly_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// observer sees what is really in the LXDs, and remembers how it came there.
type observer struct {
	s *schedule

	mu               sync.Mutex
	figures          figures
	composes         []*composeCall
	byMAC            map[string]*observedInstance // by MAC
	instances        []*observedInstance          // as they came
	unreachableSpans map[string][]*span           // when a host's LXD, or its rack, was away
	acts             []*act                       // of the operator
	foreignInstances map[string]bool              // "host/name" that an operator made
	looks            []lookup                     // by name, that were answered
	refreshesSeen    int                          // refreshes over a compose
	deletesUnderWay  map[engine.Key]int           // deletes by the owner that are under way
	reservedAt       map[engine.Key]time.Time     // when room was last reserved
}

// composeCall is a compose that was sent to MAAS.
type composeCall struct {
	key            engine.Key
	host, name     string
	cores          int
	memoryMiB      int64
	bytes          map[string]int64 // by storage pool
	life           *programRun
	wish           *wish
	placed         time.Time // when room was reserved for it
	span                     // until MAAS was done with it
	status         int
	body           string
	answerReceived bool // the program that asked got the answer
	sent           bool // MAAS has it
	instance       *observedInstance
}

// observedInstance is an instance that came to be, and what became of it.
type observedInstance struct {
	sim.Instance
	compose *composeCall // nil: an operator made it
	gone    bool
	machine sim.Machine // as MAAS showed it last
	visible time.Time   // since when MAAS shows it; zero: it does not
	lost    time.Time   // when MAAS ceased to show it, zero: it never did
	removal *removal    // the last DELETE of its machine
}

// removal is a DELETE of a machine by an owner.
type removal struct{ span }

// lookup is a look for the machines of a name.
type lookup struct {
	life *programRun
	name string
	at   time.Time
}

// act is something that an operator did to a host, or to a VM on it.
type act struct {
	span
	host, name string
}

func newObserver(s *schedule) *observer {
	return &observer{
		s: s, byMAC: map[string]*observedInstance{}, unreachableSpans: map[string][]*span{}, foreignInstances: map[string]bool{},
		deletesUnderWay: map[engine.Key]int{}, reservedAt: map[engine.Key]time.Time{}, figures: figures{causes: map[string]int{}},
	}
}

func (w *observer) count(f func(*figures)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.figures)
}

// noteLookup notes that a program was told which machines have certain names.
func (w *observer) noteLookup(l *programRun, names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		w.looks = append(w.looks, lookup{l, name, time.Now()})
	}
}

// noteReservation notes that room is being reserved for a key.
func (w *observer) noteReservation(key engine.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reservedAt[key] = time.Now()
}

// noteDelete notes that an owner deletes a VM, until the returned function is
// called.
func (w *observer) noteDelete(key engine.Key) func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deletesUnderWay[key]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.deletesUnderWay[key]--
	}
}

// noteOperatorAct notes what an operator does, until the returned function is called.
func (w *observer) noteOperatorAct(host, name string) func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := &act{span{from: time.Now()}, host, name}
	w.acts = append(w.acts, a)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		a.to = time.Now()
	}
}

func (w *observer) noteForeignInstance(host, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.foreignInstances[host+"/"+name] = true
}

// noteReachability notes that something went away or came back.
func (w *observer) noteReachability(what string, back bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	spans := w.unreachableSpans[what]
	open := len(spans) > 0 && spans[len(spans)-1].to.IsZero()
	switch {
	case back && open:
		spans[len(spans)-1].to = time.Now()
	case !back && !open:
		w.unreachableSpans[what] = append(spans, &span{from: time.Now()})
	}
}

// wasUnreachable reports whether a host's LXD, or the rack before it, was away.
func (w *observer) wasUnreachable(host string, during span) bool {
	for _, what := range []string{host, "rack of " + host} {
		for _, p := range w.unreachableSpans[what] {
			if p.overlaps(during) {
				return true
			}
		}
	}
	return false
}

// noteCompose notes a compose that MAAS is asked for.
func (w *observer) noteCompose(c *exchange) *composeCall {
	form, err := url.ParseQuery(string(c.body))
	w.s.checkNoError(err)
	parts := strings.Split(strings.Trim(c.request.URL.Path, "/"), "/")
	id, err := strconv.Atoi(parts[len(parts)-1])
	w.s.checkNoError(err)
	cores, err := strconv.Atoi(form.Get("cores"))
	w.s.checkNoError(err)
	memory, err := strconv.ParseInt(form.Get("memory"), 10, 64)
	w.s.checkNoError(err)
	a := &composeCall{
		host: w.s.model.Hosts[id-1].Name, name: form.Get("hostname"), cores: cores, memoryMiB: memory,
		key: c.life.owner.key(form.Get("hostname")), bytes: poolBytes(form.Get("storage")), life: c.life, span: span{from: time.Now()},
	}
	a.wish, _ = c.life.owner.wishAndKnown(a.name)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.figures.composes++
	a.placed = w.reservedAt[a.key]
	w.composes = append(w.composes, a)
	return a
}

var diskText = regexp.MustCompile(`[a-z0-9-]+:([0-9.]+)\(([^)]*)\)`)

// poolBytes reads compose's parameter storage, "root:8(fast,tag)".
func poolBytes(storage string) map[string]int64 {
	bytes := map[string]int64{}
	for _, disk := range diskText.FindAllStringSubmatch(storage, -1) {
		pool := "default"
		for tag := range strings.SplitSeq(disk[2], ",") {
			if tag == "fast" {
				pool = tag
			}
		}
		size, _ := strconv.ParseFloat(disk[1], 64)
		bytes[pool] += int64(size * 1e9)
	}
	return bytes
}

// noteComposeSent notes that MAAS gets to a compose now, and looks in once LXD has made
// the instance.
func (w *observer) noteComposeSent(a *composeCall) {
	w.observeLXDs()
	w.mu.Lock()
	defer w.mu.Unlock()
	a.sent = true
	time.AfterFunc(w.s.model.Latency.Call+w.s.model.Latency.Compose/2+time.Millisecond, w.observeLXDs)
}

// noteAnswerReceived notes that the program got the answer to its compose.
func (w *observer) noteAnswerReceived(a *composeCall) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a.answerReceived = true
}

// wishComposedFor is the wish that a machine was composed for; nil if it was not.
func (w *observer) wishComposedFor(systemID string) *wish {
	w.observeLXDs()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.instances {
		if b.MachineID == systemID && b.compose != nil {
			return b.compose.wish
		}
	}
	return nil
}

// noteAnswer notes how MAAS answered a compose, whoever still listens.
func (w *observer) noteAnswer(a *composeCall, res *http.Response, err error) {
	w.noteRefreshOverCompose(a)
	w.observeLXDs()
	w.mu.Lock()
	defer w.mu.Unlock()
	a.to = time.Now()
	if err != nil {
		w.s.note("maas", "compose of %s for %s: %v", a.name, a.life.name, err)
		return
	}
	body, err := readAll(res.Body)
	w.s.checkNoError(err)
	res.Body = io.NopCloser(bytes.NewReader(body))
	a.status, a.body = res.StatusCode, string(body)
	w.assignByAnswer(a)
	w.s.note("maas", "compose of %s on %s for %s: %d %.160s", a.name, a.host, a.life.name, a.status, a.body)
}

// noteRefreshOverCompose notes that somebody's refresh ended right after the compose, which
// took the newborn for one that is gone.
func (w *observer) noteRefreshOverCompose(a *composeCall) {
	struck := w.s.sim.RandomFaultCounts()["sync_over_compose"]
	w.mu.Lock()
	defer w.mu.Unlock()
	if struck > w.refreshesSeen {
		w.refreshesSeen = struck
		w.acts = append(w.acts, &act{span{time.Now(), time.Now()}, a.host, ""})
		w.s.note("operator", "refreshed %s over a compose", a.host)
	}
}

// observeLXDs sees what has changed in the LXDs.
func (w *observer) observeLXDs() {
	instances, machines := w.s.sim.Instances(), map[string]sim.Machine{}
	for _, m := range w.s.sim.Machines() {
		machines[m.SystemID] = m
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	there, newborn := map[*observedInstance]bool{}, []*observedInstance{}
	for _, i := range instances {
		mac := fmt.Sprint(i.MACs)
		b := w.byMAC[mac]
		if b == nil {
			b = &observedInstance{compose: w.findCompose(i)}
			w.byMAC[mac], w.instances, newborn = b, append(w.instances, b), append(newborn, b)
		}
		there[b] = true
		w.update(b, i, machines[i.MachineID])
	}
	for _, b := range w.instances {
		if !there[b] && !b.gone {
			b.gone = true
			w.checkVanished(b)
		}
	}
	for _, b := range newborn {
		w.checkOverCommit(b)
	}
}

func (w *observer) update(b *observedInstance, i sim.Instance, m sim.Machine) {
	if b.Name == "" {
		w.s.note("lxd", "%s is born on %s (MACs %v)", i.Name, i.Host, i.MACs)
		if b.compose != nil {
			b.compose.instance = b
		}
	}
	switch {
	case i.MachineID != "" && b.visible.IsZero():
		b.visible = time.Now()
		w.s.note("maas", "shows %s on %s as %s (%s)", i.Name, i.Host, m.Hostname, i.MachineID)
	case i.MachineID == "" && !b.visible.IsZero():
		b.visible, b.lost = time.Time{}, time.Now()
		w.s.note("maas", "shows %s on %s no more", i.Name, i.Host)
	}
	b.Instance = i
	if i.MachineID != "" {
		b.machine = m
	}
}

// isMarkedFinished reports whether the machine says that it reached what was wanted.
func isMarkedFinished(m sim.Machine) bool { return finishedMark.MatchString(m.Description) }

// checkChange checks a call that changes a machine: it must be the caller's, and one
// that runs changes only while its owner deletes it.
func (w *observer) checkChange(c *exchange) {
	w.observeLXDs()
	id := machineID(c.request.URL.Path)
	if id == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.instances {
		if b.gone || b.MachineID != id {
			continue
		}
		w.reassignMarked(b, c)
		switch key := b.key(); {
		case b.compose == nil || b.compose.life.owner != c.life.owner:
			w.figures.wipes++
			w.s.failSchedule("%s sends %s to a stranger: %+v", c.life.name, c.route, b.machine)
		case b.machine.StatusName == "Deployed" && isMarkedFinished(b.machine) && w.deletesUnderWay[key] == 0 && !isHarmless(c):
			w.figures.wipes++
			w.s.failSchedule("%s sends %s to a VM that runs: %+v", c.life.name, c.route, b.machine)
		}
		if c.request.Method == http.MethodDelete {
			b.removal = &removal{span: span{from: time.Now(), to: time.Now().Add(time.Second)}}
		}
	}
}

// key is whose the instance is; empty: an operator's.
func (b *observedInstance) key() engine.Key {
	if b.compose == nil {
		return ""
	}
	return b.compose.key
}

// isHarmless are the changes that leave a VM running: of its record, and looks.
func isHarmless(c *exchange) bool {
	switch c.request.URL.Query().Get("op") {
	case "":
		return c.request.Method == http.MethodPut
	case "query_power_state", "add_tag", "remove_tag":
		return true
	}
	return false
}

var machinePath = regexp.MustCompile(`/machines/([^/]+)/$`)

func machineID(path string) string {
	if found := machinePath.FindStringSubmatch(path); found != nil {
		return found[1]
	}
	return ""
}

// hostOf is the VM host of the machine that a path names.
func (w *observer) hostOf(path string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.instances {
		if !b.gone && b.MachineID != "" && b.MachineID == machineID(path) {
			return b.Host
		}
	}
	return ""
}

// checkVanished checks why an instance is gone that ran.
func (w *observer) checkVanished(b *observedInstance) {
	w.s.note("lxd", "%s is gone from %s", b.Name, b.Host)
	if b.machine.StatusName != "Deployed" || !isMarkedFinished(b.machine) || w.deletesUnderWay[b.key()] > 0 || w.wasChangedByOperator(b, span{from: time.Now(), to: time.Now()}) {
		return
	}
	w.figures.wipes++
	w.s.failSchedule("a VM that ran is gone, and nobody deleted it: %+v", b.machine)
}

// wasChangedByOperator reports whether an operator did something to the VM, or to its host,
// at that time.
func (w *observer) wasChangedByOperator(b *observedInstance, at span) bool {
	for _, a := range w.acts {
		if a.overlaps(at) && a.host == b.Host && (a.name == "" || a.name == b.Name || a.name == b.machine.Hostname) {
			return true
		}
	}
	return false
}
