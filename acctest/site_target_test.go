package acctest_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/knownvalue"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/realmaas"
)

// targets counts the targets of a run, for their prefixes.
var targets atomic.Int64

// translators are the translators of the tests, by test name. A workspace
// translates its CLI's output.
var translators sync.Map

// translatorOf is the translator of a test, or of the test that contains it. On
// the simulator it is nil.
func translatorOf(t *testing.T) *nameTranslator {
	for name := t.Name(); name != ""; {
		if n, ok := translators.Load(name); ok {
			return n.(*nameTranslator)
		}
		end := strings.LastIndex(name, "/")
		if end < 0 {
			return nil
		}
		name = name[:end]
	}
	return nil
}

// newTarget is the site for one test. It removes what the test leaves behind.
func (s *site) newTarget(t *testing.T) *target {
	t.Helper()
	skipUnlessInColumn(t)
	if reason := reasonFor(t.Name(), notOnSite); reason != "" {
		t.Skip("runs only on the simulator: " + reason)
	}
	if s.unusableReason != "" {
		t.Skip(s.unusableReason)
	}
	if isLXDColumn() && len(s.LXDs) == 0 {
		t.Skipf("the provider makes VMs in LXD, and %s names no LXD", realmaas.LXDVariable)
	}
	s.awaitSlot(t)
	x := &target{
		url: s.URL, key: s.Key, t: t, host: s.VMHost, zone: s.Zone, pool: s.Pool, image: s.Image,
		names: &nameTranslator{prefix: fmt.Sprintf("%s%d-", runPrefix(), targets.Add(1)), existingNames: maps.Clone(s.existingNames), made: map[string]string{}},
	}
	x.names.onNewName = func(name string) {
		x.ownPrefixes.add(name)
		if x.holdsTransitions && s.pilot != nil {
			s.pilot.Hold(name)
		}
	}
	x.names.address = s.freeAddress
	x.ownPrefixes.add(x.names.prefix)
	translators.Store(t.Name(), x.names)
	t.Log("story on the MAAS at " + s.URL)
	t.Cleanup(func() {
		translators.Delete(t.Name())
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		for _, prefix := range x.ownPrefixes.list() {
			removed, err := s.sweep(ctx, prefix)
			if err != nil {
				t.Errorf("cannot clean up after the test: %v", err)
			}
			for _, what := range removed {
				t.Log("removed after the test: " + what)
			}
		}
	})
	return x
}

// awaitSlot waits until fewer than Parallel stories run. Stories that wait for
// machines do not count, so they do not delay the others.
func (s *site) awaitSlot(t *testing.T) {
	if translatorOf(t) != nil {
		return // the test has a slot, or the test that contains it
	}
	if s.storyStop.reason() == "" {
		select {
		case s.storySlots <- struct{}{}:
			t.Cleanup(func() { <-s.storySlots })
		case <-s.storyStop.begun:
		}
	}
	if reason := s.storyStop.reason(); reason != "" {
		t.Skip(reason)
	}
}

// actAlone acts while no other story runs. The calling story gives up its slot
// meanwhile, so that two of them do not wait for each other.
func (s *site) actAlone(act func()) {
	<-s.storySlots
	s.soloMutex.Lock()
	defer s.soloMutex.Unlock()
	for range cap(s.storySlots) {
		s.storySlots <- struct{}{}
	}
	defer func() {
		for range cap(s.storySlots) - 1 {
			<-s.storySlots
		}
	}()
	act()
}

// actAmongOwnHosts acts while no other story has VM hosts that placement could
// choose.
func (x *target) actAmongOwnHosts(act func()) {
	if x.sim != nil {
		act()
		return
	}
	theSite.actAlone(act)
}

// useExampleWords says which words of the simulated model stand for those of an
// example.
func (x *target) useExampleWords(words map[string]string) {
	if x.names == nil {
		return
	}
	for word, other := range words {
		x.names.existingNames[word] = x.names.existingNames[other]
	}
}

