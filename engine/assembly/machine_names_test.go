package assembly_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// TestMachineRenamed gives a machine another key in place: its former one is free for
// another machine, and a run that died in between goes on.
func TestMachineRenamed(t *testing.T) {
	const next = engine.Key("default/db-2")
	inMetal(t, func(t *testing.T, r testMAAS, p process) {
		made, err := p.applyMachine(newMachineRef, engine.MachineSpec{Machine: "small", Deploy: noble()})
		if err != nil {
			t.Fatal(err)
		}
		rename := engine.Ref{Key: metalKey, NewKey: next, SystemID: made.SystemID, Finished: true}
		for range 2 { // the second time, the first one's reply was lost
			got, err := p.applyMachine(rename, engine.MachineSpec{Machine: "small", Deploy: noble()})
			if err != nil || !got.Ours || !got.Finished || got.OwnerData[engine.KeyData] != string(next) {
				t.Fatalf("got %+v, %v", got, err)
			}
		}
		other, err := p.applyMachine(newMachineRef, engine.MachineSpec{Machine: "tagged", Deploy: noble()})
		if err != nil || other.SystemID == made.SystemID {
			t.Fatalf("the former key is not free: %s, %v", other.Hostname, err)
		}
		if _, err := p.applyMachine(engine.Ref{Key: next}, engine.MachineSpec{Machine: "small", Deploy: noble()}); !errors.Is(err, engine.ErrConflict) || !strings.Contains(err.Error(), "finished") {
			t.Errorf("want the new key's machine to be known, got %v", err)
		}
		if err := p.release(engine.Ref{Key: metalKey, SystemID: made.SystemID}); err != nil { // one who missed the rename
			t.Error(err)
		}
		r.wantReady(t, "small")
		if m := r.machine(t, "tagged"); m.StatusName != "Deployed" {
			t.Errorf("the other key's machine is %s", m.StatusName)
		}
		r.wantNoDeletes(t)
	})
}

// TestMachineOfOthersIsNotRenamed writes no mark on a machine that is another key's by now.
func TestMachineOfOthersIsNotRenamed(t *testing.T) {
	inMetal(t, func(t *testing.T, r testMAAS, p process) {
		made, err := p.applyMachine(newMachineRef, engine.MachineSpec{Machine: "small", Deploy: noble()})
		if err != nil {
			t.Fatal(err)
		}
		data := map[string]string{engine.KeyData: "other/db", engine.StateData: engine.StateFinished}
		r.edit(t, "small", sim.MachineEdit{OwnerData: &data})
		before := len(r.writes())
		_, err = p.applyMachine(engine.Ref{Key: metalKey, NewKey: "default/db-2", SystemID: made.SystemID, Finished: true}, engine.MachineSpec{Machine: "small"})
		if !errors.Is(err, engine.ErrConflict) || !strings.Contains(err.Error(), "other/db") {
			t.Errorf("want a refusal that names the owner, got %v", err)
		}
		if after := r.writes(); len(after) != before {
			t.Errorf("it wrote %v", after[before:])
		}
	})
}

// TestMachineObstacles looks at what is in the way of bare metal, and changes nothing.
func TestMachineObstacles(t *testing.T) {
	cases := map[string]struct {
		reason           string
		own              bool // the look is of the machine that is to be replaced
		lost             bool // the look is of a new object by the key of the machine
		want             engine.MachineSpec
		lasting, passing string // words of an error
	}{
		"Nothing":       {reason: "All is there.", want: engine.MachineSpec{Machine: "tagged", Deploy: noble()}},
		"Unknown":       {reason: "MAAS has no machine of this name.", want: engine.MachineSpec{Machine: "nosuch", Deploy: noble()}, lasting: `"nosuch"`},
		"OfOthers":      {reason: "Nobody of ours gives it up.", want: engine.MachineSpec{Machine: "busy", Deploy: noble()}, lasting: "belongs to the MAAS user"},
		"OwnIsFree":     {reason: "It is given back first.", own: true, want: engine.MachineSpec{Machine: "small", Deploy: noble()}},
		"StateLost":     {reason: "It was made for the key, and no state has it.", lost: true, want: engine.MachineSpec{Machine: "small", Deploy: noble()}, passing: "was deployed or adopted for this name earlier, and is finished (system id "},
		"Image":         {reason: "MAAS has none.", own: true, want: engine.MachineSpec{Machine: "small", Deploy: &engine.Deployment{Image: "ubuntu/nobel"}}, lasting: "ubuntu/nobel"},
		"Zone":          {reason: "MAAS knows none.", want: engine.MachineSpec{Select: engine.Selector{Zone: "az9"}, Deploy: noble()}, lasting: `"az9"`},
		"TooFew":        {reason: "Others may give one up.", want: engine.MachineSpec{Select: engine.Selector{MinCores: 99}, Deploy: noble()}, passing: "none of 3 Ready machines"},
		"NoTag":         {reason: "It is perhaps a typing error.", want: engine.MachineSpec{Select: engine.Selector{Tags: []string{"gup"}}, Deploy: noble()}, passing: `no machine of MAAS has the tag "gup"`},
		"AddressBeyond": {reason: "No subnet has it.", want: engine.MachineSpec{Machine: "tagged", Interfaces: fixedAddress("10.99.0.1"), Deploy: noble()}, lasting: "10.99.0.1"},
		"AddressOfOurs": {reason: "The same run may free it.", want: engine.MachineSpec{Machine: "tagged", Interfaces: fixedAddress("10.77.0.55"), Deploy: noble()}, passing: "10.77.0.55"},
		"AddressOfOwn":  {reason: "It is given back first.", own: true, want: engine.MachineSpec{Machine: "small", Interfaces: fixedAddress("10.77.0.55"), Deploy: noble()}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inMetal(t, func(t *testing.T, r testMAAS, p process) {
				made, err := p.applyMachine(newMachineRef, engine.MachineSpec{Machine: "small", Interfaces: fixedAddress("10.77.0.55"), Deploy: noble()})
				if err != nil {
					t.Fatal(err)
				}
				ref, before := engine.Ref{Key: "default/db-9"}, len(r.writes())
				if tc.own {
					ref = engine.Ref{Key: metalKey, SystemID: made.SystemID}
				}
				if tc.lost {
					ref = newMachineRef
				}
				o := p.engine.Machines.Check(p.ctx, ref, tc.want)
				wantObstacles(t, tc.reason, o, tc.lasting, tc.passing)
				if after := r.writes(); len(after) != before {
					t.Errorf("%s\nit wrote %v", tc.reason, after[before:])
				}
			})
		})
	}
}

func errorText(errs []error) string {
	if err := errors.Join(errs...); err != nil {
		return err.Error()
	}
	return ""
}

// fixedAddress are interfaces of which one has a fixed address.
func fixedAddress(ip string) []engine.FixedAddress {
	return []engine.FixedAddress{{Name: "eth0", IP: netip.MustParseAddr(ip)}}
}
