package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
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

// newServer serves the provider, and keeps nothing of finished reads and plans.
func newServer(p framework.Provider) (tfprotov6.ProviderServer, error) {
	server := providerserver.NewProtocol6(p)()
	whole, ok := server.(frameworkServer)
	if !ok {
		return nil, fmt.Errorf("the plugin framework's %T serves no lists, actions or state stores", server)
	}
	announcer, ok := p.(readAnnouncer)
	if !ok {
		return nil, fmt.Errorf("%T takes no announcements of reads", p)
	}
	schemas := sync.OnceValue(func() map[string]*tfprotov6.Schema { return resourceSchemas(whole) })
	typed := sync.OnceValue(func() map[string]typedSchema { return typedSchemas(p) })
	return contextReleasingServer{whole, announcer, schemas, typed}, nil
}

// resourceSchemas are the resources' schemas, by the resources' names. If they cannot be read,
// there are none, and the framework says why in its own answers.
func resourceSchemas(server tfprotov6.ProviderServer) map[string]*tfprotov6.Schema {
	resp, err := server.GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return nil
	}
	return resp.ResourceSchemas
}

// readAnnouncer takes the state of a resource that Terraform is about to read.
type readAnnouncer interface {
	AnnounceRead(ctx context.Context, state []byte)
}

// contextReleasingServer makes the framework let go of the contexts of a plan's calls after
// the calls. Otherwise it keeps all of them until Terraform stops the provider. Each one keeps
// its gRPC stream: 40 KB a call, and four calls for each resource of a plan. See
// docs/design/framework-performance.md.
type contextReleasingServer struct {
	frameworkServer
	readAnnouncer
	schemas func() map[string]*tfprotov6.Schema
	typed   func() map[string]typedSchema
}

// ValidateResourceConfig calls the framework, and explains its errors about numbers.
func (f contextReleasingServer) ValidateResourceConfig(
	ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest,
) (*tfprotov6.ValidateResourceConfigResponse, error) {
	resp, err := callReleasingContext(ctx, req, f.frameworkServer.ValidateResourceConfig)
	if err == nil && resp != nil && slices.ContainsFunc(resp.Diagnostics, isError) {
		resp.Diagnostics = explainNumbers(ctx, f.typed()[req.TypeName], req.Config, resp.Diagnostics)
	}
	return resp, err
}

// UpgradeResourceState gives a state of the schema's version back as it is. Terraform has
// removed the attributes that the schema does not have, so the framework would only decode and
// encode it. The framework upgrades any other state. In a refresh, Terraform reads the resource
// right after this call. MAAS can answer the read while Terraform still works on the state.
func (f contextReleasingServer) UpgradeResourceState(
	ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest,
) (*tfprotov6.UpgradeResourceStateResponse, error) {
	if req.RawState != nil {
		f.AnnounceRead(ctx, req.RawState.JSON)
	}
	if schema, known := f.schemas()[req.TypeName]; known && schema.Version == req.Version && req.RawState != nil && len(req.RawState.JSON) > 0 {
		return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &tfprotov6.DynamicValue{JSON: req.RawState.JSON}}, nil
	}
	return callReleasingContext(ctx, req, f.frameworkServer.UpgradeResourceState)
}

// ReadResource calls the framework.
func (f contextReleasingServer) ReadResource(ctx context.Context, req *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	return callReleasingContext(ctx, req, f.frameworkServer.ReadResource)
}

// PlanResourceChange calls the framework.
func (f contextReleasingServer) PlanResourceChange(
	ctx context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	return callReleasingContext(ctx, req, f.frameworkServer.PlanResourceChange)
}

// callReleasingContext makes a call with a context that drops ctx at its end.
func callReleasingContext[Request, Response any](ctx context.Context, req Request, call func(context.Context, Request) (Response, error)) (Response, error) {
	of := &callContext{}
	of.current.Store(&ctx)
	defer of.current.Store(&endedContext)
	return call(of, req)
}

// endedContext is the context of all finished calls.
var endedContext = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// callContext is the context of a call. After the call it is an ended one.
type callContext struct {
	current atomic.Pointer[context.Context]
}

// Deadline is the deadline of the call.
func (c *callContext) Deadline() (time.Time, bool) { return (*c.current.Load()).Deadline() }

// Done is closed when the call has ended.
func (c *callContext) Done() <-chan struct{} { return (*c.current.Load()).Done() }

// Err is why the call has ended.
func (c *callContext) Err() error { return (*c.current.Load()).Err() }

// Value is a value of the call; nil after the call.
func (c *callContext) Value(key any) any { return (*c.current.Load()).Value(key) }