// leaveOut logs a step that a test leaves out here, and why. The summary lists
// it.
func leaveOut(t *testing.T, step, reason string) {
	t.Helper()
	t.Logf("step left out: %s: %s", step, reason)
}

// simulatorOrSkip is the simulator, for tests that break MAAS or look inside
// it. On a real MAAS it skips the test.
func (x *target) simulatorOrSkip() *sim.Server {
	if x.sim == nil {
		x.t.Skip("from here on it breaks MAAS, or reads its inside")
	}
	return x.sim
}

// listMachines lists the machines that concern this test: its own, those lent
// to it, and hosts.
func (x *target) listMachines(ctx context.Context) ([]sim.Machine, error) {
	if x.sim != nil {
		return x.sim.Machines(), nil
	}
	all, err := theSite.client.Machines(ctx)
	if err != nil {
		return nil, err
	}
	hosted := map[string]string{} // VM hosts of this test by system id
	if len(x.lent) > 0 && !isLXDColumn() {
		hosts, err := theSite.client.VMHosts(ctx)
		if err != nil {
			return nil, err
		}
		for _, h := range hosts {
			if x.isOurs(h.Name) {
				hosted[h.Host.SystemID] = x.names.wordOf(h.Name)
			}
		}
	}
	var found []sim.Machine
	for _, m := range all {
		if x.isOurs(m.Hostname) || slices.ContainsFunc(x.lent, func(l realmaas.Machine) bool { return l.SystemID == m.SystemID }) {
			v := x.inTestWords(m)
			v.HostedHosts = hosted[m.SystemID]
			found = append(found, v)
		}
	}
	return found, nil
}

