package operate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/operate"
)

// fakeMachines is a MAAS with one machine. A call that no test expects panics.
type fakeMachines struct {
	engine.Machines
	power    string
	busy     int // how many changes of power are refused, because another is in flight
	statuses []engine.Machine
	calls    []string
}

func (f *fakeMachines) QueryPower(context.Context, string) (string, error) { return f.power, nil }

func (f *fakeMachines) turn(call, power string) error {
	f.calls = append(f.calls, call)
	if f.busy > 0 {
		f.busy--
		return engine.ErrUnavailable
	}
	f.power = power
	return nil
}

func (f *fakeMachines) PowerOn(context.Context, string) error  { return f.turn("on", "on") }
func (f *fakeMachines) PowerOff(context.Context, string) error { return f.turn("off", "off") }

func (f *fakeMachines) Commission(context.Context, string) error {
	f.calls = append(f.calls, "commission")
	return nil
}

func (f *fakeMachines) EnterRescueMode(context.Context, string) error {
	f.calls = append(f.calls, "rescue")
	return nil
}

func (f *fakeMachines) ExitRescueMode(context.Context, string) error {
	f.calls = append(f.calls, "exit")
	return nil
}

// Machine shows one status after the other, and the last one for ever.
func (f *fakeMachines) Machine(context.Context, string) (engine.Machine, error) {
	m := f.statuses[0]
	if len(f.statuses) > 1 {
		f.statuses = f.statuses[1:]
	}
	return m, nil
}

func (f *fakeMachines) WatchChange(context.Context, engine.Machine) <-chan struct{} { return nil }

func TestTurnPower(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, power, want string
		busy                int
		calls               []string
		failure             string
	}{
		"On":      {reason: "It is off.", power: "off", want: "on", calls: []string{"on"}},
		"OnNow":   {reason: "It is on already.", power: "on", want: "on"},
		"Off":     {reason: "It is on.", power: "on", want: "off", calls: []string{"off"}},
		"Cycle":   {reason: "Off comes first.", power: "on", want: "cycle", calls: []string{"off", "on"}},
		"CycleUp": {reason: "One that is off is turned on.", power: "off", want: "cycle", calls: []string{"on"}},
		"Busy":    {reason: "Another action in flight is waited for.", power: "on", want: "off", busy: 2, calls: []string{"off", "off", "off"}},
		"Error":   {reason: "A driver that reaches nothing is not believed.", power: "error", want: "on", failure: `does not say whether it is on, but "error"`},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fakeMachines{power: tc.power, busy: tc.busy}
				err := operate.TurnPower(t.Context(), f, engine.Machine{SystemID: "4y3h7n", Hostname: "web"}, tc.want)
				if tc.failure == "" && err != nil || tc.failure != "" && (err == nil || !strings.Contains(err.Error(), tc.failure)) {
					t.Errorf("%s\nwant %q, got %v", tc.reason, tc.failure, err)
				}
				if diff := cmp.Diff(tc.calls, f.calls); diff != "" {
					t.Errorf("%s\ncalls (-want +got):\n%s", tc.reason, diff)
				}
			})
		})
	}
}

func TestTurnPowerTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		f := &fakeMachines{power: "on", busy: 1000}
		if err := operate.TurnPower(ctx, f, engine.Machine{Hostname: "web", SystemID: "4y3h7n"}, "off"); !errors.Is(err, context.DeadlineExceeded) || len(f.calls) < 3 {
			t.Errorf("it ended with %v after %d calls", err, len(f.calls))
		}
	})
}

