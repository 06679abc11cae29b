package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	framework "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// frameworkServer is all that the framework serves.
type frameworkServer interface {
	tfprotov6.ProviderServer
	tfprotov6.ListResourceServer
	tfprotov6.ActionServer
	tfprotov6.StateStoreServer
}

// newServer serves the provider, and keeps nothing of the reads and plans that are over.
func newServer(p framework.Provider) (tfprotov6.ProviderServer, error) {
	server := providerserver.NewProtocol6(p)()
	whole, ok := server.(frameworkServer)
	if !ok {
		return nil, fmt.Errorf("the plugin framework's %T serves no lists, actions or state stores", server)
	}
	return contextReleasingServer{whole}, nil
}

// contextReleasingServer takes the contexts of a plan's calls away from the framework once they are
// over. The framework holds all of them until Terraform stops the provider, and each
// holds its gRPC stream: 40 KB a call, and four calls for each resource of a plan. See
// docs/design/framework-performance.md.
type contextReleasingServer struct{ frameworkServer }

// ValidateResourceConfig is the framework's.
func (f contextReleasingServer) ValidateResourceConfig(
	ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest,
) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return callReleasingContext(ctx, req, f.frameworkServer.ValidateResourceConfig)
}

// UpgradeResourceState is the framework's.
func (f contextReleasingServer) UpgradeResourceState(
	ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest,
) (*tfprotov6.UpgradeResourceStateResponse, error) {
	return callReleasingContext(ctx, req, f.frameworkServer.UpgradeResourceState)
}

// ReadResource is the framework's.
func (f contextReleasingServer) ReadResource(ctx context.Context, req *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	return callReleasingContext(ctx, req, f.frameworkServer.ReadResource)
}

// PlanResourceChange is the framework's.
func (f contextReleasingServer) PlanResourceChange(
	ctx context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	return callReleasingContext(ctx, req, f.frameworkServer.PlanResourceChange)
}

// callReleasingContext makes a call with a context that lets go of ctx at its end.
func callReleasingContext[Request, Response any](ctx context.Context, req Request, call func(context.Context, Request) (Response, error)) (Response, error) {
	of := &callContext{}
	of.current.Store(&ctx)
	defer of.current.Store(&endedContext)
	return call(of, req)
}

// endedContext is the context of all calls that are over.
var endedContext = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// callContext is the context of a call, and one that has ended after that.
type callContext struct {
	current atomic.Pointer[context.Context]
}

// Deadline is that of the call.
func (c *callContext) Deadline() (time.Time, bool) { return (*c.current.Load()).Deadline() }

// Done is closed when the call has ended.
func (c *callContext) Done() <-chan struct{} { return (*c.current.Load()).Done() }

// Err says why.
func (c *callContext) Err() error { return (*c.current.Load()).Err() }

// Value is one of the call's; none of one that has ended.
func (c *callContext) Value(key any) any { return (*c.current.Load()).Value(key) }