// isOurs reports whether this test made the object of a name.
func (x *target) isOurs(name string) bool {
	return slices.ContainsFunc(x.ownPrefixes.list(), func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// prefixes are the prefixes of the names that a test makes.
type prefixes struct {
	mu  sync.Mutex
	all []string
}

func (p *prefixes) add(prefix string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.ContainsFunc(p.all, func(other string) bool { return strings.HasPrefix(prefix, other) }) {
		p.all = append(p.all, prefix)
	}
}

func (p *prefixes) list() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

// inTestWords is a machine with the words of the tests.
func (x *target) inTestWords(m realmaas.Machine) sim.Machine {
	out := sim.Machine{
		SystemID: m.SystemID, Hostname: x.names.wordOf(m.Hostname, "node1", "node2"), StatusName: m.StatusName, StatusMessage: m.StatusMessage,
		Description: x.names.toWords(m.Description), Owner: m.Owner, PowerState: m.PowerState, Zone: x.names.wordOf(m.Zone.Name, "az1", "az2"),
		Pool: x.names.wordOf(m.Pool.Name, "kvm"), Domain: m.Domain.Name, Cores: m.Cores, MemoryMiB: m.MemoryMiB,
		IPAddresses: m.IPAddresses, OwnerData: m.OwnerData, Locked: m.Locked,
	}
	for _, tag := range m.Tags {
		out.Tags = append(out.Tags, x.names.wordOf(tag, "rack1"))
	}
	if m.VMHost != nil {
		out.Host = x.names.wordOf(m.VMHost.Name, "lxd1", "lxd2")
	}
	if m.Series != "" {
		out.Image = m.OSystem + "/" + m.Series
	}
	return out
}

// machines are those that [target.listMachines] finds. It fails the test where
// MAAS does not answer, because that does not mean that there are none.
func (x *target) machines() []sim.Machine {
	all, err := x.listMachines(context.Background())
	if err != nil {
		x.t.Error(err) // a case of the test may call this, and cannot end this test
	}
	return all
}

// canInspectLXDs reports whether the test can read the LXDs.
func (x *target) canInspectLXDs() bool { return x.sim != nil || len(theSite.LXDs) > 0 }

// instances are the test's own instances in the LXDs. Where it cannot read
// these, it takes MAAS's machines, and logs that.
func (x *target) instances() []sim.Instance {
	if x.sim != nil {
		return x.sim.Instances()
	}
	if !x.canInspectLXDs() {
		leaveOut(x.t, "look into LXD", realmaas.LXDVariable+" names none; the test uses MAAS's machines instead")
		var out []sim.Instance
		for _, m := range x.machines() {
			if m.Host != "" {
				out = append(out, sim.Instance{Host: m.Host, Name: m.Hostname, Cores: m.Cores, MemoryMiB: m.MemoryMiB})
			}
		}
		return out
	}
	var out []sim.Instance
	seen := map[string]bool{}
	for name, l := range x.servers() {
		all, err := l.Instances(context.Background())
		if err != nil {
			x.t.Error(err)
		}
		for _, i := range all {
			if key := i.Name + " " + strings.Join(i.MACs, " "); x.isOurs(i.Name) && !seen[key] {
				seen[key] = true
				out = append(out, sim.Instance{
					Host: name, Project: i.Project, Name: x.names.wordOf(i.Name), Cores: i.Cores,
					MemoryMiB: i.MemoryMiB, Running: i.Running, MACs: i.MACs,
				})
			}
		}
	}
	return out
}

// servers are the LXDs to read, by the tests' words. They are those that the
// environment names, and those of lent machines that are hosts now.
func (x *target) servers() iter.Seq2[string, realmaas.LXD] {
	return func(yield func(string, realmaas.LXD) bool) {
		for n, l := range theSite.LXDs {
			if !yield(fmt.Sprintf("lxd%d", n+1), l) {
				return
			}
		}
		if len(x.lent) == 0 {
			return
		}
		for _, m := range x.machines() {
			address := m.OwnerData["maaslxd-address"]
			if address == "" || m.StatusName != "Deployed" {
				continue
			}
			if !strings.HasPrefix(address, "https://") {
				address = "https://" + address
			}
			if !yield(m.Hostname, realmaas.LXD{Address: address, Certificate: x.hostKeyPair().Certificate, Key: x.hostKeyPair().Key}) {
				return
			}
		}
	}
}

// countCalls counts the calls of a route. On a real MAAS nobody counts them:
// counted is then false, which is logged.
func (x *target) countCalls(t *testing.T, route string) (n int, counted bool) {
	t.Helper()
	if x.sim == nil {
		leaveOut(t, "count the calls of "+route, "a real MAAS has no journal of calls")
		return 0, false
	}
	return x.sim.Journal().Count(route), true
}

// wantNoOvercommit checks that no VM host has promised more than it has.
func (x *target) wantNoOvercommit(t *testing.T) {
	t.Helper()
	if x.sim == nil {
		leaveOut(t, "look for VM hosts that were promised more than they have", "MAAS has no history of promises")
		return
	}
	for _, excess := range x.sim.Overcommits() {
		t.Error(excess)
	}
}

// holdAllMachines keeps the test's machines in their transitions until
// [target.endTransition] or [target.resumeMachines]. Where machines really
// boot, a transition takes minutes, and nothing holds it.
func (x *target) holdAllMachines() {
	x.holdsTransitions = true
	if x.sim == nil && theSite.pilot != nil {
		for _, m := range x.lent {
			theSite.pilot.Hold(m.Hostname)
			x.t.Cleanup(func() { theSite.pilot.Release(m.Hostname) })
		}
	}
}

// holdMachine keeps one machine of the test in its transitions, as
// [target.holdAllMachines] does for all.
func (x *target) holdMachine(name string) {
	if x.sim == nil && theSite.pilot != nil {
		there, _ := x.names.existingName(name)
		theSite.pilot.Hold(there)
		x.t.Cleanup(func() { theSite.pilot.Release(there) })
	}
}

// awaitDeploying waits until a held machine is Deploying. It first ends the
// commissioning of a VM. Bare metal is not commissioned.
func (x *target) awaitDeploying(t *testing.T, name string) {
	t.Helper()
	there, _ := x.names.existingName(name)
	isMetal := slices.ContainsFunc(x.lent, func(m realmaas.Machine) bool { return m.Hostname == there })
	if x.sim == nil && !isMetal {
		x.finishTransitions(t, name, "Commissioning")
	}
	x.actAtStatus(t, name, "Deploying", func(sim.Machine) {})
}

// resumeMachines lets the test's machines go on.
func (x *target) resumeMachines(names ...string) {
	x.holdsTransitions = false
	if x.sim == nil && theSite.pilot != nil {
		for _, name := range names {
			there, _ := x.names.existingName(name)
			theSite.pilot.Release(there)
		}
	}
}

// skipUnlessDriven skips a test that decides how transitions end, where it
// cannot.
func (x *target) skipUnlessDriven(t *testing.T) {
	t.Helper()
	if x.sim == nil && theSite.pilot == nil {
		t.Skipf("it makes transitions fail, and %s names no command for that", realmaas.DriveVariable)
	}
}

// endTransition ends the transition of a machine, with success or not.
func (x *target) endTransition(t *testing.T, m sim.Machine, well bool) {
	t.Helper()
	if x.sim != nil {
		act := func() error { return x.sim.FinishMachine(m.SystemID) }
		if !well {
			act = func() error { return x.sim.FailMachine(m.SystemID, "disk on fire") }
		}
		if err := act(); err != nil {
			t.Error(err)
		}
		return
	}
	if theSite.pilot == nil {
		return // it boots, and so ends by itself
	}
	verb := realmaas.VerbCommissioned
	switch {
	case m.StatusName == "Deploying" && well:
		verb = realmaas.VerbDeployed
	case m.StatusName == "Deploying":
		verb = realmaas.VerbDeploymentFailed
	case !well:
		verb = realmaas.VerbCommissioningFailed
	}
	if _, err := theSite.Drive.Run(context.Background(), verb, m.SystemID); err != nil {
		t.Error(err)
	}
}

// failureText is the text of a failure where the simulator gives one. A
// commissioning's scripts only fail (metadataserver/api.py, signal).
func (x *target) failureText(during, text string) string {
	if x.sim == nil || during == "Commissioning" {
		return text
	}
	return text + " disk on fire"
}

// editMachineOnSite edits a machine on a real MAAS by its API, as an operator
// would.
func (x *target) editMachineOnSite(t *testing.T, name string, e sim.MachineEdit) {
	t.Helper()
	m := x.findMachine(t, name)
	form := url.Values{}
	set := func(field string, value *string) {
		if value != nil {
			there, _ := x.names.existingName(*value)
			form.Set(field, there)
		}
	}
	set("hostname", e.Hostname)
	set("zone", e.Zone)
	set("pool", e.Pool)
	set("domain", e.Domain)
	if e.Description != nil {
		form.Set("description", *e.Description)
	}
	var err error
	if len(form) > 0 {
		err = theSite.client.Change(t.Context(), m.SystemID, form)
	}
	if err == nil && e.Tags != nil {
		err = x.setTags(t.Context(), m.SystemID, *e.Tags)
	}
	if err == nil && e.Locked != nil {
		err = theSite.client.Operate(t.Context(), m.SystemID, map[bool]string{true: "lock", false: "unlock"}[*e.Locked], nil)
	}
	if err == nil && (e.StatusName != nil || e.PowerState != nil || e.OwnerData != nil) {
		t.Skip("it sets fields that MAAS's API cannot set")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// setTags replaces a machine's tags.
func (x *target) setTags(ctx context.Context, systemID string, words []string) error {
	m, err := theSite.client.Machine(ctx, systemID)
	if err != nil {
		return err
	}
	var tags []string
	for _, word := range words {
		tags = append(tags, x.names.tag(word))
	}
	for _, tag := range m.Tags {
		if tag == "virtual" || tag == "pod-console-logging" || tag == x.names.existingNames["rack1"] {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	return theSite.client.SetTags(ctx, m, slices.Compact(tags))
}

// deleteMachine deletes a VM as an operator would. Where MAAS did not make the
// VM, it deletes the instance, too.
func (x *target) deleteMachine(t *testing.T, name string) {
	t.Helper()
	m := x.findMachine(t, name)
	if x.sim != nil {
		if err := x.sim.DeleteMachine(m.SystemID); err != nil {
			t.Fatal(err)
		}
		return
	}
	if _, err := theSite.client.Send(t.Context(), "DELETE", "machines/"+m.SystemID+"/", nil); err != nil {
		t.Fatal(err)
	}
	if !isLXDColumn() {
		return
	}
	for _, l := range x.servers() {
		all, err := l.Instances(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range all {
			if i.Name == x.siteNameOf(t, name) {
				if err := l.RemoveVM(t.Context(), i.Project, i.Name); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// siteNameOf is the name on this MAAS for a word of the tests.
func (x *target) siteNameOf(t *testing.T, word string) string {
	t.Helper()
	name, ok := x.names.existingName(word)
	if !ok {
		t.Skip(missingReason(word))
	}
	return name
}

// refreshHost refreshes the VM host. On a real MAAS that may harm VMs that are
// not the suite's: the step is then left out.
func (x *target) refreshHost(t *testing.T) {
	t.Helper()
	if x.sim != nil {
		if err := x.sim.RefreshHost(x.host); err != nil {
			t.Fatal(err)
		}
		return
	}
	theSite.actAlone(func() {
		why, err := theSite.client.WhyNotRefresh(t.Context(), x.vmHostNumber(t), theSite.LXDs)
		switch {
		case err != nil:
			t.Fatal(err)
		case why != "":
			leaveOut(t, "refresh the VM host", why)
		default:
			x.postForm(t, fmt.Sprintf("vm-hosts/%d/?op=refresh", x.vmHostNumber(t)), nil)
		}
	})
}

// vmHostNumber is MAAS's number for the target's VM host.
func (x *target) vmHostNumber(t *testing.T) int {
	t.Helper()
	if x.sim != nil {
		return 1
	}
	hosts, err := theSite.client.VMHosts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hosts {
		if h.Name == x.host {
			return h.ID
		}
	}
	t.Fatalf("MAAS has no VM host %s", x.host)
	return 0
}

// onOtherHost moves a resource from the target's host to another one.
func (x *target) onOtherHost(word, body string) string {
	return strings.Replace(body, fmt.Sprintf("%q", x.host), fmt.Sprintf("%q", word), 1)
}

// checkCores checks that a number of cores is that many times the cores of
// node1. Where guests are simulated, another machine's LXD may answer for it.
func (x *metalTarget) checkCores(times int64) knownvalue.Check {
	switch {
	case x.sim != nil:
		return knownvalue.Int64Exact(8 * times)
	case !theSite.Drive.HasCommand():
		return knownvalue.Int64Exact(int64(x.lent[0].Cores) * times)
	}
	return knownvalue.Int64Func(func(n int64) error {
		if n < times {
			return fmt.Errorf("%d is not a number of cores", n)
		}
		return nil
	})
}

// putFleetKey puts the fleet's key beside a ledger. Stories run at once, and
// hosts of one MAAS with different keys would split the fleet.
func (s *site) putFleetKey(t *testing.T, file string) {
	t.Helper()
	if len(s.LXDs) == 0 {
		return // only one story with machines runs at a time, and makes its own key
	}
	l := s.LXDs[0]
	text := strings.TrimSpace(l.Certificate) + "\n" + strings.TrimSpace(l.Key) + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// translateForm replaces words by names in a form for MAAS.
func (x *target) translateForm(form string) string {
	values, err := url.ParseQuery(form)
	if err != nil || x.names == nil {
		return form
	}
	for field, words := range values {
		for n, word := range words {
			switch {
			case field == "hostname" || field == "name":
				words[n] = x.names.newName(word)
			case field == "tag":
				words[n] = x.names.tag(word)
			case (field == "zone" || field == "pool") && x.names.hasName(word):
				words[n], _ = x.names.existingName(word)
			}
		}
	}
	return values.Encode()
}