func TestCommission(t *testing.T) {
	t.Parallel()
	ready, deployed := engine.Machine{Status: engine.StatusReady}, engine.Machine{Status: engine.StatusDeployed, StatusName: "Deployed", Owner: "admin"}
	commissioning := engine.Machine{Status: engine.StatusCommissioning}
	failed := engine.Machine{Status: engine.StatusFailedCommissioning, StatusName: "Failed commissioning", StatusMessage: "no disk"}
	cases := map[string]struct {
		reason   string
		statuses []engine.Machine
		calls    []string
		failure  string
	}{
		"Ready":     {reason: "Disks were added.", statuses: []engine.Machine{ready, commissioning, ready}, calls: []string{"commission"}},
		"New":       {reason: "It never was.", statuses: []engine.Machine{{Status: engine.StatusNew}, commissioning, ready}, calls: []string{"commission"}},
		"Failed":    {reason: "It failed before.", statuses: []engine.Machine{failed, commissioning, ready}, calls: []string{"commission"}},
		"FailsNow":  {reason: "MAAS's words are told.", statuses: []engine.Machine{ready, commissioning, failed}, calls: []string{"commission"}, failure: `"Failed commissioning": no disk`},
		"UnderWay":  {reason: "It is waited for.", statuses: []engine.Machine{commissioning, ready}},
		"Deployed":  {reason: "Something runs on it.", statuses: []engine.Machine{deployed}, failure: "cannot be commissioned while admin owns it"},
		"Testing":   {reason: "It is deployed, and tested besides.", statuses: []engine.Machine{{Status: engine.StatusTesting, Owner: "admin"}}, failure: "cannot be commissioned while admin owns it"},
		"Allocated": {reason: "Somebody is about to deploy it.", statuses: []engine.Machine{{Status: engine.StatusAllocated, Owner: "admin"}}, failure: "cannot be commissioned while admin owns it"},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fakeMachines{statuses: slices.Clone(tc.statuses)}
				err := operate.CommissionMachine(t.Context(), f, nil, "4y3h7n")
				if tc.failure == "" && err != nil || tc.failure != "" && (err == nil || !strings.Contains(err.Error(), tc.failure)) {
					t.Errorf("%s\nwant %q, got %v", tc.reason, tc.failure, err)
				}
				if diff := cmp.Diff(tc.calls, f.calls); diff != "" {
					t.Errorf("%s\ncalls (-want +got):\n%s", tc.reason, diff)
				}
			})
		})
	}
}

func TestRescueMode(t *testing.T) {
	t.Parallel()
	status := func(s engine.Status, name string) engine.Machine {
		return engine.Machine{Hostname: "web", Status: s, StatusName: name, StatusMessage: "no power"}
	}
	deployed, rescued := status(engine.StatusDeployed, "Deployed"), status(engine.StatusRescueMode, "Rescue mode")
	entering, exiting := status(engine.StatusEnteringRescue, "Entering rescue mode"), status(engine.StatusExitingRescue, "Exiting rescue mode")
	failed, stuck := status(engine.StatusFailedEnterRescue, "Failed to enter rescue mode"), status(engine.StatusFailedExitRescue, "Failed to exit rescue mode")
	locked := deployed
	locked.Locked = true
	cases := map[string]struct {
		reason, end string
		statuses    []engine.Machine
		calls       []string
		failure     string
	}{
		"Enter":      {reason: "It is booted into it.", end: "enter", statuses: []engine.Machine{deployed, entering, rescued}, calls: []string{"rescue"}},
		"There":      {reason: "It is in it.", end: "enter", statuses: []engine.Machine{rescued}},
		"OnItsWay":   {reason: "Another run began it.", end: "enter", statuses: []engine.Machine{entering, rescued}},
		"EnterFails": {reason: "MAAS's words are told.", end: "enter", statuses: []engine.Machine{deployed, entering, failed}, calls: []string{"rescue"}, failure: "no power"},
		"EnterAgain": {reason: "What failed before is tried.", end: "enter", statuses: []engine.Machine{failed, entering, rescued}, calls: []string{"rescue"}},
		"Exit":       {reason: "It is led out.", end: "exit", statuses: []engine.Machine{rescued, exiting, deployed}, calls: []string{"exit"}},
		"Out":        {reason: "It is not in it.", end: "exit", statuses: []engine.Machine{deployed}},
		"ExitFails":  {reason: "MAAS's words are told.", end: "exit", statuses: []engine.Machine{rescued, exiting, stuck}, calls: []string{"exit"}, failure: `"Failed to exit rescue mode": no power`},
		"Locked":     {reason: "MAAS refuses it, too.", end: "enter", statuses: []engine.Machine{locked}, failure: "locked in MAAS"},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fakeMachines{statuses: slices.Clone(tc.statuses)}
				err := operate.RescueMachine(t.Context(), f, "4y3h7n", tc.end)
				if tc.failure == "" && err != nil || tc.failure != "" && (err == nil || !strings.Contains(err.Error(), tc.failure)) {
					t.Errorf("%s\nwant %q, got %v", tc.reason, tc.failure, err)
				}
				if diff := cmp.Diff(tc.calls, f.calls); diff != "" {
					t.Errorf("%s\ncalls (-want +got):\n%s", tc.reason, diff)
				}
			})
		})
	}
}
