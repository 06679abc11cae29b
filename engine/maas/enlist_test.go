package maas

import (
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

func enlistment(pair engine.Credentials) engine.Enlistment {
	return engine.Enlistment{
		Hostname: "web1", Architecture: "amd64/generic", MACs: []string{"00:16:3e:00:00:01", "00:16:3e:00:00:02"},
		Instance:    engine.Instance{Endpoint: engine.Endpoint{Address: "https://10.0.0.5:8443", Project: "fleet"}, Name: "web1"},
		Credentials: pair,
	}
}

func TestEnlist(t *testing.T) {
	t.Parallel()
	pair := newPair(t)
	form := url.Values{
		"hostname": {"web1"}, "architecture": {"amd64/generic"}, "mac_addresses": {"00:16:3e:00:00:01", "00:16:3e:00:00:02"},
		"power_type": {"lxd"}, "commission": {"false"}, "description": {"whose"}, "zone": {"az1"}, "pool": {"p"}, "domain": {"d"},
		"power_parameters_power_address": {"https://10.0.0.5:8443"}, "power_parameters_project": {"fleet"}, "power_parameters_instance_name": {"web1"},
		"power_parameters_certificate": {pair.Certificate}, "power_parameters_key": {pair.Key},
	}
	e := enlistment(pair)
	e.Description, e.Zone, e.Pool, e.Domain = "whose", "az1", "p", "d"
	f := newConstantFake(200, "application/json", `{"system_id":"abc123","status":0}`)
	id, err := testClient(t, f).Enlister.Enlist(t.Context(), e)
	if err != nil || id != "abc123" {
		t.Fatalf("got %q, %v", id, err)
	}
	if diff := cmp.Diff([]string{"POST machines/"}, f.routes()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(form, f.requests()[0].Form); diff != "" {
		t.Errorf("form (-want +got):\n%s", diff)
	}
}

// TestEnlistRefuses checks what is not even sent: MAAS would fill in a value, or accept a
// bad one.
func TestEnlistRefuses(t *testing.T) {
	t.Parallel()
	pair, other := newPair(t), newPair(t)
	cases := map[string]struct {
		reason string
		change func(*engine.Enlistment)
		field  string
	}{
		"NoHostname":     {"MAAS would make one up.", func(e *engine.Enlistment) { e.Hostname = "" }, "hostname"},
		"NoArchitecture": {"MAAS cannot know it.", func(e *engine.Enlistment) { e.Architecture = "" }, "architecture"},
		"NoMAC":          {"MAAS knows a machine by nothing else.", func(e *engine.Enlistment) { e.MACs = nil }, "mac_addresses"},
		"NoInstance":     {"There is nothing to turn on.", func(e *engine.Enlistment) { e.Name = "" }, "instance_name"},
		"NoProject":      {"MAAS would take LXD's default one.", func(e *engine.Enlistment) { e.Project = "" }, "project"},
		"NoAddress":      {"There is nothing to reach.", func(e *engine.Enlistment) { e.Address = "" }, "power_address"},
		"NoPair":         {"MAAS would make one that nobody trusts.", func(e *engine.Enlistment) { e.Credentials = engine.Credentials{} }, "certificate"},
		"OthersKey":      {"MAAS would take a pair that does not match.", func(e *engine.Enlistment) { e.Key = other.Key }, "key"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newConstantFake(200, "application/json", `{"system_id":"abc123"}`)
			e := enlistment(pair)
			tc.change(&e)
			_, err := testClient(t, f).Enlister.Enlist(t.Context(), e)
			wantUnsent(t, tc.reason, f, err, tc.field)
		})
	}
}

func TestEnlistErrors(t *testing.T) {
	t.Parallel()
	pair := newPair(t)
	cases := map[string]struct {
		reason string
		answer *fakeTransport
		want   string
		field  string
	}{
		"MAC": {"The MAC is another machine's, or this one's from before.", newConstantFake(400, "application/json",
			`{"mac_addresses":["MAC address 00:16:3e:00:00:01 already in use on x."]}`), "ErrInvalid", "mac_addresses"},
		"Hostname": {"So is the name.", newConstantFake(400, "application/json", `{"hostname":["Node with this Hostname already exists."]}`), "ErrInvalid", "hostname"},
		"Denied":   {"The user may not.", newConstantFake(403, "text/plain", "no"), "ErrForbidden", ""},
		"Failed":   {"MAAS's own error was not applied.", newConstantFake(500, "text/plain", "x"), "ErrUnavailable", ""},
		"NoID":     {"It may have been made.", newConstantFake(200, "application/json", `{}`), "ErrUnavailable ErrUnclear", ""},
		"Garbage":  {"So here.", newConstantFake(200, "application/json", `oops`), "ErrUnavailable ErrUnclear", ""},
		"Lost":     {"And here.", &fakeTransport{answer: func(*http.Request, sentRequest) (*http.Response, error) { return nil, errors.New("reset") }}, "ErrUnavailable ErrUnclear", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := testClient(t, tc.answer).Enlister.Enlist(t.Context(), enlistment(pair))
			refused, _ := errors.AsType[engine.FieldError](err)
			if tc.field != "" && len(refused.Fields()[tc.field]) == 0 || len(tc.answer.requests()) != 1 {
				t.Errorf("%s: got %v after %v", tc.reason, err, tc.answer.routes())
			}
			if got := errorKinds(err); got != tc.want {
				t.Errorf("%s: got %s: %v, want %s", tc.reason, got, err, tc.want)
			}
		})
	}
}

