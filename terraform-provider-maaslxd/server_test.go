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

// TestKeptContextsFreeTheCall: the contexts that the framework keeps do not keep the call alive.
func TestKeptContextsFreeTheCall(t *testing.T) {
	t.Parallel()
	k := &contextKeeper{}
	f := contextReleasingServer{k, k}
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
	if _, ok := server.(frameworkServer); !ok {
		t.Errorf("%T serves less than the framework", server)
	}
}
