package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider"
)

// contextKeeper keeps the contexts of its calls, as the framework does.
type contextKeeper struct {
	frameworkServer
	kept      []context.Context
	announced []string
}

func (k *contextKeeper) AnnounceRead(_ context.Context, state []byte) {
	k.announced = append(k.announced, string(state))
}

func (k *contextKeeper) keep(ctx context.Context) error {
	inner, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	if inner.Err() != nil || inner.Value(key{}) != "value" {
		return errors.New("the call's context is not that of its caller")
	}
	k.kept = append(k.kept, ctx)
	return nil
}

func (k *contextKeeper) ValidateResourceConfig(
	ctx context.Context, _ *tfprotov6.ValidateResourceConfigRequest,
) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return &tfprotov6.ValidateResourceConfigResponse{}, k.keep(ctx)
}

func (k *contextKeeper) UpgradeResourceState(
	ctx context.Context, _ *tfprotov6.UpgradeResourceStateRequest,
) (*tfprotov6.UpgradeResourceStateResponse, error) {
	return &tfprotov6.UpgradeResourceStateResponse{}, k.keep(ctx)
}

func (k *contextKeeper) ReadResource(ctx context.Context, _ *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	return &tfprotov6.ReadResourceResponse{}, k.keep(ctx)
}

func (k *contextKeeper) PlanResourceChange(
	ctx context.Context, _ *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	return &tfprotov6.PlanResourceChangeResponse{}, k.keep(ctx)
}

type key struct{}

func schemasOfVersion1() map[string]*tfprotov6.Schema {
	return map[string]*tfprotov6.Schema{"maaslxd_vm": {Version: 1}, "maaslxd_vm_host": {Version: 1}}
}

// TestKeptContextsFreeTheCall: the contexts that the framework keeps do not keep the call alive.
func TestKeptContextsFreeTheCall(t *testing.T) {
	t.Parallel()
	k := &contextKeeper{}
	f := contextReleasingServer{k, k, schemasOfVersion1, nil}
	ctx := context.WithValue(t.Context(), key{}, "value")
	_, validated := f.ValidateResourceConfig(ctx, nil)
	_, upgraded := f.UpgradeResourceState(ctx, &tfprotov6.UpgradeResourceStateRequest{RawState: &tfprotov6.RawState{JSON: []byte("{}")}})
	_, read := f.ReadResource(ctx, nil)
	_, planned := f.PlanResourceChange(ctx, nil)
	if err := errors.Join(validated, upgraded, read, planned); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"{}"}, k.announced); diff != "" {
		t.Errorf("announced states (-want +got):\n%s", diff)
	}
	if len(k.kept) != 4 {
		t.Fatalf("%d calls came through, want 4", len(k.kept))
	}
	for n, kept := range k.kept {
		_, limited := kept.Deadline()
		if kept.Err() == nil || kept.Value(key{}) != nil || limited {
			t.Errorf("the context of call %d has not ended: %v, %v", n, kept.Err(), kept.Value(key{}))
		}
		select {
		case <-kept.Done():
		default:
			t.Errorf("call %d is not done", n)
		}
	}
}

// TestStateOfSchemaVersion: a state of the schema's version comes back as it is. The framework
// upgrades any other.
func TestStateOfSchemaVersion(t *testing.T) {
	t.Parallel()
	state := &tfprotov6.RawState{JSON: []byte(`{"id":"4y3h7n"}`)}
	cases := map[string]struct {
		reason         string
		req            tfprotov6.UpgradeResourceStateRequest
		asksFramework  bool
		announcedReads int
	}{
		"Current":  {"There is nothing to upgrade.", tfprotov6.UpgradeResourceStateRequest{TypeName: "maaslxd_vm_host", Version: 1, RawState: state}, false, 1},
		"Earlier":  {"The framework knows how to upgrade it.", tfprotov6.UpgradeResourceStateRequest{TypeName: "maaslxd_vm_host", Version: 0, RawState: state}, true, 1},
		"Unknown":  {"The framework says that there is no such resource.", tfprotov6.UpgradeResourceStateRequest{TypeName: "maaslxd_disk", RawState: state}, true, 1},
		"Flatmap":  {"The framework says that it cannot read this old format.", tfprotov6.UpgradeResourceStateRequest{TypeName: "maaslxd_vm_host", Version: 1, RawState: &tfprotov6.RawState{}}, true, 1},
		"NoObject": {"There is no state.", tfprotov6.UpgradeResourceStateRequest{TypeName: "maaslxd_vm_host", Version: 1}, true, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := &contextKeeper{}
			f := contextReleasingServer{k, k, schemasOfVersion1, nil}
			resp, err := f.UpgradeResourceState(context.WithValue(t.Context(), key{}, "value"), &tc.req)
			if err != nil {
				t.Fatal(err)
			}
			if (len(k.kept) == 1) != tc.asksFramework || len(k.announced) != tc.announcedReads {
				t.Errorf("%s\nthe framework was asked %d times, and %d reads were announced", tc.reason, len(k.kept), len(k.announced))
			}
			if !tc.asksFramework && string(resp.UpgradedState.JSON) != string(state.JSON) {
				t.Errorf("%s\ngot %s", tc.reason, resp.UpgradedState.JSON)
			}
		})
	}
}

// TestForgetfulCancel: a call ends with its caller's context.
func TestForgetfulCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := callReleasingContext(ctx, 0, func(ctx context.Context, _ int) (int, error) {
		inner, stop := context.WithTimeout(ctx, time.Hour)
		defer stop()
		cancel()
		<-inner.Done()
		return 0, inner.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v, want that it was cancelled", err)
	}
}

// TestNewServer: the framework serves all that the provider has.
func TestNewServer(t *testing.T) {
	t.Parallel()
	server, err := newServer(provider.New("test")())
	if err != nil {
		t.Fatal(err)
	}
	served, ok := server.(contextReleasingServer)
	if !ok {
		t.Fatalf("%T serves less than the framework", server)
	}
	want := map[string]int64{"maaslxd_machine": 0, "maaslxd_vm": 0, "maaslxd_vm_host": 1}
	got := map[string]int64{}
	for name, schema := range served.schemas() {
		got[name] = schema.Version
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("versions of schemas (-want +got):\n%s", diff)
	}
}