// TestRekey sends only what MAAS needs to turn the machine on and off. An unusable pair is
// not sent.
func TestRekey(t *testing.T) {
	t.Parallel()
	pair, other := newPair(t), newPair(t)
	form := url.Values{
		"power_type": {"lxd"}, "power_parameters_power_address": {"https://10.0.0.5:8443"}, "power_parameters_project": {"fleet"},
		"power_parameters_instance_name": {"web1"}, "power_parameters_certificate": {pair.Certificate}, "power_parameters_key": {pair.Key},
	}
	f := newConstantFake(200, "application/json", `{"system_id":"abc123"}`)
	if err := testClient(t, f).Enlister.SetPowerInstance(t.Context(), "abc123", enlistment(pair).Instance, pair); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"PUT machines/abc123/"}, f.routes()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(form, f.requests()[0].Form); diff != "" {
		t.Errorf("form (-want +got):\n%s", diff)
	}
	f = newConstantFake(200, "application/json", `{}`)
	err := testClient(t, f).Enlister.SetPowerInstance(t.Context(), "abc123", enlistment(pair).Instance, engine.Credentials{Certificate: pair.Certificate, Key: other.Key})
	wantUnsent(t, "MAAS would be locked out.", f, err, "key")
	f = newConstantFake(404, "text/plain", "No Machine matches the given query.")
	if err := testClient(t, f).Enlister.SetPowerInstance(t.Context(), "abc123", enlistment(pair).Instance, pair); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("absent: %v", err)
	}
}

// TestEnlistedLife enlists on a MAAS without VM hosts, finds the machine, and deletes it.
func TestEnlistedLife(t *testing.T) {
	t.Parallel()
	m := bareMetalModel()
	m.MAASVersion = sim.VersionGone
	c, ctx := newSimulatedClient(t, m), t.Context()
	e := enlistment(newPair(t))
	e.Description, e.Zone = "whose", "az1"
	id, err := c.Enlister.Enlist(ctx, e)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Enlister.Enlist(ctx, e)
	if refused, ok := errors.AsType[engine.FieldError](err); !ok || len(refused.Fields()["mac_addresses"]) == 0 {
		t.Errorf("once more: %v", err)
	}
	found, err := c.Enlister.MachinesWithMACs(ctx, "00:16:3E:00:00:02", "00:16:3e:00:00:77")
	if err != nil || len(found) != 1 || found[0].SystemID != id || found[0].Description != "whose" || found[0].Status != engine.StatusNew || found[0].Zone != "az1" {
		t.Errorf("found %+v, %v", found, err)
	}
	for _, macs := range [][]string{nil, {"00:16:3e:00:00:77"}} {
		if none, err := c.Enlister.MachinesWithMACs(ctx, macs...); err != nil || len(none) != 0 {
			t.Errorf("found %+v by %v, %v", none, macs, err)
		}
	}
	power, err := c.Enlister.PowerInstanceOf(ctx, id)
	if diff := cmp.Diff(e.Instance, power); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	bare, err := c.Machines.MachinesNamed(ctx, "m1")
	if err != nil || len(bare) != 1 {
		t.Fatalf("%+v, %v", bare, err)
	}
	for _, none := range []string{bare[0].SystemID, "nobody"} {
		if _, err := c.Enlister.PowerInstanceOf(ctx, none); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("the instance of %s: %v", none, err)
		}
	}
	for range 2 { // an absent one is no error
		if err := c.Enlister.DeleteMachineRecord(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Machines.Machine(ctx, id); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("dismissed: %v", err)
	}
}
