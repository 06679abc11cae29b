package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// fakeCore does what Cluster API's core does after the bridge has provisioned
// an object. It writes that into Clusters and Machines, and finds a machine's
// Node at once. It also counts what the bridge writes to Kubernetes.
type fakeCore struct {
	client client.Client

	mu          sync.Mutex
	machines    map[client.ObjectKey]counts // what each object adds to the sum
	clusters    map[client.ObjectKey]counts
	provisioned map[types.UID]bool // Cluster API's objects say so already
	writes      int                // updates of both kinds by the bridge
	lastWrite   time.Time          // when the last update came
	err         error
}

func newFakeCore(c client.Client) *fakeCore {
	return &fakeCore{client: c, machines: map[client.ObjectKey]counts{}, clusters: map[client.ObjectKey]counts{}, provisioned: map[types.UID]bool{}, lastWrite: time.Now()}
}

// start watches both kinds until ctx ends.
func (c *fakeCore) start(ctx context.Context, config *rest.Config, scheme *runtime.Scheme) error {
	followed, err := cache.New(config, cache.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	for _, kind := range []client.Object{&infrav1.MaasMachine{}, &infrav1.MaasCluster{}} {
		informer, err := followed.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("cannot follow %T: %w", kind, err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { c.handleEvent(ctx, o, watch.Added) },
			UpdateFunc: func(_, o any) { c.handleEvent(ctx, o, watch.Modified) },
			DeleteFunc: func(o any) { c.handleEvent(ctx, o, watch.Deleted) },
		}); err != nil {
			return err
		}
	}
	go func() {
		if err := followed.Start(ctx); err != nil {
			c.addError(err)
		}
	}()
	if !followed.WaitForCacheSync(ctx) {
		return fmt.Errorf("cannot follow what the bridge writes: %w", context.Cause(ctx))
	}
	return nil
}

func (c *fakeCore) addError(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = errors.Join(c.err, err)
}

// handleEvent counts an event and patches Cluster API's object where the event
// asks for it.
func (c *fakeCore) handleEvent(ctx context.Context, object any, e watch.EventType) {
	if last, missed := object.(toolscache.DeletedFinalStateUnknown); missed {
		object = last.Obj
	}
	note := func(context.Context) error { return nil }
	switch o := object.(type) {
	case *infrav1.MaasMachine:
		provisioned := ptr.Deref(o.Status.Initialization.Provisioned, false)
		one := counts{machines: 1, ready: oneIf(conditions.IsTrue(o, infrav1.ReadyCondition)), attached: oneIf(o.Status.DNSAttached)}
		if c.countObject(c.machines, o, e, one, provisioned) {
			note = func(ctx context.Context) error { return c.patchMachine(ctx, o) }
		}
	case *infrav1.MaasCluster:
		provisioned := ptr.Deref(o.Status.Initialization.Provisioned, false)
		if c.countObject(c.clusters, o, e, counts{clusters: 1}, provisioned) {
			note = func(ctx context.Context) error { return c.patchCluster(ctx, o) }
		}
	}
	go func() {
		if err := note(ctx); err != nil && ctx.Err() == nil {
			c.addError(err)
		}
	}()
}

// countObject stores the state of an object, and reports whether it was
// provisioned just now.
func (c *fakeCore) countObject(in map[client.ObjectKey]counts, o client.Object, e watch.EventType, one counts, provisioned bool) (now bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := client.ObjectKeyFromObject(o)
	in[key] = one
	switch e {
	case watch.Modified:
		c.writes, c.lastWrite = c.writes+1, time.Now()
	case watch.Deleted:
		delete(in, key)
		return false
	}
	now = provisioned && !c.provisioned[o.GetUID()]
	c.provisioned[o.GetUID()] = provisioned
	return now
}

func (c *fakeCore) patchMachine(ctx context.Context, m *infrav1.MaasMachine) error {
	machine := &clusterv1.Machine{}
	if err := c.client.Get(ctx, client.ObjectKeyFromObject(m), machine); err != nil {
		return err
	}
	return c.patchObject(ctx, machine, func() { machine.Spec.ProviderID = ptr.Deref(m.Spec.ProviderID, "") }, func() {
		machine.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
		machine.Status.Addresses = m.Status.Addresses
		machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: ptr.Deref(m.Status.Hostname, m.Name)}
	})
}

func (c *fakeCore) patchCluster(ctx context.Context, m *infrav1.MaasCluster) error {
	cluster := &clusterv1.Cluster{}
	if err := c.client.Get(ctx, client.ObjectKeyFromObject(m), cluster); err != nil {
		return err
	}
	return c.patchObject(ctx, cluster, func() { cluster.Spec.ControlPlaneEndpoint = m.Spec.ControlPlaneEndpoint },
		func() { cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true) })
}

// patchObject patches the spec of Cluster API's object, and then its status.
func (c *fakeCore) patchObject(ctx context.Context, o client.Object, spec, status func()) error {
	before := o.DeepCopyObject().(client.Object)
	spec()
	if err := c.client.Patch(ctx, o, client.MergeFrom(before)); err != nil {
		return err
	}
	before = o.DeepCopyObject().(client.Object)
	status()
	return c.client.Status().Patch(ctx, o, client.MergeFrom(before))
}

// counts is the state of both kinds: how many objects there are, how many
// machines are Ready, and how many are in the DNS name of their cluster's API.
type counts struct{ machines, ready, attached, clusters int }

func oneIf(holds bool) int {
	if holds {
		return 1
	}
	return 0
}

// awaitCounts waits until the counts are as wanted. When the time is over, the
// error gives the counts.
func (c *fakeCore) awaitCounts(ctx context.Context, within time.Duration, want func(counts) bool) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		have, err := c.counts()
		switch {
		case err != nil:
			return err
		case want(have):
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %v there are %+v: %w", within, have, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (c *fakeCore) counts() (counts, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := counts{clusters: len(c.clusters)}
	for _, m := range c.machines {
		sum.machines, sum.ready, sum.attached = sum.machines+m.machines, sum.ready+m.ready, sum.attached+m.attached
	}
	return sum, c.err
}

// countWrites returns how many updates the bridge has made so far, and when the
// last one came.
func (c *fakeCore) countWrites() (writes int, last time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes, c.lastWrite
}
