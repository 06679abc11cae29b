package client

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// TestFreedNames checks which taken names the plan warns of, in whatever order Terraform plans.
func TestFreedNames(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		before func(*PlannedNames)
		later  func(*PlannedNames) // half a second after the check began
		want   int
		took   time.Duration
	}{
		"Stays":        {reason: "The holder is planned, and keeps its name.", before: func(n *PlannedNames) { n.NotePlan("api", "api-1") }, want: 1},
		"Renamed":      {reason: "The same run frees the name.", before: func(n *PlannedNames) { n.NotePlan("api", "web-1") }},
		"Destroyed":    {reason: "The same run destroys the holder.", before: func(n *PlannedNames) { n.NotePlan("api", "") }},
		"RenamedLater": {reason: "Two VMs swap their names, and this one is planned first.", later: func(n *PlannedNames) { n.NotePlan("api", "web-1") }, took: time.Second / 2},
		"StaysLater":   {reason: "The holder's plan tells that it stays.", later: func(n *PlannedNames) { n.NotePlan("api", "api-1") }, want: 1, took: time.Second / 2},
		"Unknown":      {reason: "No plan of this run comes to the holder.", want: 1, took: namePatience},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n, began := new(PlannedNames), time.Now()
				n.NotePlan("web", "api-1")
				if tc.before != nil {
					tc.before(n)
				}
				if tc.later != nil {
					time.AfterFunc(time.Second/2, func() { tc.later(n) })
				}
				var o engine.Obstacles
				o.AddHeldBy(engine.Machine{SystemID: "api", Description: engine.DescriptionWithMark("", "o/api-1", true)}, &engine.SpecError{Field: fieldpath.New("name")})
				o.Add(&engine.SpecError{Field: fieldpath.New("zone")})
				got, destroys := n.WithoutFreed(t.Context(), o, "api-1")
				if destroys != (name == "Destroyed") {
					t.Errorf("%s\nIt is destroyed: %v", tc.reason, destroys)
				}
				if diff := cmp.Diff([]int{tc.want, 1}, []int{len(got.Temporary), len(got.Permanent)}); diff != "" {
					t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
				}
				if took := time.Since(began); took < tc.took || took > tc.took+namePatience/40 {
					t.Errorf("%s\nIt took %v, want %v", tc.reason, took, tc.took)
				}
			})
		})
	}
}

// TestRenamesToOneName checks that one plan gives a name once.
func TestRenamesToOneName(t *testing.T) {
	t.Parallel()
	r := new(Run)
	for range 2 { // Terraform plans a replaced VM twice
		if r.noteRename("VM api-1", "web") {
			t.Error("a VM is in its own way")
		}
	}
	if !r.noteRename("VM api-1", "db") {
		t.Error("two VMs get one name")
	}
}

// TestSharedObject: two resources of one state have one object, and one of them keeps it.
func TestSharedObject(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		names []string // as planned; empty: the object is destroyed
		want  bool
	}{
		"One":           {[]string{"web"}, false},
		"BothStay":      {[]string{"web", "web"}, true},
		"OneIsDropped":  {[]string{"web", ""}, true},
		"DroppedFirst":  {[]string{"", "web"}, true},
		"BothDestroyed": {[]string{"", ""}, false},
	} {
		n, got := new(PlannedNames), false
		n.NotePlan("other", "api")
		for _, name := range tc.names {
			got = n.NotePlan("abc123", name)
		}
		if got != tc.want {
			t.Errorf("%s: got %v", title, got)
		}
	}
}

// TestNamesOfPlans: two resources of one run have one name, in whatever order they are planned. A
// replaced object is planned twice, and a tainted one only as new.
func TestNamesOfPlans(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		actions []Action
		want    bool
	}{
		"Created":           {"One resource is planned as new once.", []Action{ActionCreate}, false},
		"CreatedTwice":      {"Two new objects have one name.", []Action{ActionCreate, ActionCreate}, true},
		"Replaced":          {"An attribute replaces the object.", []Action{ActionReplace, ActionRecreate}, false},
		"Forced":            {"The user replaces the object.", []Action{ActionChange, ActionRecreate}, false},
		"ReplacedUnwritten": {"The object has no private state yet.", []Action{ActionReplace, ActionCreate}, false},
		"CreatedBeside":     {"A new object has the name of an existing one.", []Action{ActionChange, ActionCreate}, true},
		"CreatedBefore":     {"The new object is planned first.", []Action{ActionCreate, ActionChange}, true},
		"CreatedBeforeOne":  {"The new object is planned before a replaced one.", []Action{ActionCreate, ActionReplace}, true},
		"CreatedBetween":    {"The new object is planned between the two plans of a replaced one.", []Action{ActionReplace, ActionCreate, ActionRecreate}, true},
		"CreatedAfterAll":   {"The new object is planned after a replaced one.", []Action{ActionChange, ActionRecreate, ActionCreate}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, got := new(Run), false
			applying := new(Run)
			applying.BeginApply()
			for _, action := range tc.actions {
				_, isDuplicate := r.notePlannedAction("VM web", action)
				got = got || isDuplicate
				if _, isDuplicate = applying.notePlannedAction("VM web", action); isDuplicate {
					t.Error("an apply does not look for duplicates, which the plan has refused")
				}
			}
			if got != tc.want {
				t.Errorf("%s\nA duplicate is found: %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// TestReplacementOfPlans: the second plan of an object tells whether the user forces its replacement.
func TestReplacementOfPlans(t *testing.T) {
	t.Parallel()
	for first, want := range map[Action]Replacement{ActionReplace: {IsReplaced: true}, ActionChange: {IsReplaced: true, IsForced: true}} {
		r := new(Run)
		if got, _ := r.notePlannedAction("VM web", first); got != (Replacement{}) {
			t.Errorf("the first plan is %+v", got)
		}
		if got, _ := r.notePlannedAction("VM web", ActionRecreate); got != want {
			t.Errorf("after %v, the second plan is %+v, want %+v", first, got, want)
		}
	}
	if got, _ := new(Run).notePlannedAction("VM web", ActionCreate); got != (Replacement{}) {
		t.Errorf("a new object, or a tainted one, is %+v", got)
	}
}
