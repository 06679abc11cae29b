package assembly_test

import (
	"sync"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// hostStory is a host of a state: how it is known, on which machine, and how it is
// to be called next; empty: it goes.
type hostStory struct {
	was, machine, becomes string
	ref                   engine.Ref
}

func namedHost(name, machine string) engine.HostSpec {
	spec := metalHost()
	spec.Name, spec.Machine.Machine, spec.AwaitName = name, machine, true
	return spec
}

func keyOfHost(name string) engine.Key { return engine.Key("o/vm-hosts/" + name) }

// makeHost makes the host by the name that it has first.
func (s *hostStory) makeHost(t *testing.T, p process) {
	t.Helper()
	s.ref = engine.Ref{Key: keyOfHost(s.was), Name: s.was}
	h, err := p.applyHost(s.ref, namedHost(s.was, s.machine))
	if err != nil {
		t.Fatal(err)
	}
	s.ref.SystemID, s.ref.Finished = h.Machine.SystemID, true
}

// change does what an apply does to the host.
func (s *hostStory) change(p process) error {
	if s.becomes == "" {
		return p.deleteHost(s.ref)
	}
	ref := s.ref
	if s.was == "" {
		ref = engine.Ref{Key: keyOfHost(s.becomes), Name: s.becomes}
	} else if s.becomes != s.was {
		ref.NewKey = keyOfHost(s.becomes)
	}
	_, err := p.applyHost(ref, namedHost(s.becomes, s.machine))
	return err
}

// changeHosts changes all in one apply, or each in one of its own.
func changeHosts(p process, stories []*hostStory, atOnce bool) []error {
	errs := make([]error, len(stories))
	var changing sync.WaitGroup
	for n, s := range stories {
		changing.Go(func() { errs[n] = s.change(p) })
		if !atOnce {
			changing.Wait()
		}
	}
	changing.Wait()
	return errs
}

// TestHostNamesChange renames, removes and makes hosts so that one takes the name
// of another.
func TestHostNamesChange(t *testing.T) {
	cases := map[string]struct {
		reason  string
		stories []hostStory
		turns   []bool // at once
	}{
		"Reuse": {"A former name is free for a new host.", []hostStory{{was: "kvm1", machine: "m1", becomes: "kvm0"}, {machine: "m2", becomes: "kvm1"}}, []bool{true, false}},
		"Swap":  {"Two hosts take each other's name.", []hostStory{{was: "a", machine: "m1", becomes: "b"}, {was: "b", machine: "m2", becomes: "a"}}, []bool{true, false}},
		"Again": {"The same name at another address of the configuration.", []hostStory{{was: "kvm1", machine: "m1"}, {machine: "m2", becomes: "kvm1"}}, []bool{true, false}},
	}
	for name, tc := range cases {
		for _, atOnce := range tc.turns {
			t.Run(name+map[bool]string{true: "AtOnce"}[atOnce], func(t *testing.T) {
				inHosts(t, func(t *testing.T, r testMAAS, p process) {
					var stories []*hostStory
					for _, s := range tc.stories {
						if s.was != "" {
							s.makeHost(t, p)
						}
						stories = append(stories, &s)
					}
					for n, err := range changeHosts(p, stories, atOnce) {
						if err != nil {
							t.Errorf("%s\n%+v: %v", tc.reason, *stories[n], err)
						}
					}
					r.wantHostNames(t, stories)
				})
			})
		}
	}
}

// wantHostNames checks that each host has its name in MAAS, and the key of it.
func (r testMAAS) wantHostNames(t *testing.T, stories []*hostStory) {
	t.Helper()
	names, want := map[string]string{}, 0
	for _, h := range r.records(t) {
		names[h.Host.SystemID] = h.Name
	}
	for _, s := range stories {
		m := r.machine(t, s.machine)
		if s.becomes == "" {
			if m.StatusName != "Ready" {
				t.Errorf("%s is %s", s.machine, m.StatusName)
			}
			continue
		}
		want++
		if names[m.SystemID] != s.becomes || m.OwnerData["maaslxd-key"] != string(keyOfHost(s.becomes)) || m.OwnerData["maaslxd-name"] != s.becomes {
			t.Errorf("the host on %s is called %q, and its machine says %v; want %s", s.machine, names[m.SystemID], m.OwnerData, s.becomes)
		}
	}
	if len(names) != want {
		t.Errorf("MAAS has %d VM hosts, want %d: %v", len(names), want, names)
	}
}

// TestHostRenamedUnseen has a run die after it has renamed a host: the state knows
// it by its former key. It is found, changed and removed all the same, and the host
// that has the former name by then is not touched.
func TestHostRenamedUnseen(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		first := &hostStory{was: "kvm1", machine: "m1", becomes: "kvm0"}
		first.makeHost(t, p)
		second := &hostStory{machine: "m2", becomes: "kvm1"}
		for _, s := range []*hostStory{first, second, first} { // the third is the apply after the death
			if err := s.change(p); err != nil {
				t.Fatal(err)
			}
		}
		h, err := p.engine.Hosts.Observe(t.Context(), first.ref)
		if err != nil || !h.Ours || h.Key != keyOfHost("kvm0") || h.FormerKey != first.ref.Key || h.VMHost.Name != "kvm0" {
			t.Errorf("by its former key it is seen as %+v, %v", h, err)
		}
		second.was, second.ref = "kvm1", engine.Ref{Key: keyOfHost("kvm1"), Name: "kvm1", SystemID: r.machine(t, "m2").SystemID, Finished: true}
		r.wantHostNames(t, []*hostStory{first, second})
		if err := p.deleteHost(first.ref); err != nil {
			t.Fatal(err)
		}
		first.becomes = ""
		r.wantHostNames(t, []*hostStory{first, second})
	})
}

// TestHostRemovedBesideItsNamesake removes the host that has the former name of
// another. Both machines were allocated by the same mark.
func TestHostRemovedBesideItsNamesake(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		first, second := &hostStory{was: "kvm1", machine: "m1", becomes: "kvm0"}, &hostStory{machine: "m2", becomes: "kvm1"}
		first.makeHost(t, p)
		for _, s := range []*hostStory{first, second} {
			if err := s.change(p); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.deleteHost(engine.Ref{Key: keyOfHost("kvm1"), Name: "kvm1"}); err != nil { // by its key alone
			t.Fatal(err)
		}
		second.becomes = ""
		r.wantHostNames(t, []*hostStory{first, second})
	})
}
